"""The score: what it is made of, in both profiles."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from toolsearch.model.limits import PROFILES
from toolsearch.model.reasons import ReasonCode, Why
from toolsearch.model.request import SIGNAL_NAMES
from toolsearch.search.inputs.readiness import Readiness
from toolsearch.search.rank.rerank import CONTEXT_SIGNALS, Evidence, Scored, rerank, score
from toolsearch.search.rank.signals import Signal

CODES = dict(
    zip(
        SIGNAL_NAMES,
        (
            ReasonCode.MEANING_MATCH,
            ReasonCode.TEXT_MATCH,
            ReasonCode.SIMILAR_REQUEST,
            ReasonCode.INPUTS_READY,
            ReasonCode.RELIABLE,
            ReasonCode.FRESH_ENOUGH,
            ReasonCode.CHEAP,
        ),
        strict=True,
    )
)
VALUES = dict(zip(SIGNAL_NAMES, (0.8, 0.5, 0.2, 1.0, 0.9, 0.6, 0.3), strict=True))
ALL = frozenset({"semantic", "lexical", "experience"})


def evidence(
    values: dict[str, float] | None = None,
    *,
    doc_id: int = 0,
    spoke: Iterable[str] = ALL,
    named: float | None = None,
    penalties: tuple[float, ...] = (),
) -> Evidence:
    shown = values or VALUES
    return Evidence(
        doc_id=doc_id,
        signals={name: Signal(shown[name], lambda name=name: Why(CODES[name], name)) for name in SIGNAL_NAMES},
        spoke=frozenset(spoke),
        named=None if named is None else (named, Why(ReasonCode.EXACT_NAME, "named")),
        penalties=tuple(
            (f"penalty_{at}", share, lambda: Why(ReasonCode.NEGATIVE_BOUNDARY, "no"))
            for at, share in enumerate(penalties)
        ),
        notes=(Why(ReasonCode.COVERS_CLAUSE, "step"),),
        cautions=(Why(ReasonCode.APPROVAL_REQUIRED, "ask"),),
        readiness=Readiness(1.0, 0, {}, ()),
        clauses=(),
    )


def scored(profile: str, given: Evidence, **overrides: float) -> Scored:
    chosen = PROFILES[profile]
    return score(given, profile=chosen, weights=chosen.with_overrides(overrides))  # type: ignore[arg-type]


def total(item: Scored) -> float:
    return sum(part.contribution for part in item.signals.values())


@pytest.mark.parametrize("profile", ["seed", "default"])
@pytest.mark.parametrize("spoke", [ALL, {"lexical"}, {"semantic", "experience"}, set()])
@pytest.mark.parametrize("named", [None, 0.75, 0.95])
@pytest.mark.parametrize("penalties", [(), (0.6,), (0.6, 0.1), (1.0,)])
def test_contributions_sum_to_the_score(profile: str, spoke: Any, named: float | None, penalties: Any) -> None:
    item = scored(profile, evidence(spoke=spoke, named=named, penalties=penalties))
    assert total(item) == pytest.approx(item.score, abs=1e-12)
    assert 0.0 <= item.score <= 1.0
    explained = item.explanation(title="x")
    assert sum(part.value for part in explained.details) == pytest.approx(explained.value, abs=1e-12)


def test_the_seed_profile_is_the_weighted_mean_of_the_seed() -> None:
    expected = 0.30 * 0.8 + 0.20 * 0.5 + 0.20 * 1.0 + 0.15 * 0.9 + 0.10 * 0.6 + 0.05 * 0.3
    assert scored("seed", evidence()).score == pytest.approx(expected)


def test_the_gated_profile_scales_context_by_relevance() -> None:
    weights = {"semantic": 0.5, "lexical": 0.3, "experience": 0.2, "input_readiness": 0.1, "reliability": 0.1}
    rest = {"freshness": 0.0, "cost": 0.0}
    relevance = 0.5 * 0.8 + 0.3 * 0.5 + 0.2 * 0.2
    item = scored("default", evidence(), **weights, **rest)
    assert item.relevance == pytest.approx(relevance)
    assert item.score == pytest.approx(relevance * (1 + 0.1 * 1.0 + 0.1 * 0.9) / 1.2)


def test_context_cannot_lift_an_irrelevant_tool() -> None:
    nothing = dict.fromkeys(SIGNAL_NAMES, 0.0)
    ready = {**nothing, **dict.fromkeys(CONTEXT_SIGNALS, 1.0)}
    assert scored("default", evidence(ready)).score == 0.0
    assert scored("seed", evidence(ready)).score == pytest.approx(0.5)


def test_a_lane_that_abstains_takes_its_weight_with_it() -> None:
    item = scored("default", evidence(spoke={"lexical"}))
    assert item.relevance == pytest.approx(0.5)
    assert item.signals["semantic"].contribution == item.signals["semantic"].weight == 0.0
    seed = scored("seed", evidence(spoke={"lexical"}))
    context = 0.20 * 1.0 + 0.15 * 0.9 + 0.10 * 0.6 + 0.05 * 0.3
    assert seed.score == pytest.approx((0.2 * 0.5 + context) / 0.7)


def test_overrides_replace_single_weights() -> None:
    only_words = {name: 0.0 for name in SIGNAL_NAMES if name != "lexical"}
    for profile in PROFILES:
        assert scored(profile, evidence(), **only_words).score == pytest.approx(0.5)
        assert scored(profile, evidence(), **dict.fromkeys(SIGNAL_NAMES, 0.0)).score == 0.0
    assert PROFILES["default"].with_overrides({"cost": 3})["cost"] == 3.0


@pytest.mark.parametrize("profile", ["seed", "default"])
def test_a_named_tool_is_at_least_as_relevant_as_its_name_says(profile: str) -> None:
    item = scored(profile, evidence(named=0.95))
    assert item.relevance == pytest.approx(0.95)
    assert item.score > scored(profile, evidence()).score
    assert item.reasons()[0].code is ReasonCode.EXACT_NAME
    better = scored(profile, evidence({**VALUES, "semantic": 1.0}, named=0.95))
    assert better.score >= item.score - 1e-12


def test_penalties_take_shares_one_after_the_other() -> None:
    whole = scored("default", evidence())
    item = scored("default", evidence(penalties=(0.5, 0.1)))
    assert item.score == pytest.approx(whole.score * 0.5 * 0.9)
    assert item.relevance == pytest.approx(whole.relevance * 0.5 * 0.9)
    assert item.signals["penalty_0"].contribution == pytest.approx(-0.5 * whole.score)
    assert [caution.code for caution in item.cautions()] == [
        ReasonCode.NEGATIVE_BOUNDARY,
        ReasonCode.NEGATIVE_BOUNDARY,
        ReasonCode.APPROVAL_REQUIRED,
    ]


def test_reasons_come_by_contribution_and_leave_silent_signals_out() -> None:
    item = scored("seed", evidence(spoke={"lexical"}))
    codes = [reason.code for reason in item.reasons()]
    assert codes[0] is ReasonCode.COVERS_CLAUSE
    told = [name for name in SIGNAL_NAMES if CODES[name] in codes]
    assert told == ["lexical", *CONTEXT_SIGNALS]
    sizes = [item.signals[name].contribution for code in codes[1:] for name in told if CODES[name] is code]
    assert sizes == sorted(sizes, reverse=True)


def test_ties_are_broken_by_document() -> None:
    chosen = PROFILES["default"]
    items = rerank(
        [7, 3, 5],
        evidence=lambda doc_id: evidence({**VALUES, "semantic": 0.9 if doc_id == 5 else 0.1}, doc_id=doc_id),
        profile=chosen,
        weights=chosen.with_overrides({}),
    )
    assert [item.doc_id for item in items] == [5, 3, 7]
