"""The signals of a candidate, one function each: a number in [0, 1] and the reason, made together.

Relevance signals (semantic, lexical, experience) come as calibrated numbers from recall; here they get their words.
Context signals (reliability, freshness, cost; input readiness has a module of its own) are computed here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toolsearch.model.reasons import ReasonCode, Tell, Why
from toolsearch.search.index.columns import COST_CLASSES, Columns
from toolsearch.search.rank.intent import FreshnessNeed
from toolsearch.text.embed.protocol import EncoderInfo

PRIOR_RATE = 0.8
"""Success rate assumed of a tool with no recorded outcome."""

PRIOR_WEIGHT = 4.0
"""How many outcomes the prior is worth (additive smoothing)."""

UNKNOWN_FRESHNESS = 0.5
_COST_OF_CLASS = (0.0, 0.2, 0.5, 1.0)


@dataclass(frozen=True, slots=True)
class Signal:
    """One bounded number, and the reason for it, told on demand."""

    value: float
    why: Tell


def calibrate(cosines: NDArray[np.float64], *, encoder: EncoderInfo) -> NDArray[np.float64]:
    """Map cosines to similarity in [0, 1]: 0 at the encoder's floor, 1 at its ceiling, linear between."""
    return _between(cosines, low=encoder.cosine_floor, high=encoder.cosine_ceiling)


def calibrate_tokens(scores: NDArray[np.float64], *, encoder: EncoderInfo) -> NDArray[np.float64]:
    """Map scores of comparing token by token to similarity in [0, 1], likewise; NaN stays."""
    return _between(scores, low=encoder.token_floor, high=encoder.token_ceiling)


def _between(values: NDArray[np.float64], *, low: float, high: float) -> NDArray[np.float64]:
    return np.asarray(np.clip((values - low) / (high - low), 0.0, 1.0), dtype=np.float64)


def semantic(
    value: float, *, cosine: float, tokens: float = math.nan, example: Callable[[], str] | None = None
) -> Signal:
    """Say how close the request is to the contract, as a whole and token by token, or to one of its examples."""
    if example is None:
        by_token = "" if math.isnan(tokens) else f", token by token {tokens:.2f}"
        return Signal(value, lambda: Why(ReasonCode.MEANING_MATCH, f"meaning is close (cosine {cosine:.2f}{by_token})"))
    return Signal(
        value,
        lambda: Why(
            ReasonCode.SIMILAR_REQUEST, f"close to the example request {_short(example())} (cosine {cosine:.2f})"
        ),
    )


def lexical(value: float, *, matches: Callable[[], tuple[tuple[str, ...], tuple[str, ...]]]) -> Signal:
    """Say which words of the request stand where in the contract.

    Args:
        value: How much of what the request could score the words do.
        matches: Returns the words found, and the fields they stand in.
    """

    def why() -> Why:
        words, fields = matches()
        if not words:
            return Why(ReasonCode.TEXT_MATCH, "no word in common")
        where = ", ".join(fields[:4])
        text = f"has {', '.join(words[:6])} in {where} ({value:.0%} of what the request could score)"
        return Why(ReasonCode.TEXT_MATCH, text)

    return Signal(value, why)


def reliability(*, successes: float, failures: float) -> Signal:
    """Return the smoothed success rate of recorded outcomes: (s + m p) / (s + f + m).

    Args:
        successes: Decayed count, >= 0.
        failures: Decayed count, >= 0.
    """
    seen = successes + failures
    value = (successes + PRIOR_WEIGHT * PRIOR_RATE) / (seen + PRIOR_WEIGHT)
    if seen < 0.5:
        return Signal(
            value, lambda: Why(ReasonCode.RELIABILITY_UNKNOWN, f"no recent outcomes; assumed {PRIOR_RATE:.0%}")
        )
    code = ReasonCode.RELIABLE if value >= PRIOR_RATE else ReasonCode.UNRELIABLE
    return Signal(value, lambda: Why(code, f"success rate {value:.0%} over about {seen:.0f} recent outcomes"))


def freshness(columns: Columns, doc_id: int, *, need: FreshnessNeed | None) -> Signal:
    """Tell whether the tool's data are as fresh as the request needs.

    1 when the staleness bound is within the need; falling with the logarithm of the excess, 0 from 1,000 times on.
    """
    staleness = float(columns.staleness[doc_id])
    if need is None:
        return Signal(1.0, lambda: Why(ReasonCode.FRESH_ENOUGH, "the request asks for no particular freshness"))
    if math.isnan(staleness):
        unknown = f"{need.phrase!r} asks for fresh data; how fresh these are is not stated"
        return Signal(UNKNOWN_FRESHNESS, lambda: Why(ReasonCode.FRESHNESS_UNKNOWN, unknown))
    if staleness <= need.max_age_seconds:
        fresh = f"data at most {_age(staleness)} old satisfy {need.phrase!r}"
        return Signal(1.0, lambda: Why(ReasonCode.FRESH_ENOUGH, fresh))
    value = max(0.0, 1.0 - math.log10(staleness / need.max_age_seconds) / 3.0)
    stale = f"data may be {_age(staleness)} old; {need.phrase!r} asks for at most {_age(need.max_age_seconds)}"
    return Signal(value, lambda: Why(ReasonCode.TOO_STALE, stale))


def cost(columns: Columns, doc_id: int) -> Signal:
    """Return 1 - the mean of the known cost parts: class, latency, definition tokens, result rows; each in [0, 1]."""
    tokens = int(columns.tokens[doc_id])
    latency, rows = float(columns.latency[doc_id]), float(columns.result_rows[doc_id])
    cost_class = int(columns.cost_class[doc_id])
    parts = [_log_share(tokens, low=100, high=4_000)]
    if cost_class >= 0:
        parts.append(_COST_OF_CLASS[cost_class])
    if not math.isnan(latency):
        parts.append(_log_share(latency, low=100, high=30_000))
    if not math.isnan(rows):
        parts.append(_log_share(rows, low=100, high=100_000))
    value = 1.0 - sum(parts) / len(parts)

    def why() -> Why:
        words = [f"{tokens} definition tokens"]
        words += [f"cost class {COST_CLASSES[cost_class].value}"] if cost_class >= 0 else []
        words += [] if math.isnan(latency) else [f"typically {latency:.0f} ms"]
        words += [] if math.isnan(rows) else [f"up to {rows:.0f} result rows"]
        return Why(ReasonCode.CHEAP if value >= 0.5 else ReasonCode.COSTLY, ", ".join(words))

    return Signal(value, why)


def _log_share(value: float, *, low: float, high: float) -> float:
    """Return 0 at or below `low`, 1 at or above `high`, logarithmic between."""
    return min(1.0, max(0.0, math.log(max(value, low) / low) / math.log(high / low)))


def _age(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} s"


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
