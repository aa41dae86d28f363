"""Fielded BM25 over postings, with every statistic taken from the DocSet that is searched.

Simple BM25F (Robertson, Zaragoza and Taylor, "Simple BM25 extension to multiple weighted fields", CIKM 2004): field
weights multiply term counts and lengths before saturation, so the scores equal those of plain BM25 over documents whose
tokens are repeated by weight; `reference` is that oracle. The number of documents, their average
length and the document frequencies are those of the DocSet, so hidden documents cannot move a score.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from toolsearch.model.limits import Bm25Parameters
from toolsearch.search.index.docset import DocSet
from toolsearch.search.index.postings import Postings, build_postings, merged


@dataclass(frozen=True, slots=True, eq=False)
class LexicalHits:
    """Documents that hold at least one request token, best first, ties by DocId.

    Attributes:
        doc_ids: int32[n].
        scores: float64[n], BM25, > 0.
        shares: float64[n] in [0, 1]: the score as a share of the most this request could score.
        coverage: float64[n] in [0, 1]: idf-weighted share of the request's distinct tokens that were found.
    """

    doc_ids: NDArray[np.int32]
    scores: NDArray[np.float64]
    shares: NDArray[np.float64]
    coverage: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TermScore:
    """What one request token adds to the score of one document.

    Attributes:
        term: The token.
        contribution: Its part of the BM25 score, 0.0 where it was not found.
        idf: Its rarity among the visible documents.
        tf: Occurrences times field weight.
        fields: The fields it was found in.
    """

    term: str
    contribution: float
    idf: float
    tf: float
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _WeightedTerm:
    """A request token bound to a DocSet: its idf and its visible postings."""

    term: str
    idf: float
    docs: NDArray[np.int32]
    counts: NDArray[np.float32]
    fields: NDArray[np.uint16]


def idf(document_frequency: int, *, documents: int) -> float:
    """Return ln(1 + (N - df + 0.5) / (df + 0.5)): the idf of Lucene, above 0 for every df <= N."""
    return math.log(1.0 + (documents - document_frequency + 0.5) / (document_frequency + 0.5))


def saturation(
    counts: NDArray[np.float64], lengths: NDArray[np.float64], *, average: float, k1: float, b: float
) -> NDArray[np.float64]:
    """Return tf (k1 + 1) / (tf + k1 (1 - b + b dl / avgdl)): float64[n], in [0, k1 + 1)."""
    return counts * (k1 + 1.0) / (counts + k1 * (1.0 - b + b * lengths / average))


@dataclass(frozen=True, slots=True, eq=False)
class BoundTerms:
    """The tokens of one request bound to one DocSet, with everything they score.

    Attributes:
        scores: float64[n_docs], BM25; 0 outside the DocSet and where no token was found.
        shares: float64[n_docs] in [0, 1]: the score as a share of the most this request could score.
        named: float64[n_docs] in [0, 1]: the share of the distinct tokens of a tool's name that the request says.
        idf: Distinct token -> idf among the visible documents.
    """

    scores: NDArray[np.float64]
    shares: NDArray[np.float64]
    named: NDArray[np.float64]
    idf: Mapping[str, float]
    _terms: tuple[_WeightedTerm, ...]
    _parts: tuple[NDArray[np.float64], ...]
    _fields: tuple[str, ...]

    @property
    def known(self) -> float:
        """Return the idf-weighted share of the words that stand in any document of the DocSet, in [0, 1].

        It says how much the lane can know of the request: little of a Chinese request over English contracts. Numbers
        are no words: they are values, and no contract is expected to know them.
        """
        words = [term for term in self._terms if not term.term.isdigit()]
        total = sum(term.idf for term in words)
        return sum(term.idf for term in words if term.docs.size) / total if total else 0.0

    def hits(self, *, depth: int) -> LexicalHits:
        """Return the `depth` best documents that hold at least one token, depth at least 1."""
        best = top(self.scores, ids=np.flatnonzero(self.scores), depth=depth)
        return LexicalHits(
            doc_ids=best.astype(np.int32),
            scores=self.scores[best],
            shares=self.shares[best],
            coverage=self.coverage(best),
        )

    def coverage(self, doc_ids: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return float64[len(doc_ids)] in [0, 1]: the idf-weighted share of the distinct tokens each one holds."""
        covered = np.zeros(doc_ids.size, dtype=np.float64)
        for term in self._terms:
            covered[_contained(doc_ids, term.docs)] += term.idf
        total = sum(self.idf.values())
        return np.minimum(covered / total, 1.0) if total else covered

    def explain(self, doc_id: int) -> tuple[TermScore, ...]:
        """Return what each distinct token adds to the score of one document of the DocSet, largest first."""
        parts = []
        wanted = np.int32(doc_id)  # of another type, the postings would be converted whole
        for term, part in zip(self._terms, self._parts, strict=True):
            at = int(term.docs.searchsorted(wanted))
            if at == term.docs.size or term.docs[at] != doc_id:
                parts.append(TermScore(term.term, 0.0, term.idf, 0.0, ()))
                continue
            fields = tuple(name for bit, name in enumerate(self._fields) if int(term.fields[at]) >> bit & 1)
            parts.append(TermScore(term.term, float(part[at]), term.idf, float(term.counts[at]), fields))
        return tuple(sorted(parts, key=lambda part: (-part.contribution, part.term)))

    def matched(self, doc_id: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the tokens found in a document, largest contribution first, and the fields they stand in."""
        found = [part for part in self.explain(doc_id) if part.contribution > 0.0]
        seen = {field for part in found for field in part.fields}
        return tuple(part.term for part in found), tuple(field for field in self._fields if field in seen)


class LexicalBackend(Protocol):
    """What scores the words of a request."""

    def bind(self, terms: Sequence[str], *, docs: DocSet) -> BoundTerms:
        """Return the tokens of a request bound to the visible documents, with everything they score."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class LexicalIndex:
    """The lexical lane of one snapshot.

    Attributes:
        parameters: k1, b and the field weights it was built with.
        postings: The inverted file.
    """

    parameters: Bm25Parameters
    postings: Postings
    _name_bit: np.uint16 = field(init=False, repr=False)
    _name_sizes: NDArray[np.float64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Count the distinct tokens of each name: float64[n_docs], 1 for a name without any."""
        fields = list(self.parameters.fields)
        bit = np.uint16(1 << fields.index("name") if "name" in fields else 0)
        holders = self.postings.docs[(self.postings.fields & bit) > 0]
        sizes = np.maximum(np.bincount(holders, minlength=self.n_docs), 1).astype(np.float64)
        object.__setattr__(self, "_name_bit", bit)
        object.__setattr__(self, "_name_sizes", sizes)

    @property
    def n_docs(self) -> int:
        """Return how many documents the snapshot has."""
        return self.postings.n_docs

    def bind(self, terms: Sequence[str], *, docs: DocSet) -> BoundTerms:
        """Return the request's tokens bound to a DocSet: scored once, then asked for hits, shares and matches.

        Args:
            terms: Tokens of the request, from `analyze`. A repeated token counts once: users repeat what they talk
                about, not what they want done. An unknown one adds to no score, but lowers shares and coverage.
            docs: The visible documents; nothing outside is scored or counted.
        """
        weighted = self._weighted_terms(terms, docs=docs)
        average = self._average_length(docs)
        parts = tuple(self._contributions(term, average=average) for term in weighted)
        scores = np.zeros(self.n_docs, dtype=np.float64)
        for term, part in zip(weighted, parts, strict=True):
            scores[term.docs] += part
        limit = sum(term.idf for term in weighted) * (self.parameters.k1 + 1.0)
        return BoundTerms(
            scores=scores,
            shares=np.minimum(scores / limit, 1.0) if limit else scores,
            named=self._named(weighted),
            idf={term.term: term.idf for term in weighted},
            _terms=tuple(weighted),
            _parts=parts,
            _fields=tuple(self.parameters.fields),
        )

    def search(self, terms: Sequence[str], *, docs: DocSet, depth: int) -> LexicalHits:
        """Return the `depth` best documents of the DocSet that hold at least one of the tokens; see `bind`."""
        return self.bind(terms, docs=docs).hits(depth=depth)

    def explain(self, terms: Sequence[str], *, docs: DocSet, doc_id: int) -> tuple[TermScore, ...]:
        """Return what each distinct token adds to the score of one document, largest first.

        The contributions are those that rank: summed in code point order of the tokens they are the score.

        Raises:
            ValueError: If the document is not in the DocSet.
        """
        if not docs.mask[doc_id]:
            raise ValueError(f"DocId {doc_id} is not in the DocSet: look the tool up among the visible ones first")
        return self.bind(terms, docs=docs).explain(doc_id)

    def updated(self, *, keep: NDArray[np.int32], added: Mapping[int, Mapping[str, str]]) -> LexicalIndex:
        """Return the index of another snapshot that shares most documents with this one, equal to a fresh build.

        Args:
            keep: int32[new n_docs]: the old DocId of the document that stands at each new DocId, or -1.
            added: New DocId -> field texts, for the documents that `keep` has at -1.
        """
        new = build_postings(added, weights=self.parameters.fields, n_docs=int(keep.size))
        return LexicalIndex(self.parameters, merged(self.postings, keep=keep, added=new))

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return everything but the parameters as named arrays, for the snapshot folder."""
        return self.postings.arrays()

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[np.generic]], *, parameters: Bm25Parameters, n_docs: int
    ) -> LexicalIndex:
        """Return the index that `arrays` describes.

        Raises:
            IndexCorrupt: If an array is missing, or the arrays do not fit together.
        """
        return cls(parameters, Postings.from_arrays(arrays, n_docs=n_docs))

    def _weighted_terms(self, terms: Sequence[str], *, docs: DocSet) -> list[_WeightedTerm]:
        """Return the distinct tokens in code point order, so that word order cannot move the last bit of a sum."""
        everything = docs.count == self.n_docs
        weighted = []
        for term in sorted(set(terms)):
            span = self.postings.span(term)
            visible, counts, fields = (
                self.postings.docs[span], self.postings.counts[span], self.postings.fields[span],
            )  # fmt: skip
            if not everything:
                chosen = docs.mask[visible]
                visible, counts, fields = visible[chosen], counts[chosen], fields[chosen]
            rarity = idf(visible.size, documents=docs.count)
            weighted.append(_WeightedTerm(term, rarity, visible, counts, fields))
        return weighted

    def _average_length(self, docs: DocSet) -> float:
        total = float(self.postings.lengths[docs.ids].sum())
        return total / docs.count if total else 1.0

    def _named(self, weighted: Sequence[_WeightedTerm]) -> NDArray[np.float64]:
        """Return float64[n_docs], the share of each name that the tokens say."""
        said = np.zeros(self.n_docs, dtype=np.float64)
        for term in weighted:
            said[term.docs[(term.fields & self._name_bit) > 0]] += 1.0
        return said / self._name_sizes

    def _contributions(self, term: _WeightedTerm, *, average: float) -> NDArray[np.float64]:
        return term.idf * saturation(
            term.counts.astype(np.float64),
            self.postings.lengths[term.docs],
            average=average,
            k1=self.parameters.k1,
            b=self.parameters.b,
        )


