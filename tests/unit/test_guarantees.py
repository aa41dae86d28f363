"""Guarantees: what is measured is measured from outside, and every figure can go wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.measures.case_figures import ask, clarify_accuracy, destructive_above_read, paired
from benchmarks.measures.figures import Figure, guarantees_markdown
from benchmarks.measures.guarantees import permission, starter_guarantees, world_guarantees
from benchmarks.measures.isolation import leaked_names, measure_isolation
from benchmarks.measures.stability import measure_churn, measure_order
from benchmarks.measures.worlds import generate_world
from toolsearch import Principal, Rule, RuleBook, SearchRequest, ToolContract
from toolsearch.eval.cases import load_cases
from toolsearch.eval.rates import difference, rate
from toolsearch.eval.scenes import Question, Scene, changed, comparable, without_boundaries
from toolsearch.model.answer import CandidateSet, NearMiss, OutcomeKind, TokenMetrics

RULES = RuleBook(rules=(Rule(id="open", effect="allow", reason="public", tools={"servers": ["orders", "weather"]}),))
ANYONE = Principal(subject="anyone")


def contract(ref: str, does: str, *, effect: str = "read_only", **sections: object) -> ToolContract:
    server, _, name = ref.partition("/")
    return ToolContract.model_validate(
        {
            "identity": {"name": name, "server": server},
            "capability": {"does": does, "does_not": ["cancel a shipment"]},
            "execution": {"side_effect": effect},
            **sections,
        }
    )


CONTRACTS = (
    contract("orders/orders.get", "Read the status of one order."),
    contract("orders/orders.cancel", "Cancel one order for good.", effect="irreversible"),
    contract("weather/weather.today", "Tell the weather of a city today."),
    contract("vault/vault.orders", "Read the status of secret orders of the vault."),
)


@pytest.fixture
def scene() -> Scene:
    return Scene.of("small", CONTRACTS, rules=RULES, encoder="hashed")


def question(text: str, *golds: str, split: str = "dev") -> Question:
    return Question(text, split, SearchRequest(text=text), ANYONE, golds)


class Lying(Scene):
    """A scene that takes one tool more for hidden than the rules do."""

    def visible(self, principal: Principal) -> tuple[ToolContract, ...]:
        return tuple(one for one in Scene.visible(self, principal) if one.identity.name != "orders.cancel")


def test_hidden_tools_change_nothing(scene: Scene) -> None:
    figures, faults = permission(
        scene, [question("status of one order", "orders.get"), question("weather", "vault.orders")]
    )
    by_name = {(figure.name, figure.part): figure for figure in figures}
    assert faults == []
    assert by_name["leaks", "all"].measure.mean == 0
    assert by_name["hidden_share", "all"].measure.mean == 0.25
    # The second question's right tool is hidden: it is not authorised, and does not count.
    assert by_name["authorised_recall", "all"].measure.n == 1
    assert by_name["authorised_recall", "split=dev"].measure.mean == 1.0
    assert all(figure.holds for figure in figures)


def test_a_shown_hidden_tool_is_counted(scene: Scene) -> None:
    lying = Lying(scene.name, scene.contracts, scene.rules, scene.encoder)
    (record,), (probe,) = measure_isolation(lying, [question("cancel one order for good", "orders.get")])
    assert "orders/orders.cancel@1" in record.leaked
    assert record.interfered
    assert "list of tools" in probe.differing
    assert "orders/orders.cancel@1" in probe.differing
    figures, faults = permission(lying, [question("cancel one order for good")])
    assert not all(figure.holds for figure in figures)
    assert any("leaked" in fault for fault in faults)


def answer(**parts: object) -> CandidateSet:
    base = {
        "trace_id": "t" * 8,
        "catalog_version": "v",
        "tools_hash": "h",
        "outcome": OutcomeKind.NO_TOOL,
        "visible_tools": 1,
        "message": "nothing",
        "token_metrics": TokenMetrics(baseline=0, returned=0, savings_percent=0.0),
    }
    return CandidateSet(**{**base, **parts})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("parts", "leaked"),
    [
        ({}, ()),
        ({"message": "try vault.open instead"}, ("vault.open",)),
        ({"message": "the vault.opener is another name"}, ()),
        ({"near_misses": (NearMiss(ref="vault/vault.open@1", score=0.1),)}, ("vault/vault.open@1",)),
    ],
)
def test_leaks_are_whole_words_anywhere(parts: dict[str, object], leaked: tuple[str, ...]) -> None:
    telling = frozenset({"vault.open", "vault/vault.open@1"})
    assert leaked_names(answer(**parts), telling=telling) == leaked
    assert leaked_names(answer(**parts), telling=telling, request="vault.open vault/vault.open@1") == ()


def test_answers_are_compared_without_trace_and_times() -> None:
    one = answer(trace_id="a" * 8, timings_ms={"total": 1.0})
    assert comparable(one) == comparable(answer(trace_id="b" * 8))
    assert comparable(one) != comparable(answer(message="something"))


def test_order_changes_nothing_and_would_be_seen(scene: Scene) -> None:
    questions = [question("status of one order"), question("weather today")]
    assert measure_order(scene, questions, permutations=2) == (True, True)


def test_churn_is_the_share_of_changed_candidates(scene: Scene) -> None:
    with scene.index() as index:
        (still,) = measure_churn(index, [question("status of one order")], turns=4)
        assert len(still.changes) == 3
        assert all(0.0 <= change <= 1.0 for change in still.changes)
        again = measure_churn(index, [question("status of one order")], turns=4)
    assert again == (still,)


def test_worlds_are_made_of_their_seed(scene: Scene) -> None:
    one, same, other = (generate_world(CONTRACTS, seed=seed, principals=3, requests=3) for seed in (1, 1, 2))
    assert one == same
    assert one != other
    assert len(one.requests) == 3
    assert {asked.ref for asked in one.requests} <= {str(contract.ref) for contract in CONTRACTS}


def test_changed_contracts_have_their_own_fingerprint() -> None:
    before = CONTRACTS[0].fingerprint
    bare = without_boundaries(CONTRACTS[0])
    assert bare.capability.does_not == ()
    assert bare.fingerprint != before
    assert changed(CONTRACTS[0]).fingerprint == before


def test_world_guarantees_hold(scene: Scene) -> None:
    world = generate_world(CONTRACTS * 1, seed=3, principals=3, requests=4)
    report = world_guarantees(replace(scene, contracts=world.contracts, rules=world.rules), world)
    assert report.passed
    assert report.figure("interference_rate").measure.n == 12
    with pytest.raises(KeyError):
        report.figure("beauty")


CASES = """
name: small
cases:
  - {id: a, split: dev, input: status of one order, expect: {tool: orders.get}}
  - {id: b, split: test, input: weather today, expect: {tool: weather.today}}
  - {id: c, split: test, kind: permission, input: secret vault, expect: {not: [vault.orders]}}
  - {id: d, split: dev, kind: boundary, input: cancel one order for good, expect: {tool: orders.get}}
