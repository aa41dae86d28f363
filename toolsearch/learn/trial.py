"""Trials: requests of a log asked of a workbench under a model, and what that is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from toolsearch.engine.models import Figures
from toolsearch.engine.workbench import Workbench
from toolsearch.learn.log import Log
from toolsearch.model.request import Principal, SearchRequest
from toolsearch.search.rank.tuned import TunedModel

DEPTH = 10

_SUBJECT = "toolsearch-train"
"""Who asks: none of those that the log is of, so that nobody's past requests count in full."""


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """What the answers to some requests are worth; like requests count as one.

    Attributes:
        mrr: float64[groups], 1 / rank of the first right tool, 0 beyond `DEPTH`.
        recall_1: float64[groups], share of the right tools that stand first.
        recall_5: float64[groups], share of the right tools among the first five.
    """

    mrr: NDArray[np.float64]
    recall_1: NDArray[np.float64]
    recall_5: NDArray[np.float64]

    @property
    def figures(self) -> Figures:
        """Return the means."""
        return Figures(
            mrr=float(self.mrr.mean()), recall_1=float(self.recall_1.mean()), recall_5=float(self.recall_5.mean())
        )

    @property
    def worth(self) -> float:
        """Return the number that choices go by: the mean of MRR and recall at 5."""
        return float(self.mrr.mean() + self.recall_5.mean()) / 2.0


def measured(bench: Workbench, model: TunedModel, log: Log, places: Sequence[int], *, at: datetime) -> Values:
    """Ask the requests at some places of a log under a model.

    Args:
        bench: What is asked.
        model: Serves meanwhile.
        log: The log.
        places: Positions in it, at least one.
        at: The moment of every request.
    """
    bench.serve(model)
    rows = [_values(bench, log, place, at=at) for place in places]
    groups = log.groups[list(places)]
    _, inverse = np.unique(groups, return_inverse=True)
    counts = np.bincount(inverse)
    table = np.asarray(rows, dtype=np.float64)
    return Values(*(np.bincount(inverse, weights=table[:, column]) / counts for column in range(3)))


def _values(bench: Workbench, log: Log, place: int, *, at: datetime) -> tuple[float, float, float]:
    asked = log.asked[place]
    principal = Principal(subject=_SUBJECT, tenant=asked.tenant)
    found = [ref for ref, _ in bench.rank(SearchRequest(text=asked.text, now=at), principal=principal, depth=DEPTH)]
    ranks = [found.index(gold) for gold in asked.golds if gold in found]
    return (
        1.0 / (min(ranks) + 1) if ranks else 0.0,
        sum(rank < 1 for rank in ranks) / len(asked.golds),
        sum(rank < 5 for rank in ranks) / len(asked.golds),
    )
