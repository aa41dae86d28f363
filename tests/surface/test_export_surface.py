"""The export over library, command line and HTTP: the same bytes, and the same refusals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from surface_catalogue import CATALOGUE, LOOPBACK, RULES, SUPPORT

from toolsearch import ToolIndex
from toolsearch.cli.app import main
from toolsearch.cli.remote import RemoteIndex
from toolsearch.contracts.read import read_data
from toolsearch.model.request import DefinitionFormat, Detail
from toolsearch.serve.http.app import create_app
from toolsearch.serve.settings import load_settings


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with ToolIndex.create(tmp_path / "index", rules=RULES, encoder="hashed") as index:
        index.add(CATALOGUE)
    (tmp_path / "principal.json").write_text(SUPPORT.model_dump_json())
    return tmp_path / "index"


@pytest.fixture
def client(folder: Path) -> Iterator[TestClient]:
    app = create_app(ToolIndex.open(folder), settings=load_settings(local_principal=SUPPORT))
    with TestClient(app, base_url=LOOPBACK) as opened:
        yield opened


def run(folder: Path, *words: object) -> int:
    arguments = ["export", *words, "--principal", folder.parent / "principal.json", "-i", folder]
    with pytest.raises(SystemExit) as done:
        main([str(word) for word in arguments])
    return int(done.value.code or 0)


@pytest.mark.parametrize("form", list(DefinitionFormat))
def test_every_surface_gives_the_same_bytes(
    form: DefinitionFormat, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ToolIndex.open(folder) as index:
        by_library = index.export(principal=SUPPORT, format=form).model_dump_json()
    assert run(folder, "--format", form.value) == 0
    shown = capsys.readouterr()
    app = create_app(ToolIndex.open(folder), settings=load_settings(local_principal=SUPPORT))
    with TestClient(app, base_url=LOOPBACK) as client:
        by_http = client.get("/v1/export", params={"format": form.value}).text
    assert shown.out == by_library + "\n"
    assert by_http == by_library
    assert shown.err.startswith(f"{len(json.loads(by_library)['names'])} tools as {form.value}")


def test_options_mean_the_same_everywhere(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ToolIndex.open(folder) as index:
        by_library = index.export(
            principal=SUPPORT,
            format=DefinitionFormat.OPENAI_RESPONSES,
            tools=["orders.get"],
            strict=True,
            defer_loading=True,
            namespaces=True,
        ).model_dump_json()
    words = ["--format", "openai_responses", "--tool", "orders.get", "--strict", "--defer-loading", "--namespaces"]
    assert run(folder, *words) == 0
    assert capsys.readouterr().out == by_library + "\n"


def test_a_remote_index_asks_the_server(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    remote = RemoteIndex(LOOPBACK)
    monkeypatch.setattr(remote, "send", lambda method, path, body=None: client.request(method, path).content)
    found = remote.export(principal=SUPPORT, format=DefinitionFormat.MCP, tools=["orders.get"], detail=Detail.SIGNATURE)
    assert found.names == {"orders_get": "orders/orders.get@1"}


def test_the_names_and_the_bare_list_go_where_they_are_wanted(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(folder, "--format", "anthropic", "--bare", "--names", tmp_path / "names.json") == 0
    tools = json.loads(capsys.readouterr().out)
    names = json.loads((tmp_path / "names.json").read_text(encoding="utf-8"))
    assert [tool["name"] for tool in tools] == list(names)


def test_what_is_printed_is_read_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("openai", "openai_responses", "anthropic", "gemini", "gemini_json_schema", "mcp", "langchain"):
        assert run(folder, "--format", form) == 0
        text = capsys.readouterr().out
        report = read_data(text, trusted=True)
        assert report.refused == ()
        assert sorted(contract.identity.name for contract in report.contracts) == sorted(json.loads(text)["names"])


@pytest.mark.parametrize(
    ("params", "status"),
    [
        ({}, 422),
        ({"format": "yaml"}, 422),
        ({"format": "mcp", "strict": "true"}, 422),
        ({"format": "openai", "tool": "admin.secret"}, 404),
    ],
)
def test_refusals_over_http(params: dict[str, str], status: int, client: TestClient) -> None:
    assert client.get("/v1/export", params=params).status_code == status


def test_refusals_on_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "--format", "yaml") == 3
    assert "is not one of native, openai" in capsys.readouterr().err
    assert run(folder, "--format", "gemini", "--strict") == 3
    assert "has no strict mode; it is of openai, openai_responses, anthropic" in capsys.readouterr().err
