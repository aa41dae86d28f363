"""Gemini function declarations: `parameters` in Google's own schema dialect, or `parametersJsonSchema`.

Both spellings of keys are read: camel case as in the REST API, snake case as in the Python SDK.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolsearch.contracts.enrich.foreign import ForeignTool, schema_at, text_at, unkept_notes
from toolsearch.model.errors import ContractError

_JSON_SCHEMAS = ("parametersJsonSchema", "parameters_json_schema")
_JSON_RESULTS = ("responseJsonSchema", "response_json_schema")
# The dialect's spellings -> JSON Schema. Numbers of 64 bits are strings in its JSON.
_KEYS = {
    "any_of": "anyOf",
    "additional_properties": "additionalProperties",
    "max_items": "maxItems",
    "max_length": "maxLength",
    "max_properties": "maxProperties",
    "min_items": "minItems",
    "min_length": "minLength",
    "min_properties": "minProperties",
    "defs": "$defs",
    "ref": "$ref",
}
_COUNTS = frozenset({"maxItems", "maxLength", "maxProperties", "minItems", "minLength", "minProperties"})
_ORDERS = ("propertyOrdering", "property_ordering")
_TYPES = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL", "TYPE_UNSPECIFIED"})


class GeminiTool:
    """Reads one function declaration."""

    name = "gemini"

    def recognises(self, data: Mapping[str, Any]) -> bool:
        """Tell whether it has a name and a key that only Gemini has, or parameters whose type is in capitals."""
        if "name" not in data or "type" in data:
            return False
        parameters = data.get("parameters")
        stated = parameters.get("type") if isinstance(parameters, Mapping) else None
        capital = isinstance(stated, str) and stated in _TYPES
        return capital or not {*_JSON_SCHEMAS, *_JSON_RESULTS}.isdisjoint(data)

    def read(self, data: Mapping[str, Any], *, server: str | None, trusted: bool) -> ForeignTool:
        """Return the tool that the declaration describes.

        Raises:
            ContractError: If a part has the wrong type, or parameters are given in both dialects.
        """
        return ForeignTool(
            name=text_at(data, "name"),
            description=text_at(data, "description"),
            input_schema=_schema(data, own="parameters", plain=_JSON_SCHEMAS),
            output_schema=_schema(data, own="response", plain=_JSON_RESULTS),
            server=server,
            notes=unkept_notes(data, "behavior"),
            format=self.name,
            trusted=trusted,
        )


def _schema(data: Mapping[str, Any], *, own: str, plain: tuple[str, str]) -> dict[str, Any]:
    stated = [key for key in (own, *plain) if data.get(key) is not None]
    if len(stated) > 1:
        raise ContractError(f"has both {stated[0]} and {stated[1]}", path=f"/{stated[1]}", hint="keep one")
    if not stated:
        return {}
    schema = schema_at(data, stated[0])
    return schema if stated[0] in plain else from_gemini(schema)


def from_gemini(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema of Google's dialect as JSON Schema: lower-case types, `null` as a type, numbers as numbers."""
    result: dict[str, Any] = {}
    for spelled, value in schema.items():
        key = _KEYS.get(spelled, spelled)
        if key in ("nullable", *_ORDERS) or value is None:
            continue
        result[key] = _value(key, value)
    if "example" in result:
        result.setdefault("examples", [result["example"]])
        del result["example"]
    if result.get("type") == "type_unspecified":
        del result["type"]
    _order(result, next((schema[key] for key in _ORDERS if key in schema), None))
    if schema.get("nullable") is True:
        _allow_null(result)
    return result


def _value(key: str, value: Any) -> Any:
    if key == "type" and isinstance(value, str):
        return value.lower()
    if key in ("items", "additionalProperties") and isinstance(value, Mapping):
        return from_gemini(value)
    if key in ("properties", "$defs") and isinstance(value, Mapping):
        return {name: from_gemini(inner) if isinstance(inner, Mapping) else inner for name, inner in value.items()}
    if key == "anyOf" and isinstance(value, list):
        return [from_gemini(inner) if isinstance(inner, Mapping) else inner for inner in value]
    if key in _COUNTS and isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    return value


def _order(result: dict[str, Any], stated: Any) -> None:
    """Put properties into the order that the declaration asks for; those it does not name follow."""
    properties = result.get("properties")
    if not isinstance(properties, dict) or not isinstance(stated, list):
        return
    names = [name for name in stated if isinstance(name, str) and name in properties]
    result["properties"] = {name: properties[name] for name in dict.fromkeys([*names, *properties])}


def _allow_null(result: dict[str, Any]) -> None:
    if isinstance(result.get("type"), str):
        result["type"] = [result["type"], "null"]
        if isinstance(result.get("enum"), list) and None not in result["enum"]:
            result["enum"] = [*result["enum"], None]
    elif isinstance(result.get("anyOf"), list):
        result["anyOf"] = [*result["anyOf"], {"type": "null"}]
