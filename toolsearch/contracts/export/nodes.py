"""What the schema writers share: local references, `allOf` as one schema, constraints as words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

TYPES = ("string", "integer", "number", "boolean", "object", "array", "null")

TOOLING = frozenset({"$schema", "$id", "$comment", "$anchor", "$defs", "definitions"})
"""Keywords for schema tools and for references: they say nothing to a model."""

MAX_NODES = 20_000
"""Schema nodes that a writer makes of one tool before it gives up: references can multiply without end."""

MAX_DEPTH = 64
"""Schema nodes inside one another that a writer follows; real tools stay below 20."""

_BY_KEYWORD = {
    "properties": "object",
    "additionalProperties": "object",
    "required": "object",
    "items": "array",
    "prefixItems": "array",
    "minItems": "array",
    "maxItems": "array",
    "pattern": "string",
    "format": "string",
    "minLength": "string",
    "maxLength": "string",
    "minimum": "number",
    "maximum": "number",
    "multipleOf": "number",
}
_FITS = {
    "object": {"properties", "required", "additionalProperties", "minProperties", "maxProperties", "patternProperties"},
    "array": {"items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"},
    "string": {"pattern", "format", "minLength", "maxLength"},
    "number": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"},
}
_FITS["integer"] = _FITS["number"]
_TYPED = frozenset().union(*_FITS.values())


def child(path: str, *keys: str | int) -> str:
    """Return the JSON pointer one or more steps further (RFC 6901)."""
    return path + "".join("/" + str(key).replace("~", "~0").replace("/", "~1") for key in keys)


def too_deep(path: str) -> bool:
    """Tell whether a JSON pointer leads deeper than a writer follows; a node is at most two steps below its parent."""
    return path.count("/") > 2 * MAX_DEPTH


def target_of(root: Mapping[str, Any], pointer: str) -> Any:
    """Return what a local `$ref` points to, None where it leads nowhere or out of the schema."""
    if pointer == "#":
        return root
    if not pointer.startswith("#/"):
        return None
    found: Any = root
    for step in pointer[2:].split("/"):
        key = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping):
            found = found.get(key)
        elif isinstance(found, Sequence) and not isinstance(found, str) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        else:
            return None
    return found


def merged(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return one schema that says what all parts say together, None where they cannot be told in one.

    Properties are joined and required names united; a keyword that two parts state differently cannot be joined.
    The first description is kept.
    """
    result: dict[str, Any] = {}
    for part in parts:
        for key, value in part.items():
            if key not in result or key in ("description", "title"):
                result.setdefault(key, value)
            elif key in ("properties", "$defs", "definitions") and isinstance(value, Mapping):
                if any(result[key].get(name, inner) != inner for name, inner in value.items()):
                    return None
                result[key] = {**result[key], **value}
            elif key == "required" and isinstance(value, list | tuple):
                result[key] = list(dict.fromkeys([*result[key], *value]))
            elif result[key] != value:
                return None
    return result


def types_of(node: Mapping[str, Any]) -> list[str]:
    """Return the JSON types that a node allows, from `type`, else from its values and keywords; [] = any."""
    declared = node.get("type")
    named = [declared] if isinstance(declared, str) else declared if isinstance(declared, list | tuple) else []
    found = [name for name in named if name in TYPES]
    if not found and isinstance(node.get("enum"), list | tuple):
        found = [type_of_value(value) for value in node["enum"]]
    if not found and "const" in node:
        found = [type_of_value(node["const"])]
    if not found:
        found = [type_ for keyword, type_ in _BY_KEYWORD.items() if keyword in node][:1]
    if found and node.get("nullable") is True:
        found = [*found, "null"]
    return list(dict.fromkeys(found))


def type_of_value(value: Any) -> str:
    """Return the JSON type of a value."""
    if value is None:
        return "null"
    for kind, name in ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (Mapping, "object")):
        if isinstance(value, kind):
            return name
    return "array"


def is_scalar(value: Any) -> bool:
    """Tell whether a value is text, a number, true, false or null."""
    return value is None or isinstance(value, str | int | float)


def only_of(node: Mapping[str, Any], type_: str) -> dict[str, Any]:
    """Return a node of several types as it is for one of them."""
    fits = _FITS.get(type_, set())
    kept = {key: value for key, value in node.items() if key not in _TYPED or key in fits}
    kept.pop("nullable", None)
    kept["type"] = type_
    if isinstance(node.get("enum"), list | tuple):
        same = (type_, "integer") if type_ == "number" else (type_,)
        kept["enum"] = [value for value in node["enum"] if type_of_value(value) in same]
        if not kept["enum"]:
            del kept["enum"]
    return kept


def spelled(keyword: str, value: Any) -> str:
    """Return a constraint in words that a model understands: `maxLength: 20`, `default: "EUR"`."""
    return f"{keyword}: {json.dumps(value, ensure_ascii=False, separators=(', ', ': '))}"


def with_notes(description: Any, notes: Sequence[str]) -> str:
    """Return a description with constraints behind it, in brackets."""
    text = description if isinstance(description, str) else ""
    if not notes:
        return text
    return f"{text}{' ' if text else ''}({'; '.join(notes)})"
