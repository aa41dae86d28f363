"""Unit vectors with owners, searched exactly over a DocSet.

FAISS scans, integers decide. The last bits of a FAISS score depend on which kernel ran and on the row's
place in a block, hence on rows the caller may not even see. So FAISS only proposes rows. The score that
counts is an inner product of fixed-point vectors (26 fractional bits), in which every partial sum is an
integer below 2**53: float64 adds those without rounding, so the order of the additions, and with it the
machine, cannot show. Proposals are taken with a margin wider than the worst float32 error, which makes the
answer provably the top `depth` of a brute-force scan over the permitted rows.

The index is flat on purpose: an HNSW graph under a selective filter lost two thirds of the answers in our
measurements, and was slower. FAISS threads are left as the program set them: one query is scanned by one
thread either way. This is the only module that imports faiss, at the first scan.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toolsearch.model.errors import EncoderMismatch, IndexCorrupt, IndexStateError, RequestError
from toolsearch.search.index.docset import DocSet
from toolsearch.search.index.npy import taken

_T = TypeVar("_T", bound=np.generic)

_FIXED_POINT = 2.0**26
"""Two vectors of norm <= 1.001 give partial sums below 1.003 * 2**52, exact in float64."""

_UNIT_TOLERANCE = 1e-3
"""How far a norm may be from 1."""

_MARGIN = 32
"""Rows asked for beyond `depth`, so that one scan usually settles the cut."""


@dataclass(frozen=True, slots=True, eq=False)
class VectorHits:
    """Documents near a query, best first; equal cosines in order of DocId.

    Attributes:
        doc_ids: int32[n], each once.
        cosines: float64[n] in [-1, 1].
        row_ids: int32[n], the row that won for each document.
    """

    doc_ids: NDArray[np.int32]
    cosines: NDArray[np.float64]
    row_ids: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class VectorIndex:
    """Immutable rows sorted by owner; safe to share between threads. Make one with `build`.

    Attributes:
        rows: float32[m, dim], unit rows, C order; may be memory-mapped.
        owners: int32[m], ascending: the DocId each row belongs to. A document may own several rows or none.
    """

    rows: NDArray[np.float32]
    owners: NDArray[np.int32]
    _scan: _FlatScan = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_scan", _FlatScan(self.rows))

    @classmethod
    def build(cls, rows: ArrayLike, owners: ArrayLike, *, dim: int) -> VectorIndex:
        """Return the index of rows in any order; rows of one owner keep their order.

        Args:
            rows: float[m, dim], unit rows.
            owners: int[m], DocIds >= 0.
            dim: Length of a vector; needed for an index without rows.

        Raises:
            EncoderMismatch: If rows have another length than `dim`.
            IndexStateError: If a row is not a unit vector, or rows and owners differ in number.
        """
        matrix = np.ascontiguousarray(rows, dtype=np.float32)
        matrix = matrix.reshape(0, dim) if matrix.size == 0 else matrix
        ids = np.asarray(owners, dtype=np.int32).reshape(-1)
        _check_rows(matrix, ids, dim=dim)
        order = np.argsort(ids, kind="stable")
        return cls(_frozen(matrix[order]), _frozen(ids[order]))

    @property
    def dim(self) -> int:
        """Return the length of a vector."""
        return int(self.rows.shape[1])

    def search(self, query: NDArray[np.float32], *, docs: DocSet, depth: int) -> VectorHits:
        """Return the `depth` documents of the set whose best row is nearest to the query.

        Rows outside `docs` influence no byte of the answer.

        Args:
            query: float32[dim], a unit vector.
            docs: The documents that may be looked at.
            depth: Most documents to return, >= 0.

        Raises:
            EncoderMismatch: If the query has another shape than (dim,).
            RequestError: If the query is not a unit vector, or `depth` is negative.
            IndexStateError: If `docs` is of a smaller snapshot than this index.
        """
        return self.search_all(np.asarray(query, dtype=np.float32)[np.newaxis], docs=docs, depth=depth)[0]

    def search_all(self, queries: NDArray[np.float32], *, docs: DocSet, depth: int) -> list[VectorHits]:
        """Return what `search` returns for each of several queries; the rows are scanned in one call.

        Args:
            queries: float32[n, dim], unit rows.
            docs: The documents that may be looked at.
            depth: Most documents to return for each, >= 0.

        Raises:
            EncoderMismatch: As `search`; and so do RequestError and IndexStateError.
        """
        fixed = [self._fixed_query(query) for query in queries]
        if depth < 0:
            raise RequestError(f"depth is {depth}; it must be 0 or more", field="depth")
        allowed = self._allowed_rows(docs)
        if depth == 0 or not allowed.any():
            return [self._best(np.zeros(0, dtype=np.int64), query, depth=0) for query in fixed]
        first = self._scan.nearest(queries, allowed=allowed, count=depth + _MARGIN)
        return [
            self._best(self._candidates(exact, query, allowed, depth=depth, first=found), exact, depth=depth)
            for exact, query, found in zip(fixed, queries, first, strict=True)
        ]

    def within(
        self, query: NDArray[np.float32], *, docs: DocSet, least: float
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return every row of the set whose cosine is `least` or more: row ids int64[n], ascending, and cosines.

        Unlike a nearest-k search no row can push another out. Cosines are those of `search`, bit for bit.

        Args:
            query: float32[dim], a unit vector.
            docs: The documents whose rows may be looked at.
            least: Cosine in [-1, 1].

        Raises:
            EncoderMismatch: If the query has another shape than (dim,).
            RequestError: If the query is not a unit vector.
            IndexStateError: If `docs` is of a smaller snapshot than this index.
        """
        fixed = self._fixed_query(query)
        allowed = self._allowed_rows(docs)
        if not allowed.any():
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        margin = self.dim * 2.0**-22  # twice what a float32 product can be off, see `_candidates`
        row_ids = np.sort(
            self._scan.above(np.asarray(query, dtype=np.float32), allowed=allowed, threshold=least - margin)
        )
        cosines = self._exact(row_ids, fixed)
        near = cosines >= least
        return row_ids[near], cosines[near]

    def cosines(self, query: NDArray[np.float32], *, doc_ids: ArrayLike) -> NDArray[np.float64]:
        """Return float64[n], the best cosine of each given document; -1.0 for a document without rows.

        The values are those that `search` gives for the same documents, bit for bit.

        Args:
            query: float32[dim], a unit vector.
            doc_ids: int[n], in any order.

        Raises:
            EncoderMismatch: If the query has another shape than (dim,).
            RequestError: If the query is not a unit vector.
        """
        fixed = self._fixed_query(query)
        wanted = np.asarray(doc_ids, dtype=np.int32).reshape(-1)
        first = np.searchsorted(self.owners, wanted, side="left")
        counts = np.searchsorted(self.owners, wanted, side="right") - first
        best = np.full(wanted.size, -1.0)
        owning = np.flatnonzero(counts)
        if owning.size == 0:
            return best
        starts = np.cumsum(counts[owning]) - counts[owning]
        row_ids = np.arange(counts.sum()) + np.repeat(first[owning] - starts, counts[owning])
        best[owning] = np.maximum.reduceat(self._exact(row_ids, fixed), starts)
        return best

    def cosines_of(self, query: NDArray[np.float32], *, doc_id: int) -> NDArray[np.float64]:
        """Return float64[rows of the document]: the cosine of each of its rows, in their order.

        Args:
            query: float32[dim], a unit vector.
            doc_id: The document; one without rows gets an empty array.

        Raises:
            EncoderMismatch: If the query has another shape than (dim,).
            RequestError: If the query is not a unit vector.
        """
        start, end = np.searchsorted(self.owners, [doc_id, doc_id + 1])
        return self._exact(np.arange(start, end), self._fixed_query(query))

    def remapped(
        self, new_doc_ids: NDArray[np.int32], *, added_rows: ArrayLike, added_owners: ArrayLike
    ) -> VectorIndex:
        """Return the index of a changed catalogue; equal to a fresh `build` of its rows.

        Args:
            new_doc_ids: int32[old n_docs]: old DocId -> new DocId; -1 = gone, its rows with it.
            added_rows: float[a, dim], unit rows of new documents.
            added_owners: int[a], new DocIds.

        Raises:
            EncoderMismatch: If the added rows have another length than `dim`.
            IndexStateError: If an added row is not a unit vector, or the mapping is too short.
        """
        mapping = np.asarray(new_doc_ids, dtype=np.int32).reshape(-1)
        _check_covers(mapping.size, self.owners, what="mapping")
        moved = mapping[self.owners]
        kept = np.flatnonzero(moved >= 0)
        added = VectorIndex.build(added_rows, added_owners, dim=self.dim)
        owners = np.concatenate([moved[kept], added.owners])
        rows = np.concatenate([self.rows[kept], added.rows])
        order = np.argsort(owners, kind="stable")
        return VectorIndex(_frozen(rows[order]), _frozen(owners[order]))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a snapshot stores: `rows` float32[m, dim] and `owners` int32[m]."""
        return {"rows": self.rows, "owners": self.owners}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> VectorIndex:
        """Return the index over arrays that `arrays` gave, without copying them (they may be memory-mapped).

        Raises:
            IndexCorrupt: If an array is missing or cannot be one of ours.
        """
        rows, owners = taken(arrays, "rows", "owners", kind="vector")
        if rows.dtype != np.float32 or rows.ndim != 2 or owners.dtype != np.int32 or owners.ndim != 1:
            raise IndexCorrupt(
                f"vectors are {rows.dtype}{rows.shape} owned by {owners.dtype}{owners.shape}; "
                "expected float32[m, dim] and int32[m]; rebuild the index"
            )
        if len(rows) != len(owners) or (owners.size and owners[0] < 0) or np.any(owners[1:] < owners[:-1]):
            raise IndexCorrupt(
                f"{len(rows)} vectors have {len(owners)} owners, or the owners are not ascending; rebuild the index"
            )
        return cls(rows, owners)

    def _allowed_rows(self, docs: DocSet) -> NDArray[np.bool_]:
        """Return bool[m]: may this row be looked at."""
        _check_covers(docs.mask.size, self.owners, what="set of documents")
        allowed: NDArray[np.bool_] = docs.mask[self.owners]
        return allowed

    def _candidates(
        self,
        fixed: NDArray[np.float64],
        query: NDArray[np.float32],
        allowed: NDArray[np.bool_],
        *,
        depth: int,
        first: tuple[NDArray[np.int64], float],
    ) -> NDArray[np.int64]:
        """Return permitted rows among which are all that an exact scan could put in the answer.

        `first` is what the scan says of the nearest `depth + _MARGIN` rows.
        """
        total = int(np.count_nonzero(allowed))
        # A float32 product of unit vectors errs by dim * 2**-24 at most; as much again covers fixed point.
        error = self.dim * 2.0**-23
        wanted, (row_ids, lowest) = depth + _MARGIN, first
        while wanted < total:
            best = self._best(row_ids, fixed, depth=depth)
            # At -1 scores are clipped and ties reach below any threshold: take all rows.
            if best.doc_ids.size == depth and best.cosines[-1] > -1.0:
                # The true cut can only be higher than the cut among these rows: every winner reaches it.
                cut = float(best.cosines[-1])
                if lowest + error < cut:
                    return row_ids
                return self._scan.above(query, allowed=allowed, threshold=cut - 2 * error)
            # A few owners hold most of these rows.
            wanted *= 4
            row_ids, lowest = self._scan.nearest(query[np.newaxis], allowed=allowed, count=wanted)[0]
        return np.flatnonzero(allowed)

    def _best(self, row_ids: NDArray[np.int64], fixed: NDArray[np.float64], *, depth: int) -> VectorHits:
        """Return the first `depth` owners of the given rows by exact cosine."""
        scores = self._exact(row_ids, fixed)
        order = np.lexsort((row_ids, self.owners[row_ids], -scores))
        owners = self.owners[row_ids][order]
        first = np.sort(np.unique(owners, return_index=True)[1])[:depth]
        chosen = order[first]
        return VectorHits(owners[first], scores[chosen], row_ids[chosen].astype(np.int32))

    def _exact(self, row_ids: NDArray[np.int64], fixed: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return float64[n] in [-1, 1]: the cosines that count."""
        # Scaling by a power of two is exact in float32 too, and float32 halves what must be moved.
        rows = self.rows[row_ids] * np.float32(_FIXED_POINT)
        np.rint(rows, out=rows)
        # einsum, not @: the sum is exact either way, and BLAS would wake its threads.
        products = np.einsum("ij,j->i", rows.astype(np.float64), fixed)
        # + 0.0: which of its two signs a zero sum gets does depend on the order of the additions.
        cosines: NDArray[np.float64] = np.clip(products / _FIXED_POINT**2, -1.0, 1.0) + 0.0
        return cosines

    def _fixed_query(self, query: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the query in fixed point, after checking it."""
        vector = np.asarray(query, dtype=np.float32)
        if vector.shape != (self.dim,):
            raise EncoderMismatch(
                f"query vector has shape {vector.shape}, the index holds vectors of shape ({self.dim},): "
                "encode the request with the encoder the index was built with",
                found=str(vector.shape),
                expected=f"({self.dim},)",
            )
        norm = float(np.linalg.norm(vector.astype(np.float64)))
        if not abs(norm - 1.0) <= _UNIT_TOLERANCE:  # also true for NaN
            raise RequestError(
                f"query vector has norm {norm:.6g}, expected 1 within {_UNIT_TOLERANCE:g}: normalise it",
                field="query",
            )
        fixed: NDArray[np.float64] = np.rint(vector.astype(np.float64) * _FIXED_POINT)
        return fixed


class _FlatScan:
    """The FAISS index over all rows, made when first needed. Scores it returns are proposals."""

    __slots__ = ("_index", "_lock", "_rows")

    def __init__(self, rows: NDArray[np.float32]) -> None:
        self._rows = rows
        self._lock = threading.Lock()
        self._index: Any = None

    def nearest(
        self, queries: NDArray[np.float32], *, allowed: NDArray[np.bool_], count: int
    ) -> list[tuple[NDArray[np.int64], float]]:
        """Return for each query up to `count` permitted rows, and a score that no other permitted row exceeds."""
        packed = np.packbits(allowed, bitorder="little")  # the selector holds a bare pointer to it
        scores, found = self._flat().search(queries, count, params=_only(packed))
        real = found >= 0  # short answers are padded with -1
        return [
            (row[known].astype(np.int64), float(score[known].min(initial=np.inf)))
            for row, score, known in zip(found, scores, real, strict=True)
        ]

    def above(self, query: NDArray[np.float32], *, allowed: NDArray[np.bool_], threshold: float) -> NDArray[np.int64]:
        """Return every permitted row whose score is above the threshold."""
        packed = np.packbits(allowed, bitorder="little")
        _, _, found = self._flat().range_search(query[np.newaxis], threshold, params=_only(packed))
        return np.asarray(found, dtype=np.int64)

    def _flat(self) -> Any:
        """Return the FAISS index; the first caller builds it, others wait."""
        with self._lock:
            if self._index is None:
                index = _faiss().IndexFlatIP(int(self._rows.shape[1]))
                index.add(np.ascontiguousarray(self._rows))
                self._index = index
            return self._index


def _faiss() -> Any:
    """Return the module; its type hints describe the C++ signatures, not the Python ones."""
    import faiss

    return faiss


def _only(packed: NDArray[np.uint8]) -> Any:
    """Return search parameters that keep FAISS to the rows whose bit is set."""
    faiss = _faiss()
    return faiss.SearchParameters(sel=faiss.IDSelectorBitmap(packed))


def _check_rows(rows: NDArray[np.float32], owners: NDArray[np.int32], *, dim: int) -> None:
    """Raise if the rows are not `dim`-long unit vectors, one for each owner."""
    if rows.ndim != 2 or rows.shape[1] != dim:
        raise EncoderMismatch(
            f"vectors have shape {rows.shape}, expected (n, {dim}): rebuild the index with one encoder",
            found=str(rows.shape),
            expected=f"(n, {dim})",
        )
    if len(rows) != len(owners):
        raise IndexStateError(
            f"{len(rows)} vectors have {len(owners)} owners: give one owner a vector",
            found=str(len(owners)),
            expected=str(len(rows)),
        )
    if owners.size and owners.min() < 0:
        raise IndexStateError(f"owner {owners.min()} is not a DocId: owners are 0 or more")
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    wrong = np.flatnonzero(~(np.abs(norms - 1.0) <= _UNIT_TOLERANCE))
    if wrong.size:
        row = int(wrong[0])
        raise IndexStateError(
            f"vector {row} has norm {norms[row]:.6g}, expected 1 within {_UNIT_TOLERANCE:g}: normalise it",
            found=f"{norms[row]:.6g}",
            expected="1",
        )


def _check_covers(size: int, owners: NDArray[np.int32], *, what: str) -> None:
    """Raise if an owner lies beyond something that has one entry a document."""
    if owners.size and int(owners[-1]) >= size:
        raise IndexStateError(
            f"the {what} covers {size} documents, the index has vectors of document {int(owners[-1])}: "
            "use one made for the same snapshot",
            found=str(size),
            expected=f"more than {int(owners[-1])}",
        )


def _frozen(array: NDArray[_T]) -> NDArray[_T]:
    """Return the array, no longer writeable."""
    array.flags.writeable = False
    return array
