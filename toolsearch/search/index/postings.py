"""Postings: which documents hold which token, how often and in which fields, as four flat arrays (CSR).

Built from (token, document) pairs sorted by token and document, so a fresh build and an update give equal arrays.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from toolsearch.model.errors import IndexCorrupt
from toolsearch.text.analysis.analyzer import analyze

MAX_FIELDS = 16
WEIGHT_STEPS = 256
"""Field weights are rounded to 1/256: then weighted counts are exact in float32, and sums of lengths exact in
float64 in any order, so no hidden document can move the last bit of a visible one's score."""

ARRAY_NAMES = ("terms", "starts", "docs", "counts", "fields", "lengths")


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """All postings of a snapshot.

    Attributes:
        terms: Tokens in code point order.
        starts: int64[n_terms + 1]; the postings of term i are the slice starts[i]:starts[i + 1].
        docs: int32[n_postings], DocIds, ascending within a term.
        counts: float32[n_postings], occurrences times field weight, > 0.
        fields: uint16[n_postings], bit i set = found in the i-th weighted field.
        lengths: float64[n_docs], tokens times field weight.
        term_ids: Token -> its position in `terms`.
    """

    terms: tuple[str, ...]
    starts: NDArray[np.int64]
    docs: NDArray[np.int32]
    counts: NDArray[np.float32]
    fields: NDArray[np.uint16]
    lengths: NDArray[np.float64]
    term_ids: Mapping[str, int]

    @property
    def n_docs(self) -> int:
        """Return how many documents there are, those without a token included."""
        return int(self.lengths.size)

    def span(self, term: str) -> slice:
        """Return where the postings of a term stand; an empty slice for an unknown one."""
        term_id = self.term_ids.get(term)
        return slice(0, 0) if term_id is None else slice(int(self.starts[term_id]), int(self.starts[term_id + 1]))

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return everything as named arrays; the tokens as one UTF-8 text, uint8[n_bytes], a token a line."""
        text = np.frombuffer("\n".join(self.terms).encode(), dtype=np.uint8)
        return {
            "terms": text,
            "starts": self.starts,
            "docs": self.docs,
            "counts": self.counts,
            "fields": self.fields,
            "lengths": self.lengths,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]], *, n_docs: int) -> Postings:
        """Return the postings that `arrays` describes.

        Raises:
            IndexCorrupt: If an array is missing, or the arrays do not fit together.
        """
        missing = [name for name in ARRAY_NAMES if name not in arrays]
        if missing:
            raise IndexCorrupt(f"the lexical index lacks {', '.join(missing)}: rebuild the index")
        text = arrays["terms"].astype(np.uint8, copy=False).tobytes().decode()
        postings = _frozen(
            terms=tuple(text.split("\n")) if text else (),
            starts=arrays["starts"].astype(np.int64, copy=False),
            docs=arrays["docs"].astype(np.int32, copy=False),
            counts=arrays["counts"].astype(np.float32, copy=False),
            fields=arrays["fields"].astype(np.uint16, copy=False),
            lengths=arrays["lengths"].astype(np.float64, copy=False),
        )
        size = postings.docs.size
        whole = (
            postings.n_docs == n_docs
            and postings.starts.size == len(postings.terms) + 1
            and postings.starts[-1] == size == postings.counts.size == postings.fields.size
            and (size == 0 or 0 <= postings.docs.min() <= postings.docs.max() < n_docs)
        )
        if not whole:
            raise IndexCorrupt(
                f"the lexical index does not hold {n_docs} whole documents: rebuild the index",
                found=f"{postings.n_docs} documents, {size} postings",
                expected=f"{n_docs} documents",
            )
        return postings


def exact_weights(weights: Mapping[str, float]) -> dict[str, float]:
    """Return the field weights rounded to 1/256, in their given order.

    Raises:
        ValueError: If there are more than 16 fields, or a weight is not above 1/512.
    """
    if len(weights) > MAX_FIELDS:
        raise ValueError(f"{len(weights)} weighted fields; at most {MAX_FIELDS} fit into a posting")
    rounded = {field: round(weight * WEIGHT_STEPS) / WEIGHT_STEPS for field, weight in weights.items()}
    for field, weight in rounded.items():
        if weight <= 0:
            raise ValueError(f"weight {weights[field]} of field {field!r} is not above 1/512; leave the field out")
    return rounded


def build_postings(
    documents: Mapping[int, Mapping[str, str]], *, weights: Mapping[str, float], n_docs: int
) -> Postings:
    """Return the postings of the documents.

    Args:
        documents: DocId -> field -> text; DocIds in 0..n_docs-1 that are absent have no postings.
        weights: Field -> weight; fields without one are not indexed.
        n_docs: Size of the snapshot.
    """
    exact = exact_weights(weights)
    vocabulary: defaultdict[str, int] = defaultdict()
    vocabulary.default_factory = vocabulary.__len__
    tokens: list[int] = []
    runs: list[tuple[int, int, int]] = []  # (DocId, position of the field, number of tokens)
    for doc_id, texts in documents.items():
        for position, field in enumerate(exact):
            text = texts.get(field)
            if text:
                before = len(tokens)
                tokens.extend(map(vocabulary.__getitem__, analyze(text)))
                runs.append((doc_id, position, len(tokens) - before))
    run_table = np.array(runs, dtype=np.int64).reshape(-1, 3)
    weight_of = np.array(list(exact.values()), dtype=np.float64)
    sizes = run_table[:, 2]
    lengths = np.zeros(n_docs, dtype=np.float64)
    np.add.at(lengths, run_table[:, 0], sizes * weight_of[run_table[:, 1]])
    position_of_token = np.repeat(run_table[:, 1], sizes)
    ordered = sorted(vocabulary)
    rank = np.empty(len(ordered), dtype=np.int64)
    rank[[vocabulary[term] for term in ordered]] = np.arange(len(ordered))
    return _grouped(
        terms=tuple(ordered),
        term_of=rank[np.array(tokens, dtype=np.int64)],
        doc_of=np.repeat(run_table[:, 0], sizes),
        counts=weight_of[position_of_token],
        fields=(1 << position_of_token).astype(np.uint16),
        lengths=lengths,
    )


def merged(postings: Postings, *, keep: NDArray[np.int32], added: Postings) -> Postings:
    """Return the postings of the kept documents under their new DocIds, together with those of the added ones.

    Args:
        postings: The old snapshot.
        keep: int32[new n_docs], the old DocId that stands at each new one, or -1.
        added: Postings under new DocIds, for documents that `keep` has at -1.
    """
    is_kept = keep >= 0
    new_id = np.full(postings.n_docs, -1, dtype=np.int64)
    new_id[keep[is_kept]] = np.flatnonzero(is_kept)
    doc_of = new_id[postings.docs]
    alive = doc_of >= 0
    term_of = np.repeat(np.arange(len(postings.terms)), np.diff(postings.starts))[alive]
    terms, rank = _united(postings, added, used=np.bincount(term_of, minlength=len(postings.terms)) > 0)
    added_rank = np.array([bisect_left(terms, term) for term in added.terms], dtype=np.int64)
    lengths = added.lengths.copy()
    lengths[is_kept] = postings.lengths[keep[is_kept]]
    return _grouped(
        terms=terms,
        term_of=np.concatenate([rank[term_of], np.repeat(added_rank, np.diff(added.starts))]),
        doc_of=np.concatenate([doc_of[alive], added.docs]),
        counts=np.concatenate([postings.counts[alive], added.counts]),
        fields=np.concatenate([postings.fields[alive], added.fields]),
        lengths=lengths,
    )


def _united(
    postings: Postings, added: Postings, *, used: NDArray[np.bool_]
) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return the old tokens still in use together with the added ones, and the new position of every old one.

    Args:
        postings: The old snapshot.
        added: The new documents.
        used: bool[n old terms], whether a kept document holds the token.
    """
    kept = list(compress(postings.terms, used))
    fresh = []
    for term in added.terms:
        old = postings.term_ids.get(term)
        if old is None or not used[old]:
            fresh.append(term)
    # A kept token moves up by the number of fresh tokens before it.
    inserted = np.array([bisect_left(kept, term) for term in fresh], dtype=np.int64)
    moved = np.arange(len(kept)) + np.searchsorted(inserted, np.arange(len(kept)), side="right")
    rank = np.full(len(postings.terms), -1, dtype=np.int64)
    rank[used] = moved
    return tuple(sorted(kept + fresh)), rank