def build_lexical(documents: Sequence[Mapping[str, str]], *, parameters: Bm25Parameters) -> LexicalIndex:
    """Return the lexical index of the documents; the position of a document is its DocId."""
    postings = build_postings(dict(enumerate(documents)), weights=parameters.fields, n_docs=len(documents))
    return LexicalIndex(parameters, postings)


def top(scores: NDArray[np.float64], *, ids: NDArray[np.int64], depth: int) -> NDArray[np.int64]:
    """Return the `depth` ids with the highest scores, best first, ties by id.

    Args:
        scores: float64[n_docs], higher is better.
        ids: int64[n], ascending: the candidates.
        depth: Wanted number, at least 1; fewer come back when there are fewer candidates.

    Raises:
        ValueError: If depth is below 1.
    """
    if depth < 1:
        raise ValueError(f"depth {depth} is below 1")
    candidates = scores[ids]
    if ids.size > depth:
        # A partition alone picks any of the documents that tie at the boundary; ties must go to the lowest DocId.
        boundary = np.partition(candidates, ids.size - depth)[ids.size - depth]
        above = np.flatnonzero(candidates > boundary)
        level = np.flatnonzero(candidates == boundary)[: depth - above.size]
        chosen = np.sort(np.concatenate([above, level]))
        ids, candidates = ids[chosen], candidates[chosen]
    return ids[np.argsort(-candidates, kind="stable")]


def _contained(wanted: NDArray[np.integer], ascending: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return bool[len(wanted)]: which of the wanted ids stand in the ascending ones."""
    if not ascending.size:
        return np.zeros(wanted.size, dtype=np.bool_)
    at = np.minimum(np.searchsorted(ascending, wanted), ascending.size - 1)
    return np.asarray(ascending[at] == wanted)
