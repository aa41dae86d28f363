"""Arguments against the JSON Schema of a contract.

Schemas come from strangers. Their patterns run on pydantic-core's linear-time engine, never on `re`; references are
followed inside the schema only, never over a network; a schema that cannot be used checks nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, time
from functools import lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import UUID

from pydantic_core import SchemaError, SchemaValidator, ValidationError, core_schema

from toolsearch.contracts.export.schemas import full_schema
from toolsearch.model.argument_problem import ArgumentProblem, Layer, shown
from toolsearch.model.contract import ToolContract

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

MAX_PROBLEMS = 20
"""Problems told at once."""

MAX_CHOICES = 20
"""Values of an enum that a hint lists."""

_PATTERN_CHARS = 1_000
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+")


def check_structure(arguments: Mapping[str, Any], *, contract: ToolContract) -> tuple[ArgumentProblem, ...]:
    """Return what the JSON Schema says against the arguments, sorted by field; formats are told as semantics."""
    validator = _validator(contract.fingerprint, contract=_Keyed(contract))
    if validator is None:
        return ()
    try:
        found = [_problem(error) for error, _ in zip(validator.iter_errors(dict(arguments)), range(100), strict=False)]
    except Exception:  # noqa: BLE001 - references without end, types that are none: the tool itself must then judge
        return ()
    distinct = {(one.field, one.code, one.message): one for one in found}
    return tuple(distinct[key] for key in sorted(distinct))[:MAX_PROBLEMS]


class _Keyed:
    """A contract that a cache does not look at: the fingerprint beside it is the key."""

    def __init__(self, contract: ToolContract) -> None:
        self.contract = contract

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Keyed)


def fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Tell whether a value is what a schema, such as that of one argument, wants; one that cannot be used wants all."""
    validator = _validator_of(json.dumps(schema, sort_keys=True))
    if validator is None:
        return True
    try:
        return next(validator.iter_errors(value), None) is None
    except Exception:  # noqa: BLE001 - as in check_structure
        return True


def is_checked(contract: ToolContract) -> bool:
    """Tell whether there is a schema that arguments can be checked against."""
    return bool(contract.input_schema) and _validator(contract.fingerprint, contract=_Keyed(contract)) is not None


@lru_cache(maxsize=2_048)
def _validator_of(text: str) -> Validator | None:
    return _made(json.loads(text))


@lru_cache(maxsize=512)
def _validator(_fingerprint: str, *, contract: _Keyed) -> Validator | None:
    return _made(full_schema(contract.contract))


def _made(schema: dict[str, Any]) -> Validator | None:
    from jsonschema import Draft202012Validator, FormatChecker, validators
    from referencing import Registry

    base = validators.validator_for(schema, default=Draft202012Validator)
    unlimited = "patternProperties" in json.dumps(schema)
    rules: dict[str, Any] = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
    }
    if unlimited:  # what is evaluated then depends on patterns that the package gives to `re`
        rules["unevaluatedProperties"] = _nothing
    checker = FormatChecker(formats=())
    for name, known in _FORMATS.items():
        checker.checks(name, raises=ValueError)(_as_check(known))
    try:
        base.check_schema(schema)
        kind: Any = validators.extend(base, rules)  # type: ignore[no-untyped-call]
        made: Validator = kind(schema, registry=Registry(), format_checker=checker)
    except Exception:  # noqa: BLE001 - not a JSON Schema: there is nothing to check against
        return None
    return made


