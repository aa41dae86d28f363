"""Rules of a contract that a program can check: `end_date must be after start_date`, `amount >= 200`. Pure.

What is written otherwise is a rule for people and models; it is told as unchecked, and an approval that depends on it
is needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

_NAME = r"[A-Za-z_][\w.]*"
_SIDE = rf"(?:{_NAME}|[+-]?\d+(?:\.\d+)?|\"[^\"]*\"|'[^']*'|\d{{4}}-\d{{2}}-\d{{2}})"
_COMPARISON = re.compile(rf"({_NAME})\s*(<=|>=|==|!=|<|>|=|≤|≥|≠)\s*({_SIDE})")

_PHRASES: tuple[tuple[str, str], ...] = (
    (
        r"must not be (?:before|earlier than|less than|below)|must be (?:at least|on or after)"
        r"|不得早于|不能早于|不得低于|不得小于",
        ">=",
    ),
    (
        r"must not be (?:after|later than|greater than|more than|above)|must (?:not exceed|be at most|be on or before)",
        "<=",
    ),
    (r"cannot exceed|不得晚于|不能晚于|不得超过|不能超过|不得大于", "<="),
    (r"must be (?:before|earlier than|less than|below|smaller than)|必须早于|必须小于|应早于", "<"),
    (r"must be (?:after|later than|greater than|more than|above)|必须晚于|必须大于|应晚于", ">"),
    (r"must not (?:equal|be equal to|be the same as)|不得等于|不能等于", "!="),
    (r"must (?:equal|be equal to|be the same as|match)|必须等于|必须与", "=="),
)
_SENTENCES = tuple(
    (re.compile(rf"(?:the )?({_NAME})\s*(?:{phrase})\s*(?:the )?({_SIDE})", re.IGNORECASE), sign)
    for phrase, sign in _PHRASES
)
_DIFFER = re.compile(
    rf"(?:the )?({_NAME})\s*(?:and|与|和)\s*(?:the )?({_NAME})\s*"
    r"(?:must (?:differ|be different|not be equal)|不能相同|不得相同|必须不同)",
    re.IGNORECASE,
)
_BETWEEN = re.compile(rf"({_NAME}) must be (?:between|in|from) ({_SIDE}) (?:and|to) ({_SIDE})", re.IGNORECASE)
_TODAY = ("today", "now", "今天", "现在")
_ALWAYS = ("always", "true", "yes", "总是", "始终", "每次", "必须")
_NEVER = ("never", "false", "no", "从不", "无需")

Sign = Literal["<", "<=", ">", ">=", "==", "!="]
_SIGNS: Mapping[str, str] = {"=": "==", "≤": "<=", "≥": ">=", "≠": "!="}
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: bool(a < b),
    "<=": lambda a, b: bool(a <= b),
    ">": lambda a, b: bool(a > b),
    ">=": lambda a, b: bool(a >= b),
    "==": lambda a, b: bool(a == b),
    "!=": lambda a, b: bool(a != b),
}


@dataclass(frozen=True, slots=True)
class Rule:
    """A comparison that must hold.

    Attributes:
        left: Name of an argument.
        sign: How it compares.
        right: Name of an argument, or a value as text.
        text: The rule as it was written.
    """

    left: str
    sign: str
    right: str
    text: str


def read_rule(text: str, *, names: frozenset[str]) -> tuple[Rule, ...]:
    """Return the comparisons that a sentence states; none where a program cannot read all of it.

    Args:
        text: The sentence.
        names: Arguments of the tool: a rule about anything else is not one about the call alone.
    """
    plain = text.strip().rstrip(".。;；")
    found: list[Rule] = []
    if match := _COMPARISON.fullmatch(plain):
        found = [Rule(match[1], _SIGNS.get(match[2], match[2]), match[3], text)]
    elif match := _BETWEEN.fullmatch(plain):
        found = [Rule(match[1], ">=", match[2], text), Rule(match[1], "<=", match[3], text)]
    elif match := _DIFFER.fullmatch(plain):
        found = [Rule(match[1], "!=", match[2], text)]
    else:
        sentences = ((pattern.fullmatch(plain), sign) for pattern, sign in _SENTENCES)
        found = [Rule(match[1], sign, match[2], text) for match, sign in sentences if match][:1]
    known = all(rule.left in names and _is_side(rule.right, names) for rule in found)
    return tuple(found) if known else ()


def holds(rule: Rule, arguments: Mapping[str, Any], *, now: datetime) -> bool | None:
    """Tell whether a rule holds; None where an argument is absent, or the two cannot be compared."""
    left, right = _at(arguments, rule.left), _right(rule.right, arguments, now=now)
    if left is None or right is None:
        return None
    pair = _comparable(left, right)
    if pair is None:
        return {"==": False, "!=": True}.get(rule.sign) if type(left) is not type(right) else None
    return _COMPARE[rule.sign](*pair)


def needs_approval(condition: str, arguments: Mapping[str, Any], *, names: frozenset[str], now: datetime) -> bool:
    """Tell whether a person must approve a call; where the condition cannot be read, one must."""
    plain = condition.strip().lower().rstrip(".。")
    if plain in _ALWAYS:
        return True
    if plain in _NEVER:
        return False
    rules = read_rule(condition, names=names)
    return not rules or any(holds(rule, arguments, now=now) is not False for rule in rules)


def _is_side(text: str, names: frozenset[str]) -> bool:
    return text in names or text.lower() in _TODAY or not re.fullmatch(_NAME, text)


def _right(text: str, arguments: Mapping[str, Any], *, now: datetime) -> Any:
    if text.lower() in _TODAY:
        return now
    if re.fullmatch(_NAME, text):
        return _at(arguments, text)
    return text.strip("\"'")


def _at(arguments: Mapping[str, Any], name: str) -> Any:
    if name in arguments:
        return arguments[name]
    value: Any = arguments
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _comparable(left: Any, right: Any) -> tuple[Any, Any] | None:
    """Return the two as numbers, moments, days or texts, whichever both are."""
    for read in (_number, _moment):
        first, second = read(left), read(right)
        if first is not None and second is not None:
            return first, second
    days = _day(left), _day(right)
    if days[0] is not None and days[1] is not None:
        return days
    return (left, right) if isinstance(left, str) and isinstance(right, str) else None


def _number(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return Decimal(str(value))
    except InvalidOperation:
        return None


def _moment(value: Any) -> datetime | None:
    if isinstance(value, datetime):
        return value
    if not isinstance(value, str) or len(value) < 12:
        return None
    try:
        read = datetime.fromisoformat(value)
    except ValueError:
        return None
    return read if read.tzinfo is not None else None


def _day(value: Any) -> date | None:
    if isinstance(value, datetime):
        return value.astimezone(UTC).date()
    if not isinstance(value, str):
        return None
    try:
        return date.fromisoformat(value[:10])
    except ValueError:
        return None
