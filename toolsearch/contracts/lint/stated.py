"""What the description of a parameter states that its schema could say: values, bounds, a default, a date format."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_VALUE = r"(?:[`'\"“‘]?[A-Za-z0-9][\w.+-]{0,40}[`'\"”’]?)"
_QUOTED = r"(?:`[^`\s]{1,40}`|'[^'\s]{1,40}'|\"[^\"\s]{1,40}\")"
_ENUM = (
    # one of: a, b, c  |  must be one of 'a', 'b' or 'c'  |  allowed values: a, b
    re.compile(
        rf"(?:one of(?: the following)?|(?:allowed|valid|possible|supported|accepted|available) (?:values"
        rf"|options)(?: are| include)?|either)\s*[:：=]?\s*[(\[]?"
        rf"(?P<values>{_QUOTED}(?:\s*(?:,|/|\||，|、|,?\s+or\s+|,?\s+and\s+)\s*{_QUOTED})+)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?:one of|(?:allowed|valid|possible|supported|accepted) (?:values"
        rf"|options))\s*[:：]\s*(?P<values>{_VALUE}(?:\s*(?:,|\|"
        rf"|/)\s*(?:or\s+)?{_VALUE})+(?:,?\s+or\s+{_VALUE})?)\s*(?:[.;)\]]|$)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^[^.]{{0,40}}[(:：]\s*(?P<values>{_QUOTED}(?:\s*(?:,|/|\||,?\s+or\s+)\s*{_QUOTED})+)\s*[).]?\s*$",
        re.IGNORECASE,
    ),
    re.compile(rf"^\s*(?P<values>{_QUOTED}(?:\s*(?:,|/|\||,?\s+or\s+)\s*{_QUOTED})+)\s*\.?\s*$", re.IGNORECASE),
    re.compile(
        r"(?:可选值|取值(?:范围)?|枚举值?|可取值?)(?:为|是|有|包括)?\s*[:：]?\s*(?P<values>[A-Za-z][\w-]{0,40}(?:\s*[、，,/"
        r"|或]\s*[A-Za-z][\w-]{0,40})+)"
    ),
)
_EXAMPLES = re.compile(
    r"\b(?:e\.?g|for example|such as|example|examples|like|etc|default|defaults)\b|例如|比如|等", re.IGNORECASE
)
_SPLIT = re.compile(r"\s{0,4}(?:,?\s{1,4}or\s{1,4}|,?\s{1,4}and\s{1,4}|[,/|，、或])\s{0,4}", re.IGNORECASE)
_MARKS = "`'\"“”‘’"

_NUMBER = r"(?<![\w.])-?\d{1,9}(?:\.\d{1,6})?(?![\w.]*\w)"
_RANGE = (
    re.compile(rf"\bbetween (?P<low>{_NUMBER}) (?:and|to) (?P<high>{_NUMBER})", re.IGNORECASE),
    re.compile(
        rf"(?:range|valid|allowed|must be|values?)[^.0-9]{{0,20}}?(?:from )?[(\[]?(?P<low>{_NUMBER}) ?(?:-|–|to"
        rf"|~|\.\.) ?(?P<high>{_NUMBER})",
        re.IGNORECASE,
    ),
    re.compile(rf"[(\[](?P<low>{_NUMBER}) ?(?:-|–|to|~|\.\.) ?(?P<high>{_NUMBER})[)\]]"),
    re.compile(rf"(?:范围|取值)[^0-9。]{{0,6}}(?P<low>{_NUMBER})\s*(?:-|–|到|至|~)\s*(?P<high>{_NUMBER})"),
)
_MOST = (
    re.compile(
        rf"\b(?:max(?:imum)?(?: (?:value|is|of|allowed))*|at most|no more than"
        rf"|cannot exceed)\s*[:=]?\s*(?P<high>{_NUMBER})"
        rf"(?!\s*(?:minutes?|hours?|days?|weeks?|[KMG]i?B|%))",
        re.IGNORECASE,
    ),
    re.compile(rf"(?:最大(?:值)?|最多|不超过|上限)(?:为|是)?\s*[:：]?\s*(?P<high>{_NUMBER})"),
)
_LITERAL = r"`[^`]{1,40}`|'[^']{1,40}'|\"[^\"]{1,40}\"|true\b|false\b|-?\d{1,9}(?:\.\d{1,6})?(?![\w%:/.-]*\w)"
_DEFAULT = (
    re.compile(
        rf"\bdefault(?:s)?(?: value)?(?:(?: is| to|[:=])\s*(?:is |to |of )?| )(?P<value>{_LITERAL})",
        re.IGNORECASE,
    ),
    re.compile(rf"默认(?:值)?(?:为|是|[:：])?\s*(?P<value>{_LITERAL})", re.IGNORECASE),
)
_CONDITIONAL_DEFAULT = re.compile(
    r"\bdefaults?\b[^.]{0,60}\b(?:(?:if|when)\b(?! (?:not|omitted|unset|unspecified|none|empty|left))"
    r"|for\b|otherwise|unless|depend\w*)",
    re.IGNORECASE,
)
_ADVICE = re.compile(
    r"\b(?:use (?:lower|higher|larger|smaller)|faster|recommend\w*|typical\w*|usually|e\.g\.|suggested)", re.IGNORECASE
)
_EITHER = re.compile(r"^(?P<values>[A-Za-z][\w-]{0,20} or [A-Za-z][\w-]{0,20})\.?$")


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds that a text states; None = it does not."""

    low: float | int | None
    high: float | int | None


