"""Helper tools: those that find what a relevant tool needs and the request does not say.

"Photos of the cast of Inception" is answered by `get_credits(movie_id)`, and `search_movie` is needed before. Its own
words match the request badly, so it is put forward beside the tool that needs it. Its score stays what it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from toolsearch.model.reasons import ReasonCode, Why
from toolsearch.search.index.columns import Columns
from toolsearch.search.index.docset import DocSet
from toolsearch.search.index.finders import wanted_entity

MAX_HELPERS = 3
"""Helpers for one missing input."""

LEAST_STRENGTH = 0.5
NEAR_BEST = 0.9
"""A finder this near to the surest one for an input counts too."""


@dataclass(frozen=True, slots=True)
class Help:
    """What one tool does for another.

    Attributes:
        needer: DocId of the tool that needs it.
        strength: How surely, in [0, 1].
        why: The reason.
    """

    needer: int
    strength: float
    why: Why


def find_helpers(
    needers: Sequence[int], *, missing: Mapping[int, Sequence[str]], columns: Columns, docs: DocSet
) -> dict[int, Help]:
    """Return DocId -> what it finds for one of the needers; the surest where it helps several.

    Args:
        needers: DocIds, best first.
        missing: DocId -> required inputs that are not at hand.
        columns: Facts of all documents.
        docs: The visible documents; no other is a helper.
    """
    found: dict[int, Help] = {}
    for needer in needers:
        for parameter in missing.get(needer, ()):
            for helper, strength in _finders(needer, parameter, columns=columns, docs=docs):
                text = f"finds {parameter}, which {columns.refs[needer]} needs"
                if helper not in found or strength > found[helper].strength:
                    found[helper] = Help(needer, strength, Why(ReasonCode.SUPPLIES_INPUT, text))
    return found


def _finders(needer: int, parameter: str, *, columns: Columns, docs: DocSet) -> list[tuple[int, float]]:
    """Return the surest finders of a parameter, best first: declared producers, else by name on the same server."""
    declared = [doc for doc in columns.producers.get(parameter, ()) if docs.mask[doc] and doc != needer]
    if declared:
        return [(doc, 1.0) for doc in declared[:MAX_HELPERS]]
    facts = columns.facts[needer]
    entity = wanted_entity(parameter, tool=facts.name)
    if not entity:
        return []
    found = []
    for doc in columns.finders.get((facts.server, entity[-1]), ()):
        if doc == needer or not docs.mask[doc] or parameter in columns.facts[doc].required:
            continue
        finder = columns.facts[doc].finder
        strength = finder.strength * sum(word in finder.nouns for word in entity) / len(entity)
        if strength >= LEAST_STRENGTH:
            found.append((doc, strength))
    surest = max((strength for _, strength in found), default=0.0)
    near = [(doc, strength) for doc, strength in found if strength >= NEAR_BEST * surest]
    return sorted(near, key=lambda pair: (-pair[1], pair[0]))[:MAX_HELPERS]