def _problem(error: Any) -> ArgumentProblem:
    keyword = str(error.validator)
    field = ".".join(str(part) for part in error.absolute_path)
    value, limit = error.instance, error.validator_value
    layer = Layer.SEMANTICS if keyword == "format" else Layer.STRUCTURE
    options: tuple[Any, ...]
    message, hint, options = f"{shown(value)} does not fit {keyword} {shown(limit)}", "", ()
    if keyword == "required":
        missing = [name for name in limit if name not in value]
        names = [name for name in missing if error.message.startswith(repr(name))] or missing
        field = ".".join(filter(None, (field, names[0] if names else "")))
        message, hint = f"{field} is required and not given", f"give {field}, or ask for it"
    elif keyword == "additionalProperties":
        known = error.schema.get("properties") if isinstance(error.schema, Mapping) else None
        options = tuple(known)[:MAX_CHOICES] if isinstance(known, Mapping) else ()
        message, hint = str(error.message), f"leave it out; the arguments are {', '.join(options) or 'none'}"
    elif keyword == "enum":
        options = tuple(limit[:MAX_CHOICES]) if isinstance(limit, list) else ()
        message, hint = f"{shown(value)} is not one of the values", f"write one of {', '.join(map(repr, options))}"
    elif keyword == "type":
        wanted = " or ".join(limit) if isinstance(limit, list) else str(limit)
        message, hint = f"{shown(value)} is not of type {wanted}", f"send {wanted}"
    elif keyword in ("format", "pattern"):
        message, hint = f"{shown(value)} has not the {keyword} {str(limit)[:200]!r}", _example(error.schema)
    elif keyword in ("anyOf", "oneOf", "allOf", "not", "if", "dependentRequired"):
        message = str(error.message)[:300]
    return ArgumentProblem(layer=layer, code=keyword, field=field, message=message, hint=hint, options=options)


def _example(schema: Any) -> str:
    examples = schema.get("examples") if isinstance(schema, Mapping) else None
    return f"for example {shown(examples[0])}" if isinstance(examples, list) and examples else ""


@lru_cache(maxsize=20_000)
def _searcher(pattern: str) -> Callable[[str], bool] | None:
    """Return a linear-time search for a JSON Schema pattern, or None where it cannot be compiled."""
    if len(pattern) > _PATTERN_CHARS:
        return None
    try:
        validator = SchemaValidator(core_schema.str_schema(pattern=pattern))
    except SchemaError:
        return None

    def found(value: str) -> bool:
        try:
            validator.validate_python(value)
        except ValidationError:
            return False
        return True

    return found


def _fits(pattern: Any, value: str) -> bool:
    search = _searcher(pattern) if isinstance(pattern, str) else None
    return search is None or search(value)


def _pattern(validator: Any, pattern: Any, instance: Any, schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if isinstance(instance, str) and not _fits(pattern, instance):
        yield ValidationError(f"{shown(instance)} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if not isinstance(instance, dict):
        return
    for pattern, node in patterns.items():
        for name, value in instance.items():
            if _fits(pattern, name):
                yield from validator.descend(value, node, path=name, schema_path=pattern)


def _additional_properties(validator: Any, allowed: Any, instance: Any, schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if not isinstance(instance, dict):
        return
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for name in instance:
        if name in known or any(_fits(pattern, name) for pattern in patterns):
            continue
        if isinstance(allowed, dict):
            yield from validator.descend(instance[name], allowed, path=name)
        elif allowed is False:
            yield ValidationError(f"{shown(name)} is no argument of this tool")


def _nothing(validator: Any, limit: Any, instance: Any, schema: Any) -> Iterator[Any]:
    return iter(())


def _is_date_time(text: str) -> bool:
    return datetime.fromisoformat(text) is not None and ("T" in text or "t" in text or " " in text)


_FORMATS: dict[str, Callable[[str], Any]] = {
    "date": lambda text: len(text) == 10 and bool(date.fromisoformat(text)),
    "date-time": _is_date_time,
    "time": lambda text: time.fromisoformat(text) is not None,
    "email": lambda text: _EMAIL.fullmatch(text) is not None,
    "uri": lambda text: bool(urlsplit(text).scheme),
    "uuid": lambda text: len(text) == 36 and bool(UUID(text)),
    "ipv4": lambda text: ip_address(text).version == 4,
    "ipv6": lambda text: ip_address(text).version == 6,
}


def _as_check(known: Callable[[str], Any]) -> Callable[[object], bool]:
    return lambda value: not isinstance(value, str) or bool(known(value))
