"""The first layer of checks: arguments against the JSON Schema of the contract. Pure; nothing is fetched.

A schema is the word of a server: references that leave it are not followed, patterns that could take for ever are not
tried, and both are told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address
from typing import Any, cast
from urllib.parse import urlsplit
from uuid import UUID

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend, validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from toolsearch.contract import parse_duration

MAX_PATTERN, MAX_MATCHED = 500, 20_000
"""Characters of a pattern that is tried, and of a text that it is tried on."""

# A repeated group that itself repeats: the time grows exponentially with the text.
_EXPLOSIVE = re.compile(r"\((?:[^()\\]|\\.)*(?:[*+]|\{\d+,\d*\})(?:[^()\\]|\\.)*\)(?:[*+]|\{\d+,\d*\})|\\[1-9]")
_BAR_REPEATED = re.compile(r"\((?:[^()\\]|\\.)*\|(?:[^()\\]|\\.)*\)(?:[*+]|\{\d+,\d*\})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """Something that is wrong with the arguments.

    Attributes:
        path: Where, as names and indices.
        message: What, with the value and what is allowed.
        missing: The argument that is missing, or "".
        options: Values that would do.
    """

    path: tuple[str | int, ...]
    message: str
    missing: str = ""
    options: tuple[Any, ...] = ()

    @property
    def field(self) -> str:
        """Return the dotted name of the argument; "" for the arguments as a whole."""
        return ".".join(map(str, (*self.path, *([self.missing] if self.missing else []))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """What the schema says of some arguments.

    Attributes:
        flaws: What is wrong, in the order of the schema.
        unchecked: What could not be checked, and why.
    """

    flaws: tuple[Flaw, ...] = ()
    unchecked: tuple[str, ...] = ()


def check_structure(arguments: Any, schema: Mapping[str, Any]) -> Structure:
    """Check a value against a schema; formats count."""
    if not schema:
        return Structure(unchecked=("the contract has no input schema",))
    unchecked = tuple(dict.fromkeys(_untried(schema)))
    try:
        found = list(_validator(schema).iter_errors(arguments))
    except (Unresolvable, RecursionError):
        return Structure(unchecked=(*unchecked, "the input schema refers to what is not in it"))
    except Exception as error:  # noqa: BLE001 - a schema of a server may be anything
        return Structure(unchecked=(*unchecked, f"the input schema cannot be used: {type(error).__name__}"))
    flaws = [flaw for error in found for flaw in _flaws(error)]
    return Structure(flaws=tuple(sorted(flaws, key=lambda flaw: not flaw.missing)), unchecked=unchecked)


def fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Tell whether a value is what a schema wants."""
    return not check_structure(value, schema).flaws


def _flaws(error: ValidationError) -> Iterable[Flaw]:
    path = tuple(error.absolute_path)
    given, wanted = error.instance, cast(Any, error.validator_value)
    if error.validator == "required":
        names = [name for name in wanted if isinstance(given, Mapping) and name not in given]
        yield from (Flaw(path=path, message="is required and missing", missing=name) for name in names)
        return
    if error.validator == "enum":
        yield Flaw(path=path, message=f"{_shown(given)} is none of the values", options=tuple(wanted)[:50])
        return
    text = {
        "type": lambda: f"{_shown(given)} is {_kind(given)}, not {_types(wanted)}",
        "format": lambda: f"{_shown(given)} is not of the format {wanted}",
        "pattern": lambda: f"{_shown(given)} does not match {str(wanted)[:100]}",
        "additionalProperties": lambda: f"has names that the tool does not know; known are {_known(error)}",
    }.get(str(error.validator), lambda: f"{_shown(given)} breaks {error.validator}: {_shown(wanted)}")()
    yield Flaw(path=path, message=text, options=(wanted,) if error.validator == "const" else ())


def _known(error: ValidationError) -> str:
    schema = error.schema
    return ", ".join(sorted(schema.get("properties", {}))[:30] if isinstance(schema, Mapping) else ()) or "none"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "a boolean", int: "an integer", float: "a number", str: "a string", list: "an array"}
    return names.get(type(value), "an object")


def _types(wanted: Any) -> str:
    return " or ".join(wanted) if isinstance(wanted, list) else str(wanted)


def _untried(schema: Any) -> Iterable[str]:
    if isinstance(schema, Mapping):
        pattern = schema.get("pattern")
        if isinstance(pattern, str) and not _is_tame(pattern):
            yield f"the pattern {pattern[:60]!r} may take too long and was not tried"
        for inner in schema.values():
            yield from _untried(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _untried(inner)


@lru_cache(maxsize=1024)
def _is_tame(pattern: str) -> bool:
    if len(pattern) > MAX_PATTERN or _EXPLOSIVE.search(pattern) or _BAR_REPEATED.search(pattern):
        return False
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


def _pattern(validator: Validator, pattern: Any, instance: Any, schema: Any) -> Iterable[ValidationError]:
    if not isinstance(instance, str) or not isinstance(pattern, str) or not _is_tame(pattern):
        return
    if len(instance) <= MAX_MATCHED and not re.search(pattern, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(validator: Validator, patterns: Any, instance: Any, schema: Any) -> Iterable[ValidationError]:
    if not isinstance(instance, Mapping) or not isinstance(patterns, Mapping):
        return
    for pattern, inner in patterns.items():
        if not _is_tame(pattern):
            continue
        for name, value in instance.items():
            if len(name) <= MAX_MATCHED and re.search(pattern, name):
                yield from validator.descend(value, inner, path=name, schema_path=pattern)  # type: ignore[attr-defined]


def _format(validator: Validator, format: Any, instance: Any, schema: Any) -> Iterable[ValidationError]:
    check = FORMATS.get(format) if isinstance(format, str) else None
    if check is None or not isinstance(instance, str):
        return
    try:
        check(instance)
    except ValueError:
        yield ValidationError(f"{instance!r} is not a {format!r}")


def _date_time(text: str) -> None:
    if "T" not in text.upper() or datetime.fromisoformat(text).tzinfo is None:
        raise ValueError("has no time or no offset")


def _date(text: str) -> None:
    if len(text) != 10:
        raise ValueError("is not YYYY-MM-DD")
    date.fromisoformat(text)


def _time(text: str) -> None:
    time.fromisoformat(text)


def _email(text: str) -> None:
    if not re.fullmatch(r"[^@\s]+@[^@\s]+", text):
        raise ValueError("is not an address")


def _uri(text: str) -> None:
    if not urlsplit(text).scheme or any(character.isspace() for character in text):
        raise ValueError("has no scheme")


FORMATS: Mapping[str, Callable[[str], object]] = {
    "date": _date,
    "date-time": _date_time,
    "time": _time,
    "duration": parse_duration,
    "email": _email,
    "uri": _uri,
    "url": _uri,
    "uuid": UUID,
    "ipv4": IPv4Address,
    "ipv6": IPv6Address,
}
"""Format -> what raises ValueError for a text that is not of it."""


@lru_cache(maxsize=16)
def _kind_of_validator(base: type[Validator]) -> type[Validator]:
    own = {"pattern": _pattern, "patternProperties": _pattern_properties, "format": _format}
    made: type[Validator] = extend(base, own)  # type: ignore[no-untyped-call]
    return made


def _validator(schema: Mapping[str, Any]) -> Validator:
    base = validator_for(schema, default=Draft202012Validator)
    # An empty registry: without one, references to other documents would be fetched.
    return _kind_of_validator(base)(dict(schema), registry=Registry())
