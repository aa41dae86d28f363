"""Successes and failures of a tool, older ones counting less.

An observation made t days ago counts 2 ** (-t / half_life). Counts decay by one common factor, so a Tally is exact
without keeping the observations, and may be told of them in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from toolsearch.model.request import OutcomeStatus

HALF_LIFE_DAYS = 30.0
"""Days after which an observation counts half."""

_SECONDS_PER_DAY = 86_400.0

_VERDICTS = {
    OutcomeStatus.SUCCESS: True,
    OutcomeStatus.TOOL_ERROR: False,
    OutcomeStatus.TIMEOUT: False,
    # Refused by a person or a policy: says nothing about the tool.
    OutcomeStatus.REJECTED: None,
    OutcomeStatus.UNKNOWN: None,
}


def verdict(status: OutcomeStatus | str) -> bool | None:
    """Return True for a success of the tool, False for a failure, None for what is neither.

    Raises:
        ValueError: If there is no such status.
    """
    return _VERDICTS[OutcomeStatus(status)]


@dataclass(frozen=True, slots=True)
class Tally:
    """Decayed counts, worth what they were worth at `as_of`.

    Attributes:
        successes: >= 0.
        failures: >= 0.
        as_of: Moment of the newest observation, aware; None = nothing was observed.
        half_life_days: Days after which an observation counts half, > 0.
    """

    successes: float = 0.0
    failures: float = 0.0
    as_of: datetime | None = None
    half_life_days: float = HALF_LIFE_DAYS

    def observed(self, success: bool | None, at: datetime) -> Tally:
        """Return the tally with one more observation, whenever it was made.

        Args:
            success: What `verdict` gave; None counts as neither and changes nothing.
            at: Aware moment of the observation. One in the future makes everything before it old: clamp it first.
        """
        if success is None:
            return self
        base = self.decayed(at)
        newest = at if base.as_of is None else base.as_of
        weight = _weight(at, now=newest, half_life_days=self.half_life_days)
        return Tally(
            base.successes + (weight if success else 0.0),
            base.failures + (0.0 if success else weight),
            newest,
            self.half_life_days,
        )

    def decayed(self, at: datetime) -> Tally:
        """Return what the counts are worth at a later moment; at an earlier one they are as they are."""
        if self.as_of is None or at <= self.as_of:
            return self
        factor = _weight(self.as_of, now=at, half_life_days=self.half_life_days)
        return Tally(self.successes * factor, self.failures * factor, at, self.half_life_days)


def _weight(at: datetime, *, now: datetime, half_life_days: float) -> float:
    age_days = (now - at).total_seconds() / _SECONDS_PER_DAY
    return float(2.0 ** (-age_days / half_life_days))
