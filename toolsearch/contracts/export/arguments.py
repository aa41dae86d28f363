"""Arguments of a strict call -> the arguments that the tool knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolsearch.contracts.export.nodes import target_of, types_of


def without_nulls(arguments: Mapping[str, Any], *, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a strict call as the tool knows them: nulls that mean "not given" are left out.

    Args:
        arguments: What the model sent.
        schema: The input schema of the contract, not the strict one.
    """
    found = _without_nulls(arguments, schema, root=schema)
    return dict(found) if isinstance(found, Mapping) else {}


def _without_nulls(value: Any, node: Any, *, root: Mapping[str, Any]) -> Any:
    if isinstance(node, Mapping) and isinstance(node.get("$ref"), str):
        node = target_of(root, node["$ref"])
    if not isinstance(node, Mapping):
        return value
    if isinstance(value, list | tuple):
        return [_without_nulls(item, node.get("items"), root=root) for item in value]
    if not isinstance(value, Mapping):
        return value
    properties = node.get("properties")
    properties = properties if isinstance(properties, Mapping) else {}
    required = node.get("required") or ()
    return {
        name: _without_nulls(part, properties.get(name), root=root)
        for name, part in value.items()
        if part is not None or name in required or _takes_null(properties.get(name), root=root)
    }


def _takes_null(node: Any, *, root: Mapping[str, Any]) -> bool:
    """Tell whether null is a value of its own. Where nothing is known, it is kept."""
    if isinstance(node, Mapping) and isinstance(node.get("$ref"), str):
        node = target_of(root, node["$ref"])
    if not isinstance(node, Mapping):
        return True
    for key in ("anyOf", "oneOf"):
        if isinstance(node.get(key), list | tuple):
            return any(_takes_null(part, root=root) for part in node[key])
    types = types_of(node)
    return "null" in types or not types
