"""The one entry to all shapes: contract, format and detail -> the definition that a model or harness reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolsearch.contract import ToolContract
from toolsearch.export.anthropic import anthropic_definition, tool_reference
from toolsearch.export.description import describe, first_sentence
from toolsearch.export.mcp import mcp_definition
from toolsearch.export.native import native_definition
from toolsearch.export.openai import openai_definition
from toolsearch.query import DefinitionFormat, Detail

_SHAPES = {
    DefinitionFormat.OPENAI: openai_definition,
    DefinitionFormat.ANTHROPIC: anthropic_definition,
    DefinitionFormat.MCP: mcp_definition,
}


def definition(
    contract: ToolContract,
    *,
    format: DefinitionFormat,
    detail: Detail,
    api_name: str,
    adjacent: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the definition of a tool. Access, provenance, owner and runbook are never part of it.

    Args:
        contract: The tool.
        format: Shape of the provider.
        detail: `name` = name and one line; `signature` = and parameter names, types and required flags; `full` =
            everything.
        api_name: Name under which the model calls it (`api_names`).
        adjacent: Declared adjacent tool -> name shown to the model; others are left out. None = all, as declared.
    """
    if format is DefinitionFormat.ANTHROPIC_REFERENCE:
        return tool_reference(api_name)
    if adjacent is not None:
        contract = contract.naming_only(adjacent)
    if format is DefinitionFormat.NATIVE:
        return native_definition(contract, detail=detail, api_name=api_name)
    text = (
        describe(contract)
        if detail is Detail.FULL
        else first_sentence(contract.capability.does or contract.identity.title)
    )
    return _SHAPES[format](contract, detail=detail, api_name=api_name, description=text)
