"""The signals of a candidate, one function each: a number in [0, 1] and the reason, made together.

Relevance signals (semantic, lexical, experience) come as calibrated numbers from recall; here they get their words.
Context signals (reliability, freshness, cost; input readiness has a module of its own) are computed here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toolsearch.embed.protocol import EncoderInfo
from toolsearch.explain import Reason, ReasonCode
from toolsearch.index.columns import COST_CLASSES, Columns
from toolsearch.rank.intent import FreshnessNeed

PRIOR_RATE = 0.8
"""Success rate assumed of a tool with no recorded outcome."""

PRIOR_WEIGHT = 4.0
"""How many outcomes the prior is worth (additive smoothing)."""

UNKNOWN_FRESHNESS = 0.5
_COST_OF_CLASS = (0.0, 0.2, 0.5, 1.0)


@dataclass(frozen=True, slots=True)
class Signal:
    """One bounded number with its reason."""

    value: float
    reason: Reason


def calibrate(cosines: NDArray[np.float64], *, encoder: EncoderInfo) -> NDArray[np.float64]:
    """Map cosines to similarity in [0, 1]: 0 at the encoder's floor, 1 at its ceiling, linear between."""
    span = encoder.cosine_ceiling - encoder.cosine_floor
    return np.asarray(np.clip((cosines - encoder.cosine_floor) / span, 0.0, 1.0), dtype=np.float64)


def semantic(value: float, *, cosine: float, by_example: str | None) -> Signal:
    """Say how close the request is to the contract, or to one of its examples."""
    if by_example is not None:
        text = f"close to the example request {_short(by_example)} (cosine {cosine:.2f})"
        return Signal(value, Reason(code=ReasonCode.SIMILAR_REQUEST, text=text))
    return Signal(value, Reason(code=ReasonCode.MEANING_MATCH, text=f"meaning is close (cosine {cosine:.2f})"))


def lexical(value: float, *, matched: tuple[str, ...], fields: tuple[str, ...]) -> Signal:
    """Say which words of the request stand where in the contract."""
    if not matched:
        return Signal(value, Reason(code=ReasonCode.TEXT_MATCH, text="no word in common"))
    text = f"has {', '.join(matched[:6])} in {', '.join(fields[:4])} ({value:.0%} of what the request could score)"
    return Signal(value, Reason(code=ReasonCode.TEXT_MATCH, text=text))


def reliability(*, successes: float, failures: float) -> Signal:
    """Return the smoothed success rate of recorded outcomes: (s + m p) / (s + f + m).

    Args:
        successes: Decayed count, >= 0.
        failures: Decayed count, >= 0.
    """
    seen = successes + failures
    value = (successes + PRIOR_WEIGHT * PRIOR_RATE) / (seen + PRIOR_WEIGHT)
    if seen < 0.5:
        text = f"no recent outcomes; assumed {PRIOR_RATE:.0%}"
        return Signal(value, Reason(code=ReasonCode.RELIABILITY_UNKNOWN, text=text))
    code = ReasonCode.RELIABLE if value >= PRIOR_RATE else ReasonCode.UNRELIABLE
    return Signal(value, Reason(code=code, text=f"success rate {value:.0%} over about {seen:.0f} recent outcomes"))


def freshness(columns: Columns, doc_id: int, *, need: FreshnessNeed | None) -> Signal:
    """Tell whether the tool's data are as fresh as the request needs.

    1 when the staleness bound is within the need; falling with the logarithm of the excess, 0 from 1,000 times on.
    """
    staleness = float(columns.staleness[doc_id])
    if need is None:
        return Signal(1.0, Reason(code=ReasonCode.FRESH_ENOUGH, text="the request asks for no particular freshness"))
    if math.isnan(staleness):
        text = f"{need.phrase!r} asks for fresh data; how fresh these are is not stated"
        return Signal(UNKNOWN_FRESHNESS, Reason(code=ReasonCode.FRESHNESS_UNKNOWN, text=text))
    if staleness <= need.max_age_seconds:
        text = f"data at most {_age(staleness)} old satisfy {need.phrase!r}"
        return Signal(1.0, Reason(code=ReasonCode.FRESH_ENOUGH, text=text))
    value = max(0.0, 1.0 - math.log10(staleness / need.max_age_seconds) / 3.0)
    text = f"data may be {_age(staleness)} old; {need.phrase!r} asks for at most {_age(need.max_age_seconds)}"
    return Signal(value, Reason(code=ReasonCode.TOO_STALE, text=text))


def cost(columns: Columns, doc_id: int) -> Signal:
    """Return 1 - the mean of the known cost parts: class, latency, definition tokens, result rows; each in [0, 1]."""
    parts = [_log_share(float(columns.tokens[doc_id]), low=100, high=4_000)]
    words = [f"{int(columns.tokens[doc_id])} definition tokens"]
    if (index := int(columns.cost_class[doc_id])) >= 0:
        parts.append(_COST_OF_CLASS[index])
        words.append(f"cost class {COST_CLASSES[index].value}")
    if not math.isnan(latency := float(columns.latency[doc_id])):
        parts.append(_log_share(latency, low=100, high=30_000))
        words.append(f"typically {latency:.0f} ms")
    if not math.isnan(rows := float(columns.result_rows[doc_id])):
        parts.append(_log_share(rows, low=100, high=100_000))
        words.append(f"up to {rows:.0f} result rows")
    value = 1.0 - sum(parts) / len(parts)
    code = ReasonCode.CHEAP if value >= 0.5 else ReasonCode.COSTLY
    return Signal(value, Reason(code=code, text=", ".join(words)))


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
