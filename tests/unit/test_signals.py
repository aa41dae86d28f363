"""The signals against values computed by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from toolsearch.model.contract import ToolContract
from toolsearch.model.reasons import ReasonCode
from toolsearch.search.index.catalog import Catalog
from toolsearch.search.index.columns import Columns, build_columns
from toolsearch.search.rank.intent import FreshnessNeed
from toolsearch.search.rank.signals import calibrate, cost, freshness, lexical, reliability, semantic
from toolsearch.text.embed.hashed import HashedEncoder

LIVE = FreshnessNeed("now", 60.0)


def columns(**operational: Any) -> Columns:
    return build_columns(
        Catalog.of([ToolContract.model_validate({"identity": {"name": "x"}, "operational": operational})])
    )


def test_cosines_are_calibrated_between_floor_and_ceiling() -> None:
    info = HashedEncoder().info
    middle = (info.cosine_floor + info.cosine_ceiling) / 2
    cosines = np.array([-1.0, info.cosine_floor, middle, info.cosine_ceiling, 1.0])
    assert calibrate(cosines, encoder=info).tolist() == pytest.approx([0.0, 0.0, 0.5, 1.0, 1.0])


@pytest.mark.parametrize(
    ("successes", "failures", "value", "code"),
    [
        (0.0, 0.0, 0.8, ReasonCode.RELIABILITY_UNKNOWN),
        (6.0, 0.0, (6 + 3.2) / 10, ReasonCode.RELIABLE),
        (0.0, 4.0, 3.2 / 8, ReasonCode.UNRELIABLE),
        (1.0, 1.0, 4.2 / 6, ReasonCode.UNRELIABLE),
        (0.2, 0.2, 3.4 / 4.4, ReasonCode.RELIABILITY_UNKNOWN),
    ],
)
def test_reliability_is_smoothed(successes: float, failures: float, value: float, code: ReasonCode) -> None:
    signal = reliability(successes=successes, failures=failures)
    assert signal.value == pytest.approx(value)
    assert signal.why().code is code


@pytest.mark.parametrize(
    ("staleness", "value", "code"),
    [
        ("PT0S", 1.0, ReasonCode.FRESH_ENOUGH),
        ("PT1M", 1.0, ReasonCode.FRESH_ENOUGH),
        ("PT10M", 1 - 1 / 3, ReasonCode.TOO_STALE),
        ("PT100M", 1 - 2 / 3, ReasonCode.TOO_STALE),
        ("P1D", max(0.0, 1 - math.log10(1_440) / 3), ReasonCode.TOO_STALE),
        ("P30D", 0.0, ReasonCode.TOO_STALE),
    ],
)
def test_freshness_falls_with_the_logarithm_of_the_excess(staleness: str, value: float, code: ReasonCode) -> None:
    signal = freshness(columns(freshness={"max_staleness": staleness}), 0, need=LIVE)
    assert signal.value == pytest.approx(value)
    assert signal.why().code is code
    assert "'now'" in signal.why().text


def test_freshness_without_a_need_or_a_statement() -> None:
    stale = columns(freshness={"max_staleness": "P30D"})
    assert freshness(stale, 0, need=None).value == 1.0
    unknown = freshness(columns(), 0, need=LIVE)
    assert (unknown.value, unknown.why().code) == (0.5, ReasonCode.FRESHNESS_UNKNOWN)


def test_cost_is_one_less_the_mean_of_the_known_parts() -> None:
    # The definition is short: at or below 100 tokens it costs nothing.
    assert cost(columns(), 0).value == 1.0
    assert cost(columns(cost_class="high"), 0).value == pytest.approx(1 - (0 + 1.0) / 2)
    assert cost(columns(cost_class="free", typical_latency_ms=100), 0).value == 1.0
    slow = cost(columns(cost_class="medium", typical_latency_ms=30_000, result_scale="up to 100,000 rows"), 0)
    assert slow.value == pytest.approx(1 - (0 + 0.5 + 1.0 + 1.0) / 4)
    assert slow.why().code is ReasonCode.COSTLY
    assert "30000 ms" in slow.why().text
    half = cost(columns(typical_latency_ms=100 * math.sqrt(300)), 0)
    assert half.value == pytest.approx(1 - 0.5 / 2, abs=1e-6)


def test_relevance_signals_say_what_they_saw() -> None:
    assert semantic(0.4, cosine=0.31, example=None).why().code is ReasonCode.MEANING_MATCH
    near = semantic(0.4, cosine=0.31, example=lambda: "where is my order").why()
    assert near.code is ReasonCode.SIMILAR_REQUEST
    assert "'where is my order'" in near.text
    words = lexical(0.4, matches=lambda: (("order", "where"), ("name", "does")))
    assert "order, where in name, does (40%" in words.why().text
    assert lexical(0.0, matches=lambda: ((), ())).why().text == "no word in common"
