"""Anthropic client tools, and the `tool_reference` blocks that name tools the request already carries."""

from __future__ import annotations

from typing import Any

from toolsearch.contract import ToolContract
from toolsearch.export.schemas import full_schema, signature_schema
from toolsearch.query import Detail


def anthropic_definition(contract: ToolContract, *, detail: Detail, api_name: str, description: str) -> dict[str, Any]:
    """Return `{name, description, input_schema}`; at detail `name` with an open schema, as the API wants one."""
    schema: dict[str, Any] = {"type": "object"}
    if detail is not Detail.NAME:
        schema = full_schema(contract) if detail is Detail.FULL else signature_schema(contract)
    return {"name": api_name, "description": description, "input_schema": schema}


def tool_reference(api_name: str) -> dict[str, Any]:
    """Return the block that loads a tool deferred in the request's `tools`."""
    return {"type": "tool_reference", "tool_name": api_name}
