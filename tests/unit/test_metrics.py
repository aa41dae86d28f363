"""Metrics against values computed by hand, and against trec_eval."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

from toolsearch.eval import metrics as m

INF = math.inf


def one_each(*ids):
    return [(tool,) for tool in ids]


def test_metrics_import_nothing_of_ours():
    code = "import sys, toolsearch.eval.metrics; print(*sorted(n for n in sys.modules if n.startswith('toolsearch')))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert loaded == ["toolsearch", "toolsearch.eval", "toolsearch.eval.metrics"]


def test_gold_ranks_are_sorted_first_ranks():
    ranks = m.gold_ranks(["x", "b", "y", "a", "b"], one_each("a", "b", "c"))
    assert ranks.tolist() == [2.0, 4.0, INF]


def test_an_alternative_counts_as_the_needed_tool_once():
    golds = [("a", "a2", "a3"), ("b",)]
    assert m.gold_ranks(["a3", "a2", "b"], golds).tolist() == [1.0, 3.0]
    assert m.recall(m.gold_ranks(["a3", "a2", "a"], golds), 3) == 0.5


def test_one_ranked_tool_for_two_needs_takes_two_places():
    ranks = m.gold_ranks(["c", "x"], [("a", "c"), ("b", "c")])
    assert ranks.tolist() == [1.0, 2.0]
    assert m.ndcg(ranks, 10) == 1.0


def test_an_empty_group_is_an_error():
    with pytest.raises(ValueError, match="no id"):
        m.gold_ranks(["a"], [()])


@pytest.mark.parametrize(
    ("k", "recall", "hit", "complete"), [(1, 0.0, 0.0, 0.0), (2, 1 / 3, 1.0, 0.0), (4, 2 / 3, 1.0, 0.0), (5, 1, 1, 1)]
)
def test_recall_hit_and_completeness(k, recall, hit, complete):
    ranks = m.gold_ranks(["x", "a", "y", "b", "c"], one_each("a", "b", "c"))
    assert m.recall(ranks, k) == pytest.approx(recall)
    assert m.hit(ranks, k) == hit
    assert m.completeness(ranks, k) == complete


def test_reciprocal_rank():
    ranks = np.array([4.0, INF])
    assert m.reciprocal_rank(ranks) == 0.25
    assert m.reciprocal_rank(ranks, 3) == 0.0
    assert m.reciprocal_rank(np.array([INF])) == 0.0


def test_ndcg_by_hand():
    # Found at 2 and 4 of three needed: (1/log2(3) + 1/log2(5)) / (1/log2(2) + 1/log2(3) + 1/log2(4)).
    ranks = np.array([2.0, 4.0, INF])
    expected = (1 / math.log2(3) + 1 / math.log2(5)) / (1 + 1 / math.log2(3) + 0.5)
    assert m.ndcg(ranks, 10) == pytest.approx(expected)
    # A cut below the number of needed tools: the ideal list is cut too.
    assert m.ndcg(np.array([1.0, 2.0, 3.0]), 2) == 1.0
    assert m.ndcg(np.array([INF]), 10) == 0.0


def test_average_precision_by_hand():
    ranks = np.array([1.0, 3.0, INF, INF])
    assert m.average_precision(ranks) == pytest.approx((1 / 1 + 2 / 3) / 4)
    assert m.average_precision(ranks, 2) == pytest.approx(1 / 4)


def test_set_metrics():
    golds = [("a", "a2"), ("b",)]
    ranks = m.gold_ranks(["x", "a2", "a"], golds)
    assert m.set_coverage(ranks) == 0.5
    assert m.set_precision(["x", "a2", "a"], golds) == pytest.approx(1 / 3)
    assert m.set_precision([], golds) == 0.0
    assert m.repeats(["x", "a2", "a", "b"], golds) == 1
    assert m.repeats(["x", "y"], golds) == 0


@pytest.mark.parametrize("metric", [m.recall, m.hit, m.completeness, m.ndcg])
def test_ranking_metrics_refuse_queries_without_a_tool_and_cuts_below_one(metric):
    with pytest.raises(ValueError, match="refusal"):
        metric(np.array([]), 5)
    with pytest.raises(ValueError, match="at least 1"):
        metric(np.array([1.0]), 0)


def test_refusal_curve_by_hand():
    curve = m.refusal_curve(np.array([0.1, 0.3, 0.6, -INF]), np.array([0.4, 0.5, 0.8, 0.9]))
    # A floor just above 0.3 (that is, 0.4) refuses three of four requests without a tool and none that needs one.
    at = curve.floors.tolist().index(0.4)
    assert (curve.refusals[at], curve.false_refusals[at]) == (0.75, 0.0)
    assert (curve.refusals[0], curve.false_refusals[0]) == (0.25, 0.0)
    assert (curve.refusals[-1], curve.false_refusals[-1]) == (1.0, 1.0)
    assert m.refusal_at(curve, max_false=0.02) == (0.75, 0.0, 0.4)
    assert m.refusal_at(curve, max_false=0.5) == (1.0, 0.5, 0.8)


def test_refusal_at_when_even_no_floor_refuses_too_much():
    curve = m.refusal_curve(np.array([0.5]), np.array([-INF, 0.9]))
    assert m.refusal_at(curve, max_false=0.1) == (0.0, 0.5, -INF)


def test_refusal_rate():
    assert m.refusal_rate([True, False, False, True]) == 0.5
    with pytest.raises(ValueError, match="at least one"):
        m.refusal_rate([])


def test_separation_is_the_share_of_rightly_ordered_pairs():
    # Pairs: (0.1, 0.2) right, (0.1, 0.1) tie, (0.5, 0.2) wrong, (0.5, 0.1) wrong.
    assert m.separation(np.array([0.1, 0.5]), np.array([0.2, 0.1])) == pytest.approx(1.5 / 4)


def test_refusal_scores_may_not_be_nan_or_missing():
    with pytest.raises(ValueError, match="NaN"):
        m.refusal_curve(np.array([np.nan]), np.array([1.0]))
    with pytest.raises(ValueError, match="empty"):
        m.separation(np.array([]), np.array([1.0]))


@pytest.mark.slow
def test_equal_to_trec_eval_on_random_rankings():
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec-eval-terrier is not installed: make test-all")
    rng = np.random.default_rng(7)
    tools = [f"t{number:03}" for number in range(60)]
    qrels, run, ours = {}, {}, {}
    for number in range(200):
        needed = rng.choice(tools, size=int(rng.integers(1, 6)), replace=False).tolist()
        ranked = rng.permutation(tools)[: int(rng.integers(1, 40))].tolist()
        query = f"q{number}"
        qrels[query] = dict.fromkeys(needed, 1)
        run[query] = {tool: float(len(ranked) - place) for place, tool in enumerate(ranked)}
        ranks = m.gold_ranks(ranked, one_each(*needed))
        ours[query] = {
            "recall_5": m.recall(ranks, 5),
            "success_1": m.hit(ranks, 1),
            "success_10": m.hit(ranks, 10),
            "recip_rank": m.reciprocal_rank(ranks),
            "ndcg_cut_10": m.ndcg(ranks, 10),
            "map": m.average_precision(ranks),
            "map_cut_10": m.average_precision(ranks, 10),
        }
    measures = {"recall.5", "success.1,10", "recip_rank", "ndcg_cut.10", "map", "map_cut.10"}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)
    for query, values in ours.items():
        assert values == pytest.approx(theirs[query], abs=1e-9), query
