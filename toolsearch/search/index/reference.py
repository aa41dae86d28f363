"""The reference lexical backend: rank-bm25 over the visible documents, written to be right rather than fast.

It rebuilds its statistics for every DocSet from nothing but the visible documents, so it is the oracle for
`lexical` (same order, same scores) and a backend to compare with. A field weight of n repeats the
field's tokens n times, so weights must be whole numbers here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from toolsearch.model.errors import MissingExtraError
from toolsearch.model.limits import Bm25Parameters
from toolsearch.search.index.docset import DocSet
from toolsearch.search.index.lexical import BoundTerms, LexicalHits, LexicalIndex, idf
from toolsearch.text.analysis.analyzer import analyze


class ReferenceLexical:
    """BM25 by rank-bm25, with the idf of Lucene, over one catalogue.

    Attributes:
        parameters: k1, b and the field weights, all of them whole numbers.
        documents: The tokens of each document, repeated by field weight; the position is the DocId.
    """

    def __init__(self, documents: Sequence[Mapping[str, str]], *, parameters: Bm25Parameters) -> None:
        """Analyse the documents.

        Raises:
            MissingExtraError: If rank-bm25 is not installed.
            ValueError: If a field weight is not a whole number.
        """
        self._scorer = _lucene_bm25()
        self.parameters = parameters
        repeats = {field: int(weight) for field, weight in parameters.fields.items()}
        for field, weight in parameters.fields.items():
            if repeats[field] != weight:
                raise ValueError(f"weight {weight} of field {field!r} is not a whole number: tokens are repeated")
        self.documents = [
            [token for field, count in repeats.items() for token in analyze(texts.get(field, "")) * count]
            for texts in documents
        ]

    def search(self, terms: Sequence[str], *, docs: DocSet, depth: int) -> LexicalHits:
        """Return the `depth` best documents of the DocSet; see `LexicalIndex.search`."""
        asked = sorted(set(terms))
        visible = [int(doc_id) for doc_id in docs.ids]
        corpus = [self.documents[doc_id] for doc_id in visible]
        rarity = {term: idf(sum(term in tokens for tokens in corpus), documents=len(corpus)) for term in asked}
        scores = self._scores(corpus, asked=asked)
        ranked = sorted(
            (position for position, score in enumerate(scores) if score > 0),
            key=lambda position: (-scores[position], visible[position]),
        )[:depth]
        total = sum(rarity.values())
        found = np.array([scores[position] for position in ranked], dtype=np.float64)
        covered = [sum(rarity[term] for term in asked if term in corpus[position]) for position in ranked]
        return LexicalHits(
            doc_ids=np.array([visible[position] for position in ranked], dtype=np.int32),
            scores=found,
            shares=found / (total * (self.parameters.k1 + 1.0)) if total else found,
            coverage=np.array(covered, dtype=np.float64) / total if total else found,
        )

    def _scores(self, corpus: list[list[str]], *, asked: list[str]) -> list[float]:
        if not any(corpus):  # rank-bm25 divides by the number of documents and by their average length.
            return [0.0] * len(corpus)
        scorer = self._scorer(corpus, k1=self.parameters.k1, b=self.parameters.b)
        with np.errstate(invalid="ignore"):  # With b = 1 a document without tokens is 0 / 0, and not a hit.
            return [float(score) for score in scorer.get_scores(asked)]


@dataclass(frozen=True, slots=True, eq=False)
class ReferenceBackend:
    """rank-bm25 as the backend of a search: its scores; idf and matches from the postings, which agree with it."""

    postings: LexicalIndex
    reference: ReferenceLexical

    def bind(self, terms: Sequence[str], *, docs: DocSet) -> BoundTerms:
        """Return the tokens of a request bound to the visible documents; see `LexicalIndex.bind`."""
        bound = self.postings.bind(terms, docs=docs)
        hits = self.reference.search(terms, docs=docs, depth=max(docs.count, 1))
        scores, shares = np.zeros(self.postings.n_docs), np.zeros(self.postings.n_docs)
        scores[hits.doc_ids], shares[hits.doc_ids] = hits.scores, hits.shares
        return replace(bound, scores=scores, shares=shares)


def _lucene_bm25() -> Any:
    """Return rank-bm25's Okapi class with the idf of Lucene, which is above 0 even for a token in every document."""
    try:
        from rank_bm25 import BM25Okapi
    except ImportError:
        raise MissingExtraError(package="rank-bm25", extra="bm25") from None

    class LuceneBm25(BM25Okapi):  # type: ignore[misc]
        def _calc_idf(self, nd: Mapping[str, int]) -> None:
            self.idf = {term: idf(frequency, documents=self.corpus_size) for term, frequency in nd.items()}

    return LuceneBm25
