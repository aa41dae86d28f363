"""What the parameters of a tool mean: from the schema, from units in their names, from docstring sections."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from toolsearch.model.contract import ToolContract
from toolsearch.text.analysis.characters import strip_invisible
from toolsearch.text.analysis.identifiers import identifier_words

_ENTRY = re.compile(
    r"\s*+[`*]*+(?P<name>[A-Za-z_][\w.-]*+)[`*]*+\s*+(?:\((?P<type>[^()]{0,80}(?:\([^()]{0,80}\))?[^()]{0,40})\))?\s*+[:：]"
    r"\s*+(?P<text>\S.*)"
)
_REQUIRED = re.compile(r"^\W*(?:required\b|必填|必需|必须提供)|\((?:required|必填)\)|（必填）", re.IGNORECASE)
_UNITS = {
    "ms": "milliseconds",
    "millis": "milliseconds",
    "secs": "seconds",
    "seconds": "seconds",
    "minutes": "minutes",
    "hours": "hours",
    "days": "days",
    "cents": "cents",
    "bytes": "bytes",
    "kb": "kilobytes",
    "mb": "megabytes",
    "gb": "gigabytes",
    "km": "kilometres",
    "meters": "metres",
    "kg": "kilograms",
    "percent": "percent",
    "pct": "percent",
    "usd": "US dollars",
    "celsius": "degrees Celsius",
}
_KINDS = {
    "email": "e-mail address",
    "url": "URL",
    "uri": "URI",
    "phone": "phone number",
    "timezone": "IANA time zone",
    "currency": "ISO 4217 currency code",
    "locale": "BCP 47 language tag",
    "latitude": "degrees of latitude",
    "longitude": "degrees of longitude",
    "lat": "degrees of latitude",
    "lng": "degrees of longitude",
    "lon": "degrees of longitude",
    "uuid": "UUID",
}
"""Last word of a name -> the kind of value it holds."""
_IDENTIFIERS = frozenset({"id", "ids", "key", "slug", "number", "code"})
_FORMATS = {
    "date": ("date",),
    "date-time": ("date", "time", "iso"),
    "time": ("time",),
    "duration": ("duration", "iso"),
    "email": ("mail",),
    "uri": ("uri", "url", "link"),
    "uuid": ("uuid", "id"),
}
"""JSON Schema format -> words by one of which a description already says it."""
_MAX_ENUM = 24


def parameter_semantics(schema: Mapping[str, Any], *, documented: Mapping[str, str]) -> dict[str, str]:
    """Return parameter -> what it means, in the order of the schema.

    A description in the schema stands as it is, completed by a unit or format it does not say; where there is none, the
    text of the docstring, else format, kind, unit, values and default are put into words. Parameters about which
    nothing is known are left out.

    Args:
        schema: JSON Schema of the input.
        documented: Parameter -> text found in the description.
    """
    properties = schema.get("properties")
    result = {}
    for name, node in properties.items() if isinstance(properties, Mapping) else ():
        node = node if isinstance(node, Mapping) else {}
        described = node.get("description")
        text = described.strip() if isinstance(described, str) else ""
        text = text or documented.get(name, "")
        text = _with_format(text, node) if text else _in_words(name, node)
        unit = _unit_of(name)
        if unit and text and node.get("type") in ("integer", "number") and unit[:4] not in text.lower():
            text = f"{text} (in {unit})" if not text.endswith(f"in {unit}") else text
        if text:
            result[name] = text
    return result


def required_parameters(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the required parameters: those of the schema, or where it lists none, those described as required."""
    listed = schema.get("required")
    if isinstance(listed, list | tuple):
        return tuple(dict.fromkeys(name for name in listed if isinstance(name, str)))
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return ()
    return tuple(
        name
        for name, node in properties.items()
        if isinstance(node, Mapping)
        and isinstance(node.get("description"), str)
        and _REQUIRED.search(node["description"][:200])
    )


def documented_parameter(text: str, *, known: frozenset[str]) -> tuple[str, str] | None:
    """Return parameter and text of a docstring line `name (type): text`, or None if it documents none of `known`."""
    match = _ENTRY.match(text)
    return (match["name"], match["text"].strip()) if match and match["name"] in known else None


def kind_of(name: str) -> str:
    """Return what kind of value a name promises: `order_id` the "id of the order"; "" where it promises none."""
    words = [word.lower() for word in identifier_words(name)]
    if not words:
        return ""
    if words[-1] in _IDENTIFIERS and len(words) > 1:
        return f"{words[-1]} of the {' '.join(words[:-1])}"
    return _KINDS.get(words[-1], "")


def _with_format(text: str, node: Mapping[str, Any]) -> str:
    """Return a description with the format that only the schema states."""
    form = node.get("format")
    said = _FORMATS.get(form, ()) if isinstance(form, str) else ()
    return text if not said or any(word in text.lower() for word in said) else f"{text} (format: {form})"


def _unit_of(name: str) -> str:
    _, _, last = name.lower().rpartition("_")
    return _UNITS.get(last, "") if last != name.lower() else ""


def _in_words(name: str, node: Mapping[str, Any]) -> str:
    facts = [text.strip() for key in ("title", "format") if isinstance(text := node.get(key), str) and text.strip()]
    if not facts and (kind := kind_of(name)):
        facts.append(kind)
    if unit := _unit_of(name):
        facts.append(f"in {unit}")
    values = node.get("enum")
    if isinstance(values, list | tuple) and values:
        more = " ..." if len(values) > _MAX_ENUM else ""
        facts.append("one of " + ", ".join(str(value) for value in values[:_MAX_ENUM]) + more)
    default = node.get("default")
    if isinstance(default, str | int | float) and str(default):
        facts.append(f"default {default}")
    return "; ".join(facts)


def parameter_names(contract: ToolContract) -> tuple[str, ...]:
    """Return the top-level parameter names: the required, then those of the schema, then of the semantics."""
    properties = contract.input_schema.get("properties")
    declared = properties if isinstance(properties, Mapping) else {}
    given = (*contract.required_inputs, *map(str, declared), *contract.input.semantics)
    return tuple(dict.fromkeys(name for raw in given if (name := strip_invisible(raw).strip())))
