"""Local `$ref`s of a JSON Schema put in place: nothing is ever fetched, and no schema can make the result explode."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from toolsearch.model.errors import UnresolvedReference

MAX_REF_DEPTH = 12
"""References inside references that are followed; deeper ones become their type and text, with a `$comment`."""

MAX_REF_NODES = 20_000
"""Values that references may add to one schema; where they would add more, fewer levels of them are followed."""

MAX_RESULT_DEPTH = 48
"""Depth below which references are no longer followed."""

# Below these keys stand names chosen by the author, not keywords.
_NAME_MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
# Below these keys stand values, in which "$ref" is data.
_VALUES = frozenset({"enum", "const", "default", "examples", "example"})
# `dict` and `list` first: checks against an abstract class are slow.
_CONTAINERS = (dict, list, tuple, Mapping)
_ESCAPED = re.compile(r"~[01]")
# Tried in turn until the result is small enough: a big schema loses its deepest levels, not its last properties.
_DEPTHS = (MAX_REF_DEPTH, 6, 3, 2, 1)
_OUTLINE = ("type", "format", "title", "description")


class _TooLarge(Exception):
    """References add more than they may."""


@dataclass(slots=True)
class _Expansion:
    root: Mapping[str, Any]
    source: str
    max_depth: int
    max_nodes: int
    last_try: bool
    added: int = 0
    active: list[str] = field(default_factory=list)


def inline_refs(
    schema: dict[str, Any], *, source: str, root: Mapping[str, Any] | None = None, max_nodes: int = MAX_REF_NODES
) -> dict[str, Any]:
    """Return the schema with its local `$ref`s replaced by what they point at; without any, the same object.

    Keys beside a `$ref` win over those it brings. A reference back to a schema that is being expanded becomes `{}` with
    a `$comment`, so a recursive schema is expanded once. `$defs` and `definitions` are left out of the result.

    Args:
        schema: A JSON Schema of bounded depth.
        source: Label for errors.
        root: The document that the references point into; None = the schema itself.
        max_nodes: Values that references may add.

    Raises:
        UnresolvedReference: If a `$ref` points outside the document or at nothing.
    """
    if not _has_ref(schema):
        return schema
    body = {key: value for key, value in schema.items() if key not in ("$defs", "definitions")}
    for depth in _DEPTHS:
        state = _Expansion(schema if root is None else root, source, depth, max_nodes, last_try=depth == _DEPTHS[-1])
        state.active.append("#")
        try:
            expanded = _expand(body, state, "#")
        except _TooLarge:
            continue
        return expanded if isinstance(expanded, dict) else {}
    raise AssertionError("the last try never gives up")


def resolve_ref(reference: str, *, root: Mapping[str, Any], source: str = "", at: str = "") -> Any:
    """Return what a local reference (`#/a/b`, RFC 6901 in a URI fragment) points at.

    Raises:
        UnresolvedReference: If it leads out of the document or to nothing.
    """
    if reference != "#" and not reference.startswith("#/"):
        raise UnresolvedReference(
            f"the $ref {reference[:200]!r} leads out of its document",
            source=source,
            path=at,
            hint="put what it points at into the document, and refer to #/...: nothing is ever fetched",
        )
    target: Any = root
    for part in reference[2:].split("/") if len(reference) > 1 else ():
        key = _ESCAPED.sub(lambda match: "~" if match[0] == "~0" else "/", unquote(part))
        if isinstance(target, Mapping) and key in target:
            target = target[key]
        elif isinstance(target, list) and key.isascii() and key.isdigit() and len(key) < 7 and int(key) < len(target):
            target = target[int(key)]
        else:
            raise UnresolvedReference(
                f"the $ref {reference[:200]!r} leads nowhere: there is no {key[:100]!r}", source=source, path=at
            )
    return target


def _has_ref(schema: Any) -> bool:
    pending = [schema]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            continue
        if isinstance(value, dict | Mapping):
            if isinstance(value.get("$ref"), str):
                return True
            pending.extend(value.values())
        elif isinstance(value, list | tuple):
            pending.extend(value)
    return False


def _expand(node: Any, state: _Expansion, at: str, *, depth: int = 0, names: bool = False) -> Any:
    if not isinstance(node, _CONTAINERS):
        return node
    if len(state.active) > 1:
        state.added += len(node)
        if state.added > state.max_nodes and not state.last_try:
            raise _TooLarge
    if isinstance(node, list | tuple):
        return [_expand(value, state, f"{at}/{index}", depth=depth + 1) for index, value in enumerate(node)]
    if not names and isinstance(node.get("$ref"), str):
        return _follow(node, state, at, depth=depth)
    result = {}
    for key, value in node.items():
        if not isinstance(value, _CONTAINERS) or (key in _VALUES and not names):
            result[key] = value
        else:
            are_names = not names and key in _NAME_MAPS
            result[key] = _expand(value, state, f"{at}/{key}", depth=depth + 1, names=are_names)
    return result


def _follow(node: Mapping[str, Any], state: _Expansion, at: str, *, depth: int) -> Any:
    reference = node["$ref"]
    target = resolve_ref(reference, root=state.root, source=state.source, at=at)
    beside = {key: value for key, value in node.items() if key != "$ref"}
    if reference in state.active:
        return {**beside, "$comment": f"{reference[:200]} refers back to itself and is not expanded again"}
    too_deep = len(state.active) > state.max_depth or depth > MAX_RESULT_DEPTH
    if too_deep or state.added > state.max_nodes:
        known = target if isinstance(target, Mapping) else {}
        outline = {key: known[key] for key in _OUTLINE if isinstance(known.get(key), str)}
        return {**outline, **beside, "$comment": f"{reference[:200]} is not expanded: the schema is too large"}
    state.active.append(reference)
    expanded = _expand(target, state, reference, depth=depth)
    state.active.pop()
    if not beside:
        return expanded
    siblings = _expand(beside, state, at, depth=depth)
    return {**expanded, **siblings} if isinstance(expanded, dict) else siblings
