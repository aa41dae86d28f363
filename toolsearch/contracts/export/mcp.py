"""MCP tools as `tools/list` gives them, annotations from the side effect, our sections under one `_meta` key."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from toolsearch.contracts.export.draft import Draft
from toolsearch.contracts.export.native import shared_sections
from toolsearch.contracts.export.schemas import unsaid_semantics
from toolsearch.model.contract import SideEffect, ToolContract
from toolsearch.model.request import Detail

META_KEY = "io.toolsearch/contract"
"""Reverse-DNS key under which MCP clients find what the protocol has no field for."""

_META_SECTIONS = ("capability", "selection", "execution", "operational")
_META_INPUT = ("semantic_rules", "clarification_fields", "forbidden_inference_fields")


def mcp_definition(draft: Draft) -> dict[str, Any]:
    """Return one item of a `tools/list` result; annotations say what is assumed where nothing is known."""
    contract = draft.contract
    result: dict[str, Any] = {"name": draft.api_name}
    if contract.identity.title:
        result["title"] = contract.identity.title
    result["description"] = draft.description
    result["inputSchema"] = draft.schema()
    if draft.detail is Detail.NAME:
        return result
    if (output := draft.output_schema()) is not None:
        result["outputSchema"] = output
    result["annotations"] = behaviour_hints(contract)
    if draft.detail is Detail.FULL:
        beside = ("identity.title", "output.schema") if "outputSchema" in result else ("identity.title",)
        result["_meta"] = {META_KEY: meta_of(contract, beside=beside)}
    return result


def meta_of(contract: ToolContract, *, beside: Container[str] = ()) -> dict[str, Any]:
    """Return what an open format has no field for, in our own words, under the sections of a contract.

    Args:
        contract: The tool.
        beside: Contract fields that the format has a field for.
    """
    sections = shared_sections(contract)
    kept = {name: sections[name] for name in _META_SECTIONS if name in sections}
    identity = contract.canonical()["identity"]
    parts = {
        "identity": {key: identity[key] for key in ("title", "aliases", "domain") if key in identity},
        "input": {key: value for key, value in sections.get("input", {}).items() if key in _META_INPUT},
        "output": sections.get("output", {}),
    }
    if meanings := unsaid_semantics(contract):
        parts["input"]["semantics"] = meanings
    for name, part in parts.items():
        if said := {key: value for key, value in part.items() if f"{name}.{key}" not in beside}:
            kept[name] = said
    return {"ref": str(contract.ref), **kept}


def behaviour_hints(contract: ToolContract) -> dict[str, bool]:
    """Return MCP behaviour hints: unknown side effects are announced as destructive."""
    effect = contract.assumed_side_effect
    hints = {"readOnlyHint": effect <= SideEffect.READ_ONLY, "destructiveHint": effect is SideEffect.IRREVERSIBLE}
    if contract.execution.idempotency in ("idempotent", "not idempotent"):
        hints["idempotentHint"] = contract.execution.idempotency == "idempotent"
    return hints
