from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.model.request import OutcomeStatus
from toolsearch.store.tally import HALF_LIFE_DAYS, Tally, verdict

T0 = datetime(2026, 1, 1, tzinfo=UTC)


def days(number):
    return timedelta(days=number)


@pytest.mark.parametrize(
    ("status", "success"),
    [
        ("success", True),
        ("tool_error", False),
        ("timeout", False),
        ("rejected", None),
        ("unknown", None),
    ],
)
def test_verdicts(status, success):
    assert verdict(status) is success
    assert verdict(OutcomeStatus(status)) is success


def test_every_status_has_a_verdict():
    assert {status: verdict(status) for status in OutcomeStatus}
    with pytest.raises(ValueError, match="crashed"):
        verdict("crashed")


def test_an_observation_counts_half_after_the_half_life():
    tally = Tally().observed(True, T0)
    assert (tally.successes, tally.failures, tally.as_of) == (1.0, 0.0, T0)
    later = tally.decayed(T0 + days(HALF_LIFE_DAYS))
    assert later.successes == 0.5
    assert later.observed(False, T0 + days(2 * HALF_LIFE_DAYS)) == Tally(0.25, 1.0, T0 + days(60))


def test_neither_changes_nothing():
    tally = Tally().observed(False, T0)
    assert tally.observed(None, T0 + days(5)) is tally
    assert Tally().observed(None, T0) == Tally()


def test_nothing_observed_stays_nothing():
    assert Tally().decayed(T0) == Tally()


def test_a_late_report_counts_what_it_is_worth_now():
    tally = Tally().observed(True, T0).observed(False, T0 - days(30))
    assert tally == Tally(1.0, 0.5, T0)


def test_an_earlier_moment_does_not_grow_counts():
    tally = Tally().observed(True, T0)
    assert tally.decayed(T0 - days(30)) == tally


def test_another_half_life():
    assert Tally(half_life_days=1.0).observed(True, T0).decayed(T0 + days(2)).successes == 0.25


observations = st.lists(st.tuples(st.booleans(), st.integers(0, 400)), max_size=12)


@given(observations, st.randoms(use_true_random=False))
def test_order_of_reports_does_not_matter(reports, random):
    shuffled = list(reports)
    random.shuffle(shuffled)
    first, second = Tally(), Tally()
    for success, day in reports:
        first = first.observed(success, T0 + days(day))
    for success, day in shuffled:
        second = second.observed(success, T0 + days(day))
    assert first.as_of == second.as_of
    assert first.successes == pytest.approx(second.successes, rel=1e-9)
    assert first.failures == pytest.approx(second.failures, rel=1e-9)


@given(observations)
def test_equals_the_sum_of_single_weights(reports):
    tally = Tally()
    for success, day in reports:
        tally = tally.observed(success, T0 + days(day))
    now = T0 + days(500)
    expected = sum(2.0 ** (-(500 - day) / HALF_LIFE_DAYS) for success, day in reports if success)
    assert tally.decayed(now).successes == pytest.approx(expected, rel=1e-9)
