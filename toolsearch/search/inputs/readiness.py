"""Input readiness: are the required inputs of a tool at hand, obtainable, to be asked for, or forbidden to guess?

Value of the signal: the mean over the required inputs of at hand 1, obtainable from a visible read-only producer 0.6,
to be asked 0.3, forbidden to infer and absent 0. A tool that requires nothing has 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from toolsearch.model.contract import ToolContract
from toolsearch.model.reasons import ReasonCode, Why
from toolsearch.search.inputs.extract import (
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
class Missing:
    """A required input that is not at hand.

    Attributes:
        obtain_from: Refs of visible read-only producers; without any, only the user can say.
        forbidden: Must not be guessed.
    """

    field: str
    obtain_from: tuple[str, ...]
    forbidden: bool

    @property
    def ask(self) -> bool:
        """Tell whether only the user can say."""
        return not self.obtain_from


@dataclass(frozen=True, slots=True)
class Readiness:
    """The signal of one tool for one request.

    Attributes:
        value: In [0, 1].
        required: How many inputs are required.
        ready: Field -> value given or found in the request.
        missing: The others, less those that any request supplies by itself.
    """

    value: float
    required: int
    ready: Mapping[str, Any]
    missing: tuple[Missing, ...]

    def why(self) -> Why:
        """Return the reason for the value."""
        if self.required == 0:
            return Why(ReasonCode.NO_INPUTS_NEEDED, "needs no input")
        if not self.missing:
            found = ", ".join(f"{name}={str(value)[:60]}" for name, value in self.ready.items())
            text = f"all {self.required} required inputs are at hand" + (f": {found}" if found else "")
            return Why(ReasonCode.INPUTS_READY, text)
        forbidden = [item.field for item in self.missing if item.forbidden and item.ask]
        if forbidden:
            text = f"must not be guessed and is not stated: {', '.join(forbidden)}"
            return Why(ReasonCode.INPUT_FORBIDDEN, text)
        asked = [item.field for item in self.missing if item.ask]
        if not asked:
            text = "; ".join(f"{item.field} can come from {item.obtain_from[0]}" for item in self.missing)
            return Why(ReasonCode.INPUTS_OBTAINABLE, text)
        return Why(ReasonCode.INPUTS_MISSING, f"must be asked: {', '.join(asked)}")


def input_fields(contract: ToolContract) -> tuple[InputField, ...]:
    """Return the required inputs of a contract in order; cheap to keep, not cheap to make."""
    properties = contract.input_schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    return tuple(_input_field(name, known.get(name), contract) for name in contract.required_inputs)


def all_fields(contract: ToolContract) -> tuple[InputField, ...]:
    """Return every parameter of a contract: the required ones first, the others in the order of the schema."""
    properties = contract.input_schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    names = dict.fromkeys((*contract.required_inputs, *known, *contract.input.semantics))
    return tuple(_input_field(name, known.get(name), contract) for name in names)


def _input_field(name: str, schema: Any, contract: ToolContract) -> InputField:
    spec: dict[str, Any] = schema if isinstance(schema, dict) else {}
    raw_enum = spec.get("enum")
    enum = tuple(str(value) for value in raw_enum if isinstance(value, str | int)) if isinstance(raw_enum, list) else ()
    pattern = spec["pattern"] if isinstance(spec.get("pattern"), str) else ""
    form = spec["format"] if isinstance(spec.get("format"), str) else ""
    shapes = frozenset(shape(value) for value in _examples(name, spec, contract) if any(c.isdigit() for c in value))
    numeric = _numeric(spec.get("type"))
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


def _numeric(kind: Any) -> bool:
    """Tell whether a JSON Schema type is a number, or a number and null."""
    kinds = kind if isinstance(kind, list) else [kind]
    named = [part for part in kinds if part != "null"]
    return bool(named) and all(part in ("integer", "number") for part in named)


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
    ready: dict[str, Any] = {}
    missing: list[Missing] = []
    total = 0.0
    for field in fields:
        if field.name in given and valid_value(given[field.name], field.schema):
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
            sources = producers(field.name)
            missing.append(Missing(field.name, sources, field.forbidden))
            total += OBTAINABLE if sources else FORBIDDEN if field.forbidden else ASK
    value = total / len(fields) if fields else 1.0
    return Readiness(value, len(fields), ready, tuple(missing))
