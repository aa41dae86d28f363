"""Metrics of ranked lists, of answer sets and of refusals, as pure functions over numpy arrays.

Everything about a ranking starts from `gold_ranks`: the first rank at which each needed tool is found. A tool
counts as found when it or one of its accepted alternatives is found, and counts once. This module imports
nothing of toolsearch, so that its numbers can be checked, and used, without it.

Relevance is binary. A query that needs no tool has no gold and belongs to the refusal metrics; the ranking
metrics refuse an empty array instead of inventing a value for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def gold_ranks(ranked: Sequence[str], golds: Sequence[Sequence[str]]) -> Floats:
    """Return the 1-based rank at which each needed tool is first found.

    Args:
        ranked: Tool ids, best first. A repeated id keeps its first rank.
        golds: One group of ids for each needed tool: the tool and its accepted alternatives.

    Returns:
        float64[len(golds)], ascending; inf = not found. Where one ranked tool is right for several needed
        ones, the later
        of them take the following ranks, so that no position is worth more than one tool and no metric
        exceeds 1.

    Raises:
        ValueError: If a group is empty.
    """
    position: dict[str, int] = {}
    for rank, tool in enumerate(ranked, start=1):
        position.setdefault(tool, rank)
    found = []
    for group in golds:
        if not group:
            raise ValueError("a needed tool has no id; each group of golds names at least one")
        found.append(min((position[tool] for tool in group if tool in position), default=np.inf))
    ranks = np.sort(np.asarray(found, dtype=np.float64))
    # Strictly rising: rank_i = max(rank_i, rank_(i-1) + 1), in closed form.
    steps = np.arange(ranks.size)
    return np.maximum.accumulate(ranks - steps) + steps


def recall(ranks: Floats, k: int) -> float:
    """Return Recall@k: the share of needed tools among the first k.

    `|needed found in the first k| / |needed|` (Manning, Raghavan and Schuetze, Introduction to Information
    Retrieval,
    2008, section 8.4).

    Args:
        ranks: float64[n_gold] from `gold_ranks`, n_gold >= 1.
        k: Cut, at least 1.
    """
    _check(ranks, k)
    return float(np.count_nonzero(ranks <= k) / ranks.size)


def hit(ranks: Floats, k: int) -> float:
    """Return hit@k: 1.0 when any needed tool is among the first k, else 0.0."""
    _check(ranks, k)
    return float(ranks[0] <= k)


def completeness(ranks: Floats, k: int) -> float:
    """Return C@k: 1.0 when every needed tool is among the first k, else 0.0.

    The COMP@K of Qu et al., "Towards Completeness-Oriented Tool Retrieval for Large Language Models", CIKM
    2024.
    """
    _check(ranks, k)
    return float(ranks[-1] <= k)


def reciprocal_rank(ranks: Floats, k: int | None = None) -> float:
    """Return 1 / rank of the first needed tool, 0.0 when none is found; its mean over queries is MRR.

    Voorhees, "The TREC-8 Question Answering Track Report", 1999.

    Args:
        ranks: float64[n_gold], n_gold >= 1.
        k: Cut; None looks at the whole list.
    """
    _check(ranks, 1 if k is None else k)
    return 0.0 if k is not None and ranks[0] > k else float(1.0 / ranks[0])


def ndcg(ranks: Floats, k: int) -> float:
    """Return nDCG@k with binary gains.

    `DCG@k = sum over found tools of 1 / log2(rank + 1)`, divided by the DCG of a list that starts with all
    needed tools
    (Jarvelin and Kekalainen, "Cumulated Gain-Based Evaluation of IR Techniques", ACM TOIS 20(4), 2002; the
    discount is that of
    trec_eval's ndcg_cut).
    """
    _check(ranks, k)
    ideal = np.arange(1, min(ranks.size, k) + 1)
    return float(_discount(ranks[ranks <= k]).sum() / _discount(ideal).sum())


def average_precision(ranks: Floats, k: int | None = None) -> float:
    """Return average precision: precision at the rank of each found tool, summed, over the number of needed tools.

    `AP = 1/|needed| * sum_i i / rank_i`; its mean over queries is MAP (Buckley and Voorhees, SIGIR 2000).

    Args:
        ranks: float64[n_gold], n_gold >= 1.
        k: Cut; None looks at the whole list. The denominator stays |needed|, as in trec_eval's map_cut.
    """
    _check(ranks, 1 if k is None else k)
    found = ranks[ranks <= (np.inf if k is None else k)]
    found = found[np.isfinite(found)]
    return float((np.arange(1, found.size + 1) / found).sum() / ranks.size)


def set_coverage(ranks: Floats) -> float:
    """Return the share of needed tools anywhere in the answer set: Recall without a cut."""
    _check(ranks, 1)
    return float(np.count_nonzero(np.isfinite(ranks)) / ranks.size)


def set_precision(answer: Sequence[str], golds: Sequence[Sequence[str]]) -> float:
    """Return the share of an answer set whose tools each serve a need that no earlier one serves; 0.0 if empty."""
    useful, _ = _served(answer, golds)
    return useful / len(answer) if answer else 0.0


def repeats(answer: Sequence[str], golds: Sequence[Sequence[str]]) -> int:
    """Return how many tools of an answer set only do again what earlier ones of it do.

    Such a tool is right for a need that is already served and for none that is not: it takes a place in the prompt
    without adding an ability.
    """
    return _served(answer, golds)[1]


@dataclass(frozen=True, slots=True)
class RefusalCurve:
    """What a floor on the best score refuses, for every floor that changes anything.

    Attributes:
        floors: float64[n], ascending; a request is refused when its best score is below the floor. The last
            is inf.
        refusals: float64[n] in [0, 1], share of the requests that need no tool and are refused (higher is
            better).
        false_refusals: float64[n] in [0, 1], share of the requests that need a tool and are refused (lower is
            better).
    """

    floors: Floats
    refusals: Floats
    false_refusals: Floats


def refusal_rate(refused: Sequence[bool] | NDArray[np.bool_]) -> float:
    """Return the share of requests that were refused; for requests that need a tool it is the false refusal rate.

    Raises:
        ValueError: If there is no request.
    """
    if len(refused) == 0:
        raise ValueError("a refusal rate needs at least one request")
    return float(np.mean(np.asarray(refused, dtype=np.float64)))


def refusal_curve(none_scores: Floats, answerable_scores: Floats) -> RefusalCurve:
    """Return refusals against false refusals for every useful floor.

    Args:
        none_scores: float64[n] best score of each request that needs no tool, -inf = already refused; n >= 1.
        answerable_scores: float64[m] the same for requests that need one; m >= 1.

    Raises:
        ValueError: If one side is empty or holds NaN.
    """
    none, answerable = _scores(none_scores, "none_scores"), _scores(answerable_scores, "answerable_scores")
    floors = np.unique(np.concatenate([none, answerable, [-np.inf, np.inf]]))
    # -inf means refused at every floor, also at the floor -inf itself.
    refusals = _below(none, floors)
    return RefusalCurve(floors, refusals, _below(answerable, floors))


def refusal_at(curve: RefusalCurve, *, max_false: float = 0.02) -> tuple[float, float, float]:
    """Return (refusal rate, false refusal rate, floor) of the best floor with at most `max_false` false refusals.

    The lowest floor wins among equals. (0.0, false refusals, -inf) tells that even without a floor more is
    refused falsely.
    """
    allowed = np.flatnonzero(curve.false_refusals <= max_false)
    if allowed.size == 0:
        return 0.0, float(curve.false_refusals[0]), float(-np.inf)
    best = allowed[int(np.argmax(curve.refusals[allowed]))]
    return float(curve.refusals[best]), float(curve.false_refusals[best]), float(curve.floors[best])


def separation(none_scores: Floats, answerable_scores: Floats) -> float:
    """Return the probability that a request that needs a tool scores above one that does not, ties counting half.

    The area under the refusal curve (Mann and Whitney, 1947): 0.5 = the score says nothing, 1.0 = some floor
    is perfect.

    Args:
        none_scores: float64[n], n >= 1, no NaN.
        answerable_scores: float64[m], m >= 1, no NaN.
    """
    none, answerable = np.sort(_scores(none_scores, "none_scores")), _scores(answerable_scores, "answerable_scores")
    below = np.searchsorted(none, answerable, side="left")
    up_to = np.searchsorted(none, answerable, side="right")
    return float((below + up_to).sum() / (2.0 * none.size * answerable.size))


def _served(answer: Sequence[str], golds: Sequence[Sequence[str]]) -> tuple[int, int]:
    """Return how many tools serve a new need, and how many only needs that are served already."""
    served: set[int] = set()
    useful = repeated = 0
    for tool in answer:
        needs = {index for index, group in enumerate(golds) if tool in group}
        useful += not needs <= served
        repeated += bool(needs) and needs <= served
        served |= needs
    return useful, repeated


def _check(ranks: Floats, k: int) -> None:
    if ranks.size == 0:
        raise ValueError("a ranking metric needs at least one needed tool; use the refusal metrics")
    if k < 1:
        raise ValueError(f"k is {k}; it must be at least 1")


def _discount(ranks: NDArray[np.floating] | NDArray[np.integer]) -> Floats:
    return 1.0 / np.log2(np.asarray(ranks, dtype=np.float64) + 1.0)


def _scores(values: Floats, name: str) -> Floats:
    scores = np.asarray(values, dtype=np.float64)
    if scores.size == 0:
        raise ValueError(f"{name} is empty; refusals are measured on requests of both sorts")
    if np.isnan(scores).any():
        raise ValueError(f"{name} holds NaN; a refused request has the score -inf")
    return scores


def _below(scores: Floats, floors: Floats) -> Floats:
    ordered = np.sort(scores)
    refused = np.count_nonzero(np.isneginf(ordered))
    return np.maximum(np.searchsorted(ordered, floors, side="left"), refused) / ordered.size
