"""Shares of cases with intervals that stay honest at 0 and 1, and paired differences between two ways of answering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from toolsearch.eval.results import Measure
from toolsearch.eval.significance import bootstrap_interval, paired_randomisation

Z_95 = 1.959963984540054
"""Quantile of the normal distribution that leaves 2.5 % above it."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What one way of answering gains over another on the same cases.

    Attributes:
        delta: Mean of `with - without`.
        low: Lower end of its 95 % paired bootstrap interval.
        high: Upper end.
        p_value: Of the paired two-sided randomisation test.
        n: Cases.
    """

    delta: float
    low: float
    high: float
    p_value: float
    n: int

    @property
    def gains(self) -> bool:
        """Tell whether the whole interval is above 0."""
        return self.low > 0

    @property
    def costs(self) -> bool:
        """Tell whether the whole interval is below 0."""
        return self.high < 0


def rate(hits: Sequence[bool]) -> Measure:
    """Return the share of hits with its 95 % Wilson score interval.

    A bootstrap of all-equal values has no width; Wilson's interval says what 0 of 20 does not exclude (Wilson, JASA
    22, 1927; Brown, Cai and DasGupta, Statistical Science 16(2), 2001, recommend it).

    Args:
        hits: One value a case; without a case the interval is all of [0, 1] and n is 0.
    """
    n = len(hits)
    if n == 0:
        return Measure(mean=0.0, low=0.0, high=1.0, n=0)
    share = sum(hits) / n
    scale = 1.0 + Z_95**2 / n
    middle = (share + Z_95**2 / (2 * n)) / scale
    half = Z_95 * sqrt(share * (1.0 - share) / n + Z_95**2 / (4 * n * n)) / scale
    return Measure(mean=share, low=max(0.0, min(share, middle - half)), high=min(1.0, max(share, middle + half)), n=n)


def mean_of(values: Sequence[float], *, seed: int = 0) -> Measure:
    """Return the mean of bounded numbers with its 95 % bootstrap interval; without a value it is 0 with n = 0."""
    if not values:
        return Measure(mean=0.0, n=0)
    found = bootstrap_interval(np.asarray(values, dtype=np.float64), seed=seed)
    return Measure(mean=found.mean, low=found.low, high=found.high, n=found.n)


def difference(with_it: Sequence[float], without_it: Sequence[float], *, seed: int = 0) -> Difference:
    """Return what the first way gains over the second, both in the order of the same cases.

    Raises:
        ValueError: If there is no case, or the lengths differ.
    """
    first, second = np.asarray(with_it, dtype=np.float64), np.asarray(without_it, dtype=np.float64)
    test = paired_randomisation(first, second, seed=seed)
    found = bootstrap_interval(first - second, seed=seed)
    return Difference(found.mean, found.low, found.high, test.p_value, found.n)
