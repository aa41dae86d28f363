"""LangChain tools as data: the arguments that `StructuredTool` and other `BaseTool` classes take by name."""

from __future__ import annotations

from typing import Any

from toolsearch.contracts.export.draft import Draft
from toolsearch.contracts.export.mcp import META_KEY, meta_of
from toolsearch.model.request import Detail


def langchain_definition(draft: Draft) -> dict[str, Any]:
    """Return `{name, description, args_schema, tags, metadata}`; the metadata hold what LangChain has no field for."""
    contract = draft.contract
    made: dict[str, Any] = {
        "name": draft.api_name,
        "description": draft.description,
        "args_schema": draft.schema(),
    }
    if draft.detail is Detail.FULL:
        if contract.capability.tags:
            made["tags"] = list(contract.capability.tags)
        made["metadata"] = {META_KEY: meta_of(contract)}
    return made
