"""MCP tools as `tools/list` gives them, annotations from the side effect, our sections under one `_meta` key."""

from __future__ import annotations

from typing import Any

from toolsearch.contract import SideEffect, ToolContract
from toolsearch.export.draft import Draft
from toolsearch.export.native import shared_sections
from toolsearch.export.schemas import unsaid_semantics
from toolsearch.query import Detail

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
        result["_meta"] = {META_KEY: meta_of(contract)}
    return result


def meta_of(contract: ToolContract) -> dict[str, Any]:
    """Return what the fields of MCP, and those of other open formats, have no place for, in our own words."""
    sections = shared_sections(contract)
    kept = {name: sections[name] for name in _META_SECTIONS if name in sections}
    identity = {
        key: value for key, value in contract.canonical()["identity"].items() if key in ("aliases", "domain") and value
    }
    inputs = {key: value for key, value in sections.get("input", {}).items() if key in _META_INPUT}
    if meanings := unsaid_semantics(contract):
        inputs["semantics"] = meanings
    outputs = sections.get("output", {})
    if isinstance(contract.output.schema_, dict) and contract.output.schema_.get("type") == "object":
        outputs = {key: value for key, value in outputs.items() if key != "schema"}
    named = {"identity": identity, "input": inputs, "output": outputs}
    return {"ref": str(contract.ref), **kept, **{name: part for name, part in named.items() if part}}


def behaviour_hints(contract: ToolContract) -> dict[str, bool]:
    """Return MCP behaviour hints: unknown side effects are announced as destructive."""
    effect = contract.assumed_side_effect
    hints = {"readOnlyHint": effect <= SideEffect.READ_ONLY, "destructiveHint": effect is SideEffect.IRREVERSIBLE}
    if contract.execution.idempotency in ("idempotent", "not idempotent"):
        hints["idempotentHint"] = contract.execution.idempotency == "idempotent"
    return hints
