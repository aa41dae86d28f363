"""The rules that a contract states in sentences, as far as a program can read them.

Read are comparisons of two parameters, or of one with a number or with today: "start_date must not be after end_date",
"keep_id and merge_id must differ", "amount >= 200", "start_date 不得晚于 end_date". Other sentences are for the model:
`unread_rules` returns them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from toolsearch.model.argument_problem import ArgumentProblem, Layer, shown
from toolsearch.model.contract import ToolContract

_NAME = r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*"
_VALUE = rf"{_NAME}|-?\d+(?:\.\d+)?|今天"
_ORDERS: tuple[tuple[str, str], ...] = (
    (r"(?:must|should|may|can) ?not be (?:after|later than|greater than|more than|above)", "<="),
    (r"(?:must|should|may|can) ?not exceed", "<="),
    (r"不(?:得|能|可|应)(?:以)?(?:晚于|大于|高于|超过)", "<="),
    (r"(?:must|should|may|can) ?not be (?:before|earlier than|less than|below)", ">="),
    (r"不(?:得|能|可|应)(?:以)?(?:早于|小于|低于|少于)", ">="),
    (r"must be (?:on or before|at most|no (?:later|more|greater) than)", "<="),
    (r"must be (?:on or after|at least|no (?:earlier|less) than)", ">="),
    (r"must be (?:after|later than|greater than|more than|above)|(?:必须|应|须|要)(?:晚于|大于|高于)", ">"),
    (r"must be (?:before|earlier than|less than|below)|(?:必须|应|须|要)(?:早于|小于|低于)", "<"),
    (r"must (?:differ from|not (?:equal|be the same as))|不(?:得|能|可)(?:等于|与)", "!="),
    (r"<=|≤", "<="),
    (r">=|≥", ">="),
    (r"!=|≠", "!="),
    (r"==|=", "=="),
    (r"<", "<"),
    (r">", ">"),
)
_READERS = [
    (re.compile(rf"({_NAME})\s*(?:{words})\s*({_VALUE})\.?。?", re.IGNORECASE), order) for words, order in _ORDERS
]
_DIFFER = re.compile(
    rf"({_NAME})\s*(?:and|和|与)\s*({_NAME})\s*(?:must (?:differ|be different|not be (?:equal|the same))|"
    r"(?:必须不同|不(?:得|能|可)(?:以)?相同))\.?。?",
    re.IGNORECASE,
)
_HOLDS: dict[str, Callable[[Any, Any], bool]] = {
    "<=": lambda left, right: bool(left <= right),
    ">=": lambda left, right: bool(left >= right),
    "<": lambda left, right: bool(left < right),
    ">": lambda left, right: bool(left > right),
    "!=": lambda left, right: bool(left != right),
    "==": lambda left, right: bool(left == right),
}
_TODAY = frozenset({"today", "now", "今天"})
_MAX_SENTENCE = 300


@dataclass(frozen=True, slots=True)
class Comparison:
    """A sentence that was read: `left order right`.

    Attributes:
        left: Name of a parameter.
        order: One of `<= >= < > != ==`.
        right: Name of a parameter, a number as text, or a word for today.
        text: The sentence.
    """

    left: str
    order: str
    right: str
    text: str


def read_rule(sentence: str, *, known: frozenset[str]) -> Comparison | None:
    """Return the comparison that a sentence makes between known parameters, or None where it makes another point."""
    text = sentence.strip()[:_MAX_SENTENCE]
    if (both := _DIFFER.fullmatch(text)) is not None:
        found: Comparison | None = Comparison(both[1], "!=", both[2], text)
    else:
        matched = ((pattern.fullmatch(text), order) for pattern, order in _READERS)
        found = next((Comparison(match[1], order, match[2], text) for match, order in matched if match), None)
    if found is None or found.left not in known:
        return None
    right_known = found.right in known or found.right.lower() in _TODAY or _number(found.right) is not None
    return found if right_known else None


def check_rules(
    arguments: Mapping[str, Any], *, contract: ToolContract, today: date | None = None
) -> tuple[ArgumentProblem, ...]:
    """Return which declared rules the arguments break. A rule about a value that is not given is not broken.

    Args:
        arguments: Of the call.
        contract: Of the tool.
        today: What `today` means in a rule; None = such rules are not checked.
    """
    known = _parameters(contract)
    broken = []
    for sentence in contract.input.semantic_rules:
        rule = read_rule(sentence, known=known)
        if rule is None or _holds(rule, arguments, today=today) is not False:
            continue
        given = f"{rule.left} is {shown(arguments[rule.left])}"
        if rule.right in arguments:
            given += f" and {rule.right} is {shown(arguments[rule.right])}"
        hint = f"change {rule.left}" + (f" or {rule.right}" if rule.right in arguments else "")
        broken.append(
            ArgumentProblem(
                layer=Layer.SEMANTICS, code="rule", field=rule.left, message=f"{given}, but {rule.text}", hint=hint
            )
        )
    return tuple(broken)


def unread_rules(contract: ToolContract) -> tuple[str, ...]:
    """Return the rules that `check_rules` cannot check: whoever writes the arguments must keep them."""
    known = _parameters(contract)
    return tuple(text for text in contract.input.semantic_rules if read_rule(text, known=known) is None)


def approval_needed(arguments: Mapping[str, Any], *, contract: ToolContract) -> bool:
    """Tell whether a person must approve this call. A condition that cannot be read, or not be decided, holds."""
    if contract.execution.approval is None:
        return False
    rule = read_rule(contract.execution.approval.required_when, known=_parameters(contract))
    return rule is None or _holds(rule, arguments, today=None) is not False


def _parameters(contract: ToolContract) -> frozenset[str]:
    properties = contract.input_schema.get("properties")
    named = properties if isinstance(properties, dict) else {}
    return frozenset((*named, *contract.required_inputs, *contract.input.semantics))


def _holds(rule: Comparison, arguments: Mapping[str, Any], *, today: date | None) -> bool | None:
    """Tell whether a rule holds; None where a value is missing or the two cannot be compared."""
    if rule.left not in arguments:
        return None
    left, right = arguments[rule.left], arguments.get(rule.right)
    if rule.right not in arguments:
        right = today.isoformat() if today and rule.right.lower() in _TODAY else _number(rule.right)
    if left is None or right is None:
        return None
    if rule.order in ("!=", "==") and type(left) is type(right):
        return _HOLDS[rule.order](left, right)
    for read in (_number, _moment):
        if (one := read(left)) is not None and (other := read(right)) is not None:
            return _HOLDS[rule.order](one, other)
    return None


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    return float(value) if isinstance(value, str) and re.fullmatch(r"-?\d{1,15}(?:\.\d{1,15})?", value) else None


def _moment(value: Any) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
