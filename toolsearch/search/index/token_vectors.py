"""The token vectors of tools: int8 rows by document, compared exactly with those of a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from toolsearch.model.errors import EncoderMismatch, IndexCorrupt
from toolsearch.search.index.npy import taken
from toolsearch.text.embed.products import product
from toolsearch.text.embed.protocol import TokenQuery
from toolsearch.text.embed.token_vectors import LEVELS

BLOCK: Final = 64
"""Documents compared at once: their products with a request stay in the cache of a processor."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenIndex:
    """Immutable; safe to share between threads.

    Attributes:
        rows: int8[m, width], the tokens of document 0, then of document 1, ...; may be memory-mapped.
        starts: int64[n_docs + 1], where those of each document begin; a document may have none.
    """

    rows: NDArray[np.int8]
    starts: NDArray[np.int64]

    @classmethod
    def empty(cls, n_docs: int, *, width: int) -> TokenIndex:
        """Return the index of documents without tokens."""
        return cls(np.zeros((0, width), dtype=np.int8), np.zeros(n_docs + 1, dtype=np.int64))

    @property
    def width(self) -> int:
        """Return the length of a token vector."""
        return int(self.rows.shape[1])

    def changed(self, old_ids: NDArray[np.int32], added: Mapping[int, NDArray[np.int8]]) -> TokenIndex:
        """Return the index of a changed catalogue.

        Args:
            old_ids: int32[new n_docs], the DocId that a document had before; -1 = it is new.
            added: New DocId -> int8[n, width], of documents that get tokens now.

        Raises:
            EncoderMismatch: If added tokens have another width.
        """
        wrong = [rows.shape for rows in added.values() if rows.ndim != 2 or rows.shape[1] != self.width]
        if wrong:
            raise EncoderMismatch(
                f"token vectors have shape {wrong[0]}, expected (n, {self.width}): rebuild the index with one encoder",
                found=str(wrong[0]),
                expected=f"(n, {self.width})",
            )
        parts: list[NDArray[np.int8]] = [
            rows if (rows := added.get(doc_id)) is not None else self._of(old)
            for doc_id, old in enumerate(old_ids.tolist())
        ]
        starts = np.zeros(len(parts) + 1, dtype=np.int64)
        np.cumsum([len(part) for part in parts], out=starts[1:])
        return TokenIndex(np.concatenate([self.rows[:0], *parts]), starts)

    def scores(self, queries: Sequence[TokenQuery], *, doc_ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return float64[queries, n] in [-1, 1]: the weighted mean, over the tokens of a query, of the best cosine.

        NaN for documents without tokens. Exact: a float32 sum of products of int8 levels stays below 2**24, and the sum
        over tokens is one of integers, so neither order nor company of the documents shows.

        Args:
            queries: A request, then parts of it or texts read by themselves.
            doc_ids: int64[n], the documents that are compared; nothing else is looked at.
        """
        found = np.full((len(queries), doc_ids.size), np.nan)
        having = np.flatnonzero(self.starts[doc_ids + 1] > self.starts[doc_ids])
        for start in range(0, having.size, BLOCK):
            block = having[start : start + BLOCK]
            found[:, block] = self._block_scores(queries, doc_ids[block])
        return found

    def _block_scores(self, queries: Sequence[TokenQuery], doc_ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return float64[queries, n] of documents that all have tokens."""
        begin, lengths = self.starts[doc_ids], self.starts[doc_ids + 1] - self.starts[doc_ids]
        first = np.cumsum(lengths) - lengths
        places = np.repeat(begin - first, lengths) + np.arange(lengths.sum())
        tools = self.rows[places].astype(np.float32).T

        def best(rows: NDArray[np.int8]) -> NDArray[np.int64]:
            return np.maximum.reduceat(product(rows.astype(np.float32), tools), first, axis=1).astype(np.int64)

        found = np.empty((len(queries), doc_ids.size))
        for at, query in enumerate(queries):
            if at == 0:
                own = whole = best(query.rows)
            elif query.start is None:
                own = best(query.rows)
            else:  # its tokens are among those of the request, which are compared already
                own = whole[query.start : query.start + len(query.rows)]
            found[at] = (query.weights @ own) / (query.weights.sum() * LEVELS**2)
        return found

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a snapshot stores: `rows` int8[m, width] and `starts` int64[n_docs + 1]."""
        return {"rows": self.rows, "starts": self.starts}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> TokenIndex:
        """Return the index over arrays that `arrays` gave, without copying them (they may be memory-mapped).

        Raises:
            IndexCorrupt: If an array is missing or cannot be one of ours.
        """
        rows, starts = taken(arrays, "rows", "starts", kind="token")
        if rows.dtype != np.int8 or rows.ndim != 2 or starts.dtype != np.int64 or starts.ndim != 1 or not starts.size:
            raise IndexCorrupt(
                f"tokens are {rows.dtype}{rows.shape} from {starts.dtype}{starts.shape} on; "
                "expected int8[m, width] and int64[n + 1]; rebuild the index"
            )
        if starts[0] != 0 or starts[-1] != len(rows) or np.any(starts[1:] < starts[:-1]):
            raise IndexCorrupt(f"{len(rows)} tokens do not fall to the documents in order; rebuild the index")
        return cls(rows, starts)

    def _of(self, doc_id: int) -> NDArray[np.int8]:
        return self.rows[:0] if doc_id < 0 else self.rows[self.starts[doc_id] : self.starts[doc_id + 1]]
