"""The exact-name lane: a request that names a tool finds it, whatever else it says.

Users and models write names (`ask_codex`, `orders.get`, `github/create_issue`) and ranked recall can miss them behind a
word that happens to be rare. Common words are names too (`search`, `time`), so inside a sentence only what is written
like code counts; a request that is nothing but a name always counts. Spelling is compared without case and separators:
`createInvoice`, `create-invoice` and `create invoice` name `create_invoice`, unless another visible tool is spelled
just so.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from toolsearch.search.index.docset import DocSet
from toolsearch.text.analysis.analyzer import fold
from toolsearch.text.analysis.identifiers import split_humps

MIN_PREFIX = 4
"""Shortest prefix of a name that counts, in letters and digits."""

MAX_MENTIONS = 64
"""Most names one request is searched for."""

_CODE_SPAN = re.compile(r"(?<!`)`++([^`\n]{1,256})`++")
_TOKEN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/#+-]{0,255}(\(\))?", re.ASCII)
_LAST = "\U0010ffff"


NameKind = Literal["exact", "alias", "prefix"]
"""How a request names a tool: its full name, an alias of it, or the start of its name and of no other."""

_STRENGTH: Mapping[NameKind, int] = MappingProxyType({"exact": 0, "alias": 1, "prefix": 2})


class NameMatch(NamedTuple):
    """A tool that the request names, and how."""

    doc_id: int
    kind: NameKind


@dataclass(frozen=True, slots=True)
class _Mention:
    """A piece of the request that may be a name.

    Attributes:
        text: As written.
        sure: The whole request or marked as code, so that it may be a common word.
    """

    text: str
    sure: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Spellings:
    """Names by their compact spelling.

    Attributes:
        keys: Distinct compact spellings in code point order.
        starts: int64[n_keys + 1]; the documents of key i are the slice starts[i]:starts[i + 1].
        docs: int32[n], DocIds, ascending within a key.
        folded: The folded spelling at each position of `docs`.
        coded: Whether the name at each position of `docs` is written like code.
    """

    keys: tuple[str, ...]
    starts: NDArray[np.int64]
    docs: NDArray[np.int32]
    folded: tuple[str, ...]
    coded: tuple[bool, ...]

    @classmethod
    def of(cls, names: Iterable[tuple[str, int]]) -> _Spellings:
        """Return the spellings of (name, DocId) pairs."""
        entries = sorted(
            (compact(name), doc_id, fold(name), looks_like_code(name)) for name, doc_id in names if name.strip()
        )
        firsts = [at for at, entry in enumerate(entries) if at == 0 or entry[0] != entries[at - 1][0]]
        return cls(
            keys=tuple(entries[at][0] for at in firsts),
            starts=np.array([*firsts, len(entries)], dtype=np.int64),
            docs=np.array([entry[1] for entry in entries], dtype=np.int32),
            folded=tuple(entry[2] for entry in entries),
            coded=tuple(entry[3] for entry in entries),
        )

    def exact(self, name: str, *, docs: DocSet, sure: bool) -> list[int]:
        """Return the visible documents of that name; those spelled just so if there are any, else all.

        Args:
            name: As written in the request.
            docs: The visible documents.
            sure: Whether it is meant as a name. If not, only names that are written like code themselves count:
                `GitHub` in a sentence is the company, not the tool `github`.
        """
        key = compact(name)
        at = bisect_left(self.keys, key)
        if at == len(self.keys) or self.keys[at] != key:
            return []
        visible = self._visible(at, at + 1, docs=docs).tolist()
        places = visible if sure else [place for place in visible if self.coded[place]]
        literal = fold(name)
        just_so = [place for place in places if self.folded[place] == literal]
        return [int(self.docs[place]) for place in just_so or places]

    def unique_prefix(self, prefix: str, *, docs: DocSet) -> list[int]:
        """Return the visible documents of the only visible name that starts so and goes on, or nothing."""
        key = compact(prefix)
        low, high = bisect_left(self.keys, key), bisect_left(self.keys, key + _LAST)
        visible = self._visible(low, high, docs=docs)
        if not visible.size:
            return []
        # Positions are in key order: the first and the last share a key only if all do.
        first, last = np.searchsorted(self.starts, visible[[0, -1]], side="right")
        unique = first == last and self.keys[first - 1] != key
        return [int(doc_id) for doc_id in self.docs[visible]] if unique else []

    def _visible(self, low: int, high: int, *, docs: DocSet) -> NDArray[np.int64]:
        start, end = int(self.starts[low]), int(self.starts[high])
        return np.flatnonzero(docs.mask[self.docs[start:end]]) + start


@dataclass(frozen=True, slots=True, eq=False)
class NameIndex:
    """Names, aliases and servers of one snapshot."""

    names: _Spellings
    aliases: _Spellings
    servers: tuple[str, ...]

    def match(self, text: str, *, docs: DocSet) -> tuple[NameMatch, ...]:
        """Return the visible tools that the text names, strongest kind first, then by DocId.

        Args:
            text: The request.
            docs: The visible documents; whether a prefix is unique is decided among them alone.
        """
        found = [match for mention in _mentions(text) for match in self._named(mention, docs=docs)]
        found.sort(key=lambda match: (_STRENGTH[match.kind], match.doc_id))
        strongest = {match.doc_id: match for match in reversed(found)}
        return tuple(match for match in dict.fromkeys(found) if strongest[match.doc_id] == match)

    def _named(self, mention: _Mention, *, docs: DocSet) -> Iterator[NameMatch]:
        qualified = self._qualified(mention.text, docs=docs)
        if qualified:
            yield from (NameMatch(doc_id, "exact") for doc_id in qualified)
            return
        is_code = looks_like_code(mention.text)
        if not (mention.sure or is_code):
            return
        exact = self.names.exact(mention.text, docs=docs, sure=mention.sure)
        alias = self.aliases.exact(mention.text, docs=docs, sure=mention.sure)
        yield from (NameMatch(doc_id, "exact") for doc_id in exact)
        yield from (NameMatch(doc_id, "alias") for doc_id in alias)
        if is_code and not exact and not alias and len(compact(mention.text)) >= MIN_PREFIX:
            prefixed = self.names.unique_prefix(mention.text, docs=docs)
            yield from (NameMatch(doc_id, "prefix") for doc_id in prefixed)

    def _qualified(self, text: str, *, docs: DocSet) -> list[int]:
        """Return the visible documents that `server/name` or `server__name` names."""
        for separator in ("/", "__"):
            server, found, name = text.rpartition(separator)
            if found and server and name:
                wanted = fold(server).removeprefix("mcp__")
                matches = [
                    doc_id for doc_id in self.names.exact(name, docs=docs, sure=True) if self.servers[doc_id] == wanted
                ]
                if matches:
                    return matches
        return []


class Named(Protocol):
    """Under which names one tool is known."""

    @property
    def server(self) -> str:
        """Return its server."""

    @property
    def name(self) -> str:
        """Return its name."""

    @property
    def aliases(self) -> Sequence[str]:
        """Return its other names."""


def build_names(tools: Sequence[Named]) -> NameIndex:
    """Return the name index of the tools, such as the identities of contracts; the position of a tool is its DocId."""
    return NameIndex(
        names=_Spellings.of((tool.name, at) for at, tool in enumerate(tools)),
        aliases=_Spellings.of((alias, at) for at, tool in enumerate(tools) for alias in tool.aliases),
        servers=tuple(fold(tool.server) for tool in tools),
    )


def compact(name: str) -> str:
    """Return the folded name without separators; a name of nothing else stays whole."""
    folded = fold(name)
    return "".join(filter(str.isalnum, folded)) or folded


def looks_like_code(word: str) -> bool:
    """Tell whether a word of a sentence is written like an identifier: `a_b`, `a.b`, `a-b`, `aB`, `s3`, `f()`."""
    if word.endswith("()"):
        return True
    letters = any(map(str.isalpha, word))
    inner = any(mark in word.strip("_.-:/#+") for mark in "_.-:/#+")
    return letters and (inner or any(map(str.isdigit, word)) or split_humps(word) != word)


def _mentions(text: str) -> Iterator[_Mention]:
    whole = text.strip().strip("`'\"“”‘’「」.,;:!?。，；：！？ ")
    if whole and len(whole) <= 256:
        yield _Mention(whole.removesuffix("()"), sure=True)
    for span in _CODE_SPAN.findall(text)[:MAX_MENTIONS]:
        yield _Mention(span.strip().removesuffix("()"), sure=True)
    tokens = (match for match in _TOKEN.finditer(text) if looks_like_code(match[0]))
    for _, match in zip(range(MAX_MENTIONS), tokens, strict=False):
        word = match[0].removesuffix("()").strip(".:/-+#")
        if word:
            yield _Mention(word, sure=match[0].endswith("()"))
