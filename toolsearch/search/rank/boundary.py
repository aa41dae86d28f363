"""Negative boundaries: does the request match what a tool says it is *not* for better than what it is for?

Both sides are measured the same way, by the words of the request (weighted by their idf in the visible catalogue) and,
where the encoder reads the script, by cosine. Only a lead of the negative side counts, so a boundary never raises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from toolsearch.model.reasons import ReasonCode, Why

FULL_LEAD = 0.3
"""Lead of the negative side from which on the whole strength applies."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """The boundary that a request runs into.

    Attributes:
        share: Share of the score taken away, in (0, strength].
        sentence: The `does_not` or `do_not_use_when` sentence.
    """

    share: float
    sentence: str

    def why(self) -> Why:
        """Return the caution."""
        text = f"the request looks like what this tool is not for: {self.sentence[:200]}"
        return Why(ReasonCode.NEGATIVE_BOUNDARY, text)


def word_share(terms: AbstractSet[str], found: AbstractSet[str], *, idf: Mapping[str, float]) -> float:
    """Return the idf-weighted share of the request's terms that are found, in [0, 1]."""
    total = sum(idf[term] for term in sorted(terms))
    return sum(idf[term] for term in sorted(terms & found)) / total if total > 0 else 0.0


def boundary(
    *,
    terms: AbstractSet[str],
    idf: Mapping[str, float],
    positive_terms: AbstractSet[str],
    negatives: Sequence[tuple[str, AbstractSet[str]]],
    positive_similarity: float,
    negative_similarities: Sequence[float],
    strength: float,
) -> Boundary | None:
    """Return the boundary with the largest lead over the positive side, or None.

    Args:
        terms: Distinct tokens of the request.
        idf: Of those tokens.
        positive_terms: Tokens of the contract's positive text.
        negatives: Negative sentences with their tokens, in contract order.
        positive_similarity: Calibrated similarity of the request to the positive side.
        negative_similarities: Of each negative sentence; empty where the vector lane abstains.
        strength: Largest share of the score taken away, in [0, 1].
    """
    if not negatives or not terms or strength <= 0:
        return None
    positive_words = word_share(terms, positive_terms, idf=idf)
    best: Boundary | None = None
    for number, (sentence, tokens) in enumerate(negatives):
        # A word that the positive side has as well does not tell the two apart.
        lead = word_share(terms, tokens, idf=idf) - positive_words
        if negative_similarities:
            lead = (lead + negative_similarities[number] - positive_similarity) / 2
        if lead > 0:
            share = strength * min(1.0, lead / FULL_LEAD)
            if best is None or share > best.share:
                best = Boundary(share, sentence)
    return best
