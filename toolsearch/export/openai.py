"""OpenAI function tools in the Chat Completions shape."""

from __future__ import annotations

from typing import Any

from toolsearch.contract import ToolContract
from toolsearch.export.schemas import full_schema, signature_schema
from toolsearch.query import Detail


def openai_definition(contract: ToolContract, *, detail: Detail, api_name: str, description: str) -> dict[str, Any]:
    """Return `{type: function, function: {...}}`; at detail `name` without parameters, which the API permits."""
    function: dict[str, Any] = {"name": api_name, "description": description}
    if detail is not Detail.NAME:
        function["parameters"] = full_schema(contract) if detail is Detail.FULL else signature_schema(contract)
    return {"type": "function", "function": function}
