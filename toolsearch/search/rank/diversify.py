"""Third stage: a small set that differs inside and covers every clause.

Near-duplicates (the same tool on two servers, a renamed copy) are folded under the best of them as alternatives. Two
tools are near-duplicates when they have the same side effect and either the same name with mostly the same words, or
the same words altogether; `create_x` and `delete_x` with one long shared description stay apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import TypeVar

from toolsearch.search.rank.rerank import Scored

SAME_NAME_OVERLAP = 0.6
SAME_TEXT_OVERLAP = 0.98

HELP_BONUS = 0.2
"""What a tool gains in the order, as a share of the score of the tool before it for which it finds an input."""

COVER_BONUS = 0.25
"""What a tool's score gains in the order, for answering every clause of a request that none before it answers."""

ORDERED = 16
"""Places that are chosen greedily; behind them, best first."""

T = TypeVar("T")


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
        At most `size` candidates, in covering order.
    """
    folded = _fold([item for item in ranked if item.relevance >= floor], likeness=likeness, enough=4 * size)
    folded = in_covering_order(folded, scored=lambda group: group.best, clauses=clauses)
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


def in_covering_order(items: Sequence[T], *, scored: Callable[[T], Scored], clauses: int) -> list[T]:
    """Return items in an order whose first few cover the clauses of a request: greedily, by score and what it adds.

    A tool that answers clauses which no tool before it answers is put forward by `COVER_BONUS` for the whole request, a
    part of it for a part of the clauses (greedy choice is within 1 - 1/e of the best coverage: Nemhauser, Wolsey and
    Fisher, Math. Programming 1978). One that finds an input of a tool before it is put forward towards that tool.

    Args:
        items: Best first.
        scored: The score of an item, the clauses it answers and what it finds for others.
        clauses: How many clauses the request has; below 2 there is nothing to cover.
    """
    rest = list(items)
    wanted = {scored(item).doc_id for item in rest if scored(item).evidence.help is not None}
    uncovered = {clause for item in rest for clause in scored(item).clauses} if clauses > 1 else set()
    ordered: list[T] = []
    placed: dict[int, float] = {}
    while rest and (uncovered or wanted) and len(ordered) < ORDERED:
        worth = [_worth(scored(item), uncovered=uncovered, clauses=clauses, placed=placed) for item in rest]
        item = rest.pop(worth.index(max(worth)))
        ordered.append(item)
        placed[scored(item).doc_id] = scored(item).score
        uncovered.difference_update(scored(item).clauses)
        wanted.discard(scored(item).doc_id)
    return ordered + rest


def _worth(item: Scored, *, uncovered: AbstractSet[int], clauses: int, placed: Mapping[int, float]) -> float:
    """Return what the order goes by: the score, and what the tool adds to those placed before it."""
    worth, help = item.score, item.evidence.help
    if help is not None and help.needer in placed:
        lifted = worth + HELP_BONUS * help.strength * placed[help.needer]
        worth = max(worth, min(lifted, max(placed.values())))
    return worth + COVER_BONUS * len(uncovered & set(item.clauses)) / clauses if uncovered else worth


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
