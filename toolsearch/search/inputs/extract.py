"""Values of inputs that stand in the request text: by pattern, enum, format, or the shape of an example.

Patterns come from contracts and so from strangers: they run on pydantic-core's linear-time engine, never on `re`, and a
pattern it cannot compile (look-around, back-references) finds nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pydantic_core import SchemaError, SchemaValidator, ValidationError, core_schema

MAX_TOKENS = 200
"""Tokens of a request that are tried against patterns; later ones are not looked at."""

_TOKEN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/@#%+&=?~-]*")
_TRAILING = ".:,?!;-/"
_NUMBER = re.compile(r"(?<![\w.-])[-+]?\d[\d,]*(?:\.\d+)?(?![\w-]|\.\d)")
_QUOTED = re.compile(
    r"\"([^\"]{1,200})\"|“([^”]{1,200})”|「([^」]{1,200})」|《([^》]{1,200})》|`([^`]{1,200})`|'([^']{2,200})'(?!\w)"
)
_DATE_WORDS = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|now|(?:next|last|this|past) (?:week|month|quarter|year|weekend|"
    r"mon|tues|wednes|thurs|fri|satur|sun)(?:day)?|(?:mon|tues|wednes|thurs|fri|satur|sun)day|"
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? \d{1,2}|\d{1,2}(?:st|nd|rd|th)?(?: of)? "
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*|"
    r"(?:past|last|next) \d+ (?:\w+ )?(?:days|weeks|months|years))\b"
    r"|\d{4}-\d{2}-\d{2}|\d{1,2}/\d{1,2}(?:/\d{2,4})?|\d{4}年(?:\d{1,2}月)?(?:\d{1,2}[日号])?|\d{1,2}月(?:\d{1,2}[日号])?|"
    r"今天|今日|今晚|明天|明日|后天|昨天|昨日|前天|现在|(?:本|上|下|这)个?(?:周|月|季度|年|星期|礼拜)[一二三四五六日天末]?|"
    r"(?:周|星期|礼拜)[一二三四五六日天末]|(?:最近|过去|近|未来)\s*[\d一二三四五六七八九十两]+\s*(?:个)?(?:交易日|天|周|月|年|小时)|去年|今年|明年",
    re.IGNORECASE,
)
_TIME_WORDS = re.compile(
    r"\b\d{1,2}(?::\d{2})?\s*(?:am|pm)\b|\b\d{1,2}:\d{2}\b|\b(?:noon|midnight|morning|afternoon|evening)\b|"
    r"[上下中]午|早上|晚上|[\d一二三四五六七八九十两]{1,3}\s*点(?:半|\d{1,2}分)?",
    re.IGNORECASE,
)
_FORMATS: dict[str, re.Pattern[str]] = {
    "email": re.compile(r"(?<![A-Za-z0-9_.+-])[A-Za-z0-9_.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+"),
    "uri": re.compile(r"(?:https?|ftp|s3|gs|file)://[^\s，。、\"'<>）)]+|\bwww\.[^\s，。、\"'<>）)]+"),
    "date": _DATE_WORDS,
    "date-time": re.compile(f"(?:{_DATE_WORDS.pattern})|(?:{_TIME_WORDS.pattern})", re.IGNORECASE),
    "time": _TIME_WORDS,
    "uuid": re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"),
    "ipv4": re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}\b"),
}
_FORMATS["url"] = _FORMATS["uri-reference"] = _FORMATS["iri"] = _FORMATS["uri"]
_FORMATS["datetime"] = _FORMATS["date-time"]


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """The pieces of a request that inputs are looked for in; made once a request.

    Attributes:
        folded: Case-folded text, for enum words.
        tokens: Code-like tokens without trailing punctuation, at most MAX_TOKENS.
        numbers: Stand-alone numbers as written.
        quoted: Quoted pieces, which are values the user spells out.
    """

    text: str
    folded: str
    tokens: tuple[str, ...]
    numbers: tuple[str, ...]
    quoted: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> RequestFacts:
        """Read a request."""
        tokens = dict.fromkeys(found.rstrip(_TRAILING) for found in _TOKEN.findall(text)[:MAX_TOKENS])
        quoted = tuple(next(filter(None, groups)) for groups in _QUOTED.findall(text)[:20])
        return cls(text, text.casefold(), tuple(filter(None, tokens)), tuple(_NUMBER.findall(text)[:50]), quoted)


@lru_cache(maxsize=20_000)
def matcher(pattern: str) -> Callable[[str], bool] | None:
    """Return a linear-time whole-value matcher for a JSON Schema pattern, or None where it cannot be compiled."""
    if len(pattern) > 1_000:
        return None
    try:
        validator = SchemaValidator(core_schema.str_schema(pattern=f"^(?:{pattern})$"))
    except SchemaError:
        return None

    def matches(value: str) -> bool:
        try:
            validator.validate_python(value)
        except ValidationError:
            return False
        return True

    return matches


def shape(value: str) -> str:
    """Return the shape of an identifier: `A1024` -> `A9`, `ORD-20260917` -> `A-9`; runs are folded."""
    return re.sub(r"[0-9]+", "9", re.sub(r"[A-Za-z]+", "A", value))


def find_pattern(facts: RequestFacts, pattern: str) -> str | None:
    """Return the first token or quoted piece that matches a JSON Schema pattern as a whole."""
    matches = matcher(pattern)
    if matches is None:
        return None
    return next((token for token in (*facts.tokens, *facts.quoted) if matches(token)), None)


def find_enum(facts: RequestFacts, values: tuple[str, ...]) -> str | None:
    """Return the first enum value that stands in the request as a word; `_` and `-` also read as a space."""
    for value in values:
        for form in dict.fromkeys((value, value.replace("_", " ").replace("-", " "))):
            word = form.casefold().strip()
            if not word:
                continue
            if _stands_in(facts.folded, word):
                return value
    return None


def _stands_in(text: str, word: str) -> bool:
    """Tell whether a word stands in a text by itself; in scripts without spaces, anywhere."""
    if not word.isascii():
        return word in text
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if not (_word_char(text[at - 1 : at]) or _word_char(text[end : end + 1])):
            return True
        at = text.find(word, at + 1)
    return False


def _word_char(char: str) -> bool:
    return bool(char) and char.isascii() and (char.isalnum() or char == "_")


def find_format(facts: RequestFacts, name: str) -> str | None:
    """Return the first piece of the request in a JSON Schema format, or None (also for formats not known here)."""
    pattern = _FORMATS.get(name)
    match = pattern.search(facts.text) if pattern else None
    return match.group() if match else None


def find_formats(facts: RequestFacts, name: str) -> tuple[str, ...]:
    """Return every piece of the request in a JSON Schema format, each once, in order."""
    pattern = _FORMATS.get(name)
    return tuple(dict.fromkeys(match.group() for match in pattern.finditer(facts.text))) if pattern else ()


def known_format(name: str) -> bool:
    """Tell whether `find_format` can look for this format."""
    return name in _FORMATS


def find_shape(facts: RequestFacts, shapes: frozenset[str]) -> str | None:
    """Return the first token with a digit whose shape is that of an example value."""
    return next((token for token in facts.tokens if any(c.isdigit() for c in token) and shape(token) in shapes), None)


def find_number(facts: RequestFacts) -> str | None:
    """Return the first stand-alone number, thousands separators removed."""
    return facts.numbers[0].replace(",", "") if facts.numbers else None


def valid_value(value: Any, schema: Mapping[str, Any]) -> bool:
    """Check a given value against the plain parts of its schema: type, enum, pattern. Unknown parts pass."""
    if value is None:
        return False
    if enum := schema.get("enum"):
        return value in enum if isinstance(enum, list) else True
    kinds: dict[str, tuple[type, ...]] = {
        "string": (str,),
        "integer": (int,),
        "number": (int, float),
        "boolean": (bool,),
        "array": (list,),
        "object": (dict,),
    }
    kind = schema.get("type")
    if isinstance(kind, str) and kind in kinds:
        number_wanted = kind in {"integer", "number"}
        if not isinstance(value, kinds[kind]) or (isinstance(value, bool) and number_wanted):
            return False
    pattern = schema.get("pattern")
    if isinstance(value, str) and isinstance(pattern, str):
        matches = matcher(pattern)
        return matches is None or matches(value)
    return True
