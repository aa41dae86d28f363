"""Weighing confidence: the weights that tell served requests from others, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.encoder.confidence import NEEDLESS, SERVED, Situation, fitted, odds, refused, shipped
from toolsearch.search.rank.confidence import ENOUGH, Signs


def situation(kind: str, level: float, *, fits: bool, dataset: str = "one", tools: int = ENOUGH) -> Situation:
    signs = Signs(0, level, nearness=level, tokens=level, need=6 * level - 3, tools=tools)
    return Situation(kind, dataset, fits, held_out=False, signs=signs)


def test_odds_are_those_of_the_confidence() -> None:
    one = situation(SERVED, 0.4, fits=True, tools=3)
    assert one.signs is not None
    (found,) = odds([one], shipped())
    assert 1 / (1 + np.exp(-found)) == pytest.approx(one.signs.confidence)
    assert odds([Situation(NEEDLESS, "one", fits=False, held_out=False, signs=None)], shipped()) == [-np.inf]


def test_fitted_weights_tell_what_fits_from_what_does_not() -> None:
    yes = [situation(SERVED, level, fits=True) for level in np.linspace(0.5, 0.9, 50)]
    no = [situation(NEEDLESS, level, fits=False) for level in np.linspace(0.1, 0.55, 50)]
    found = odds([*yes, *no], fitted([*yes, *no]))
    assert np.mean(found[:50] > 0) > 0.9
    assert np.mean(found[50:] < 0) > 0.9


def test_refused_is_the_mean_over_sets_at_the_highest_level_that_spares_the_served() -> None:
    served = [situation(SERVED, 0.5 + at / 100, fits=True, dataset=name) for name in ("one", "two") for at in range(10)]
    needless = [situation(NEEDLESS, level, fits=False) for level in (0.1, 0.2, 0.49, 0.9)]
    needless += [situation(NEEDLESS, 0.6, fits=False, dataset="two")]
    shares = refused([*served, *needless], shipped())
    assert shares == {SERVED: 0.0, NEEDLESS: pytest.approx((0.75 + 0.0) / 2)}
