"""How likely it is that any tool fits at all.

Some requests need no tool: small talk, general knowledge, a poem, a lift to the station. A floor on similarity does not
tell them apart, as short requests for real tools score as low. So the request itself is asked whether it wants a tool:

    confidence = 1 / (1 + exp(-(RELEVANCE relevance + NEARNESS nearness + need - OFFSET)))

Relevance and nearness (calibrated cosine with the whole request) are those of the most relevant tool. Need is the log
odds that the request asks for a tool: a logistic regression on its vector, whose weights the bundled encoder brings
along; for other encoders, how far the request is from a bank of requests that need none (`no_tool.txt`: our own
writing, English and Chinese). The three were weighed by a logistic regression on train sets: requests over their
catalogue and over a few tools, against the same requests over three others and against requests that need none. It
gives both classes even odds; OFFSET adds odds of about ten to one that a request of an agent asks for a tool. Only the
best tool counts, so a hidden tool moves no confidence.
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

RELEVANCE = 9.6
NEARNESS = 9.0
OFFSET = 7.1

NEAREST = 2
"""Requests of the bank whose mean similarity counts: one alone may be near by chance."""

FAR, SLOPE = 4.0, 9.0
"""Need by the bank: so much where nothing in it is like the request, less the slope times the similarity."""

SAID = 3.0
"""Least need of a request that names the best tool, or that it has served before."""

UNREAD = 5.0
"""Need of a request whose meaning was not compared: only relevance speaks."""


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
        bank: float32[n, dim], vectors of requests that need no tool, for encoders that do not read the need; None =
            not compared.
    """
    if not scored:
        return 0.0
    best = max(scored, key=lambda item: (item.relevance, -item.doc_id))
    vector = probes[0].vector
    if vector is None or (bank is None and not encoder.need):
        return logistic(best.relevance, nearness=best.relevance, need=UNREAD)
    need = _read_need(vector, encoder) if bank is None else _need_by_bank(vector, encoder, bank)
    if best.evidence.named or best.evidence.past:
        need = max(need, SAID)
    at = int(recalled.doc_ids.searchsorted(best.doc_id))
    cosine = max(float(recalled.contract_cosines[0, at]), float(recalled.example_cosines[0, at]))
    return logistic(best.relevance, nearness=_similarity(cosine, encoder), need=need)


def logistic(relevance: float, *, nearness: float, need: float) -> float:
    """Return the confidence for a relevance and a nearness in [0, 1] and log odds of need."""
    return 1.0 / (1.0 + math.exp(OFFSET - RELEVANCE * relevance - NEARNESS * nearness - need))


def _read_need(vector: NDArray[np.float32], encoder: EncoderInfo) -> float:
    """Return the log odds that the request with a vector asks for a tool."""
    *weights, bias = encoder.need
    return float(vector.astype(np.float64) @ np.array(weights)) + bias


def _need_by_bank(vector: NDArray[np.float32], encoder: EncoderInfo, bank: NDArray[np.float32]) -> float:
    """Return the same for an encoder that brings no weights."""
    near = float(np.sort(bank @ vector)[-NEAREST:].mean(dtype=np.float64))
    return FAR - SLOPE * _similarity(near, encoder)


def _similarity(cosine: float, encoder: EncoderInfo) -> float:
    return float(calibrate(np.array([cosine]), encoder=encoder)[0])
