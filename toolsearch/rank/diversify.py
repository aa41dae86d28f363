"""Third stage: a small set that differs inside and covers every clause.

Near-duplicates (the same tool on two servers, a renamed copy) are folded under the best of them as alternatives. Two
tools are near-duplicates when they have the same side effect and either the same name with mostly the same words, or
the same words altogether; `create_x` and `delete_x` with one long shared description stay apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from toolsearch.rank.rerank import Scored

SAME_NAME_OVERLAP = 0.6
SAME_TEXT_OVERLAP = 0.98


@dataclass(frozen=True, slots=True)
class Likeness:
    """What near-duplicates are recognised by.

    Attributes:
        name: Tokens of the tool's name.
        words: Tokens of its name, what it does and its parameters.
    """

    name: frozenset[str]
    words: frozenset[str]
    side_effect: int

    def similarity(self, other: Likeness) -> float:
        """Return the word overlap (Jaccard) of two near-duplicates, 0 for tools that differ."""
        if self.side_effect != other.side_effect:
            return 0.0
        overlap = jaccard(self.words, other.words)
        same_name = self.name == other.name
        if (same_name and overlap >= SAME_NAME_OVERLAP) or overlap >= SAME_TEXT_OVERLAP:
            return overlap
        return 0.0


def jaccard(left: AbstractSet[str], right: AbstractSet[str]) -> float:
    """Return |intersection| / |union|, 1 for two empty sets."""
    common = len(left & right)
    union = len(left) + len(right) - common
    return common / union if union else 1.0


@dataclass(frozen=True, slots=True)
class Folded:
    """A candidate with the near-duplicates folded under it: (document, similarity), best first."""

    best: Scored
    alternatives: tuple[tuple[Scored, float], ...] = ()


def diversify(
    ranked: Sequence[Scored], *, likeness: Callable[[int], Likeness], size: int, clauses: int, floor: float
) -> list[Folded]:
    """Fold near-duplicates and choose the set.

    Args:
        ranked: Scored documents, best first.
        likeness: Of a document, by DocId.
        size: Most candidates, >= 1.
        clauses: How many clauses the request has; the best tool of each takes part if there is room.
        floor: Relevance below which a document takes no part.

    Returns:
        At most `size` candidates, best first.
    """
    folded = _fold([item for item in ranked if item.relevance >= floor], likeness=likeness, enough=4 * size)
    if clauses < 2:
        return folded[:size]
    needed = {index: next((f for f in folded if index in f.best.clauses), None) for index in range(clauses)}
    wanted = {id(found) for found in needed.values() if found is not None}
    free = size - len(wanted)
    chosen: list[Folded] = []
    for item in folded:
        if id(item) in wanted:
            chosen.append(item)
        elif free > 0:
            chosen.append(item)
            free -= 1
    return chosen[:size]


def _fold(ranked: Sequence[Scored], *, likeness: Callable[[int], Likeness], enough: int) -> list[Folded]:
    kept: list[tuple[Likeness, Folded]] = []
    for item in ranked:
        own = likeness(item.doc_id)
        for index, (other, group) in enumerate(kept):
            similarity = own.similarity(other)
            if similarity > 0:
                kept[index] = (other, replace(group, alternatives=(*group.alternatives, (item, similarity))))
                break
        else:
            if len(kept) == enough:
                break
            kept.append((own, Folded(item)))
    return [group for _, group in kept]