def stated_enum(text: str) -> tuple[str, ...]:
    """Return the values that a text says are all there are, or ()."""
    for pattern in _ENUM:
        match = pattern.search(text)
        if match is None:
            continue
        if _EXAMPLES.search(text[: match.start("values")][-24:]) or re.match(
            r"\s*(?:,?\s*etc|,?\s*\.\.\.|等)", text[match.end("values") :]
        ):
            continue
        values = tuple(
            dict.fromkeys(
                value.strip(_MARKS).rstrip(".") for value in _SPLIT.split(match["values"]) if value.strip(_MARKS)
            )
        )
        if len(values) >= 2 and "etc" not in values:
            return values
    match = _EITHER.match(text.strip())
    return tuple(match["values"].split(" or ")) if match else ()


def stated_actions(text: str) -> tuple[str, ...]:
    """Return the words that a text lists behind a colon or as quoted items, or (): names of actions, if they are."""
    quoted = re.findall(r"(?:^|[\s(:,])['\"`]([A-Za-z][\w-]{1,40})['\"`]", text)
    if len(quoted) >= 2:
        return tuple(dict.fromkeys(quoted))
    _, colon, rest = text.partition(":")
    items = (
        [item.strip() for item in re.split(r"[,|、]|\bor\b", re.split(r"[.\n;]", rest, maxsplit=1)[0])] if colon else []
    )
    return tuple(items) if len(items) >= 2 and all(re.fullmatch(r"[A-Za-z][\w-]{1,60}", item) for item in items) else ()


def stated_bounds(text: str) -> Bounds:
    """Return the least and the greatest number that a text allows."""
    for pattern in _RANGE:
        match = pattern.search(text)
        if match and not _ADVICE.search(text) and len(pattern.findall(text)) == 1:
            low, high = _number(match["low"]), _number(match["high"])
            if low < high:
                return Bounds(low, high)
    for pattern in _MOST:
        match = pattern.search(text)
        if match:
            return Bounds(None, _number(match["high"]))
    return Bounds(None, None)


def stated_default(text: str, node: Mapping[str, Any], types: frozenset[str]) -> Any:
    """Return the default that a text states, in the type of the schema; None where it states none, or another type."""
    if _CONDITIONAL_DEFAULT.search(text):
        return None
    for pattern in _DEFAULT:
        match = pattern.search(text)
        if match:
            return _typed(match["value"], types)
    return None


def _typed(word: str, types: frozenset[str]) -> Any:
    bare = word.strip(_MARKS)
    if types == {"boolean"} and bare.lower() in ("true", "false"):
        return bare.lower() == "true"
    if types and types <= {"integer", "number"}:
        try:
            number = _number(bare)
        except ValueError:
            return None
        return number if isinstance(number, int) or "number" in types else None
    if types == {"string"} and word[:1] in _MARKS:
        return bare
    return None


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)
