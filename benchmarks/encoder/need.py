"""Does a request ask for a tool at all? A logistic regression on its vector.

Fitted on our own requests that need no tool against requests that do: of the labelled train sets and of our own.
The encoder's manifest carries the weights, so that reading the need of a request costs one product.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.encoder.asked import asked_rows, foreign_requests, needless_requests
from benchmarks.encoder.crosslingual import parallel_rows
from benchmarks.encoder.measure import Encode
from benchmarks.encoder.records import FIT_SETS, read_requests
from toolsearch.search.rank.confidence import no_tool_requests

PENALTY: Final = 1e-4
"""Of the squared weights: chosen on the held-out requests and the dev sets, flat from 3e-5 to 3e-4."""

LABELLED, OWN = 250, 1_500
"""Requests of each labelled set, and own rows (of two requests each), that are fitted on."""

MAX_CHARACTERS: Final = 1_500
STEPS: Final = 30


def fit_need(data: Path, encode: Encode, *, seed: int) -> NDArray[np.float64]:
    """Return float64[dim + 1], weights and bias of the log odds that a request asks for a tool."""
    rng = random.Random(seed)
    asking: list[str] = []
    for name in FIT_SETS:
        texts = [request.text[:MAX_CHARACTERS] for request in read_requests(data, name)]
        rng.shuffle(texts)
        asking += texts[:LABELLED]
    rows = [row for row in asked_rows() if not row.held_out]
    rng.shuffle(rows)
    asking += [text for row in rows[:OWN] for text in row.asks]
    asking += [text for row in parallel_rows() if not row.held_out for text in row.asks]
    needless = [request.text for request in needless_requests() if not request.held_out] + list(no_tool_requests())
    foreign = [request for request in foreign_requests() if not request.held_out]
    asking += [request.text for request in foreign if request.key]
    needless += [request.text for request in foreign if not request.key]
    return logistic_regression(encode(asking), encode(needless), penalty=PENALTY)


def logistic_regression(
    positives: NDArray[np.float32], negatives: NDArray[np.float32], *, penalty: float
) -> NDArray[np.float64]:
    """Return float64[dim + 1], weights and bias; the two classes count alike. Newton's method.

    Args:
        positives: float32[n, dim].
        negatives: float32[m, dim].
        penalty: Half the weight of the squared weights, the bias left out.
    """
    rows = np.concatenate([positives, negatives]).astype(np.float64)
    inputs = np.column_stack([rows, np.ones(len(rows))])
    label = np.concatenate([np.ones(len(positives)), np.zeros(len(negatives))])
    share = np.where(label == 1, 0.5 / len(positives), 0.5 / len(negatives))
    ridge = penalty * np.diag(np.append(np.ones(rows.shape[1]), 0.0))
    weights = np.zeros(inputs.shape[1])
    for _ in range(STEPS):
        chance = 1.0 / (1.0 + np.exp(-inputs @ weights))
        slope = inputs.T @ (share * (chance - label)) + ridge @ weights
        curvature = (inputs.T * (share * chance * (1.0 - chance))) @ inputs + ridge
        weights -= np.linalg.solve(curvature + 1e-9 * np.eye(len(weights)), slope)
    return weights
