"""The schema dialects of OpenAPI 2.0 and 3.x -> JSON Schema 2020-12, as contracts hold it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from toolsearch.contracts.enrich.refs import inline_refs
from toolsearch.contracts.read.openapi_document import Spec

Side = Literal["input", "output"]

MAX_NODES: Mapping[Side, int] = {"input": 2_000, "output": 1_000}
"""Values that the references of one operation may add: a definition is written for a model's context."""

# They tell code generators and XML writers something, or name components that the contract does not have.
_DROPPED = frozenset({"xml", "discriminator", "externalDocs", "collectionFormat", "allowEmptyValue", "$schema"})
_NAME_MAPS = frozenset({"properties", "patternProperties", "dependentSchemas"})
_SCHEMAS = frozenset(
    {"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedProperties"}
)
_SCHEMA_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_LIMITS = (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum"))


def json_schema(schema: dict[str, Any], *, spec: Spec, side: Side) -> dict[str, Any]:
    """Return a schema of the document as JSON Schema that stands on its own.

    References are put in place; `nullable` becomes the type `null`, a boolean `exclusiveMinimum` becomes the number,
    `example` becomes `examples`, `type: file` a binary string. Properties that are `readOnly` are left out of inputs,
    `writeOnly` ones out of outputs. Extensions (`x-...`) are left out.

    Raises:
        UnresolvedReference: If a `$ref` leads out of the document or nowhere.
    """
    inlined = inline_refs(schema, source="", root=spec.root, max_nodes=MAX_NODES[side])
    plain = _plain(inlined, hidden="readOnly" if side == "input" else "writeOnly")
    return plain if isinstance(plain, dict) else {}


def _plain(node: Any, *, hidden: str) -> Any:
    if not isinstance(node, Mapping):
        return node
    result: dict[str, Any] = {}
    for key, value in node.items():
        if key in _DROPPED or key.startswith("x-") or key in ("nullable", "example"):
            continue
        if key in _NAME_MAPS and isinstance(value, Mapping):
            result[key] = {name: _plain(inner, hidden=hidden) for name, inner in value.items()}
        elif key in _SCHEMAS:
            result[key] = _plain(value, hidden=hidden)
        elif key in _SCHEMA_LISTS and isinstance(value, list):
            result[key] = [_plain(inner, hidden=hidden) for inner in value]
        else:
            result[key] = value
    _examples(result, node)
    _limits(result)
    _file(result)
    if node.get("nullable") is True or node.get("x-nullable") is True:
        _nullable(result)
    _hide(result, hidden)
    return result


def _examples(result: dict[str, Any], node: Mapping[str, Any]) -> None:
    if "example" in node and "examples" not in result:
        result["examples"] = [node["example"]]
    elif isinstance(result.get("examples"), Mapping):
        # Not JSON Schema, but written: a map of Example Objects.
        result["examples"] = example_values(result["examples"])
    elif "examples" in result and not isinstance(result["examples"], list):
        result["examples"] = [result["examples"]]


def example_values(examples: Any) -> list[Any]:
    """Return the values of a map of Example Objects; those that stand elsewhere (`externalValue`) are left out."""
    if not isinstance(examples, Mapping):
        return []
    found = []
    for example in examples.values():
        if not isinstance(example, Mapping):
            found.append(example)
        elif "dataValue" in example or "value" in example:
            found.append(example.get("dataValue", example.get("value")))
    return found


def _limits(result: dict[str, Any]) -> None:
    for exclusive, inclusive in _LIMITS:
        stated = result.get(exclusive)
        if isinstance(stated, bool):
            del result[exclusive]
            if stated and inclusive in result:
                result[exclusive] = result.pop(inclusive)


def _file(result: dict[str, Any]) -> None:
    if result.get("type") == "file":
        result.update(type="string", format="binary")


def _nullable(result: dict[str, Any]) -> None:
    stated = result.get("type")
    if isinstance(stated, str):
        result["type"] = [stated, "null"]
    elif isinstance(stated, list):
        result["type"] = [*stated, *(() if "null" in stated else ("null",))]
    for key in ("oneOf", "anyOf"):
        if stated is None and isinstance(result.get(key), list):
            result[key] = [*result[key], {"type": "null"}]
            return
    if stated is None and isinstance(result.get("allOf"), list):
        result["anyOf"] = [{"allOf": result.pop("allOf")}, {"type": "null"}]
    values = result.get("enum")
    if isinstance(values, list) and None not in values:
        result["enum"] = [*values, None]


def _hide(result: dict[str, Any], hidden: str) -> None:
    """Take out the properties that do not travel in this direction; `required` names only what is left."""
    properties, required = result.get("properties"), result.get("required")
    gone: set[str] = set()
    if isinstance(properties, dict):
        gone = {name for name, inner in properties.items() if isinstance(inner, Mapping) and inner.get(hidden) is True}
        if gone:
            result["properties"] = {name: inner for name, inner in properties.items() if name not in gone}
    if required is None:
        return
    if isinstance(required, list):
        result["required"] = [name for name in required if isinstance(name, str) and name not in gone]
    if not result["required"] or not isinstance(required, list):
        del result["required"]
