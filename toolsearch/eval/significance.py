"""How sure a measured number is: bootstrap intervals and a paired randomisation test.

Both resample queries, the unit that varies, and take a seed: the same values and seed give the same interval.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

EXACT_UP_TO = 14
"""Non-zero differences up to which all sign patterns are tried (2^14 = 16,384) instead of sampled."""

_CHUNK = 2_000_000
"""Resampled indices held at once: 16 MB."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and its confidence interval.

    Attributes:
        mean: Mean over the queries.
        low: Lower end of the interval.
        high: Upper end of the interval.
        n: Number of queries.
    """

    mean: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class PairedTest:
    """The outcome of a paired, two-sided randomisation test.

    Attributes:
        delta: Mean of `a - b` over the queries.
        p_value: Probability of a mean difference at least as large, either way, if a and b were exchangeable;
            in (0, 1].
        exact: True when all sign patterns were tried, False when they were sampled.
        n: Number of queries.
    """

    delta: float
    p_value: float
    exact: bool
    n: int


def bootstrap_intervals(
    values: Floats, *, level: float = 0.95, resamples: int = 2_000, seed: int = 0
) -> tuple[Interval, ...]:
    """Return the mean of each column and its percentile bootstrap interval.

    All columns share the resampled queries, so that intervals of several metrics of one run belong together
    (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, section 13.3; Sakai, SIGIR 2006, for
    retrieval).

    Args:
        values: float64[n_queries, n_columns], one value a query and column, no NaN; n_queries >= 1.
        level: Coverage, in (0, 1).
        resamples: Bootstrap samples, at least 1.
        seed: Seed of the generator.

    Raises:
        ValueError: If the shape, the level or the number of resamples is out of range, or a value is NaN.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] == 0:
        raise ValueError(f"values has shape {table.shape}; it needs (queries, columns) with at least one query")
    if np.isnan(table).any():
        raise ValueError("values holds NaN; leave out queries that have no value")
    if not 0.0 < level < 1.0 or resamples < 1:
        raise ValueError(f"level is {level} and resamples {resamples}; write 0 < level < 1 and resamples >= 1")
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(_resampled_means(table, resamples, seed), [tail, 1.0 - tail], axis=0)
    means = table.mean(axis=0)
    return tuple(
        Interval(float(mean), float(below), float(above), table.shape[0])
        for mean, below, above in zip(means, low, high, strict=True)
    )


def bootstrap_interval(values: Floats, *, level: float = 0.95, resamples: int = 2_000, seed: int = 0) -> Interval:
    """Return the mean of float64[n_queries] and its percentile bootstrap interval.

    See `bootstrap_intervals`.
    """
    column = np.asarray(values, dtype=np.float64).reshape(-1, 1)
    return bootstrap_intervals(column, level=level, resamples=resamples, seed=seed)[0]


def paired_randomisation(a: Floats, b: Floats, *, resamples: int = 10_000, seed: int = 0) -> PairedTest:
    """Test whether two systems differ on the same queries, two-sided.

    Under the null hypothesis the two values of a query are exchangeable, so each difference may have either
    sign
    (Fisher, 1935; Smucker, Allan and Carterette, CIKM 2007, recommend it for retrieval). Queries on which the
    systems agree
    change no sum and are left out of the patterns. Up to `EXACT_UP_TO` differences the p-value is exact;
    above, sampled, with
    the +1 correction that keeps it valid (Phipson and Smyth, 2010).

    Args:
        a: float64[n_queries] values of the first system, no NaN; n_queries >= 1.
        b: float64[n_queries] values of the second system on the same queries, in the same order.
        resamples: Sampled sign patterns, at least 1.
        seed: Seed of the generator.

    Raises:
        ValueError: If the lengths differ, are 0, or a value is NaN.
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.shape != second.shape or first.ndim != 1 or first.size == 0:
        raise ValueError(f"a and b have shapes {first.shape} and {second.shape}; give one value a query for both")
    differences = first - second
    if np.isnan(differences).any():
        raise ValueError("a or b holds NaN; leave out queries that have no value in both")
    moved = differences[differences != 0.0]
    observed = abs(float(moved.sum()))
    # Sums of the same numbers in another order differ in the last bits; equal must count as "at least as
    # large".
    threshold = observed - 1e-9 * max(1.0, float(np.abs(moved).sum()))
    exact = moved.size <= EXACT_UP_TO
    if exact:
        sums = _all_signed_sums(moved)
        p_value = float(np.count_nonzero(np.abs(sums) >= threshold) / sums.size)
    else:
        p_value = (1.0 + _sampled_extremes(moved, threshold, resamples, seed)) / (1.0 + resamples)
    return PairedTest(float(differences.mean()), p_value, exact, differences.size)


def _resampled_means(table: Floats, resamples: int, seed: int) -> Floats:
    """Return float64[resamples, n_columns]: the column means of each bootstrap sample of the rows."""
    generator = np.random.default_rng(seed)
    n = table.shape[0]
    step = max(1, _CHUNK // n)
    parts = []
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        drawn = generator.integers(0, n, size=(rows, n)) + np.arange(rows)[:, None] * n
        times_drawn = np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n)
        parts.append(times_drawn.astype(np.float64) @ table / n)
    return np.concatenate(parts)


def _all_signed_sums(moved: Floats) -> Floats:
    """Return float64[2^m]: the sum of the m differences under every pattern of signs."""
    sums = np.zeros(1)
    for value in moved:
        sums = np.concatenate([sums + value, sums - value])
    return sums


def _sampled_extremes(moved: Floats, threshold: float, resamples: int, seed: int) -> int:
    """Return how many of `resamples` random sign patterns reach the threshold in absolute sum."""
    generator = np.random.default_rng(seed)
    step = max(1, _CHUNK // moved.size)
    extremes = 0
    for start in range(0, resamples, step):
        signs = generator.integers(0, 2, size=(min(step, resamples - start), moved.size)) * 2.0 - 1.0
        extremes += int(np.count_nonzero(np.abs(signs @ moved) >= threshold))
    return extremes
