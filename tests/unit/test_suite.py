"""Suite files, what they expect, and running them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.measures.outcomes import read_outcomes
from benchmarks.measures.suite import CasesSuite, DatasetSuite, check_value, load_suites, measured_value, run_suite
from benchmarks.report.accept import with_expected
from toolsearch.eval.cases import Case, load_cases
from toolsearch.eval.catalogue import bench_cases, case_measures, of_split, open_catalogue
from toolsearch.eval.judge import CaseResult, Verdict
from toolsearch.eval.results import Measure, RefusalFigures, SystemResult, read_results
from toolsearch.eval.roles import DATA_SETS
from toolsearch.model.errors import DataError

SUITES = """\
suites:
  - kind: dataset
    name: tiny
    data: tiny
    encoder: hashed
    limit: 2
    queries: asked.jsonl
    modes: [lexical, hybrid]
    expected:
      lexical: {recall@5: 1.0, recall@1: 0.25, nothing: 1.0}
  - kind: cases
    name: shop-cases
    quick: true
    catalog: shop
    cases: cases
    split: dev
    encoder: hashed
    expected: {hybrid: {passed: 1.0}}
"""
CONTRACTS = """\
- identity: {name: orders.get, server: shop}
  capability: {does: Look up one order and show its delivery status.}
  execution: {side_effect: read_only}
- identity: {name: weather.now, server: sky}
  capability: {does: Weather forecast for a city.}
  execution: {side_effect: read_only}
- identity: {name: payroll.read, server: hr}
  capability: {does: Read the salary of a person.}
  execution: {side_effect: read_only}
  access: {roles_any: [hr]}
"""
CASES = """\
cases:
  - {id: a, split: dev, input: delivery status of my order, expect: {tool: orders.get}}
  - {id: b, split: dev, kind: permission, input: read the salary of Ann, expect: {not: [payroll.read]}}
  - {id: c, split: test, lang: zh, input: weather forecast for Paris, expect: {tool: orders.get}}
