"""Case files, verdicts, and their outputs."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from toolsearch.eval.baseline import changes, read_baseline
from toolsearch.eval.cases import Case, load_cases
from toolsearch.eval.judge import CaseResult, Verdict, judge, names, run_cases, shortfalls, tallies
from toolsearch.eval.junit import junit_xml, results_text
from toolsearch.model.answer import (
    Alternative,
    AlwaysOn,
    Candidate,
    CandidateSet,
    Clarify,
    InputState,
    MissingInput,
    NearMiss,
    OutcomeKind,
    TokenMetrics,
    Withheld,
)
from toolsearch.model.contract import SideEffect
from toolsearch.model.errors import DataError
from toolsearch.model.reasons import Reason, ReasonCode

WHY = Reason(code=ReasonCode.PRECONDITION, text="needs the order first")


def offer(name, *, rank=1, effect=SideEffect.READ_ONLY, approval=None, missing=(), ready=None, alternatives=()):
    return Candidate(
        rank=rank,
        ref=f"shop/{name}@1",
        title=name,
        score=0.5,
        side_effect=effect,
        approval=approval,
        inputs=InputState(ready=ready or {}, missing=missing),
        alternatives=tuple(Alternative(ref=f"shop/{other}@1", score=0.4, similarity=0.97) for other in alternatives),
    )


def answer(*candidates, outcome=None, **parts):
    kind = outcome or (OutcomeKind.CANDIDATES if candidates else OutcomeKind.NO_TOOL)
    return CandidateSet(
        trace_id="trace-0001",
        catalog_version="c",
        tools_hash="t",
        outcome=kind,
        visible_tools=9,
        candidates=candidates,
        message="",
        token_metrics=TokenMetrics(baseline=0, returned=0, savings_percent=0),
        **parts,
    )


def case(expect, **fields):
    return Case.model_validate({"id": "c1", "input": "where is A1024", "expect": expect, **fields})


def failures(expect, given, **fields):
    return judge(case(expect, **fields), given).failures


def test_a_plain_fixture_loads_as_it_is(tmp_path):
    fixture = {
        "name": "order_tool_selection",
        "model": "fixed-model",
        "temperature": 0,
        "tools": ["get_order", "report_orders", "refund_order"],
        "cases": [
            {"input": "A1024 到哪了", "expect": {"tool": "get_order", "args": {"orderId": "A1024"}}},
            {"input": "解释一下什么是闭包", "expect": {"tool": None}},
            {"input": "把 A1024 退了吧", "expect": {"tool": "refund_order", "requiresConfirmation": True}},
            {"input": "both", "expect": {"tools": ["get_order", "refund_order"]}},
        ],
    }
    (tmp_path / "orders.json").write_text(json.dumps(fixture), encoding="utf-8")
    (suite,) = load_cases(tmp_path / "orders.json")
    assert [c.id for c in suite.cases] == [f"order_tool_selection-00{n}" for n in (1, 2, 3, 4)]
    assert [c.kind for c in suite.cases] == ["single", "none", "confirm", "multi"]
    assert suite.principal(suite.cases[0]).subject == "anonymous"
    request = suite.cases[0].request(k=5, tools=suite.tools)
    assert (request.text, request.k, request.restrict.tools) == ("A1024 到哪了", 5, tuple(fixture["tools"]))


FULL = """\
name: orders
catalog: starter
principals:
  support: {subject: s1, tenant: acme, roles: [support], scopes: [orders.read]}
cases:
  - id: orders-001
    split: dev
    lang: mixed
    kind: missing_input
    risk: high
    input: "昨天的订单呢"
    principal: support
    inputs: {since: 2026-09-16}
    now: 2026-09-17T10:00:00Z
    expect:
      tool: [orders.get, orders.find]
      not: [orders.refund]
      above: {orders.find: orders.report}
      outcome: clarify
      missing: [order_id]
      obtain_from: {order_id: orders.list}
