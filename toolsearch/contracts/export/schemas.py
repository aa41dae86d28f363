"""The input schema as providers want it: an object, every parameter explained, nothing invented."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolsearch.model.contract import ToolContract


def full_schema(contract: ToolContract) -> dict[str, Any]:
    """Return the JSON Schema of the input: the contract's, with the meaning of parameters it leaves unexplained."""
    schema = contract.input_schema
    properties = _properties(contract)
    result: dict[str, Any] = {"type": "object", **schema, "properties": properties}
    if required := [name for name in contract.required_inputs if name in properties]:
        result["required"] = required
    return result


def signature_schema(contract: ToolContract) -> dict[str, Any]:
    """Return the schema with names, types and required flags only."""
    result: dict[str, Any] = {"type": "object", "properties": {}}
    properties = _properties(contract)
    for name, node in properties.items():
        result["properties"][name] = {"type": type_of(node)} if type_of(node) else {}
    if required := [name for name in contract.required_inputs if name in properties]:
        result["required"] = required
    return result


def unsaid_semantics(contract: ToolContract) -> dict[str, str]:
    """Return the meanings of parameters that the schema explains in other words; the others stand in `full_schema`."""
    properties = _properties(contract)
    return {
        name: text
        for name, text in contract.input.semantics.items()
        if not isinstance(properties[name], Mapping) or properties[name].get("description") != text
    }


def type_of(node: Any) -> str | list[str] | None:
    """Return the JSON type or types of a property, None where it does not say."""
    if not isinstance(node, Mapping):
        return None
    declared = node.get("type")
    if isinstance(declared, str):
        return declared
    if isinstance(declared, list | tuple):
        return [name for name in declared if isinstance(name, str)] or None
    for key in ("anyOf", "oneOf"):
        branches = node.get(key)
        if isinstance(branches, list | tuple):
            types = [found for branch in branches if isinstance(found := type_of(branch), str)]
            if types:
                return types[0] if len(set(types)) == 1 else list(dict.fromkeys(types))
    return None


def _properties(contract: ToolContract) -> dict[str, Any]:
    declared = contract.input_schema.get("properties")
    properties: dict[str, Any] = dict(declared) if isinstance(declared, Mapping) else {}
    known = contract.input.semantics
    for name in (*contract.required_inputs, *known):
        properties.setdefault(name, {})
    for name, text in known.items():
        node = properties[name]
        if isinstance(node, Mapping) and not node.get("description"):
            properties[name] = {**node, "description": text}
    return properties
