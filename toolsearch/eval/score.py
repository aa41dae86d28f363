"""Qrels and a Run -> numbers: every metric of every query, means with intervals by slice, and refusal figures.

The same functions score our engine and any other system, so that two columns of a table differ in what was ranked and
in nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from toolsearch.eval import metrics
from toolsearch.eval.qrels import Qrels, Query
from toolsearch.eval.results import Measure, PairedComparison, RefusalFigures, SystemResult
from toolsearch.eval.roles import role_of
from toolsearch.eval.run import Run
from toolsearch.eval.significance import PairedTest, bootstrap_intervals, paired_randomisation

Floats = NDArray[np.float64]

DEPTH = 10
"""Ranking metrics look at the first 10 tools, so that systems that return no more can be compared."""

RANKING_METRICS: Mapping[str, Callable[[Floats], float]] = MappingProxyType(
    {
        **{f"recall@{k}": partial(metrics.recall, k=k) for k in (1, 3, 5, 10)},
        **{f"hit@{k}": partial(metrics.hit, k=k) for k in (1, 3, 5, 10)},
        **{f"complete@{k}": partial(metrics.completeness, k=k) for k in (5, 10)},
        f"mrr@{DEPTH}": partial(metrics.reciprocal_rank, k=DEPTH),
        f"ndcg@{DEPTH}": partial(metrics.ndcg, k=DEPTH),
        f"map@{DEPTH}": partial(metrics.average_precision, k=DEPTH),
    }
)
"""Metric name -> function of the gold ranks of one query."""

SET_METRICS = ("set_coverage", "set_precision", "set_repeats", "set_size")
"""Metrics of the answer as a set.

