"""How likely it is that any tool fits at all.

Some requests need no tool: small talk, general knowledge, a poem, a lift to the station. A floor on similarity does not
tell them apart, as short requests for real tools score as low. So a request is also compared with a bank of requests
that need none (`no_tool.txt`: our own writing, English and Chinese), and the best tool has to stand out against it:

    confidence = 1 / (1 + exp(-STEEPNESS (relevance + margin - MIDDLE)))

Relevance and margin count alike, as a logistic regression on the train sets had it (8.6 and 8.6: requests with their
tools against the same requests with five others, and against the bank). Steepness and middle were chosen on dev sets.
The bank does not depend on the catalogue, so a hidden tool moves no confidence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from toolsearch.embed.protocol import EncoderInfo
from toolsearch.rank.recall import Probe, Recalled
from toolsearch.rank.rerank import Scored
from toolsearch.rank.signals import calibrate

STEEPNESS = 7.0
MIDDLE = 0.5
NEAREST = 2
"""Requests of the bank whose mean similarity counts: one alone may be near by chance."""


@cache
def no_tool_requests() -> tuple[str, ...]:
    """Return the requests of the bank, in order."""
    text = files("toolsearch.rank").joinpath("no_tool.txt").read_text(encoding="utf-8")
    return tuple(line for line in text.splitlines() if line)


def confidence(
    scored: Sequence[Scored],
    *,
    probes: Sequence[Probe],
    recalled: Recalled,
    encoder: EncoderInfo,
    bank: NDArray[np.float32] | None,
) -> float:
    """Return how likely the best tool fits the request, in [0, 1]; 0 where nothing was recalled.

    Args:
        scored: The documents, in any order.
        probes: The request, then its clauses.
        recalled: The numbers of every lane.
        encoder: Whose calibration maps cosines to [0, 1].
        bank: float32[n, dim], vectors of requests that need no tool; None = not compared.
    """
    if not scored:
        return 0.0
    best = max(scored, key=lambda item: (item.relevance, -item.doc_id))
    return logistic(best.relevance, margin=_margin(best, probes[0], recalled=recalled, encoder=encoder, bank=bank))


def logistic(relevance: float, *, margin: float) -> float:
    """Return the confidence for a relevance in [0, 1] and a margin over the bank in [-1, 1]."""
    return 1.0 / (1.0 + math.exp(-STEEPNESS * (relevance + margin - MIDDLE)))


def _margin(
    best: Scored, probe: Probe, *, recalled: Recalled, encoder: EncoderInfo, bank: NDArray[np.float32] | None
) -> float:
    """Return how much nearer the request is to the best tool than to the bank.

    Where only words were compared, relevance speaks alone. A tool that the request names, or that served such requests
    before, need not be nearer.
    """
    if probe.vector is None or bank is None:
        return best.relevance
    at = int(recalled.doc_ids.searchsorted(best.doc_id))
    own = max(float(recalled.contract_cosines[0, at]), float(recalled.example_cosines[0, at]))
    near = float(np.sort(bank @ probe.vector)[-NEAREST:].mean(dtype=np.float64))
    tool, none = calibrate(np.array([own, near]), encoder=encoder).tolist()
    margin = float(tool - none)
    return max(margin, 0.0) if best.evidence.named or best.evidence.past else margin
