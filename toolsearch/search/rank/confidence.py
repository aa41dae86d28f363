"""How likely it is that any tool fits at all.

Some requests need no tool: small talk, general knowledge, a poem, a lift to the station. A floor on similarity does not
tell them apart, as short requests for real tools score as low. So the request itself is asked whether it wants a tool:

    confidence = 1 / (1 + exp(-(RELEVANCE relevance + NEARNESS nearness + TOKENS tokens + need - few - OFFSET)))

Relevance, nearness (calibrated cosine with the whole request) and tokens (the same token by token) are those of the
most relevant tool. Need is the log odds that the request asks for a tool: a logistic regression on its vector, whose
weights the bundled encoder brings along; for other encoders, how far the request is from a bank of requests that need
none (`no_tool.txt`: our own writing, English and Chinese). `few` is what speaks against a handful of tools: the fewer
there are, the likelier the request is for one that is not there. The parts were weighed on train sets and half of our
own `fits.tsv`: requests over their catalogue and over a few tools, against the same requests over others and against
requests that need none; the other half and the dev sets chose. By OFFSET 1.7 % of the dev requests that a tool serves
are refused. Only the best tool and the number of visible ones count, so a hidden tool moves no confidence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from toolsearch.model.reasons import Explanation
from toolsearch.search.rank.recall import Probe, Recalled
from toolsearch.search.rank.rerank import Scored
from toolsearch.search.rank.signals import calibrate, calibrate_tokens
from toolsearch.text.embed.protocol import EncoderInfo

RELEVANCE = 8.0
NEARNESS = 8.0
TOKENS = 4.0
OFFSET = 8.3

FEW, ENOUGH = 2.0, 16
"""What counts against a single tool, falling with the logarithm of their number to nothing at ENOUGH tools."""

NEAREST = 2
"""Requests of the bank whose mean similarity counts: one alone may be near by chance."""

FAR, SLOPE = 5.2, 9.0
"""Need by the bank: so much where nothing in it is like the request, less the slope times the similarity."""

SAID = 4.2
"""Least need of a request that names the best tool; how few there are counts not then. Past requests that it served go
part of the way there, by their strength, and the whole from .5 on: faint likeness to some of them says little."""

UNREAD = 6.2
"""Need of a request whose meaning was not compared: only relevance speaks."""


@cache
def no_tool_requests() -> tuple[str, ...]:
    """Return the requests of the bank, in order."""
    text = files("toolsearch.search.rank").joinpath("no_tool.txt").read_text(encoding="utf-8")
    return tuple(line for line in text.splitlines() if line)


@dataclass(frozen=True, slots=True)
class Signs:
    """What speaks for it that the best tool fits.

    Attributes:
        doc_id: The most relevant tool.
        relevance: Its relevance, in [0, 1].
        nearness: How close it is to the whole request, in [0, 1].
        tokens: The same token by token, in [0, 1].
        need: Log odds that the request asks for a tool.
        tools: Number of tools it was found among, >= 1; ENOUGH at least where the request names it or past ones say so.
    """

    doc_id: int
    relevance: float
    nearness: float
    tokens: float
    need: float
    tools: int

    @property
    def few(self) -> float:
        """Return what counts against a handful of tools, in log odds, >= 0."""
        return FEW * max(0.0, 1.0 - math.log(self.tools) / math.log(ENOUGH))

    @property
    def confidence(self) -> float:
        """Return how likely the tool fits, in [0, 1]."""
        found = RELEVANCE * self.relevance + NEARNESS * self.nearness + TOKENS * self.tokens
        return 1.0 / (1.0 + math.exp(-(found + self.need - self.few - OFFSET)))

    def explanation(self, *, best: str, least: float) -> Explanation:
        """Return the confidence as a tree; the log odds of its parts sum up to its own.

        Args:
            best: How the tool is called.
            least: The confidence from which on tools are offered.
        """
        parts = (
            (RELEVANCE * self.relevance, f"relevance of {best}: value {self.relevance:.4f}, weight {RELEVANCE:g}"),
            (NEARNESS * self.nearness, f"nearness to the request: value {self.nearness:.4f}, weight {NEARNESS:g}"),
            (TOKENS * self.tokens, f"token by token: value {self.tokens:.4f}, weight {TOKENS:g}"),
            (self.need, "need: does the request ask for a tool at all"),
            (0.0 - self.few, f"tools: {self.tools}, fewer than {ENOUGH} count against it"),
            (-OFFSET, "offset"),
        )
        return Explanation(
            value=self.confidence,
            description=f"confidence, from log odds; tools are offered from {least:g} on",
            details=tuple(Explanation(value=value, description=text) for value, text in parts),
        )


def signs(
    scored: Sequence[Scored],
    *,
    probes: Sequence[Probe],
    recalled: Recalled,
    encoder: EncoderInfo,
    bank: NDArray[np.float32] | None,
    tools: int,
) -> Signs | None:
    """Return what speaks for the best tool, None where nothing was recalled.

    Args:
        scored: The documents, in any order.
        probes: The request, then its clauses.
        recalled: The numbers of every lane.
        encoder: Whose calibration maps cosines to [0, 1].
        bank: float32[n, dim], vectors of requests that need no tool, for encoders that do not read the need; None =
            not compared.
        tools: How many tools are visible.
    """
    if not scored:
        return None
    best = max(scored, key=lambda item: (item.relevance, -item.doc_id))
    vector = probes[0].vector
    if vector is None or (bank is None and not encoder.need):
        alike = best.relevance
        return Signs(best.doc_id, alike, nearness=alike, tokens=alike, need=UNREAD, tools=tools)
    need = _read_need(vector, encoder) if bank is None else _need_by_bank(vector, encoder, bank)
    said = 1.0 if best.evidence.named else min(1.0, 2.0 * best.evidence.past[0]) if best.evidence.past else 0.0
    need += said * max(0.0, SAID - need)
    counted = max(tools, round(tools ** (1.0 - said) * ENOUGH**said))
    at = int(recalled.doc_ids.searchsorted(best.doc_id))
    cosine = max(float(recalled.contract_cosines[0, at]), float(recalled.example_cosines[0, at]))
    nearness = _similarity(cosine, encoder)
    told = float(calibrate_tokens(recalled.token_scores[0, at : at + 1], encoder=encoder)[0])
    tokens = nearness if math.isnan(told) else told
    return Signs(best.doc_id, best.relevance, nearness=nearness, tokens=tokens, need=need, tools=counted)


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