"""


def test_cases_give_every_figure(scene: Scene, tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(CASES)
    suites = load_cases(tmp_path / "small.yaml")
    report = starter_guarantees(scene, suites)
    assert report.passed
    assert report.figure("permission_accuracy").measure.mean == 1.0
    assert report.figure("destructive_above_read").measure.n == 3
    # The request of case d asks for the cancelling tool, and that stands on top.
    assert report.figure("destructive_above_read").measure.mean == pytest.approx(1 / 3)
    assert report.figure("destructive_above_read", part="split=test").measure.mean == 0.0
    names = {effect.name for effect in report.effects}
    assert {"negative_boundary_accuracy", "no_write_above_read"} <= names
    result = report.result()
    assert result.metrics["split=dev"]["negative_boundary_accuracy_without"].n == 1
    assert "| leaks | all | 0 |" in guarantees_markdown([report])
    assert starter_guarantees(scene, suites).result() == result


def test_paired_figures_count_common_cases_only(scene: Scene, tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(CASES)
    suites = load_cases(tmp_path / "small.yaml")
    with scene.index() as index:
        usual = ask(index, suites)
        silent = ask(index, suites, weights={"lexical": 0.0, "semantic": 0.0, "experience": 0.0}, kinds=("single",))
    assert [item.case.id for item in silent] == ["a", "b"]
    effects = {effect.part: effect for effect in paired("x", "words", usual, silent, kinds=("single", "boundary"))}
    assert effects["all"].gain.n == 2
    assert effects["all"].with_it.mean == 1.0
    # Nothing but the order of refs is left, by which orders.cancel stands first.
    assert effects["split=dev"].without.mean == 0.0
    assert effects["all"].gain.delta == effects["all"].with_it.mean - effects["all"].without.mean > 0
    assert clarify_accuracy(usual)[0].measure.n == 0
    assert destructive_above_read([], scene=scene)[0].measure.n == 0


def test_duties() -> None:
    assert Figure("x", "all", rate([False] * 4), must=0.0).holds
    assert not Figure("x", "all", rate([False, True]), must=0.0).holds
    assert Figure("x", "all", rate([]), must=1.0).holds


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_wilson_intervals_hold_the_share(hits: list[bool]) -> None:
    found = rate(hits)
    assert found.low is not None
    assert found.high is not None
    assert 0.0 <= found.low <= found.mean <= found.high <= 1.0
    assert found.low < found.high
    assert found.n == len(hits)


def test_wilson_interval_of_the_textbook() -> None:
    # 0 of 10: upper end z^2 / (n + z^2) = 0.2775.
    assert rate([False] * 10).high == pytest.approx(0.2775, abs=1e-4)
    assert rate([True] * 10).low == pytest.approx(0.7225, abs=1e-4)


def test_differences_are_paired() -> None:
    found = difference([1.0] * 8, [0.0] * 8)
    assert found.gains
    assert not found.costs
    assert found.delta == 1.0
    even = difference([1.0, 0.0], [0.0, 1.0])
    assert not even.gains
    assert not even.costs
