"""Anthropic client tools, and the `tool_reference` blocks that name tools the request already carries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolsearch.contracts.export.draft import Draft
from toolsearch.contracts.export.nodes import type_of_value, types_of
from toolsearch.model.request import Detail


def anthropic_definition(draft: Draft) -> dict[str, Any]:
    """Return `{name, description, input_schema}`; at detail `name` with an open schema, as the API wants one."""
    examples = _examples(draft)
    if examples:
        without = {key: value for key, value in draft.contract.input_schema.items() if key != "examples"}
        inputs = draft.contract.input.model_copy(update={"schema_": without})
        draft.contract = draft.contract.model_copy(update={"input": inputs})
    schema, strict = draft.strict_or_not()
    made: dict[str, Any] = {"name": draft.api_name, "description": draft.description, "input_schema": schema}
    if examples:
        made["input_examples"] = examples
    if draft.strict:
        made["strict"] = strict
    if draft.deferred:
        made["defer_loading"] = True
    return made


def tool_reference(api_name: str) -> dict[str, Any]:
    """Return the block that loads a tool deferred in the request's `tools`."""
    return {"type": "tool_reference", "tool_name": api_name}


def tool_search_result(references: list[dict[str, Any]], *, tool_use_id: str) -> dict[str, Any]:
    """Return the `tool_result` block that answers a tool search of the client: the model sees these tools from then on.

    Args:
        references: Blocks of `tool_reference`.
        tool_use_id: Of the `tool_use` block that asked.
    """
    return {"type": "tool_result", "tool_use_id": tool_use_id, "content": references}


def _examples(draft: Draft) -> list[dict[str, Any]]:
    """Return the example inputs of the schema; none if the schema does not take one of them, which the API refuses."""
    schema = draft.contract.input_schema
    examples = schema.get("examples")
    if draft.detail is not Detail.FULL or not isinstance(examples, list) or not examples:
        return []
    return examples if all(_fits(example, schema, draft.contract.required_inputs) for example in examples) else []


def _fits(example: Any, schema: Mapping[str, Any], required: tuple[str, ...]) -> bool:
    properties = schema.get("properties")
    if not isinstance(example, dict) or not isinstance(properties, Mapping):
        return False
    return all(name in example for name in required) and all(
        isinstance(properties.get(name), Mapping) and _takes(properties[name], value) for name, value in example.items()
    )


def _takes(node: Mapping[str, Any], value: Any) -> bool:
    types = types_of(node)
    found = type_of_value(value)
    typed = not types or found in types or (found == "integer" and "number" in types)
    return typed and ("enum" not in node or value in node["enum"])