Share of needs met, share of tools that meet one, tools that repeat, tools in all.
"""

SLICES = ("kind", "lang", "split")
MAX_FALSE_REFUSALS = 0.02
CURVE_POINTS = 101
"""Most points of a refusal curve that are kept in a record."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Values of every metric for the queries that need a tool.

    Attributes:
        queries: The queries, in qrels order.
        names: Metric names, one a column.
        values: float64[n_queries, n_names].
    """

    queries: tuple[Query, ...]
    names: tuple[str, ...]
    values: Floats

    def column(self, name: str) -> Floats:
        """Return float64[n_queries], the values of one metric."""
        return self.values[:, self.names.index(name)]


def score_queries(qrels: Qrels, run: Run, *, answers: Run | None = None) -> Scores:
    """Score every query that needs a tool; one that the run does not have counts as an empty ranking.

    Args:
        qrels: The labels.
        run: The ranking of each query.
        answers: The answer sets, where a system gives those beside its ranking; adds `SET_METRICS`.
    """
    needing = tuple(query for query in qrels.queries if query.golds)
    names = (*RANKING_METRICS, *(SET_METRICS if answers is not None else ()))
    values = np.zeros((len(needing), len(names)))
    for row, query in enumerate(needing):
        ranks = metrics.gold_ranks(run.ranked(query.id), query.golds)
        found = [metric(ranks) for metric in RANKING_METRICS.values()]
        if answers is not None:
            found += _set_values(answers.ranked(query.id), query)
        values[row] = found
    return Scores(needing, names, values)


def system_result(
    qrels: Qrels,
    run: Run,
    *,
    answers: Run | None = None,
    refused: Mapping[str, bool] | None = None,
    confidence: Mapping[str, float] | None = None,
    seed: int = 0,
) -> tuple[SystemResult, Scores]:
    """Return the record of a run, whoever made it, and the scores it is made of.

    What only the one who ran it knows (settings, latency, build time, memory, environment) is added with `model_copy`.

    Args:
        qrels: The labels.
        run: The ranking of each query; its system names the record.
        answers: The answer sets, where a system gives those beside its ranking.
        refused: Query id -> whether the system answered that no tool fits; None = it cannot.
        confidence: Query id -> how sure the system is that any tool fits; None = its best score says so.
        seed: Seed of the intervals.
    """
    scores = score_queries(qrels, run, answers=answers)
    roles = sorted({role_of(qrels.name, query.split) for query in qrels.queries})
    result = SystemResult(
        system=run.system,
        dataset=qrels.name,
        role=", ".join(roles),
        seed=seed,
        data_sha256=dict(qrels.sha256),
        tools=len(qrels.tool_ids),
        queries=len(qrels.queries),
        metrics=measures(scores, seed=seed),
        refusal=refusal_figures(qrels, run, refused=refused, confidence=confidence),
    )
    return result, scores


def comparison(first: Scores, second: Scores, *, other: str, metric: str, seed: int = 0) -> PairedComparison:
    """Return the record of `compare`, for the result of the first system."""
    test = compare(first, second, metric, seed=seed)
    return PairedComparison(other=other, metric=metric, delta=test.delta, p_value=test.p_value, n=test.n)


def measures(scores: Scores, *, seed: int = 0) -> dict[str, dict[str, Measure]]:
    """Return slice -> metric -> mean with its 95 % bootstrap interval.

    Slices are `all` and, where a property has several values, `kind=`, `lang=` and `split=` each of them.
    """
    table: dict[str, dict[str, Measure]] = {}
    for name, rows in _slices(scores.queries).items():
        intervals = bootstrap_intervals(scores.values[rows], seed=seed)
        table[name] = {metric: Measure.of(found) for metric, found in zip(scores.names, intervals, strict=True)}
    return table


def refusal_figures(
    qrels: Qrels,
    run: Run,
    *,
    refused: Mapping[str, bool] | None = None,
    confidence: Mapping[str, float] | None = None,
) -> RefusalFigures | None:
    """Return how well a system tells requests without a tool from the others; None where there is nothing to tell.

    Without requests of one sort only the figures of the other are there.

    Args:
        qrels: The labels; queries of kind `none` need no tool.
        run: The ranking of each query; its best score is what a floor is laid on.
        confidence: Query id -> what a floor is laid on instead: how sure a system is that any tool fits.
        refused: Query id -> whether the system itself answered that no tool fits; None = it never does.
    """
    none = [query.id for query in qrels.queries if query.kind == "none"]
    answerable = [query.id for query in qrels.queries if query.kind != "none"]
    if not none and refused is None:
        return None
    own, own_false = (_rate(queries, refused) for queries in (none, answerable))
    if not none or not answerable:
        return RefusalFigures(
            none=len(none), answerable=len(answerable), refusal_rate=own, false_refusal_rate=own_false
        )
    sure = run.best_score if confidence is None else confidence.__getitem__
    scores = [np.array([sure(query) for query in queries]) for queries in (none, answerable)]
    curve = metrics.refusal_curve(*scores)
    best, false, floor = metrics.refusal_at(curve, max_false=MAX_FALSE_REFUSALS)
    return RefusalFigures(
        none=len(none),
        answerable=len(answerable),
        refusal_rate=own,
        false_refusal_rate=own_false,
        refusal_at_limit=best,
        false_refusal_at_limit=false,
        floor_at_limit=floor if math.isfinite(floor) else None,
        separation=metrics.separation(*scores),
        curve=_thinned(curve),
    )


def compare(first: Scores, second: Scores, metric: str, *, seed: int = 0) -> PairedTest:
    """Test whether two systems differ in a metric on the queries both were scored on.

    Raises:
        ValueError: If they share no query, or one does not have the metric.
    """
    place = {query.id: row for row, query in enumerate(second.queries)}
    pairs = [(row, place[query.id]) for row, query in enumerate(first.queries) if query.id in place]
    if not pairs or metric not in first.names or metric not in second.names:
        raise ValueError(f"the two systems share no query, or one was not scored by {metric!r}")
    rows, others = zip(*pairs, strict=True)
    return paired_randomisation(first.column(metric)[list(rows)], second.column(metric)[list(others)], seed=seed)


def _thinned(curve: metrics.RefusalCurve) -> tuple[tuple[float, float], ...]:
    """Return at most `CURVE_POINTS` points of a curve, evenly spread, both ends among them."""
    wanted = np.unique(np.linspace(0, curve.floors.size - 1, CURVE_POINTS).round().astype(np.int64))
    return tuple(zip(curve.false_refusals[wanted].tolist(), curve.refusals[wanted].tolist(), strict=True))


def _set_values(answer: Sequence[str], query: Query) -> list[float]:
    return [
        metrics.set_coverage(metrics.gold_ranks(answer, query.golds)),
        metrics.set_precision(answer, query.golds),
        float(metrics.repeats(answer, query.golds)),
        float(len(answer)),
    ]


def _slices(queries: Sequence[Query]) -> dict[str, list[int]]:
    """Return slice name -> rows; a property with one value only makes no slice beside `all`."""
    slices = {"all": list(range(len(queries)))} if queries else {}
    for name in SLICES:
        values = sorted({str(getattr(query, name)) for query in queries})
        for value in values if len(values) > 1 else ():
            slices[f"{name}={value}"] = [row for row, query in enumerate(queries) if getattr(query, name) == value]
    return slices


def _rate(queries: Sequence[str], refused: Mapping[str, bool] | None) -> float | None:
    if refused is None or not queries:
        return None
    return metrics.refusal_rate([refused.get(query, False) for query in queries])
