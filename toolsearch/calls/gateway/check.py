"""Three layers between the arguments and the server: structure, semantics, preconditions. Pure.

Each finding says which layer found it, which field is at fault, and what to do: mend it, or ask the user.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any

from toolsearch.calls.gateway.call import CallError, Repair
from toolsearch.calls.gateway.repair import Ask, mend, red_names
from toolsearch.model.argument_problem import ArgumentProblem
from toolsearch.model.contract import ToolContract
from toolsearch.search.inputs.check import check_arguments
from toolsearch.search.inputs.rules import unread_rules
from toolsearch.search.inputs.structure import is_checked

NO_SCHEMA = "the contract has no input schema that arguments can be checked against"

_PLACEHOLDER_CHARS = 200
"""A longer text is no placeholder."""

_PLACEHOLDER = re.compile(
    r"\s*(?:|[<\[{(].*[>\]})]|unknown|none|null|n/?a|tbd|todo|xxx+|placeholder|example|your[_ -].*|some[_ -].*"
    r"|.*@example\.(?:com|org|net)|未知|待定|示例)\s*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """Arguments after the checks.

    Attributes:
        arguments: As they are to be sent.
        repairs: What was mended in them.
        unchecked: Rules that no program can check.
        error: What stands against the call, or None.
    """

    arguments: dict[str, Any]
    repairs: tuple[Repair, ...] = ()
    unchecked: tuple[str, ...] = ()
    error: CallError | None = None


def check(arguments: Mapping[str, Any], contract: ToolContract, *, now: datetime) -> Checked:
    """Mend and check arguments.

    Args:
        arguments: As the model wrote them.
        contract: Of the tool.
        now: What `today` means in rules.
    """
    mended = mend(arguments, contract)
    problems = check_arguments(mended.arguments, contract=contract, today=now.date())
    findings = (
        _missing(mended.arguments, problems, contract),
        map(_unclear, mended.asks),
        _placeholders(mended.arguments, contract),
        map(_wrong, problems),
    )
    return Checked(
        arguments=mended.arguments,
        repairs=mended.repairs,
        unchecked=(*([] if is_checked(contract) else [NO_SCHEMA]), *unread_rules(contract)),
        error=next(chain.from_iterable(findings), None),
    )


def _unclear(ask: Ask) -> CallError:
    return CallError(
        code="ask",
        message=f"{ask.field} is not clear",
        hint="Ask the user; do not choose for them.",
        field=ask.field,
        layer="semantics",
        question=ask.question,
        options=ask.options,
    )


def _missing(
    arguments: Mapping[str, Any], problems: tuple[ArgumentProblem, ...], contract: ToolContract
) -> Iterator[CallError]:
    """Yield what is required and absent: to be asked where the contract says so, else to be filled in."""
    declared = [name for name in contract.required_inputs if name not in arguments]
    for name in dict.fromkeys([*declared, *(one.field for one in problems if one.code == "required")]):
        if name in contract.input.forbidden_inference_fields:
            yield _ask(name, "is required and must not be inferred", contract)
        elif name in contract.input.clarification_fields:
            yield _ask(name, "is required and has to be asked for", contract)
        else:
            yield CallError(
                code="invalid_arguments",
                message=f"{name} is required and missing",
                retryable=True,
                hint=f"Call again with {name}{_meaning(name, contract)}.",
                field=name,
                layer="structure",
            )


def _placeholders(arguments: Mapping[str, Any], contract: ToolContract) -> Iterator[CallError]:
    """Yield fields of which a stand-in was given for what only the user or another tool can know."""
    careful = red_names(contract) | {name.casefold().replace("_", "") for name in contract.input.clarification_fields}
    for name, value in arguments.items():
        if re.sub(r"[\s_.-]+", "", name).casefold() not in careful:
            continue
        if value is None or (_is_placeholder(value)):
            yield _ask(name, f"is {value!r}, which stands for nothing", contract)


def _is_placeholder(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _PLACEHOLDER_CHARS and bool(_PLACEHOLDER.fullmatch(value))


def _ask(name: str, why: str, contract: ToolContract) -> CallError:
    return CallError(
        code="ask",
        message=f"{name} {why}",
        hint="Ask the user, or take it from the result of another tool; do not guess it.",
        field=name,
        layer="precondition",
        question=f"Which {name}{_meaning(name, contract)}?",
    )


def _meaning(name: str, contract: ToolContract) -> str:
    own = contract.input_schema.get("properties", {}).get(name)
    described = own.get("description") if isinstance(own, Mapping) else None
    text = contract.input.semantics.get(name) or (described if isinstance(described, str) else "")
    return f" ({text[:200].rstrip('. ')})" if text else ""


def _wrong(problem: ArgumentProblem) -> CallError:
    return CallError(
        code="rule_broken" if problem.code == "rule" else "invalid_arguments",
        message=f"{problem.field}: {problem.message}" if problem.field else problem.message,
        retryable=True,
        hint=f"{problem.hint or 'Mend it'}, and call again; where the user said so, ask.",
        field=problem.field or None,
        layer=problem.layer.value,
        options=problem.options,
    )
