"""Fielded BM25: hand-computed scores, explanations, ties, repeated and unknown tokens, and the saved form."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from toolsearch.model.errors import IndexCorrupt
from toolsearch.model.limits import Bm25Parameters
from toolsearch.search.index.docset import DocSet
from toolsearch.search.index.lexical import LexicalIndex, build_lexical, idf, top
from toolsearch.search.index.postings import build_postings, exact_weights

PARAMETERS = Bm25Parameters(k1=1.2, b=0.75, fields={"name": 2.0, "does": 1.0})
CATALOGUE = (
    {"name": "order", "does": "refund order"},
    {"name": "invoice", "does": "refund"},
    {"does": "weather tokyo paris rome"},
    {"does": "does_not is not a field", "does_not": "refund refund"},
)


def everything(n_docs: int) -> DocSet:
    return DocSet.from_mask(np.ones(n_docs, dtype=np.bool_))


def index_of(documents: Sequence[Mapping[str, str]], parameters: Bm25Parameters = PARAMETERS) -> LexicalIndex:
    return build_lexical(documents, parameters=parameters)


INDEX = index_of(CATALOGUE)
ALL = everything(len(CATALOGUE))


def test_a_score_computed_by_hand() -> None:
    docs = DocSet.of([0, 1, 2], n_docs=4)  # lengths 2 + 2, 2 + 1 and 4
    hits = INDEX.search(["order"], docs=docs, depth=10)
    rarity = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    norm = 1.2 * (1 - 0.75 + 0.75 * 4 / (11 / 3))
    assert hits.doc_ids.tolist() == [0]
    assert hits.scores[0] == pytest.approx(rarity * 3 * 2.2 / (3 + norm), rel=1e-12)
    assert hits.shares[0] == pytest.approx(hits.scores[0] / (rarity * 2.2), rel=1e-12)
    assert hits.coverage[0] == 1.0


def test_statistics_are_those_of_the_doc_set() -> None:
    alone = index_of(CATALOGUE[:2]).search(["refund", "order"], docs=everything(2), depth=5)
    inside = INDEX.search(["refund", "order"], docs=DocSet.of([0, 1], n_docs=4), depth=5)
    assert inside.doc_ids.tolist() == alone.doc_ids.tolist()
    assert inside.scores.tobytes() == alone.scores.tobytes()
    assert inside.shares.tobytes() == alone.shares.tobytes()


def test_unknown_tokens_lower_share_and_coverage_but_no_score() -> None:
    known = INDEX.search(["refund"], docs=ALL, depth=5)
    mixed = INDEX.search(["refund", "zebra"], docs=ALL, depth=5)
    assert mixed.scores.tobytes() == known.scores.tobytes()
    assert (mixed.shares < known.shares).all()
    assert known.coverage.tolist() == [1.0, 1.0]
    assert mixed.coverage[0] == idf(2, documents=4) / (idf(2, documents=4) + idf(0, documents=4))


def test_word_order_and_repetition_change_nothing() -> None:
    once = INDEX.search(["order", "refund"], docs=ALL, depth=5)
    again = INDEX.search(["refund", "order", "refund", "refund"], docs=ALL, depth=5)
    assert once.scores.tobytes() == again.scores.tobytes()
    assert once.coverage.tobytes() == again.coverage.tobytes()


@pytest.mark.parametrize("terms", [[], ["zebra"]])
def test_nothing_found(terms: list[str]) -> None:
    hits = INDEX.search(terms, docs=ALL, depth=5)
    assert [array.size for array in (hits.doc_ids, hits.scores, hits.shares, hits.coverage)] == [0] * 4


def test_empty_sets_and_catalogues() -> None:
    assert INDEX.search(["refund"], docs=DocSet.of([], n_docs=4), depth=5).doc_ids.size == 0
    assert index_of([]).search(["refund"], docs=everything(0), depth=5).doc_ids.size == 0
    assert index_of([{}, {"name": "?"}]).search(["refund"], docs=everything(2), depth=5).doc_ids.size == 0


def test_ties_go_to_the_lowest_doc_id_also_at_the_cut() -> None:
    index = index_of([{"does": "weather"}] * 9 + [{"name": "weather"}])
    assert index.search(["weather"], docs=everything(10), depth=4).doc_ids.tolist() == [9, 0, 1, 2]


def test_top_is_the_head_of_a_full_sort() -> None:
    scores = np.random.default_rng(0).integers(0, 9, size=200).astype(np.float64)
    order = np.lexsort((np.arange(200), -scores))
    for depth in (1, 5, 50, 199, 200, 500):
        assert top(scores, ids=np.arange(200), depth=depth).tolist() == order[:depth].tolist()
    with pytest.raises(ValueError, match="depth 0 is below 1"):
        top(scores, ids=np.arange(200), depth=0)


def test_an_explanation_adds_up_to_the_score() -> None:
    terms = ["refund", "order", "zebra"]
    hits = INDEX.search(terms, docs=ALL, depth=5)
    parts = INDEX.explain(terms, docs=ALL, doc_id=0)
    assert hits.doc_ids[0] == 0
    assert sum(part.contribution for part in sorted(parts, key=lambda part: part.term)) == hits.scores[0]
    assert [(part.term, part.tf, part.fields) for part in parts] == [
        ("order", 3.0, ("name", "does")),
        ("refund", 1.0, ("does",)),
        ("zebra", 0.0, ()),
    ]
    assert parts[2].contribution == 0.0
    with pytest.raises(ValueError, match="DocId 0 is not in the DocSet"):
        INDEX.explain(terms, docs=DocSet.of([1], n_docs=4), doc_id=0)


def test_arrays_round_trip() -> None:
    loaded = LexicalIndex.from_arrays(INDEX.arrays(), parameters=PARAMETERS, n_docs=4)
    for terms in (["refund"], ["order", "weather"], []):
        before, after = (index.search(terms, docs=ALL, depth=5) for index in (INDEX, loaded))
        assert before.doc_ids.tobytes() == after.doc_ids.tobytes()
        assert before.scores.tobytes() == after.scores.tobytes()
    empty = LexicalIndex.from_arrays(index_of([]).arrays(), parameters=PARAMETERS, n_docs=0)
    assert empty.n_docs == 0


def test_broken_arrays_are_named() -> None:
    arrays = INDEX.arrays()
    with pytest.raises(IndexCorrupt, match="lacks docs, lengths"):
        LexicalIndex.from_arrays(
            {name: array for name, array in arrays.items() if name not in {"docs", "lengths"}},
            parameters=PARAMETERS,
            n_docs=4,
        )
    for broken in (
        {"counts": arrays["counts"][:-1]},
        {"starts": arrays["starts"][:-1]},
        {"docs": arrays["docs"] + 2},
        {"lengths": arrays["lengths"][:-1]},
    ):
        with pytest.raises(IndexCorrupt, match="rebuild"):
            LexicalIndex.from_arrays({**arrays, **broken}, parameters=PARAMETERS, n_docs=4)


def test_an_index_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        INDEX.postings.counts[0] = 7


def test_weights_are_exact_and_checked() -> None:
    assert exact_weights({"a": 0.3, "b": 2.0}) == {"a": 77 / 256, "b": 2.0}
    with pytest.raises(ValueError, match=r"weight 0.001 of field 'a'"):
        exact_weights({"a": 0.001})
    with pytest.raises(ValueError, match="17 weighted fields; at most 16"):
        exact_weights({f"f{at}": 1.0 for at in range(17)})


def test_one_posting_for_a_token_in_several_fields() -> None:
    postings = build_postings({3: {"name": "7 order", "does": "orders order"}}, weights=PARAMETERS.fields, n_docs=5)
    span = postings.span("order")
    assert postings.docs[span].tolist() == [3]
    assert postings.counts[span].tolist() == [4.0]
    assert postings.fields[span].tolist() == [0b11]
    assert postings.span("zebra") == slice(0, 0)
    assert postings.lengths.tolist() == [0.0, 0.0, 0.0, 6.0, 0.0]
