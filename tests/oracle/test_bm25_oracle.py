"""The numpy BM25 against rank-bm25: same documents, same order, same numbers, on any catalogue and any DocSet."""

from __future__ import annotations

import random
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolsearch.model.limits import Bm25Parameters
from toolsearch.search.index.docset import DocSet
from toolsearch.search.index.lexical import LexicalHits, LexicalIndex, build_lexical
from toolsearch.text.analysis.analyzer import analyze

pytest.importorskip("rank_bm25", reason="needs the [bm25] extra")

from toolsearch.search.index.reference import ReferenceLexical

WORDS = (
    "order",
    "refund",
    "getInvoice",
    "list_items",
    "the",
    "退款",
    "查订单",
    "v2",
    "of",
    "cancel",
    "Cancelled",
    "查",
)
FIELDS = tuple(Bm25Parameters().fields)
WEIGHTED = Bm25Parameters(fields={field: float(1 + position % 3) for position, field in enumerate(FIELDS)})

texts = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
documents = st.dictionaries(st.sampled_from(FIELDS), texts, max_size=3)
catalogues = st.lists(documents, max_size=12)


def assert_same(found: LexicalHits, expected: LexicalHits) -> None:
    assert found.doc_ids.tolist() == expected.doc_ids.tolist()
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-9)
    np.testing.assert_allclose(found.shares, expected.shares, rtol=1e-9)
    np.testing.assert_allclose(found.coverage, expected.coverage, rtol=1e-9)


@settings(max_examples=300, deadline=None)
@given(
    catalogue=catalogues,
    request=texts,
    visible=st.lists(st.booleans(), min_size=12, max_size=12),
    depth=st.integers(1, 12),
    k1=st.sampled_from([0.5, 0.9, 1.2, 2.0]),
    b=st.sampled_from([0.0, 0.4, 0.75, 1.0]),
)
def test_any_catalogue(
    catalogue: list[Mapping[str, str]], request: str, visible: list[bool], depth: int, k1: float, b: float
) -> None:
    parameters = Bm25Parameters(k1=k1, b=b, fields=WEIGHTED.fields)
    docs = DocSet.from_mask(np.array(visible[: len(catalogue)], dtype=np.bool_))
    terms = analyze(request)
    found = build_lexical(catalogue, parameters=parameters).search(terms, docs=docs, depth=depth)
    expected = ReferenceLexical(catalogue, parameters=parameters).search(terms, docs=docs, depth=depth)
    assert_same(found, expected)


def random_catalogue(size: int, *, seed: int) -> list[dict[str, str]]:
    random_ = random.Random(seed)
    vocabulary = [f"{a}{b}" for a in "bdfgklmn" for b in ("ako", "ilo", "uso", "eri", "amo")]
    return [
        {
            field: " ".join(random_.choices(vocabulary, k=random_.randrange(1, 20)))
            for field in random_.sample(FIELDS, 4)
        }
        for _ in range(size)
    ]


@pytest.fixture(scope="module")
def large() -> tuple[LexicalIndex, ReferenceLexical]:
    catalogue = random_catalogue(400, seed=7)
    return build_lexical(catalogue, parameters=WEIGHTED), ReferenceLexical(catalogue, parameters=WEIGHTED)


@pytest.mark.parametrize("share", [1.0, 0.5, 0.05, 0.0])
def test_a_larger_catalogue(large: tuple[LexicalIndex, ReferenceLexical], share: float) -> None:
    index, reference = large
    generator = np.random.default_rng(3)
    docs = DocSet.from_mask(generator.random(400) < share)
    for request in ("bako dilo gero", "nuso", "kamo kamo leri unheard", "", "mako fako bako gako lako"):
        terms = analyze(request)
        assert_same(index.search(terms, docs=docs, depth=50), reference.search(terms, docs=docs, depth=50))


def test_the_reference_wants_whole_weights() -> None:
    with pytest.raises(ValueError, match=r"weight 1.5 of field 'name'"):
        ReferenceLexical([], parameters=Bm25Parameters(fields={"name": 1.5}))
