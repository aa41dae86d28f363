"""The vector index at its edges."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from toolsearch.model.errors import EncoderMismatch, IndexCorrupt, IndexStateError, RequestError
from toolsearch.search.index.docset import DocSet
from toolsearch.search.index.vectors import VectorIndex

EAST, NORTH, NORTH_EAST = [1.0, 0.0], [0.0, 1.0], [0.6, 0.8]
COMPASS = VectorIndex.build([NORTH, EAST, NORTH_EAST], [2, 0, 1], dim=2)
QUERY = np.array(EAST, dtype=np.float32)


def all_docs(n_docs: int) -> DocSet:
    return DocSet.from_mask(np.ones(n_docs, dtype=np.bool_))


def test_best_first() -> None:
    hits = COMPASS.search(QUERY, docs=all_docs(3), depth=10)
    assert hits.doc_ids.tolist() == [0, 1, 2]
    assert hits.cosines == pytest.approx([1.0, 0.6, 0.0], abs=1e-7)
    assert hits.doc_ids.dtype == hits.row_ids.dtype == np.int32
    assert hits.cosines.dtype == np.float64


def test_only_permitted_documents() -> None:
    assert COMPASS.search(QUERY, docs=DocSet.of([2, 1], n_docs=3), depth=10).doc_ids.tolist() == [1, 2]


def test_equal_cosines_come_in_order_of_doc_id() -> None:
    index = VectorIndex.build([EAST] * 300, list(range(299, -1, -1)), dim=2)
    hits = index.search(QUERY, docs=all_docs(300), depth=5)
    assert hits.doc_ids.tolist() == [0, 1, 2, 3, 4]


def test_depth_counts_owners_not_rows() -> None:
    index = VectorIndex.build([EAST] * 500 + [NORTH_EAST, NORTH], [0] * 500 + [1, 2], dim=2)
    assert index.search(QUERY, docs=all_docs(3), depth=2).doc_ids.tolist() == [0, 1]


def test_opposite_vectors_are_found() -> None:
    index = VectorIndex.build([[-1.0, 0.0], [-1.0005, 0.0]] * 100, list(range(200)), dim=2)
    hits = index.search(QUERY, docs=all_docs(200), depth=3)
    assert hits.doc_ids.tolist() == [0, 1, 2]
    assert hits.cosines.tolist() == [-1.0] * 3


@pytest.mark.parametrize(
    ("index", "docs", "depth"),
    [
        pytest.param(VectorIndex.build([], [], dim=2), all_docs(0), 5, id="empty index"),
        pytest.param(VectorIndex.build([], [], dim=2), all_docs(3), 5, id="documents without rows"),
        pytest.param(COMPASS, DocSet.of([], n_docs=3), 5, id="nothing permitted"),
        pytest.param(COMPASS, all_docs(3), 0, id="depth 0"),
    ],
)
def test_nothing_to_find(index: VectorIndex, docs: DocSet, depth: int) -> None:
    hits = index.search(QUERY, docs=docs, depth=depth)
    assert hits.doc_ids.shape == hits.cosines.shape == hits.row_ids.shape == (0,)


def test_cosines_say_minus_one_for_documents_without_rows() -> None:
    index = VectorIndex.build([EAST, NORTH, NORTH_EAST], [1, 1, 3], dim=2)
    cosines = index.cosines(QUERY, doc_ids=[3, 0, 1, 2, 3])
    assert cosines == pytest.approx([0.6, -1.0, 1.0, -1.0, 0.6], abs=1e-7)
    assert index.cosines(QUERY, doc_ids=[]).shape == (0,)


@pytest.mark.parametrize(
    ("query", "error", "words"),
    [
        (np.ones(3, dtype=np.float32), EncoderMismatch, r"\(3,\).*\(2,\)"),
        (np.array([EAST], dtype=np.float32), EncoderMismatch, r"\(1, 2\).*\(2,\)"),
        (np.array([np.nan, 0.0], dtype=np.float32), RequestError, "norm nan, expected 1"),
        (np.array([np.inf, 0.0], dtype=np.float32), RequestError, "norm inf, expected 1"),
        (np.array([0.5, 0.0], dtype=np.float32), RequestError, "norm 0.5, expected 1"),
        (np.zeros(2, dtype=np.float32), RequestError, "norm 0, expected 1"),
    ],
)
def test_wrong_queries_are_named(query: np.ndarray, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        COMPASS.search(query, docs=all_docs(3), depth=1)
    with pytest.raises(error, match=words):
        COMPASS.cosines(query, doc_ids=[0])


def test_negative_depth_is_named() -> None:
    with pytest.raises(RequestError, match="depth is -1"):
        COMPASS.search(QUERY, docs=all_docs(3), depth=-1)


def test_a_set_of_a_smaller_snapshot_is_refused() -> None:
    with pytest.raises(IndexStateError, match=r"covers 2 documents.*document 2"):
        COMPASS.search(QUERY, docs=all_docs(2), depth=1)
    with pytest.raises(IndexStateError, match="mapping covers 2"):
        COMPASS.remapped(np.array([0, 1], dtype=np.int32), added_rows=[], added_owners=[])


@pytest.mark.parametrize(
    ("rows", "owners", "error", "words"),
    [
        ([[1.0, 0.0, 0.0]], [0], EncoderMismatch, r"\(1, 3\), expected \(n, 2\)"),
        ([EAST, NORTH], [0], IndexStateError, "2 vectors have 1 owners"),
        ([EAST], [-1], IndexStateError, "owner -1"),
        ([EAST, [2.0, 0.0]], [0, 1], IndexStateError, "vector 1 has norm 2"),
        ([EAST, [np.nan, 0.0]], [0, 1], IndexStateError, "vector 1 has norm nan"),
    ],
)
def test_wrong_rows_are_named(rows: list[list[float]], owners: list[int], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        VectorIndex.build(rows, owners, dim=2)


def test_round_trip_over_memory_mapped_files(tmp_path: Path) -> None:
    for name, array in COMPASS.arrays().items():
        np.save(tmp_path / f"{name}.npy", array)
    mapped = {name: np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("rows", "owners")}
    index = VectorIndex.from_arrays(mapped)
    assert np.shares_memory(index.rows, mapped["rows"])
    before = COMPASS.search(QUERY, docs=all_docs(3), depth=3)
    after = index.search(QUERY, docs=all_docs(3), depth=3)
    assert before.cosines.tobytes() == after.cosines.tobytes()
    assert before.row_ids.tobytes() == after.row_ids.tobytes()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"rows": None}, "'rows' is missing"),
        ({"rows": np.eye(3)}, "float64"),
        ({"owners": np.zeros(2, dtype=np.int32)}, "3 vectors have 2 owners"),
        ({"owners": np.array([2, 1, 0], dtype=np.int32)}, "not ascending"),
        ({"owners": np.array([-1, 0, 1], dtype=np.int32)}, "not ascending"),
    ],
)
def test_damaged_arrays_are_named(changed: dict[str, np.ndarray | None], words: str) -> None:
    arrays = {name: array for name, array in (COMPASS.arrays() | changed).items() if array is not None}
    with pytest.raises(IndexCorrupt, match=words):
        VectorIndex.from_arrays(arrays)


def test_threads_share_an_index_that_nobody_has_searched_yet() -> None:
    random = np.random.default_rng(5)
    rows = random.standard_normal((2000, 16)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    index = VectorIndex.build(rows, np.arange(2000), dim=16)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda row: index.search(row, docs=all_docs(2000), depth=1), rows[:200]))
    assert [int(hits.doc_ids[0]) for hits in found] == list(range(200))


def test_import_does_not_load_faiss() -> None:
    code = "import sys, toolsearch.search.index.vectors; sys.exit('faiss' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_cut_among_a_thousand_near_ties_is_exact() -> None:
    random = np.random.default_rng(11)
    rows = np.ones(64) + 1e-6 * random.standard_normal((1000, 64))
    index = VectorIndex.build(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.arange(1000), dim=64)
    query = (np.ones(64) / 8).astype(np.float32)
    every = index.cosines(query, doc_ids=np.arange(1000))
    expected = np.lexsort((np.arange(1000), -every))[:10]
    assert index.search(query, docs=all_docs(1000), depth=10).doc_ids.tolist() == expected.tolist()


def test_cosines_of_each_row_of_a_document_in_its_order() -> None:
    index = VectorIndex.build([EAST, NORTH, NORTH_EAST], [1, 1, 0], dim=2)
    assert index.cosines_of(QUERY, doc_id=1).tolist() == [1.0, 0.0]
    assert index.cosines_of(QUERY, doc_id=0) == pytest.approx([0.6], abs=1e-6)
    assert index.cosines_of(QUERY, doc_id=7).size == 0
