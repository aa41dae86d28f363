"""Which tools find what: read from names, where contracts do not say what they produce.

`search_movie`, `List Artists` and `GET_person_popular` find movies, artists and persons; a parameter called `movie_id`,
`artistId` or `personUid` asks for one of those. A tool that finds what another one needs is a helper for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from toolsearch.text.analysis.identifiers import identifier_words, singular

FIND_VERBS = MappingProxyType(
    {
        "search": 1.0, "find": 1.0, "lookup": 1.0, "look": 1.0, "resolve": 1.0, "list": 0.9, "query": 0.9,
        "get": 0.6, "fetch": 0.6, "retrieve": 0.6,
    }
)  # fmt: skip
"""How surely a tool whose name begins with the verb takes a description rather than an identifier."""

IDENTIFIERS = frozenset({"id", "ids", "uid", "uuid", "key", "code", "uri", "url", "token", "number", "slug", "handle"})
ID_BONUS = 1.2
"""`get_artist_id` finds the identifier itself."""


@dataclass(frozen=True, slots=True)
class Finder:
    """What a tool finds, by its name.

    Attributes:
        strength: How surely, in [0, 1]; 0 = it finds nothing.
        nouns: The words of its name, in the singular.
    """

    strength: float
    nouns: frozenset[str]


def finder_of(name: str) -> Finder:
    """Return what a tool of that name finds."""
    words = [singular(word.lower()) for word in identifier_words(name)]
    strength = max((FIND_VERBS.get(word, 0.0) for word in words), default=0.0)
    bonus = ID_BONUS if "id" in words else 1.0
    return Finder(min(1.0, strength * bonus), frozenset(words) - FIND_VERBS.keys() - IDENTIFIERS)


def wanted_entity(parameter: str, *, tool: str) -> tuple[str, ...]:
    """Return the words of what an identifying parameter identifies, () for a parameter that identifies nothing.

    A bare `id` identifies what its tool is about: the first noun of the tool's name.
    """
    words = [word.lower() for word in identifier_words(parameter)]
    if not words:
        return ()
    last = words[-1]
    if last in IDENTIFIERS:
        entity = [singular(word) for word in words[:-1] if word not in IDENTIFIERS]
    elif last.endswith("id") and len(last) > 3:
        entity = [singular(last[:-2])]
    else:
        return ()
    if not entity:
        named = (singular(word.lower()) for word in identifier_words(tool))
        entity = [word for word in named if word not in FIND_VERBS and word not in IDENTIFIERS][:1]
    return tuple(entity)
