"""The command line: the library's answers for programs, tables for people, one clear line for what went wrong."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from rich.cells import cell_len
from surface_catalogue import CATALOGUE, RULES, SUPPORT

from toolsearch import SearchRequest, ToolIndex
from toolsearch.cli.app import main

AS_SUPPORT = (
    "--subject",
    "s1",
    "--tenant",
    "acme",
    "--environment",
    "production",
    "--role",
    "support",
    "--scope",
    "orders.read",
)


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "contracts"
    folder.mkdir()
    for contract in CATALOGUE:
        text = yaml.safe_dump(contract.canonical(), allow_unicode=True)
        (folder / f"{contract.identity.name}.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(RULES.model_dump(mode="json")), encoding="utf-8")
    return folder


@pytest.fixture
def built(tmp_path: Path, sources: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    folder = tmp_path / "index"
    assert run("index", folder, sources, "--rules", tmp_path / "rules.yaml", "--encoder", "hashed") == 0
    capsys.readouterr()
    return folder


def run(*words: object) -> int:
    """Run a command in this process and return its exit code."""
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return int(ended.value.code or 0)


def comparable(text: str) -> dict[str, object]:
    return {key: value for key, value in json.loads(text).items() if key not in ("trace_id", "timings_ms")}


def test_index_reports_what_changed(tmp_path: Path, sources: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "index"
    assert run("index", folder, sources, "--rules", tmp_path / "rules.yaml", "--encoder", "hashed") == 0
    assert "4 added, 0 replaced, 0 unchanged, 0 removed, 0 refused" in capsys.readouterr().out
    changed = (sources / "weather.today.yaml").read_text().replace("today's weather", "the weather of today")
    (sources / "weather.today.yaml").write_text(changed)
    (sources / "vault.open.yaml").unlink()
    assert run("index", folder, sources) == 0
    assert "0 added, 1 replaced, 2 unchanged, 0 removed" in capsys.readouterr().out
    assert run("index", folder, sources, "--prune", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["removed"] == ["vault/vault.open@1"]
    assert report["visible_to_nobody"] == []


def test_index_names_what_it_refuses(built: Path, sources: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (sources / "bad.yaml").write_text("identity:\n  nam: x\ncapability: {does: y}\n")
    assert run("index", built, sources, "--prune") == 3
    captured = capsys.readouterr()
    assert "4 unchanged, 0 removed, 1 refused" in captured.out
    assert "bad.yaml:1:1" in captured.err
    assert "did you mean 'name'" in captured.err


def test_prune_spares_the_catalogue_when_a_source_is_refused(
    built: Path, sources: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (sources / "vault.open.yaml").write_text("identity: {nam: vault.open}\n")
    assert run("index", built, sources, "--prune", "--json") == 3
    assert json.loads(capsys.readouterr().out)["removed"] == []


def test_index_warns_of_tools_that_nobody_sees(
    tmp_path: Path, sources: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "index"
    assert run("index", folder, sources, "--encoder", "hashed") == 0
    err = capsys.readouterr().err
    assert "visible to nobody: 1 tool, whose" in err
    assert "--public" in err
    assert "weather/weather.today@1" in err
    assert run("index", folder, sources, "--public") == 0
    assert capsys.readouterr().err == ""


def test_a_folder_s_own_contracts_and_rules_are_read(
    tmp_path: Path, sources: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("index", tmp_path, "--encoder", "hashed") == 0
    assert "4 added" in capsys.readouterr().out
    assert run("tools", "-i", tmp_path, "--subject", "guest", "--json") == 0
    assert "weather/weather.today@1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "nothing to do"),
        (("--prune", "--rebuild"), "--prune"),
        (("nowhere",), "does not exist"),
        (("--rules", "a", "--public"), "exclude"),
        (("--rules", "none.yaml"), "No such file"),
    ],
)
def test_index_refuses_what_makes_no_sense(
    tmp_path: Path, words: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("index", tmp_path / "index", *words) == 3
    assert says in capsys.readouterr().err
    assert not (tmp_path / "index").exists()


def test_wrong_rules_are_named(tmp_path: Path, sources: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rules.yaml").write_text("rules: [{id: a, effect: permit, reason: x}]")
    assert run("index", tmp_path / "index", sources, "--rules", tmp_path / "rules.yaml") == 3
    assert "rules.0.effect" in capsys.readouterr().err


def test_rebuild_changes_no_answer(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask = ("search", "-i", built, "where is my order", "--json", *AS_SUPPORT)
    assert run(*ask) == 0
    before = capsys.readouterr().out
    assert run("index", built, "--rebuild") == 0
    capsys.readouterr()
    assert run(*ask) == 0
    assert comparable(capsys.readouterr().out) == comparable(before)


def test_json_is_the_library_s_answer(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    request = SearchRequest(text="where is my order ORD-20260917", k=2, inputs={"n": 3, "s": "x"}, detail="name")
    with ToolIndex.open(built) as index:
        expected = index.search(request, principal=SUPPORT).model_dump_json()
    words = ("-k", 2, "--input", "n=3", "--input", "s=x", "--detail", "name", "--json")
    assert run("search", "-i", built, request.text, *words, *AS_SUPPORT) == 0
    assert comparable(capsys.readouterr().out) == comparable(expected)


def test_a_request_file_is_the_same_request(
    built: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "request.json").write_text('{"text": "cancel the order", "k": 1}', encoding="utf-8")
    (tmp_path / "principal.yaml").write_text(yaml.safe_dump(SUPPORT.model_dump(mode="json")))
    from_flags = ("search", "cancel the order", "-k", 1, "-i", built, "--json", *AS_SUPPORT)
    from_files = (
        (
            "search",
            "--request",
            tmp_path / "request.json",
            "-i",
            built,
            "--json",
            "--principal",
            tmp_path / "principal.yaml",
        ),
        ("search", "--request", "-", "-i", built, "--json", "--principal", tmp_path / "principal.yaml"),
    )
    assert run(*from_flags) == 0
    expected = comparable(capsys.readouterr().out)
    for words in from_files:
        stdin = io.TextIOWrapper(io.BytesIO((tmp_path / "request.json").read_bytes()))
        monkeypatch.setattr(sys, "stdin", stdin)
        assert run(*words) == 0
        assert comparable(capsys.readouterr().out) == expected


def test_the_principal_decides_what_is_seen(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("tools", "-i", built, "--subject", "guest") == 0
    out = capsys.readouterr().out
    assert "weather/weather.today@1" in out
    assert "orders" not in out
    assert run("tools", "-i", built, "--json", *AS_SUPPORT) == 0
    refs = [tool["ref"] for tool in json.loads(capsys.readouterr().out)]
    assert refs == ["orders/orders.cancel@1", "orders/orders.get@1", "weather/weather.today@1"]


def test_the_table_shows_reasons_and_aligns(
    built: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for columns in ("80", "140"):
        monkeypatch.setenv("COLUMNS", columns)
        assert run("search", "-i", built, "取消订单", *AS_SUPPORT) == 0
        out = capsys.readouterr().out
        assert "orders.cancel" in out.replace("\n", "")
        assert "取消一个订单" in out
        rows = [line for line in out.splitlines() if line.startswith(("│", "┃", "┏", "└"))]
        assert len({cell_len(row) for row in rows}) == 1
        assert "semantic" in out
        assert "trace " in out


def test_no_tool_is_an_answer(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("search", "-i", built, "weather", "--subject", "x", "--max-side-effect", "none", "--json") == 0
    assert json.loads(capsys.readouterr().out)["outcome"] == "no_tool"
    assert run("search", "-i", built, "weather", "--subject", "x", "--max-side-effect", "none") == 0
    assert "no_tool" in capsys.readouterr().out


def test_explain_why_not_outcomes_decisions(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("explain", "weather.today", "weather in Hangzhou", "-i", built, *AS_SUPPORT) == 0
    assert "weather/weather.today@1: rank 1" in capsys.readouterr().out
    assert run("why-not", "orders/orders.get", "-i", built, "--subject", "guest") == 0
    assert "orders/orders.get@1: hidden by" in capsys.readouterr().out
    assert run("why-not", "orders/orders.get", "-i", built, "--json", *AS_SUPPORT) == 0
    assert json.loads(capsys.readouterr().out)["allowed"] is True
    assert run("search", "weather", "-i", built, "--json", *AS_SUPPORT) == 0
    trace = json.loads(capsys.readouterr().out)["trace_id"]
    report = ("outcomes", "weather/weather.today@1", "success", "--trace-id", trace, "-i", built)
    assert run(*report, *AS_SUPPORT) == 0
    assert "recorded" in capsys.readouterr().out
    assert run("decisions", trace, "-i", built, "--json", *AS_SUPPORT) == 0
    assert json.loads(capsys.readouterr().out)["trace_id"] == trace
    assert run("decisions", trace, "-i", built, "--subject", "guest") == 3


def test_learn_and_forget(built: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.jsonl"
    # A line separator inside a text is not the end of a line of the log.
    entry = {"text": "do I need\u2028an umbrella", "ref": "weather/weather.today", "subject": "ann"}
    lines = [json.dumps(line, ensure_ascii=False) for line in (entry, {**entry, "ref": "no/such"})]
    log.write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    assert run("learn", log, "-i", built) == 0
    assert "learnt 1, refused 0, of unknown tools 1" in capsys.readouterr().out
    assert run("forget", "ann", "-i", built, "--tenant", "acme") == 0
    assert "forgotten: 0" in capsys.readouterr().out
    assert run("forget", "ann", "-i", built, "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"forgotten": 1}
    log.write_text('{"text": "x"}\n')
    assert run("learn", log, "-i", built) == 3
    assert "line 1" in capsys.readouterr().err
    log.write_text("no json\n")
    assert run("learn", log, "-i", built, "--json") == 3
    assert "line 1: not JSON" in capsys.readouterr().err


def test_remove(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("remove", "weather/weather.today@1", "-i", built) == 0
    assert "removed 1" in capsys.readouterr().out
    assert run("remove", "weather/weather.today@1", "-i", built) == 3


def test_a_contract_prints_as_it_was_written(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("tools", "weather.today", "-i", built, "--subject", "x", "--json") == 0
    contract = next(one for one in CATALOGUE if one.identity.name == "weather.today")
    assert capsys.readouterr().out == contract.canonical_json + "\n"
    assert run("tools", "weather.today", "-i", built, "--subject", "x") == 0
    assert yaml.safe_load(capsys.readouterr().out) == contract.canonical()


def test_key_makes_an_entry_that_lets_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from toolsearch.serve.keys import find_key, read_keys

    assert run("key", "--subject", "ci", "--role", "support", "--json") == 0
    made = json.loads(capsys.readouterr().out)
    (tmp_path / "keys.json").write_text(json.dumps({"keys": [made["entry"]]}))
    found = find_key(made["key"], entries=read_keys(tmp_path / "keys.json"))
    assert found is not None
    assert found.principal.roles == ("support",)
    assert run("key") == 3


def test_hidden_and_absent_tools_print_alike(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    messages = []
    for name in ("vault.open", "vault.shut"):
        assert run("tools", name, "-i", built, "--subject", "guest") == 3
        messages.append(capsys.readouterr().err.replace(name, "x"))
    assert messages[0] == messages[1]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("search", "x", "-i", "nowhere"), 3, "no index"),
        (("search", "-i", "nowhere"), 3, "nothing asked"),
        (("search", "x", "-k", "0"), 3, "greater than or equal to 1"),
        (("search", "x", "--mode", "magic"), 3, "magic"),
        (("search", "x", "--input", "a"), 3, "name=value"),
        (("search", "x", "--weight", "semantic=-1"), 3, "weights.semantic"),
        (("search", "x", "--principal", "none.yaml"), 3, "none.yaml"),
        (("search", "x", "--request", "none.json"), 3, "none.json"),
        (("search", "x", "--colour"), 2, "--colour"),
        (("search", "x", "-k", "many"), 2, "valid"),
        (("explain",), 2, "ref"),
        (("paint",), 2, "paint"),
        (("outcomes", "a/b@1", "splendid"), 3, "splendid"),
    ],
)
def test_errors_are_one_clear_line(
    words: tuple[str, ...],
    code: int,
    says: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    assert run(*words) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert says in captured.err
    assert "Traceback" not in captured.err
    if code == 3:
        assert captured.err.count("\n") == 1


def test_nothing_in_a_contract_steers_the_terminal(
    tmp_path: Path, built: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "evil.json").write_text(
        json.dumps(
            {
                "identity": {"name": "evil", "title": "[red]title[/red] \u001b]0;owned\u0007"},
                "capability": {"does": "weather \u001b[2J"},
                "access": {"scopes_all": ["orders.read"]},
            }
        )
    )
    assert run("index", built, tmp_path / "evil.json") == 0
    for words in (("search", "weather"), ("tools",)):
        assert run(*words, "-i", built, *AS_SUPPORT) == 0
        out = capsys.readouterr().out
        assert "\x1b" not in out
        assert "\x07" not in out
        assert "[red]" in out


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--version") == 0
    assert capsys.readouterr().out.startswith("toolsearch 0.")
    assert run("--help") == 0
    out = capsys.readouterr().out
    for command in ("index", "search", "explain", "why-not", "serve", "outcomes", "bench"):
        assert command in out


def test_a_narrow_encoding_and_broken_text_are_no_crash(built: Path) -> None:
    code = "from toolsearch.cli.app import main; main()"
    for text in ("取消订单", b"\xff\xfe order", "\U0001f4a9"):
        done = subprocess.run(
            [sys.executable, "-c", code, "search", text, "-i", str(built), *AS_SUPPORT],
            capture_output=True,
            env={**os.environ, "PYTHONIOENCODING": "ascii"},
            check=False,
        )
        assert done.returncode in (0, 3)
        assert b"Traceback" not in done.stderr


def test_help_loads_nothing_heavy() -> None:
    heavy = ("torch", "onnxruntime", "faiss", "duckdb", "numpy", "fastapi", "uvicorn", "pydantic_settings", "jwt")
    code = f"import toolsearch.cli.app, sys; print([name for name in {heavy!r} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
