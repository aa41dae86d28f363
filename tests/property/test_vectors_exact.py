"""The vector index against a scan in Python integers: same documents, same floats, whatever else it holds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from toolsearch.search.index.docset import DocSet
from toolsearch.search.index.vectors import VectorHits, VectorIndex


@dataclass(frozen=True)
class Case:
    rows: NDArray[np.float32]
    owners: NDArray[np.int32]
    query: NDArray[np.float32]
    mask: NDArray[np.bool_]
    depth: int

    @property
    def docs(self) -> DocSet:
        return DocSet.from_mask(self.mask)

    @property
    def index(self) -> VectorIndex:
        return VectorIndex.build(self.rows, self.owners, dim=self.query.size)


def unit(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Random rows around a few centres, many of them equal or 1e-7 apart, so that every cut is contested."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dim = draw(st.sampled_from([33, 8, 2, 1]))
    n_docs = draw(st.sampled_from([300, 40, 3, 1, 0]))
    n_rows = draw(st.sampled_from([600, 200, 5, 1, 0])) if n_docs else 0
    centres = random.standard_normal((draw(st.integers(1, 6)), dim))
    spread = draw(st.sampled_from([0.0, 1e-7, 1e-6, 0.5]))
    rows = centres[random.integers(0, len(centres), n_rows)] + spread * random.standard_normal((n_rows, dim))
    owners = random.integers(0, max(1, n_docs), n_rows)
    if draw(st.booleans()):  # one owner holds most rows
        owners[random.random(n_rows) < 0.8] = 0
    query = centres[0] + draw(st.sampled_from([0.0, 0.3])) * random.standard_normal(dim)
    mask = random.random(n_docs) < draw(st.sampled_from([0.7, 1.0, 0.2, 0.0]))
    depth = draw(st.sampled_from([5, 1, 0, 40, 1000]))
    return Case(unit(rows), owners.astype(np.int32), unit(query), mask, depth)


def brute_force(case: Case) -> list[tuple[int, float]]:
    """Score every permitted row in Python integers, which cannot overflow or round."""
    query = [round(float(value) * 2**26) for value in case.query]
    best: dict[int, float] = {}
    for row, owner in zip(case.rows.tolist(), case.owners.tolist(), strict=True):
        if case.mask[owner]:
            exact = sum(round(value * 2**26) * weight for value, weight in zip(row, query, strict=True))
            cosine = min(1.0, max(-1.0, exact / 2**52))
            best[owner] = max(cosine, best.get(owner, -2.0))
    return sorted(best.items(), key=lambda item: (-item[1], item[0]))[: case.depth]


def pairs(hits: VectorHits) -> list[tuple[int, float]]:
    return list(zip(hits.doc_ids.tolist(), hits.cosines.tolist(), strict=True))


@settings(max_examples=300, deadline=None)
@given(cases())
def test_search_is_brute_force_over_the_permitted_documents(case: Case) -> None:
    assert pairs(case.index.search(case.query, docs=case.docs, depth=case.depth)) == brute_force(case)


@settings(max_examples=200, deadline=None)
@given(cases())
def test_hidden_documents_change_no_byte(case: Case) -> None:
    visible = case.mask[case.owners]
    renumbered = (np.cumsum(case.mask) - 1).astype(np.int32)
    alone = VectorIndex.build(case.rows[visible], renumbered[case.owners[visible]], dim=case.query.size)
    everything = DocSet.from_mask(np.ones(case.docs.count, dtype=np.bool_))

    among_hidden = case.index.search(case.query, docs=case.docs, depth=case.depth)
    without_hidden = alone.search(case.query, docs=everything, depth=case.depth)

    assert renumbered[among_hidden.doc_ids].tobytes() == without_hidden.doc_ids.tobytes()
    assert among_hidden.cosines.tobytes() == without_hidden.cosines.tobytes()


@settings(max_examples=100, deadline=None)
@given(cases(), st.randoms(use_true_random=False))
def test_order_of_rows_changes_nothing(case: Case, random: object) -> None:
    order = np.arange(len(case.rows))
    random.shuffle(order)  # type: ignore[attr-defined]
    shuffled = VectorIndex.build(case.rows[order], case.owners[order], dim=case.query.size)
    assert pairs(shuffled.search(case.query, docs=case.docs, depth=case.depth)) == pairs(
        case.index.search(case.query, docs=case.docs, depth=case.depth)
    )


@settings(max_examples=100, deadline=None)
@given(cases())
def test_the_winning_row_is_the_first_best_row_of_its_owner(case: Case) -> None:
    index = case.index
    hits = index.search(case.query, docs=case.docs, depth=case.depth)
    for doc_id, cosine, row_id in zip(hits.doc_ids, hits.cosines, hits.row_ids, strict=True):
        own = np.flatnonzero(index.owners == doc_id)
        singles = [
            VectorIndex.build(index.rows[[row]], [0], dim=index.dim).cosines(case.query, doc_ids=[0])[0] for row in own
        ]
        assert row_id == own[int(np.argmax(singles))]
        assert cosine == max(singles)


@settings(max_examples=100, deadline=None)
@given(cases())
def test_cosines_are_those_of_the_search(case: Case) -> None:
    hits = case.index.search(case.query, docs=case.docs, depth=case.mask.size)
    expected = dict(pairs(hits))
    doc_ids = case.docs.ids[::-1]
    assert case.index.cosines(case.query, doc_ids=doc_ids).tolist() == [
        expected.get(int(doc_id), -1.0) for doc_id in doc_ids
    ]


@settings(max_examples=100, deadline=None)
@given(cases(), st.integers(0, 2**32 - 1))
def test_remapped_equals_a_fresh_build(case: Case, seed: int) -> None:
    random = np.random.default_rng(seed)
    n_docs, n_added = case.mask.size, int(random.integers(0, 5))
    survives = random.random(n_docs) < 0.8
    # Old documents keep their relative order; new ones are sorted in between.
    places = np.sort(random.permutation(int(survives.sum()) + n_added)[: int(survives.sum())])
    new_doc_ids = np.full(n_docs, -1, dtype=np.int32)
    new_doc_ids[survives] = places
    fresh = np.setdiff1d(np.arange(len(places) + n_added), places)
    added_owners = np.repeat(fresh, 2)
    added_rows = unit(random.standard_normal((len(added_owners), case.query.size)))

    index = case.index.remapped(new_doc_ids, added_rows=added_rows, added_owners=added_owners)
    kept = survives[case.owners] if len(case.owners) else np.zeros(0, dtype=np.bool_)
    expected = VectorIndex.build(
        np.concatenate([case.rows[kept], added_rows]),
        np.concatenate([new_doc_ids[case.owners[kept]], added_owners]),
        dim=case.query.size,
    )
    assert index.rows.tobytes() == expected.rows.tobytes()
    assert index.owners.tobytes() == expected.owners.tobytes()
