"""Input readiness: are the required inputs of a tool at hand, obtainable, to be asked for, or forbidden to guess?

Value of the signal: the mean over the required inputs of at hand 1, obtainable from a visible read-only producer 0.6,
to be asked 0.3, forbidden to infer and absent 0. A tool that requires nothing has 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from toolsearch.contract import ToolContract
from toolsearch.explain import Reason, ReasonCode
from toolsearch.rank.extract import (
    RequestFacts,
    find_enum,
    find_format,
    find_number,
    find_pattern,
    find_shape,
    known_format,
    shape,
    valid_value,
)
from toolsearch.result import InputState, MissingInput

AT_HAND, OBTAINABLE, ASK, FORBIDDEN = 1.0, 0.6, 0.3, 0.0

Producers = Callable[[str], tuple[str, ...]]
"""Entity (an input's name) -> refs of visible read-only tools that produce it, best first."""

_ID_NAME = re.compile(r"(?:^|_)(?:id|ids|key|no|number|code|uuid|guid|token|arn|sha|hash|symbol)$")
_EXAMPLE = re.compile(
    r"(?:e\.g\.|i\.e\.|for example|such as|example:?|例如|如|比如)[\s:：,]*[`\"'“]?([A-Za-z0-9][\w.:/-]{2,40})"
)


@dataclass(frozen=True, slots=True)
class InputField:
    """One required input, as far as it can be looked for in a request.

    Attributes:
        shapes: Shapes of its examples (`A-9`).
        forbidden: Must be stated by the user or found exactly; never guessed.
        clarify: The contract wants it asked for where it is not stated.
        free: Free text that any request supplies by itself (a query, a city, a message).
    """

    name: str
    schema: Mapping[str, Any]
    enum: tuple[str, ...]
    pattern: str
    format: str
    shapes: frozenset[str]
    numeric: bool
    has_default: bool
    forbidden: bool
    clarify: bool
    free: bool


@dataclass(frozen=True, slots=True)
class Readiness:
    """The signal of one tool for one request."""

    value: float
    state: InputState
    reason: Reason


def input_fields(contract: ToolContract) -> tuple[InputField, ...]:
    """Return the required inputs of a contract in order; cheap to keep, not cheap to make."""
    properties = contract.input_schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    return tuple(_input_field(name, known.get(name), contract) for name in contract.required_inputs)


def _input_field(name: str, schema: Any, contract: ToolContract) -> InputField:
    spec: dict[str, Any] = schema if isinstance(schema, dict) else {}
    raw_enum = spec.get("enum")
    enum = tuple(str(value) for value in raw_enum if isinstance(value, str | int)) if isinstance(raw_enum, list) else ()
    pattern = spec["pattern"] if isinstance(spec.get("pattern"), str) else ""
    form = spec["format"] if isinstance(spec.get("format"), str) else ""
    shapes = frozenset(shape(value) for value in _examples(name, spec, contract) if any(c.isdigit() for c in value))
    numeric = spec.get("type") in {"integer", "number"}
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().replace("-", "_")
    forbidden = name in contract.input.forbidden_inference_fields
    clarify = name in contract.input.clarification_fields
    searchable = bool(enum or pattern or shapes or numeric or known_format(form) or _ID_NAME.search(snake))
    return InputField(
        name=name,
        schema=spec,
        enum=enum,
        pattern=pattern,
        format=form if known_format(form) else ("date" if re.search(r"(?:^|_)date$", snake) else ""),
        shapes=shapes,
        numeric=numeric,
        has_default="default" in spec,
        forbidden=forbidden,
        clarify=clarify,
        free=not (searchable or forbidden or clarify or re.search(r"(?:^|_)date$", snake)),
    )


def _examples(name: str, spec: dict[str, Any], contract: ToolContract) -> list[str]:
    listed = spec.get("examples", [])
    found = [value for value in listed if isinstance(value, str)] if isinstance(listed, list) else []
    texts = [contract.input.semantics.get(name, "")]
    if isinstance(spec.get("description"), str):
        texts.append(spec["description"])
    for text in texts:
        found.extend(_EXAMPLE.findall(text))
    return found


def find_value(field: InputField, facts: RequestFacts) -> str | None:
    """Return the value of an input that stands in the request, or None."""
    if field.enum:
        return find_enum(facts, field.enum)
    if field.pattern:
        return find_pattern(facts, field.pattern)
    if field.format:
        return find_format(facts, field.format)
    if field.numeric:
        return find_number(facts)
    if field.shapes:
        return find_shape(facts, field.shapes)
    return None


def assess(
    fields: tuple[InputField, ...], *, facts: RequestFacts, given: Mapping[str, Any], producers: Producers
) -> Readiness:
    """Tell which required inputs are at hand, and where the missing ones can come from.

    Args:
        fields: Required inputs of the tool, from `input_fields`.
        facts: The request.
        given: Values the harness already has, by input name.
        producers: Visible read-only producers of an entity.
    """
    if not fields:
        return Readiness(1.0, InputState(), Reason(code=ReasonCode.NO_INPUTS_NEEDED, text="needs no input"))
    ready: dict[str, Any] = {}
    missing: list[MissingInput] = []
    total = 0.0
    for field in fields:
        if field.name in given and valid_value(given[field.name], dict(field.schema)):
            ready[field.name] = given[field.name]
            total += AT_HAND
            continue
        found = find_value(field, facts)
        if found is not None:
            ready[field.name] = found
            total += AT_HAND
        elif field.free or (field.has_default and not field.forbidden):
            total += AT_HAND
        else:
            total += _missing(field, producers=producers, into=missing)
    value = total / len(fields)
    return Readiness(value, InputState(ready=ready, missing=tuple(missing)), _reason(missing, ready, len(fields)))


def _missing(field: InputField, *, producers: Producers, into: list[MissingInput]) -> float:
    sources = producers(field.name)
    into.append(
        MissingInput(field=field.name, ask=not sources, obtain_from=sources, forbidden_to_infer=field.forbidden)
    )
    if sources:
        return OBTAINABLE
    return FORBIDDEN if field.forbidden else ASK


def _reason(missing: list[MissingInput], ready: Mapping[str, Any], required: int) -> Reason:
    if not missing:
        found = ", ".join(f"{name}={str(value)[:60]}" for name, value in ready.items())
        text = f"all {required} required inputs are at hand" + (f": {found}" if found else "")
        return Reason(code=ReasonCode.INPUTS_READY, text=text)
    forbidden = [item.field for item in missing if item.forbidden_to_infer and item.ask]
    if forbidden:
        text = f"must not be guessed and is not stated: {', '.join(forbidden)}"
        return Reason(code=ReasonCode.INPUT_FORBIDDEN, text=text)
    if all(not item.ask for item in missing):
        text = "; ".join(f"{item.field} can come from {item.obtain_from[0]}" for item in missing)
        return Reason(code=ReasonCode.INPUTS_OBTAINABLE, text=text)
    asked = ", ".join(item.field for item in missing if item.ask)
    return Reason(code=ReasonCode.INPUTS_MISSING, text=f"must be asked: {asked}")
