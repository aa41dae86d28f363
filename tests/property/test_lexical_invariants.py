"""Invariants of the lexical lane over any catalogue and any DocSet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from toolsearch.model.limits import Bm25Parameters
from toolsearch.search.index.docset import DocSet
from toolsearch.search.index.lexical import LexicalHits, LexicalIndex, build_lexical
from toolsearch.text.analysis.analyzer import analyze

# Weights that are no binary fractions, so that rounding would show.
PARAMETERS = Bm25Parameters(k1=1.1, b=0.7, fields={"name": 2.7, "does": 1.1, "use_when": 0.3})
WORDS = ("order", "refund", "getInvoice", "list_items", "the", "退款", "查订单", "v2", "cancel", "Cancelled", "查")

texts = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
documents = st.dictionaries(st.sampled_from(tuple(PARAMETERS.fields)), texts, max_size=3)
marked_catalogues = st.lists(st.tuples(documents, st.booleans()), max_size=14)


def build(catalogue: Sequence[Mapping[str, str]]) -> LexicalIndex:
    return build_lexical(catalogue, parameters=PARAMETERS)


def docs_of(mask: Sequence[bool]) -> DocSet:
    return DocSet.from_mask(np.array(mask, dtype=np.bool_))


def bytes_of(hits: LexicalHits) -> tuple[bytes, ...]:
    return (hits.scores.tobytes(), hits.shares.tobytes(), hits.coverage.tobytes())


def assert_equal_arrays(found: LexicalIndex, expected: LexicalIndex) -> None:
    found_arrays, expected_arrays = found.arrays(), expected.arrays()
    assert list(found_arrays) == list(expected_arrays)
    for name, array in expected_arrays.items():
        assert found_arrays[name].dtype == array.dtype
        assert found_arrays[name].tobytes() == array.tobytes()


@settings(max_examples=300, deadline=None)
@given(marked_catalogues, texts, st.integers(1, 14))
def test_hidden_documents_do_not_exist(
    catalogue: list[tuple[Mapping[str, str], bool]], request: str, depth: int
) -> None:
    terms = analyze(request)
    visible = [at for at, (_, shown) in enumerate(catalogue) if shown]
    docs = docs_of([shown for _, shown in catalogue])
    whole, alone = build([texts for texts, _ in catalogue]), build([catalogue[at][0] for at in visible])
    found = whole.search(terms, docs=docs, depth=depth)
    expected = alone.search(terms, docs=docs_of([True] * len(visible)), depth=depth)
    assert found.doc_ids.tolist() == [visible[at] for at in expected.doc_ids]
    assert bytes_of(found) == bytes_of(expected)
    for at, doc_id in zip(expected.doc_ids.tolist(), found.doc_ids.tolist(), strict=True):
        assert whole.explain(terms, docs=docs, doc_id=doc_id) == alone.explain(
            terms, docs=docs_of([True] * len(visible)), doc_id=at
        )


@settings(max_examples=200, deadline=None)
@given(marked_catalogues, texts, st.integers(1, 14))
def test_a_shallow_search_is_the_head_of_a_deep_one(
    catalogue: list[tuple[Mapping[str, str], bool]], request: str, depth: int
) -> None:
    index, terms = build([texts for texts, _ in catalogue]), analyze(request)
    docs = docs_of([shown for _, shown in catalogue])
    deep = index.search(terms, docs=docs, depth=100)
    shallow = index.search(terms, docs=docs, depth=depth)
    assert shallow.doc_ids.tolist() == deep.doc_ids[:depth].tolist()
    assert set(deep.doc_ids.tolist()) <= set(docs.ids.tolist())
    assert sorted(zip(-deep.scores, deep.doc_ids, strict=True)) == list(zip(-deep.scores, deep.doc_ids, strict=True))
    assert ((deep.shares > 0) & (deep.shares <= 1) & (deep.coverage > 0) & (deep.coverage <= 1)).all()
    for doc_id, score in zip(deep.doc_ids.tolist(), deep.scores.tolist(), strict=True):
        parts = sorted(index.explain(terms, docs=docs, doc_id=doc_id), key=lambda part: part.term)
        assert sum(part.contribution for part in parts) == score


@settings(max_examples=200, deadline=None)
@given(marked_catalogues, texts, st.randoms(use_true_random=False))
def test_the_order_of_the_catalogue_changes_only_doc_ids(catalogue, request, random) -> None:
    places = list(range(len(catalogue)))
    random.shuffle(places)
    terms, mask = analyze(request), [shown for _, shown in catalogue]
    before = build([texts for texts, _ in catalogue]).search(terms, docs=docs_of(mask), depth=50)
    after = build([catalogue[at][0] for at in places]).search(
        terms, docs=docs_of([mask[at] for at in places]), depth=50
    )
    assert dict(zip(before.doc_ids.tolist(), before.scores.tolist(), strict=True)) == {
        places[at]: score for at, score in zip(after.doc_ids.tolist(), after.scores.tolist(), strict=True)
    }


@settings(max_examples=300, deadline=None)
@given(st.lists(documents, max_size=8), st.lists(st.one_of(st.integers(0, 7), documents), max_size=10))
def test_an_update_equals_a_fresh_build(old: list[Mapping[str, str]], plan: list[int | Mapping[str, str]]) -> None:
    keep: list[int] = []
    new: list[Mapping[str, str]] = []
    for entry in plan:
        if isinstance(entry, int):
            if entry < len(old) and entry not in keep:
                keep.append(entry)
                new.append(old[entry])
        else:
            keep.append(-1)
            new.append(entry)
    added = {at: new[at] for at, source in enumerate(keep) if source < 0}
    updated = build(old).updated(keep=np.array(keep, dtype=np.int32), added=added)
    assert_equal_arrays(updated, build(new))


@settings(max_examples=100, deadline=None)
@given(st.lists(documents, max_size=8))
def test_a_saved_index_loads_equal(catalogue: list[Mapping[str, str]]) -> None:
    index = build(catalogue)
    loaded = LexicalIndex.from_arrays(index.arrays(), parameters=PARAMETERS, n_docs=len(catalogue))
    assert_equal_arrays(loaded, index)
