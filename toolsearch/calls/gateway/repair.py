"""Mend the form of arguments: green is done and told, yellow is asked, red is left as it is. Pure.

Only what the schema does not take is touched, and only by what the schema takes and means the same. Red are the
fields that the contract forbids to infer, with all that is in them, and every argument of a tool that may be
irreversible.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from toolsearch.calls.gateway.call import Repair
from toolsearch.calls.gateway.forms import Unclear, as_date, as_date_time, as_number, converted, measured, unit_of_name
from toolsearch.model.contract import SideEffect, ToolContract
from toolsearch.search.inputs.structure import fits

MAX_VALUES = 2_000
"""Values of one call that are looked at."""

_VAGUE = re.compile(
    r"(?:the )?(?:last|past|next|this|recent|current|latest|today|yesterday|tomorrow|now|soon|recently)\b.*"
    r"|.*(?:最近|近期|今天|昨天|明天|现在|上周|本周|下周|上个?月|本月|下个?月|去年|今年|明年).*",
    re.IGNORECASE,
)
_VAGUE_CHARS = 200
_ALIKE = 0.8

Kind = Literal["trim", "enum_case", "number", "boolean", "date", "alias", "list", "unit", "json"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A value that only the user can settle.

    Attributes:
        field: Dotted name of the argument.
        question: To be put to the user.
        options: What it may mean.
    """

    field: str
    question: str
    options: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mended:
    """Arguments after repair.

    Attributes:
        arguments: The arguments, with what was mended.
        repairs: What was mended.
        asks: What is unclear.
    """

    arguments: dict[str, Any]
    repairs: tuple[Repair, ...] = ()
    asks: tuple[Ask, ...] = ()


def mend(arguments: Mapping[str, Any], contract: ToolContract) -> Mended:
    """Return the arguments with their form mended, and what has to be asked."""
    if contract.assumed_side_effect is SideEffect.IRREVERSIBLE:
        return Mended(arguments=dict(arguments))
    work = _Work(red=red_names(contract))
    mended = work.object(dict(arguments), contract.input_schema, path=())
    return Mended(arguments=mended, repairs=tuple(work.repairs), asks=tuple(work.asks))


def red_names(contract: ToolContract) -> frozenset[str]:
    """Return the names that are never mended, folded: of the fields, and of the last part of dotted ones."""
    fields = contract.input.forbidden_inference_fields
    return frozenset(_folded(part) for name in fields for part in (name, name.rpartition(".")[2]))


@dataclass(slots=True, eq=False)
class _Work:
    red: frozenset[str]
    repairs: list[Repair] = field(default_factory=list)
    asks: list[Ask] = field(default_factory=list)
    looked_at: int = 0

    def object(self, given: dict[str, Any], schema: Mapping[str, Any], *, path: tuple[str, ...]) -> dict[str, Any]:
        properties = schema.get("properties")
        if not isinstance(properties, Mapping):
            return given
        result = {}
        for name, value in given.items():
            known = name if name in properties else self._alias(name, given, properties, path=path)
            if self._is_red(known) or self._is_red(name) or not isinstance(properties.get(known), Mapping):
                result[known] = value
                continue
            result[known] = self.value(value, properties[known], path=(*path, known))
        return result

    def value(self, given: Any, schema: Mapping[str, Any], *, path: tuple[str, ...]) -> Any:
        self.looked_at += 1
        if self.looked_at > MAX_VALUES or self._holds_red(given):
            return given
        if isinstance(given, dict):
            return self.object(given, schema, path=path)
        if isinstance(given, list) and isinstance(schema.get("items"), Mapping):
            return [self.value(item, schema["items"], path=(*path, str(at))) for at, item in enumerate(given)]
        if fits(given, schema) and not _lacks_zone(given, schema):
            return given
        for kind, mended in _forms(given, schema, name=path[-1]):
            if isinstance(mended, Unclear):
                question = f"What is meant by {given!r} for {path[-1]}: {mended.why}?"
                self.asks.append(Ask(field=".".join(path), question=question, options=mended.options))
                return given
            if fits(mended, schema):
                self.repairs.append(Repair(field=_pointer(path), kind=kind, before=given, after=mended))
                return mended
        if ask := _unclear(given, schema, path=path):
            self.asks.append(ask)
        return given

    def _alias(
        self, name: str, given: Mapping[str, Any], properties: Mapping[str, Any], *, path: tuple[str, ...]
    ) -> str:
        """Return the parameter that a name is another spelling of, or the name itself."""
        alike = [known for known in properties if _folded(known) == _folded(name)]
        if len(alike) != 1 or alike[0] in given or self._is_red(name):
            return name
        if sum(_folded(other) == _folded(name) for other in given) > 1:
            return name
        self.repairs.append(Repair(field=_pointer((*path, name)), kind="alias", before=name, after=alike[0]))
        return alike[0]

    def _is_red(self, name: str) -> bool:
        return _folded(name) in self.red

    def _holds_red(self, given: Any) -> bool:
        """Tell whether a text is or holds what would become a red field, so that it is not taken apart."""
        return isinstance(given, str) and bool(self.red) and given.lstrip()[:1] in ("{", "[")


