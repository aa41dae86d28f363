"""`toolsearch eval` and `toolsearch tune`: gates, baselines, formats, roles, and what is written."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from surface_catalogue import CATALOGUE, RULES

from toolsearch.cli.app import main
from toolsearch.eval.tune import read_tuning

SUPPORT = {"subject": "s1", "tenant": "acme", "roles": ["support"], "scopes": ["orders.read"]}


def case(text: str, *, split: str = "dev", **keys: object) -> dict[str, object]:
    return {"input": text, "principal": "support", "split": split, **keys}


RIGHT = case("delivery status of order ORD-12345678", expect={"tool": "orders.get"}, id="right")
HIGH = case("取消订单 ORD-12345678", expect={"tool": "weather.today"}, risk="high", id="high")
TIGHT = case("open the vault", expect={"not": ["vault.open"]}, kind="permission", id="tight")
LEAK = case("weather in Rome today", expect={"not": ["weather.today"]}, kind="permission", id="leak")


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / "contracts").mkdir(parents=True)
    contracts = [contract.canonical() for contract in CATALOGUE]
    (folder / "contracts" / "all.yaml").write_text(yaml.safe_dump(contracts, allow_unicode=True), encoding="utf-8")
    (folder / "rules.yaml").write_text(yaml.safe_dump(RULES.model_dump(mode="json")), encoding="utf-8")
    return folder


@pytest.fixture
def run(tmp_path: Path, catalogue: Path, capsys: pytest.CaptureFixture[str]):
    """Return a function of cases and options -> (exit code, output)."""

    def run_cases(cases: list[dict[str, object]], *options: str, command: str = "eval") -> tuple[int, str]:
        body = {"name": "shop", "principals": {"support": SUPPORT}, "cases": cases}
        (tmp_path / "cases.yaml").write_text(yaml.safe_dump(body, allow_unicode=True), encoding="utf-8")
        words = [command, str(tmp_path / "cases.yaml"), "--catalog", str(catalogue), "--encoder", "hashed", *options]
        try:
            main(words)
            code = 0
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        shown = capsys.readouterr()
        return code, shown.out + shown.err

    return run_cases


def test_every_case_must_pass_unless_a_floor_is_stated(run) -> None:
    assert run([RIGHT, TIGHT])[0] == 0
    code, out = run([RIGHT, HIGH])
    assert code == 1
    assert "refused: all: 1 of 2 passed, the floor is 100.0%" in out


def test_the_mean_does_not_hide_high_risk_cases(run) -> None:
    many = [{**RIGHT, "id": f"right-{number}"} for number in range(9)]
    code, out = run([*many, HIGH], "--fail-below", "0.9")
    assert code == 1
    assert "refused: risk=high: 0 of 1 passed" in out
    assert run([*many, HIGH], "--fail-below", "0.9", "--fail-below", "risk=high=0")[0] == 0


def test_a_leak_refuses_whatever_the_floor(run) -> None:
    code, out = run([RIGHT, LEAK], "--fail-below", "0")
    assert code == 1
    assert "refused: leak: leak: not: weather.today is in the answer" in out


@pytest.mark.parametrize("floor", ["2", "half", "risk=high=-1", "=", "nan"])
def test_wrong_floors_are_told(run, floor: str) -> None:
    code, out = run([RIGHT], "--fail-below", floor)
    assert code == 3
    assert "write a share from 0 to 1" in out


def test_a_floor_of_no_case_is_an_error(run) -> None:
    code, out = run([RIGHT], "--fail-below", "kind=nonne=0.5")
    assert code == 3
    assert "no case is in 'kind=nonne'" in out


def test_baseline_names_new_failures_and_missing_cases(run, tmp_path: Path) -> None:
    earlier = tmp_path / "run.json"
    wrong = {**RIGHT, "expect": {"tool": "orders.cancel"}}
    assert run([RIGHT, HIGH, TIGHT], "--out", str(earlier))[0] == 1
    assert run([RIGHT, HIGH, TIGHT], "--baseline", str(earlier))[0] == 0
    code, out = run([wrong, HIGH], "--baseline", str(earlier))
    assert code == 1
    assert "passed in the earlier run, fails now: right" in out
    assert "was in the earlier run, is gone: tight" in out
    assert "fails now: high" not in out


def test_junit_and_json_are_the_same_bytes_each_time(run, tmp_path: Path) -> None:
    files = [(tmp_path / f"{n}.xml", tmp_path / f"{n}.json") for n in (1, 2)]
    for xml, out in files:
        run([RIGHT, HIGH, TIGHT], "--junit", str(xml), "--out", str(out))
    assert files[0][0].read_bytes() == files[1][0].read_bytes()
    assert files[0][1].read_bytes() == files[1][1].read_bytes()
    suite = ElementTree.parse(files[0][0]).getroot().find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("3", "1")
    assert json.loads(files[0][1].read_text(encoding="utf-8"))["counts"]["risk=high"] == {"passed": 0, "total": 1}


def test_json_goes_to_standard_output(run) -> None:
    code, out = run([RIGHT], "--json")
    assert code == 0
    assert json.loads(out)["counts"]["all"] == {"passed": 1, "total": 1}


def test_plain_fixture_over_plain_definitions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parameters = {"type": "object", "properties": {"orderId": {"type": "string"}}, "required": ["orderId"]}
    tools = [
        {"name": "get_order", "description": "Look up one order by its id.", "input_schema": parameters},
        {"name": "report_orders", "description": "Monthly refund rate and order totals.", "input_schema": {}},
    ]
    (tmp_path / "tools.json").write_text(json.dumps(tools))
    cases = [
        {"input": "look up order A1024", "expect": {"tool": "get_order", "args": {"orderId": "A1024"}}},
        {"input": "qwertz uiop", "expect": {"tool": None}},
        {"input": "monthly refund rate", "expect": {"tool": "report_orders"}},
    ]
    fixture = {"name": "orders", "model": "fixed", "temperature": 0, "catalog": ["tools.json"], "cases": cases}
    (tmp_path / "fixture.json").write_text(json.dumps(fixture))
    main_code = 0
    try:
        main(["eval", str(tmp_path / "fixture.json"), "--encoder", "hashed"])
    except SystemExit as exit_:
        main_code = int(exit_.code or 0)
    assert main_code == 0, capsys.readouterr().out


def test_a_built_index_can_be_asked(tmp_path: Path, catalogue: Path, run, capsys: pytest.CaptureFixture[str]) -> None:
    from toolsearch import ToolIndex

    with ToolIndex.create(tmp_path / "built", rules=RULES, encoder="hashed") as index:
        index.add(CATALOGUE)
    run([RIGHT])
    with pytest.raises(SystemExit) as exit_:
        main(["eval", str(tmp_path / "cases.yaml"), "--index", str(tmp_path / "built")])
    assert not exit_.value.code, capsys.readouterr().out
    with pytest.raises(SystemExit) as exit_:
        main(["eval", str(tmp_path / "cases.yaml"), "--index", "x", "--catalog", "y"])
    assert exit_.value.code == 3


def test_cases_without_a_catalogue_are_told(run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run([RIGHT])
    with pytest.raises(SystemExit) as exit_:
        main(["eval", str(tmp_path / "cases.yaml")])
    assert exit_.value.code == 3
    assert "no case file names a catalogue" in capsys.readouterr().err


def test_tune_fits_to_dev_only_and_writes_when_told(run, tmp_path: Path) -> None:
    cases = [RIGHT, HIGH, TIGHT, case("what is the weather today", split="test", expect={"tool": "weather.today"})]
    target = tmp_path / "tuned.yaml"
    code, out = run(cases, "--rounds", "1", command="tune")
    assert code == 0, out
    assert "3 requests fitted to, 1 held out" in out
    assert not target.exists()
    code, out = run(cases, "--rounds", "1", "--write", str(target), command="tune")
    assert code == 0
    assert read_tuning(target).yaml() in out


def test_tune_refuses_test_cases(run) -> None:
    code, out = run([{**RIGHT, "split": "test"}], command="tune")
    assert code == 3
    assert "is test data and may not be used to choose" in out


def test_four_sorts_of_cases_by_their_plain_names(run) -> None:
    sorts = [
        {**RIGHT, "kind": "positive"},
        case("qwertz uiop", expect={"tool": None}, kind="negative", id="n"),
        case("ORD-12345678 ???", expect={"not": ["vault.open"]}, kind="boundary", id="b"),
        {**LEAK, "kind": "adversarial"},
    ]
    code, out = run(sorts, "--fail-below", "0.5", "--json")
    assert code == 1  # the adversarial one leaks
    assert {"kind=single", "kind=none", "kind=boundary", "kind=permission"} <= set(json.loads(out)["counts"])
