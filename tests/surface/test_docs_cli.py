"""The docs cannot rot: every command, option, setting, endpoint and error stands there, and outputs are true."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
import typer.main
import yaml
from fastapi import FastAPI
from pydantic import BaseModel
from surface_catalogue import CATALOGUE, RULES

from toolsearch.cli.app import app, main
from toolsearch.model.errors import ToolSearchError
from toolsearch.serve.http.metrics import SidecarMetrics
from toolsearch.serve.settings import Settings

DOCS = Path(__file__).parents[2] / "docs"
COMMANDS = typer.main.get_command(app).commands


def section(text: str, title: str) -> str:
    found = re.search(rf"^## {re.escape(title)}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, f"docs/cli.md has no section {title!r}"
    return found[1]


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_and_option_is_documented(name: str) -> None:
    text = section((DOCS / "cli.md").read_text(encoding="utf-8"), f"toolsearch {name}")
    command = COMMANDS[name]
    assert command.help
    for parameter in command.params:
        if parameter.param_type_name == "option" and parameter.name != "help":
            assert any(f"`{option}" in text for option in parameter.opts), f"{name}: {parameter.opts} is not documented"
            assert parameter.help, f"{name}: {parameter.opts} has no help"


@pytest.mark.parametrize("name", sorted(Settings.model_fields))
def test_every_setting_is_documented_with_its_default(name: str) -> None:
    field = Settings.model_fields[name]
    default = field.default
    if isinstance(default, BaseModel):
        default = json.dumps(default.model_dump(mode="json", exclude_defaults=name == "local_principal"))
    shown = "none" if default in (None, ()) else f"`{default}`"
    assert f"| `{name}` | {shown} | {field.description} |" in (DOCS / "configuration.md").read_text(encoding="utf-8")


def test_every_endpoint_is_documented(open_app: FastAPI) -> None:
    text = (DOCS / "http.md").read_text(encoding="utf-8")
    for path, operations in open_app.openapi()["paths"].items():
        for method in operations:
            assert f"`{method.upper()} {path}`" in text


def test_every_problem_is_documented() -> None:
    text = (DOCS / "http.md").read_text(encoding="utf-8")
    sources = (Path(__file__).parents[2] / "toolsearch" / "serve").rglob("*.py")
    codes = {code for source in sources for code in re.findall(r'code="([a-z_]+)"', source.read_text(encoding="utf-8"))}
    assert {"body_too_large", "overloaded", "internal"} <= codes
    for code in codes - {"http_error"}:
        assert f"`{code}`" in text
    for kind in ToolSearchError.__subclasses__():
        if kind.code != "data_invalid":  # only benchmarks raise it
            assert f"`{kind.code}`" in text


def test_every_metric_is_documented() -> None:
    text = (DOCS / "http.md").read_text(encoding="utf-8")
    for metric in SidecarMetrics().registry.collect():
        assert f"`{metric.name}" in text


def console_blocks(text: str) -> list[tuple[str, str]]:
    """Return (command, output) of every console block, in order."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


def test_console_outputs_are_true(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop" / "contracts").mkdir(parents=True)
    contracts = [contract.canonical() for contract in CATALOGUE]
    (tmp_path / "shop" / "contracts" / "all.yaml").write_text(yaml.safe_dump(contracts, allow_unicode=True))
    (tmp_path / "shop" / "rules.yaml").write_text(yaml.safe_dump(RULES.model_dump(mode="json")))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    blocks = console_blocks((DOCS / "cli.md").read_text(encoding="utf-8"))
    assert len(blocks) >= 7
    for command, output in blocks:
        words = shlex.split(command)
        assert words[0] == "toolsearch"
        with pytest.raises(SystemExit):
            main(words[1:])
        shown = capsys.readouterr()
        assert (shown.out + shown.err).splitlines() == output.splitlines(), command


def test_the_documented_settings_file_is_read(tmp_path: Path) -> None:
    from toolsearch.serve.settings import load_settings

    text = (DOCS / "configuration.md").read_text(encoding="utf-8")
    (tmp_path / "settings.toml").write_text(re.findall(r"```toml\n(.*?)```", text, re.DOTALL)[0])
    found = load_settings(config=tmp_path / "settings.toml")
    assert found.port == 9000
    assert found.jwt_claims.roles == "realm_access.roles"
    assert found.jwt_claims.subject == "sub"


def test_the_documented_keys_file_is_read(tmp_path: Path) -> None:
    from toolsearch.serve.keys import read_keys

    block = re.findall(r"```yaml\n(.*?)```", (DOCS / "http.md").read_text(encoding="utf-8"), re.DOTALL)[0]
    (tmp_path / "keys.yaml").write_text(block)
    assert read_keys(tmp_path / "keys.yaml")[0].principal.subject == "agent-7"
