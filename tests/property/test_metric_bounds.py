"""Bounds and orders that every metric keeps."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.eval import metrics as m

TOOLS = [f"t{number}" for number in range(12)]

rankings = st.lists(st.sampled_from(TOOLS), unique=True, max_size=12)
needs = st.lists(
    st.lists(st.sampled_from(TOOLS), unique=True, min_size=1, max_size=3).map(tuple), min_size=1, max_size=5
)
cuts = st.integers(1, 12)
scores = st.lists(st.sampled_from([-np.inf, 0.0, 0.1, 0.25, 0.5, 1.0]), min_size=1, max_size=20).map(np.array)

CUT_METRICS = (m.recall, m.hit, m.completeness, m.ndcg, m.reciprocal_rank, m.average_precision)


@given(rankings, needs, cuts)
def test_every_metric_lies_in_zero_to_one(ranked, golds, k):
    ranks = m.gold_ranks(ranked, golds)
    for metric in CUT_METRICS:
        assert 0.0 <= metric(ranks, k) <= 1.0 + 1e-12
    assert 0.0 <= m.set_coverage(ranks) <= 1.0
    assert 0.0 <= m.set_precision(ranked, golds) <= 1.0
    assert 0 <= m.repeats(ranked, golds) <= len(ranked)


@given(rankings, needs, st.integers(1, 11))
def test_a_longer_cut_never_lowers_what_counts_found_tools(ranked, golds, k):
    ranks = m.gold_ranks(ranked, golds)
    for metric in (m.recall, m.hit, m.completeness, m.reciprocal_rank, m.average_precision):
        assert metric(ranks, k) <= metric(ranks, k + 1)


@given(rankings, needs, cuts, st.randoms(use_true_random=False))
def test_the_order_of_the_needed_tools_changes_nothing(ranked, golds, k, random):
    shuffled = [tuple(random.sample(group, len(group))) for group in random.sample(golds, len(golds))]
    for metric in CUT_METRICS:
        assert metric(m.gold_ranks(ranked, golds), k) == metric(m.gold_ranks(ranked, shuffled), k)


@given(st.permutations(TOOLS), st.integers(0, 11), st.integers(0, 11), cuts)
def test_swapping_two_unneeded_tools_changes_nothing(ranked, first, second, k):
    golds = [("t0",), ("t1",)]
    swapped = list(ranked)
    if ranked[first] not in {"t0", "t1"} and ranked[second] not in {"t0", "t1"}:
        swapped[first], swapped[second] = swapped[second], swapped[first]
    for metric in CUT_METRICS:
        assert metric(m.gold_ranks(ranked, golds), k) == metric(m.gold_ranks(swapped, golds), k)


@given(rankings, needs, st.integers(1, 11))
def test_moving_a_needed_tool_up_never_lowers_a_metric(ranked, golds, place):
    if place >= len(ranked) or not any(ranked[place] in group for group in golds):
        return
    raised = [*ranked[: place - 1], ranked[place], ranked[place - 1], *ranked[place + 1 :]]
    if any(ranked[place - 1] in group for group in golds):
        return
    before, after = m.gold_ranks(ranked, golds), m.gold_ranks(raised, golds)
    for metric in CUT_METRICS:
        assert metric(after, 10) >= metric(before, 10) - 1e-12


@given(needs)
def test_all_needed_first_is_perfect(golds):
    distinct = [(f"{number}-{group[0]}", *group) for number, group in enumerate(golds)]
    ranks = m.gold_ranks([group[0] for group in distinct], distinct)
    for metric in CUT_METRICS:
        assert metric(ranks, 12) == 1.0


@given(scores, scores)
def test_the_refusal_curve_rises_and_counts_what_it_says(none, answerable):
    curve = m.refusal_curve(none, answerable)
    assert np.all(np.diff(curve.refusals) >= 0)
    assert np.all(np.diff(curve.false_refusals) >= 0)
    for floor, refusals, false in zip(curve.floors, curve.refusals, curve.false_refusals, strict=True):
        assert refusals == np.mean((none < floor) | np.isneginf(none))
        assert false == np.mean((answerable < floor) | np.isneginf(answerable))


@given(scores, scores, st.floats(0, 1))
def test_the_chosen_floor_is_the_best_allowed(none, answerable, limit):
    curve = m.refusal_curve(none, answerable)
    refusal, false, _ = m.refusal_at(curve, max_false=limit)
    allowed = curve.refusals[curve.false_refusals <= limit]
    assert refusal == (allowed.max() if allowed.size else 0.0)
    assert false <= limit or allowed.size == 0


@given(scores, scores)
def test_separation_of_swapped_sides_is_the_complement(none, answerable):
    assert abs(m.separation(none, answerable) + m.separation(answerable, none) - 1.0) < 1e-12
