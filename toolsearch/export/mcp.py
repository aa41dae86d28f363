"""MCP tools as `tools/list` gives them, annotations from the side effect, our sections under one `_meta` key."""

from __future__ import annotations

from typing import Any

from toolsearch.contract import SideEffect, ToolContract
from toolsearch.export.native import shared_sections
from toolsearch.export.schemas import full_schema, signature_schema
from toolsearch.query import Detail

META_KEY = "io.toolsearch/contract"
"""Reverse-DNS key under which MCP clients find what the protocol has no field for."""

_META_SECTIONS = ("capability", "selection", "execution", "operational")


def mcp_definition(contract: ToolContract, *, detail: Detail, api_name: str, description: str) -> dict[str, Any]:
    """Return one item of a `tools/list` result; annotations say what is assumed where nothing is known."""
    result: dict[str, Any] = {"name": api_name}
    if contract.identity.title:
        result["title"] = contract.identity.title
    result["description"] = description
    if detail is Detail.NAME:
        return {**result, "inputSchema": {"type": "object"}}
    result["inputSchema"] = full_schema(contract) if detail is Detail.FULL else signature_schema(contract)
    if (
        detail is Detail.FULL
        and isinstance(contract.output.schema_, dict)
        and contract.output.schema_.get("type") == "object"
    ):
        result["outputSchema"] = contract.output.schema_
    result["annotations"] = behaviour_hints(contract)
    if detail is Detail.FULL:
        sections = shared_sections(contract)
        kept = {name: sections[name] for name in _META_SECTIONS if name in sections}
        result["_meta"] = {META_KEY: {"ref": str(contract.ref), **kept}}
    return result


def behaviour_hints(contract: ToolContract) -> dict[str, bool]:
    """Return MCP behaviour hints: unknown side effects are announced as destructive."""
    effect = contract.assumed_side_effect
    hints = {"readOnlyHint": effect <= SideEffect.READ_ONLY, "destructiveHint": effect is SideEffect.IRREVERSIBLE}
    if contract.execution.idempotency in ("idempotent", "not idempotent"):
        hints["idempotentHint"] = contract.execution.idempotency == "idempotent"
    return hints