"""


@pytest.fixture
def project(tmp_path):
    files = {
        "suites/all.yaml": SUITES,
        "shop/contracts/all.yaml": CONTRACTS,
        "shop/rules.yaml": "rules: [{id: open, effect: allow, reason: all public, tools: {}, principals: {}}]",
        "cases/shop.yaml": CASES,
    }
    tools = [("get", "delivery status of an order"), ("weather", "weather forecast")]
    asked = [("q1", "delivery status", "get"), ("q2", "weather", "weather"), ("q3", "order", "get")]
    files["data/tiny/tools.jsonl"] = "".join(
        json.dumps({"id": name, "name": name, "description": text, "input_schema": {}, "server": None}) + "\n"
        for name, text in tools
    )
    files["data/tiny/asked.jsonl"] = "".join(
        json.dumps({"id": i, "query": q, "relevant": [r], "kind": "single", "split": "dev", "lang": "en"}) + "\n"
        for i, q, r in asked
    )
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def run(project, suite, **places):
    return run_suite(suite, root=project, data=places.get("data", project / "data"), out=project / "out")


def test_suites_are_read_with_the_command_that_measures_them(project):
    tiny, cases = load_suites(project / "suites")
    assert tiny.command == (
        "toolsearch bench $DATA/tiny --mode lexical --mode hybrid --encoder hashed -k 10 --seed 0 --limit 2"
        " --queries asked.jsonl"
    )
    assert isinstance(cases, CasesSuite)
    assert "--only shop-cases" in cases.command
    assert (tiny.quick, cases.quick) == (False, True)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("    limit: 2", "    limits: 2", 6, "suites.0.limits"),
        ("    limit: 2", "    limit: 0", 6, "suites.0.limit"),
        ("modes: [lexical, hybrid]", "modes: [hybrid]", 2, "not among its modes"),
        ("name: shop-cases", "name: Shop Cases", 12, "suites.1.name"),
        ("  - kind: cases", "  - kind: case", 11, "suites.1"),
    ],
)
def test_a_wrong_suite_is_told_with_its_line(project, old, new, line, message):
    path = project / "suites" / "all.yaml"
    assert old in SUITES
    path.write_text(SUITES.replace(old, new))
    with pytest.raises(DataError) as caught:
        load_suites(path)
    assert message in str(caught.value)
    assert caught.value.line == line


def test_suite_names_are_unique_and_there_must_be_one(project):
    (project / "suites" / "more.yaml").write_text(SUITES)
    with pytest.raises(DataError, match="'tiny' stands twice"):
        load_suites(project / "suites")
    with pytest.raises(DataError, match="no suite file"):
        load_suites(project / "cases" / "..")


def test_a_dataset_suite_is_run_and_checked(project):
    outcome = run(project, load_suites(project / "suites")[0])
    assert [check.verdict for check in outcome.checks] == ["equal", "above", "absent"]
    assert not outcome.passed
    assert [result.system for result in outcome.results] == ["toolsearch lexical", "toolsearch hybrid"]
    assert outcome.results[0].queries == 2
    assert [result.system for result in read_results(project / "out")] == ["toolsearch hybrid", "toolsearch lexical"]


def test_requests_of_one_set_are_asked_over_the_tools_of_another(project):
    text = SUITES.replace("    limit: 2\n", "    tools: other\n").replace(
        "recall@1: 0.25, nothing: 1.0", "recall@1: 1.0"
    )
    (project / "suites" / "all.yaml").write_text(text)
    suite = load_suites(project / "suites")[0]
    assert suite.command == "python -m benchmarks.run --only tiny"
    assert "no tools.jsonl in" in run(project, suite).skipped
    other = [("weather", "bus timetable"), ("get", "delivery status"), ("more", "weather")]
    rows = ({"id": i, "name": i, "description": text, "input_schema": {}, "server": None} for i, text in other)
    (project / "data" / "other").mkdir()
    (project / "data" / "other" / "tools.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = run(project, suite).results[0]
    assert (result.dataset, result.tools, result.queries) == ("tiny/asked_over_other", 3, 3)
    assert sorted(result.data_sha256) == ["other/tools.jsonl", "tiny/asked/asked.jsonl"]
    assert [found.name for found in (project / "out").glob("*.json")]


def test_what_came_of_each_case_is_written_beside_the_figures(project):
    run(project, load_suites(project / "suites")[1])
    first, second = read_outcomes(project / "out" / "shop-cases.hybrid.cases.jsonl")
    assert (first.id, first.expected, first.offered[0]) == ("a", "orders.get", "shop/orders.get@1")
    assert (second.kind, second.failures) == ("permission", ())
    (project / "bad.jsonl").write_text('{"id": "a"}')
    with pytest.raises(DataError, match="no outcome of a case") as caught:
        read_outcomes(project / "bad.jsonl")
    assert caught.value.line == 1


def test_a_suite_without_its_data_is_skipped_and_says_so(project):
    outcome = run(project, load_suites(project / "suites")[0], data=project / "elsewhere")
    assert "no asked.jsonl in" in outcome.skipped
    assert outcome.passed
    assert not outcome.results


def test_a_cases_suite_is_run_on_its_split(project):
    outcome = run(project, load_suites(project / "suites")[1])
    (result,) = outcome.results
    assert outcome.passed
    assert (result.dataset, result.queries, result.tools) == ("shop cases (dev)", 2, 3)
    assert sorted(result.metrics) == ["all", "kind=permission", "kind=single"]
    assert (result.mean("leaked"), result.mean("leaked", part="kind=permission")) == (None, 0.0)
    assert read_results(project / "out") == (result,)


def test_cases_of_every_split_and_of_none(project):
    table = bench_cases(project / "shop", cases=project / "cases", encoder="hashed")
    ((result, cases),) = ((report.result, report.cases) for report in table.values())
    assert [case.case.id for case in cases] == ["a", "b", "c"]
    assert result.mean("passed") == 0.666667
    assert result.mean("passed", part="lang=zh") == 0.0
    with pytest.raises(DataError, match="no case of split 'train'"):
        bench_cases(project / "shop", cases=project / "cases", split="train", encoder="hashed")
    (suite,) = load_cases(project / "cases")
    assert of_split(suite, None) is suite


def test_a_catalogue_without_rules_shows_only_what_declares_access(project):
    (project / "shop" / "rules.yaml").unlink()
    table = bench_cases(project / "shop", cases=project / "cases", encoder="hashed")
    assert next(iter(table.values())).result.mean("passed", part="kind=single") == 0.0
    (project / "shop" / "rules.yaml").write_text("rules: [{id: x, effect: perhaps}]")
    with pytest.raises(DataError, match=r"rules\.yaml:1: rules\.0"):
        open_catalogue(project / "shop", encoder="hashed")


def test_case_measures_have_intervals():
    case = Case.model_validate({"id": "a", "input": "x", "expect": {"tool": None}})
    results = [CaseResult(case, Verdict("a", passed, ()), ()) for passed in (True, True, False, True)]
    found = case_measures(results)["kind=none"]["passed"]
    assert (found.mean, found.n) == (0.75, 4)
    assert found.low < 0.75 < found.high


def test_a_leak_is_counted_apart_from_other_failures():
    case = Case.model_validate({"id": "a", "kind": "permission", "input": "x", "expect": {"not": ["secret"]}})
    verdicts = [
        Verdict("a", False, ("not: secret is in the answer",)),
        Verdict("a", False, ("tool: expected no tool",)),
    ]
    table = case_measures([CaseResult(case, verdict, ()) for verdict in verdicts])
    assert table["kind=permission"]["leaked"].mean == 0.5
    assert table["kind=permission"]["passed"].mean == 0.0


@pytest.mark.parametrize(
    ("measured", "verdict", "passed"),
    [
        (0.8, "equal", True),
        (0.8004, "equal", True),
        (0.804, "near", True),
        (0.79, "below", False),
        (0.9, "above", True),
    ],
)
def test_verdicts(measured, verdict, passed):
    check = check_value("s", "m", expected=0.8, measured=measured, tolerance=0.005)
    assert (check.verdict, check.passed) == (verdict, passed)


def test_metrics_are_named_by_slice_or_are_refusal_figures():
    result = SystemResult(
        system="s",
        dataset="d",
        metrics={"all": {"recall@5": Measure(mean=0.5, n=2)}, "lang=zh": {"recall@5": Measure(mean=0.25, n=1)}},
        refusal=RefusalFigures(none=1, answerable=1, refusal_rate=0.7, false_refusal_rate=0.1),
    )
    names = ("recall@5", "lang=zh/recall@5", "refusal_rate", "false_refusal_rate", "lang=en/recall@5", "ndcg@10")
    assert [measured_value(result, name) for name in names] == [0.5, 0.25, 0.7, 0.1, None, None]


def measured(mode, **values):
    metrics = {"all": {name.replace("_at_", "@"): Measure(mean=value, n=9) for name, value in values.items()}}
    return SystemResult(system=f"toolsearch {mode}", dataset="tiny", settings={"mode": mode}, metrics=metrics)


def test_measured_values_are_written_as_expected_and_nothing_else_changes(tmp_path):
    results = [measured("lexical", recall_at_5=0.51239, ndcg_at_10=0.4), measured("hybrid", recall_at_5=0.75)]
    text = with_expected(SUITES, suite="tiny", results=results)
    assert text.replace(
        "    expected:\n      lexical: {recall@5: 0.5124, ndcg@10: 0.4000}\n      hybrid: {recall@5: 0.7500}\n", ""
    ) == SUITES.replace("    expected:\n      lexical: {recall@5: 1.0, recall@1: 0.25, nothing: 1.0}\n", "")
    assert with_expected(text, suite="tiny", results=results) == text
    (tmp_path / "s.yaml").write_text(with_expected(text, suite="shop-cases", results=[measured("hybrid", passed=0.5)]))
    tiny, cases = load_suites(tmp_path / "s.yaml")
    assert tiny.expected["lexical"] == {"recall@5": 0.5124, "ndcg@10": 0.4}
    assert cases.expected == {"hybrid": {"passed": 0.5}}
    with pytest.raises(DataError, match="no suite 'other'"):
        with_expected(text, suite="other", results=results)


def test_the_suites_of_the_repository_are_valid():
    folder = Path(__file__).parents[2] / "benchmarks" / "suites"
    suites = load_suites(folder)
    assert any(suite.quick for suite in suites)
    for suite in suites:
        if isinstance(suite, DatasetSuite):
            assert suite.data in DATA_SETS, suite.name
