"""Negative boundaries: only a lead of the negative side counts."""

from __future__ import annotations

from typing import Any

import pytest

from toolsearch.model.reasons import ReasonCode
from toolsearch.search.rank.boundary import FULL_LEAD, Boundary, boundary, word_share

IDF = {"delayed": 1.0, "price": 1.0, "live": 2.0}


def found(
    request: str, *negatives: str, positive: str = "", similar: tuple[float, ...] | None = None, strength: float = 0.6
) -> Boundary | None:
    return boundary(
        terms=frozenset(request.split()),
        idf=IDF,
        positive_terms=frozenset(positive.split()),
        negatives=[(sentence, frozenset(sentence.split())) for sentence in negatives],
        positive_similarity=0.0 if similar is None else similar[0],
        negative_similarities=[] if similar is None else similar[1:],
        strength=strength,
    )


def test_a_share_is_weighted_by_rarity() -> None:
    assert word_share({"live", "price"}, {"live"}, idf=IDF) == pytest.approx(2 / 3)
    assert word_share({"live", "price"}, set(), idf=IDF) == 0.0
    assert word_share(set(), {"live"}, idf=IDF) == 0.0


def test_the_negative_side_leads() -> None:
    hit = found("live price", "live price", positive="price")
    assert hit == Boundary(0.6, "live price")
    assert hit.why().code is ReasonCode.NEGATIVE_BOUNDARY
    assert "live price" in hit.why().text


def test_a_small_lead_takes_a_small_share() -> None:
    # Lead 2/4 - 1/4 by words, and -0.05 by meaning: their mean is a third of the full lead.
    hit = found("live price delayed", "live", positive="price", similar=(0.35, 0.30))
    assert hit is not None
    assert hit.share == pytest.approx(0.6 * ((0.25 - 0.05) / 2) / FULL_LEAD)


@pytest.mark.parametrize(
    "case",
    [
        {"request": "price", "negatives": ("price",), "positive": "price"},
        {"request": "price", "negatives": ("live",), "positive": ""},
        {"request": "live price", "negatives": ("price",), "positive": "live"},
        {"request": "live", "negatives": (), "positive": ""},
        {"request": "live", "negatives": ("live",), "positive": "", "strength": 0.0},
        {"request": "live price", "negatives": ("live",), "positive": "price", "similar": (0.9, 0.2)},
    ],
)
def test_no_lead_no_boundary(case: dict[str, Any]) -> None:
    negatives = case.pop("negatives")
    assert found(case.pop("request"), *negatives, **case) is None


def test_the_sentence_with_the_largest_lead_is_named() -> None:
    hit = found("live price delayed", "delayed", "live", "price")
    assert hit is not None
    assert hit.sentence == "live"


def test_a_request_without_words_meets_no_boundary() -> None:
    assert found("", "live") is None


def test_the_sentence_that_is_near_is_the_one_told() -> None:
    # The request has no word of either sentence; only the second one means the same.
    hit = found("live", "delayed", "price", similar=(0.1, 0.0, 0.7))
    assert hit is not None
    assert hit.sentence == "price"