def _grouped(
    *,
    terms: tuple[str, ...],
    term_of: NDArray[np.int64],
    doc_of: NDArray[np.int64] | NDArray[np.int32],
    counts: NDArray[np.float64] | NDArray[np.float32],
    fields: NDArray[np.uint16],
    lengths: NDArray[np.float64],
) -> Postings:
    """Return postings from one entry a token: entries of the same token and document become one."""
    key = term_of * max(lengths.size, 1) + doc_of
    order = np.argsort(key, kind="stable")  # Stable is fast here: an update is two sorted runs.
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    counts, fields = counts[order], fields[order]
    if first.size < order.size:
        counts = np.add.reduceat(counts.astype(np.float64), first)
        fields = np.bitwise_or.reduceat(fields, first)
        order = order[first]
    sizes = np.bincount(term_of[order], minlength=len(terms))
    return _frozen(
        terms=terms,
        starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        docs=doc_of[order].astype(np.int32),
        counts=counts.astype(np.float32),
        fields=fields.astype(np.uint16),
        lengths=lengths,
    )


def _frozen(
    *,
    terms: tuple[str, ...],
    starts: NDArray[np.int64],
    docs: NDArray[np.int32],
    counts: NDArray[np.float32],
    fields: NDArray[np.uint16],
    lengths: NDArray[np.float64],
) -> Postings:
    for array in (starts, docs, counts, fields, lengths):
        array.flags.writeable = False
    term_ids = {term: term_id for term_id, term in enumerate(terms)}
    return Postings(terms, starts, docs, counts, fields, lengths, term_ids)