"""


def test_every_key_of_a_case_is_read(tmp_path):
    (tmp_path / "orders.yaml").write_text(FULL, encoding="utf-8")
    (tmp_path / "principals.yaml").write_text("principals: {nobody: {subject: n}}", encoding="utf-8")
    (suite,) = load_cases(tmp_path)
    (one,) = suite.cases
    assert one.inputs == {"since": "2026-09-16"}
    assert one.now.isoformat() == "2026-09-17T10:00:00+00:00"
    assert suite.principal(one).scopes == ("orders.read",)
    assert sorted(suite.principals) == ["anonymous", "nobody", "support"]
    assert (one.expect.accepted, one.expect.not_) == (("orders.get", "orders.find"), ("orders.refund",))


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("    risk: high", "    risk: huge", 10, "cases.0.risk"),
        ("    risk: high", "    riks: high", 10, "cases.0.riks: unknown key"),
        ("      outcome: clarify", "      outcome: maybe", 19, "cases.0.expect.outcome"),
        (
            "    principal: support",
            "    principal: nobody",
            6,
            "names the principal 'nobody'; known: anonymous, support",
        ),
        ("    lang: mixed", "    split: test", 8, "'split' stands twice"),
        ("      tool: [orders.get, orders.find]", "      tool: null", 16, "tool: null"),
        ("      tool: [orders.get, orders.find]", "      tool: []", 16, "is empty"),
        ("  - id: orders-001", "  - id: [", 8, "is not YAML"),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path, old, new, line, message):
    assert old in FULL
    (tmp_path / "orders.yaml").write_text(FULL.replace(old, new), encoding="utf-8")
    with pytest.raises(DataError) as caught:
        load_cases(tmp_path)
    assert message in str(caught.value)
    assert caught.value.line == line


@pytest.mark.parametrize("text", ["", "cases: []", "- 1", "cases: [{input: x, expect: {}}]", "a: &a [*a]", "\x00"])
def test_other_wrong_files_are_named(tmp_path, text):
    (tmp_path / "orders.yaml").write_text(text)
    with pytest.raises(DataError, match=r"orders\.yaml"):
        load_cases(tmp_path)


def test_alias_bombs_are_refused(tmp_path):
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    (tmp_path / "orders.yaml").write_text("\n".join(rows))
    with pytest.raises(DataError, match="aliases followed"):
        load_cases(tmp_path)


def test_ids_are_unique_over_all_files_and_a_folder_needs_a_file(tmp_path):
    with pytest.raises(DataError, match="no case file"):
        load_cases(tmp_path)
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(FULL, encoding="utf-8")
    with pytest.raises(DataError, match=r"b\.yaml:6: case id 'orders-001' stands at .*a\.yaml:6"):
        load_cases(tmp_path)


def test_json_with_tabs_and_surrogate_pairs_is_json(tmp_path):
    (tmp_path / "a.json").write_text('{\n\t"cases": [{"input": "\\ud83d\\ude00", "expect": {"tool": null}}]}')
    assert load_cases(tmp_path)[0].cases[0].input == "😀"


def test_names():
    assert all(names(name, "shop/orders.get@2") for name in ("orders.get", "shop/orders.get", "shop/orders.get@2"))
    assert not any(names(name, "shop/orders.get@2") for name in ("get", "orders", "shop/orders.get@1", "x/orders.get"))


def test_tool():
    given = answer(offer("get"), offer("find", rank=2))
    assert failures({"tool": "get"}, given) == ()
    assert failures({"tool": ["find", "get"]}, given) == ()
    assert failures({"tool": "find"}, given) == ("tool: expected find first, got shop/get@1, shop/find@1",)
    assert failures({"tool": "get"}, answer()) == ("tool: expected get first, got none",)
    assert failures({"tool": "get"}, answer(offer("find", alternatives=["get"]))) != ()


def test_no_tool():
    assert failures({"tool": None}, answer()) == ()
    (failure,) = failures({"tool": None}, answer(offer("get")))
    assert "outcome is candidates with shop/get@1" in failure


def test_tools():
    given = answer(offer("get"), always_on=(AlwaysOn(ref="shop/help@1", title="help"),))
    assert failures({"tools": ["get", "help"]}, given) == ()
    assert failures({"tools": ["get", "find"]}, given) == ("tools: find not among shop/get@1",)


def test_not_means_not_offered():
    given = answer(
        offer("get", alternatives=["fetch"]), withheld=(Withheld(ref="shop/refund@1", reason=WHY, unlock="x"),)
    )
    assert failures({"not": ["find", "refund"]}, given) == ()
    assert len(failures({"not": ["get", "fetch"]}, given)) == 2


@pytest.mark.parametrize(
    "given",
    [
        answer(offer("get"), withheld=(Withheld(ref="shop/secret@1", reason=WHY, unlock="x"),)),
        answer(near_misses=(NearMiss(ref="shop/secret@1", score=0.1),)),
        answer(offer("get"), clarify=Clarify(ref="shop/secret@1", fields=("a",), question="?")),
        answer(offer("get", missing=(MissingInput(field="a", ask=False, obtain_from=("shop/secret@1",)),))),
        answer(offer("get", alternatives=["secret"])),
        answer(offer("get"), always_on=(AlwaysOn(ref="shop/secret@1", title="s"),)),
    ],
)
def test_not_in_a_permission_case_means_named_nowhere(given):
    assert failures({"not": ["secret"]}, given, kind="permission") == ("not: secret is in the answer",)


def test_above():
    given = answer(offer("get"), offer("find", rank=2))
    assert failures({"above": {"get": "find", "find": "report"}}, given) == ()
    assert len(failures({"above": {"find": "get"}}, given)) == 1
    assert len(failures({"above": {"report": "get"}}, given)) == 1


def test_outcome():
    assert failures({"outcome": "candidates"}, answer(offer("get"))) == ()
    assert failures({"outcome": "clarify"}, answer(offer("get"))) == ("outcome: expected clarify, got candidates",)


def test_missing_and_obtain_from():
    lacks = (MissingInput(field="order_id", ask=False, obtain_from=("shop/list@1",)),)
    given = answer(offer("find"), offer("get", rank=2, missing=lacks))
    assert failures({"tools": ["get"], "missing": ["order_id"], "obtain_from": {"order_id": "list"}}, given) == ()
    # Without a named tool the first candidate is looked at.
    assert failures({"missing": ["order_id"]}, given) == ("missing: order_id not named as missing; named: none",)
    assert failures({"tools": ["get"], "obtain_from": {"order_id": "find"}}, given) == (
        "obtain_from: order_id from find; got shop/list@1",
    )


def test_missing_may_be_asked_or_unlock_a_withheld_tool():
    asked = answer(
        offer("get"), outcome=OutcomeKind.CLARIFY, clarify=Clarify(ref="shop/get@1", fields=("city",), question="?")
    )
    assert failures({"tool": "get", "missing": ["city"]}, asked) == ()
    held = answer(offer("get"), withheld=(Withheld(ref="shop/refund@1", reason=WHY, unlock="give order_id"),))
    assert failures({"tool": "refund", "requiresConfirmation": True, "missing": ["order_id"]}, held) == ()


def test_what_unlocks_a_withheld_tool_may_name_the_producer():
    expect = {"tool": "refund", "requiresConfirmation": True, "obtain_from": {"order_id": "find"}}
    for unlock, failed in (("give order_id, from shop/find", 0), ("give order_id", 1)):
        held = answer(offer("get"), withheld=(Withheld(ref="shop/refund@1", reason=WHY, unlock=unlock),))
        assert len(failures(expect, held)) == failed


WRITE = SideEffect.IRREVERSIBLE


@pytest.mark.parametrize(
    ("given", "required", "passes"),
    [
        (answer(offer("refund", effect=WRITE, approval="always")), True, True),
        (answer(offer("get"), offer("refund", rank=2, effect=WRITE)), True, True),
        (answer(offer("get"), withheld=(Withheld(ref="shop/refund@1", reason=WHY, unlock="x"),)), True, True),
        (answer(offer("refund", effect=WRITE)), True, False),
        (answer(offer("refund", effect=WRITE), offer("get", rank=2)), True, False),
        (answer(offer("cancel", effect=WRITE), offer("refund", rank=2, effect=WRITE)), True, False),
        (answer(offer("get")), True, False),
        (answer(offer("refund", effect=WRITE)), False, True),
        (answer(offer("refund", effect=WRITE, approval="always")), False, False),
    ],
)
def test_requires_confirmation(given, required, passes):
    assert judge(case({"tool": "refund", "requiresConfirmation": required}), given).passed is passes


def test_args_must_not_be_found_wrong():
    expect = {"tool": "get", "args": {"order_id": "A1024"}}
    assert failures(expect, answer(offer("get", ready={"order_id": "A1024"}))) == ()
    assert failures(expect, answer(offer("get"))) == ()
    assert failures(expect, answer(offer("get", ready={"order_id": "A1"}))) == (
        "args: order_id was found as 'A1', expected 'A1024'",
    )


def test_every_broken_key_is_a_failure_of_its_own():
    assert len(failures({"tool": "get", "outcome": "clarify", "not": ["find"]}, answer(offer("find")))) == 3


def result(number, passed, **fields):
    one = Case.model_validate({"id": f"c{number}", "input": "x \x01 <&>", "expect": {"tool": "get"}, **fields})
    return CaseResult(one, Verdict(one.id, passed, () if passed else ("tool: expected \x00 get",)), ("shop/get@1",))


def test_tallies_and_shortfalls():
    results = [result(1, True, risk="high"), result(2, False, risk="high"), result(3, True), result(4, True, lang="zh")]
    counts = tallies(results)
    assert (counts["all"].passed, counts["all"].total, counts["risk=high"].share) == (3, 4, 0.5)
    assert counts["lang=zh"].total == 1
    # The mean hides nothing: the high-risk floor is looked at for itself.
    assert shortfalls(counts, {"all": 0.7, "risk=high": 0.9, "kind=none": 1.0}) == (
        "risk=high: 1 of 2 passed, the floor is 90.0%",
    )


def test_junit_and_json_are_well_formed_and_deterministic():
    suites = {"orders": [result(1, True), result(2, False)], "empty": []}
    document = junit_xml(suites)
    root = ElementTree.fromstring(document)
    assert [suite.attrib["failures"] for suite in root] == ["1", "0"]
    assert root.find("./testsuite/testcase/failure").attrib["message"] == "tool: expected \ufffd get"
    assert document == junit_xml(suites)
    body = json.loads(results_text(suites))
    assert body["counts"]["all"] == {"passed": 1, "total": 2}
    assert [one["passed"] for one in body["suites"]["orders"]] == [True, False]


def test_changes_against_an_earlier_run(tmp_path):
    (tmp_path / "old.json").write_text(results_text({"orders": [result(1, True), result(2, False), result(3, True)]}))
    baseline = read_baseline(tmp_path / "old.json")
    assert baseline == {"c1": True, "c2": False, "c3": True}
    change = changes(baseline, [result(1, False), result(2, True), result(4, False)])
    assert (change.broken, change.repaired, change.new, change.gone) == (("c1",), ("c2",), ("c4",), ("c3",))


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": 1, "suites": {"a": [{}]}}', '{"format": 2, "suites": {}}']
)
def test_another_file_is_no_baseline(tmp_path, text):
    (tmp_path / "old.json").write_text(text)
    with pytest.raises(DataError, match=r"old\.json: (is not a file of case results|has format 2)"):
        read_baseline(tmp_path / "old.json")
    with pytest.raises(DataError, match="cannot be read"):
        read_baseline(tmp_path / "none.json")


def test_run_cases_asks_on_behalf_of_the_case_and_keeps_what_was_offered(tmp_path):
    asked = []

    class Recorded:
        def search(self, request, *, principal):
            asked.append((request, principal))
            return answer(offer("orders.get"))

    (tmp_path / "orders.yaml").write_text(FULL, encoding="utf-8")
    (suite,) = load_cases(tmp_path)
    (outcome,) = run_cases(suite, Recorded(), k=7)
    ((request, principal),) = asked
    assert (request.k, request.inputs, principal.subject) == (7, {"since": "2026-09-16"}, "s1")
    assert outcome.offered == ("shop/orders.get@1",)
    assert not outcome.verdict.passed


def test_the_case_files_of_the_repository_are_valid():
    folder = Path(__file__).parents[1] / "cases"
    if not list(folder.glob("*.yaml")):
        pytest.skip("no case files yet")
    suites = load_cases(folder)
    assert {one.split for suite in suites for one in suite.cases} == {"dev", "test"}
    assert yaml.safe_load((folder / "principals.yaml").read_text(encoding="utf-8"))