def _forms(given: Any, schema: Mapping[str, Any], *, name: str) -> Iterator[tuple[Kind, Any]]:
    """Yield other forms of a value, best first; each still has to fit."""
    if isinstance(given, str):
        text = given.strip()
        if text != given:
            yield "trim", text
        yield from _choices(text, schema)
        yield from _numbers(text, schema, name=name)
        if text.lower() in ("true", "false") and _takes(schema, "boolean"):
            yield "boolean", text.lower() == "true"
        if text[:1] in ("{", "[") and (_takes(schema, "object") or _takes(schema, "array")):
            with suppress(ValueError, RecursionError):
                yield "json", json.loads(text)
        if (wanted := schema.get("format")) in ("date", "date-time"):
            date = as_date(text) if wanted == "date" else as_date_time(text)
            if date is not None:
                yield "date", date
    if _takes(schema, "array") and not isinstance(given, list) and given is not None and not isinstance(given, dict):
        yield "list", [given]


def _lacks_zone(given: Any, schema: Mapping[str, Any]) -> bool:
    wanted = isinstance(given, str) and schema.get("format") == "date-time"
    return wanted and isinstance(as_date_time(given.strip()), Unclear)


def _choices(text: str, schema: Mapping[str, Any]) -> Iterator[tuple[Kind, Any]]:
    choices = schema.get("enum")
    if isinstance(choices, list):
        alike = [choice for choice in choices if isinstance(choice, str) and choice.casefold() == text.casefold()]
        if len(alike) == 1:
            yield "enum_case", alike[0]


def _numbers(text: str, schema: Mapping[str, Any], *, name: str) -> Iterator[tuple[Kind, Any]]:
    if not (_takes(schema, "number") or _takes(schema, "integer")):
        return
    if (number := as_number(text)) is not None:
        yield "number", number
    if (found := measured(text)) is not None:
        value, unit = found
        declared = schema.get("unit") or schema.get("x-unit")
        to = declared.lower() if isinstance(declared, str) else unit_of_name(name)
        number = None if to is None else _in_unit(value, unit, to)
        if number is None:
            yield "unit", Unclear((), f"it is given in {unit}, and the unit of the parameter is not known or another")
        else:
            yield "unit", number


def _in_unit(value: Fraction, unit: str, to: str) -> int | float | None:
    try:
        return converted(value, unit, to=to)
    except KeyError:
        return None


def _unclear(given: Any, schema: Mapping[str, Any], *, path: tuple[str, ...]) -> Ask | None:
    """Return what to ask where no form of a value fits, but what it may mean can be told."""
    if not isinstance(given, str):
        return None
    text = given.strip()
    if schema.get("format") in ("date", "date-time") and _VAGUE.fullmatch(text[:_VAGUE_CHARS]):
        return Ask(field=".".join(path), question=f"Which {schema['format']} is meant by {given!r}?")
    choices = [choice for choice in schema.get("enum", ()) if isinstance(choice, str)]
    if close := difflib.get_close_matches(text.casefold(), [choice.casefold() for choice in choices], 3, _ALIKE):
        options = tuple(choice for choice in choices if choice.casefold() in close)
        return Ask(field=".".join(path), question=f"Is {given!r} meant as {' or '.join(options)}?", options=options)
    return None


def _takes(schema: Mapping[str, Any], kind: str) -> bool:
    wanted = schema.get("type")
    if isinstance(wanted, str):
        return wanted == kind
    if isinstance(wanted, list):
        return kind in wanted and "string" not in wanted
    return any(_takes(each, kind) for each in schema.get("anyOf", ()) if isinstance(each, Mapping))


def _folded(name: str) -> str:
    return re.sub(r"[\s_.-]+", "", name).casefold()


def _pointer(path: tuple[str, ...]) -> str:
    return "".join(f"/{part.replace('~', '~0').replace('/', '~1')}" for part in path)
