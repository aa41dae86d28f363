"""Intervals and tests against values that can be worked out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from toolsearch.eval.significance import bootstrap_interval, bootstrap_intervals, paired_randomisation


def test_interval_of_equal_values_has_no_width():
    interval = bootstrap_interval(np.full(20, 0.75))
    assert (interval.mean, interval.low, interval.high, interval.n) == (0.75, 0.75, 0.75, 20)


def test_interval_is_near_the_normal_one_for_many_queries():
    values = np.random.default_rng(1).random(2_000)
    interval = bootstrap_interval(values, resamples=4_000)
    half = 1.96 * values.std() / np.sqrt(values.size)
    assert interval.low == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert interval.high == pytest.approx(values.mean() + half, abs=0.1 * half)


def test_same_seed_same_interval_and_columns_are_resampled_together():
    values = np.random.default_rng(2).random((50, 2))
    first = bootstrap_intervals(values, seed=3)
    assert first == bootstrap_intervals(values, seed=3)
    assert first != bootstrap_intervals(values, seed=4)
    alone = bootstrap_interval(values[:, 1], seed=3)
    assert (alone.low, alone.high) == pytest.approx((first[1].low, first[1].high))


def test_a_wider_level_gives_a_wider_interval():
    values = np.random.default_rng(5).random(40)
    narrow, wide = bootstrap_interval(values, level=0.8), bootstrap_interval(values, level=0.99)
    assert wide.low < narrow.low < narrow.mean < narrow.high < wide.high


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (np.empty((0, 2)), {}, "at least one query"),
        (np.array([[1.0], [np.nan]]), {}, "NaN"),
        (np.ones((3, 1)), {"level": 1.0}, "0 < level < 1"),
        (np.ones((3, 1)), {"resamples": 0}, "resamples"),
    ],
)
def test_bad_input_is_named(values, options, message):
    with pytest.raises(ValueError, match=message):
        bootstrap_intervals(values, **options)


def test_small_samples_are_exact():
    # Differences 1, 1, 1: only all-plus and all-minus reach the observed sum, 2 of 8 patterns.
    test = paired_randomisation(np.array([1.0, 1.0, 1.0, 0.5]), np.array([0.0, 0.0, 0.0, 0.5]))
    assert (test.delta, test.p_value, test.exact, test.n) == (0.75, 0.25, True, 4)


def test_exact_p_equals_brute_force():
    rng = np.random.default_rng(6)
    a, b = rng.random(9), rng.random(9)
    d = a - b
    sums = [abs(np.dot(signs, d)) for signs in itertools.product([-1.0, 1.0], repeat=9)]
    assert paired_randomisation(a, b).p_value == np.mean(np.array(sums) >= abs(d.sum()) - 1e-9)


def test_sampled_p_is_near_the_exact_one():
    rng = np.random.default_rng(8)
    a = rng.random(14)
    b = np.clip(a - rng.normal(0.1, 0.3, 14), 0, 1)
    exact = paired_randomisation(a, b)
    # A pair of opposite tiny differences pushes the count over the exact limit and leaves the sums as they are.
    sampled = paired_randomisation(np.append(a, [1e-12, 0.0]), np.append(b, [0.0, 1e-12]), resamples=40_000)
    assert (exact.exact, sampled.exact) == (True, False)
    assert sampled.p_value == pytest.approx(exact.p_value, abs=0.02)


def test_equal_systems_do_not_differ_and_sides_are_symmetric():
    a = np.random.default_rng(9).random(30)
    assert paired_randomisation(a, a).p_value == 1.0
    b = np.roll(a, 1)
    assert paired_randomisation(a, b).p_value == paired_randomisation(b, a).p_value
    assert paired_randomisation(a, b).delta == -paired_randomisation(b, a).delta


def test_a_clear_difference_is_found_and_p_is_never_zero():
    a = np.ones(200)
    b = np.random.default_rng(10).random(200)
    test = paired_randomisation(a, b, resamples=999)
    assert test.p_value == 1 / 1000


def test_shapes_must_agree():
    with pytest.raises(ValueError, match="one value a query"):
        paired_randomisation(np.ones(3), np.ones(4))
    with pytest.raises(ValueError, match="NaN"):
        paired_randomisation(np.array([np.nan]), np.ones(1))
