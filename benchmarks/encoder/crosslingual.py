"""Chinese for English data: our own parallel tools, and requests whose words are exchanged by a glossary.

Hardly any labelled data asks in Chinese for tools described in English. Three things of our own writing make up for it.
`data/parallel.tsv` holds everyday, office and engineering tools with one request each, in both languages.
`data/chinese.tsv` asks in Chinese for tools of the permitted sets, by their keys. `data/glossary.tsv` holds the
words that requests for tools are made of: exchanged one by one inside English requests, they pull the Chinese word to
where the English one is, in the context of real tools (code switching).
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from benchmarks.encoder.asked import own_rows

HELD_OUT_EVERY: Final = 7
"""Every seventh parallel row is kept for choosing."""

_DROPPED: Final = re.compile(r"\b(?:the|a|an|of|to)\s+(?=[\u3400-\u9fff])", re.IGNORECASE)
_GAP: Final = re.compile(r"(?<=[\u3400-\u9fff])\s+(?=[\u3400-\u9fff])")


@dataclass(frozen=True, slots=True)
class ParallelRow:
    """One tool of our own with one request.

    Attributes:
        name: English name as words.
        does: What it does, in English and in Chinese.
        asks: A request for it, in English and in Chinese.
        held_out: Whether it is kept for choosing.
    """

    name: str
    does: tuple[str, str]
    asks: tuple[str, str]
    held_out: bool


@dataclass(frozen=True, slots=True)
class ChineseRequest:
    """A request for a tool of one of the public sets.

    Attributes:
        key: `data set/id` of the tool.
        text: The request, in Chinese.
        held_out: Whether it is kept for choosing.
    """

    key: str
    text: str
    held_out: bool


@cache
def parallel_rows() -> tuple[ParallelRow, ...]:
    """Return our own parallel tools, in file order."""
    rows = own_rows("parallel.tsv")
    return tuple(
        ParallelRow(name, (does_en, does_zh), (asks_en, asks_zh), at % HELD_OUT_EVERY == 0)
        for at, (name, does_en, does_zh, asks_en, asks_zh) in enumerate(rows)
    )


@cache
def chinese_requests() -> tuple[ChineseRequest, ...]:
    """Return our own Chinese requests for English tools, in file order."""
    rows = own_rows("chinese.tsv")
    return tuple(ChineseRequest(key, text, at % HELD_OUT_EVERY == 0) for at, (key, text) in enumerate(rows))


@cache
def glossary() -> Mapping[str, str]:
    """Return English word or phrase -> Chinese."""
    return dict(own_rows("glossary.tsv"))


def code_switched(text: str, *, share: float, rng: random.Random) -> str:
    """Return the English text with about that share of its glossary words in Chinese.

    Longer phrases win over the words in them; English articles before a Chinese word go, and so do spaces between two.
    """

    def exchange(match: re.Match[str]) -> str:
        return glossary()[match.group().lower()] if rng.random() < share else match.group()

    return _GAP.sub("", _DROPPED.sub("", _pattern().sub(exchange, text)))


@cache
def _pattern() -> re.Pattern[str]:
    phrases = sorted(glossary(), key=lambda phrase: (-len(phrase), phrase))
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, phrases))})\b", re.IGNORECASE)
