"""What providers refuse even without strict mode, put in a way they take: choices at the root, arrays without items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolsearch.contracts.export.losses import LossKind, LossLog
from toolsearch.contracts.export.nodes import MAX_DEPTH, merged, spelled

_CHOICES = ("anyOf", "oneOf", "allOf")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_NODES = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")


def without_root_choice(schema: dict[str, Any], *, log: LossLog, depth: int = 0) -> tuple[dict[str, Any], list[str]]:
    """Return the schema as one plain object, and sentences for the tool's description that tell the choice.

    The properties of all alternatives become properties that may be given.
    """
    if not any(key in schema for key in _CHOICES):
        return schema, []
    sentences = []
    made = {key: value for key, value in schema.items() if key not in _CHOICES}
    for key in _CHOICES:
        if key not in schema:
            continue
        parts = [part for part in schema[key] if isinstance(part, Mapping)] if isinstance(schema[key], list) else []
        if key == "allOf" and depth < MAX_DEPTH and (joined := merged([made, *parts])) is not None:
            made = joined
            log.add("/allOf", LossKind.CHANGED, "allOf is written as one schema")
            continue
        properties = dict(made.get("properties", {}))
        for part in parts:
            inner = part.get("properties")
            for name, node in inner.items() if isinstance(inner, Mapping) else ():
                properties.setdefault(name, node)
        made["properties"] = properties
        sentences.append(_choice(key, schema[key]))
        log.add(f"/{key}", LossKind.MOVED, sentences[-1])
    # A joined part may bring a choice of its own.
    again, more = without_root_choice({**made, "type": "object"}, log=log, depth=depth + 1)
    return again, [*sentences, *more]


def with_items(node: Any, *, depth: int = 0) -> Any:
    """Return a schema in which every array states its items; `{}` takes any, as an array without them does."""
    if not isinstance(node, dict) or depth > MAX_DEPTH:
        return node
    made = node
    for key, value in node.items():
        changed: Any = value
        if key in _MAPS and isinstance(value, dict):
            changed = _same({name: with_items(part, depth=depth + 1) for name, part in value.items()}, value)
        elif key in _LISTS and isinstance(value, list):
            parts = [with_items(part, depth=depth + 1) for part in value]
            changed = value if all(part is old for part, old in zip(parts, value, strict=True)) else parts
        elif key in _NODES:
            changed = with_items(value, depth=depth + 1)
        if changed is not value:
            made = {**made, key: changed}
    type_ = node.get("type")
    if "items" not in node and (type_ == "array" or (isinstance(type_, list) and "array" in type_)):
        made = {**made, "items": {}}
    return made


def _same(made: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    return old if all(made[name] is old[name] for name in old) else made


def _choice(key: str, parts: Any) -> str:
    names = [_names(part) for part in parts] if isinstance(parts, list) else []
    if not names or not all(names):
        return f"Parameters: {spelled(key, parts)}."
    how = {"anyOf": "at least one", "oneOf": "exactly one", "allOf": "all"}[key]
    return f"Parameters: {how} of these sets: {'; '.join(' + '.join(part) for part in names)}."


def _names(part: Any) -> list[str]:
    if not isinstance(part, Mapping):
        return []
    required = part.get("required")
    if isinstance(required, list | tuple) and required:
        return [str(name) for name in required]
    properties = part.get("properties")
    return list(properties) if isinstance(properties, Mapping) else []
