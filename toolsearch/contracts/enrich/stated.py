"""A foreign tool -> its contract: what enrichment makes of it, and what the source states word for word."""

from __future__ import annotations

from typing import Any

from toolsearch.contracts.enrich.enrich import enrich
from toolsearch.contracts.enrich.foreign import ForeignTool, clean_name
from toolsearch.model.contract import ToolContract

MAX_NOTE = 2_000
"""Longest note of a reader, in characters."""


def contract_from(tool: ForeignTool) -> ToolContract:
    """Return the contract of a foreign tool, with the access, errors, notes and given name that its reader found.

    Raises:
        ContractError: If the name is empty.
        UnresolvedReference: If a `$ref` of a schema leads nowhere or out of it.
        ValidationError: If a part does not fit into a contract.
    """
    contract = enrich(tool)
    update: dict[str, Any] = {}
    if tool.renamed:
        name = clean_name(tool.renamed)
        update["identity"] = contract.identity.model_copy(update={"name": name, "title": tool.title})
    if tool.access.declared:
        update["access"] = tool.access
    if tool.errors:
        update["output"] = contract.output.model_copy(update={"error_taxonomy": tool.errors})
    if tool.notes:
        notes = tuple(note if len(note) <= MAX_NOTE else f"{note[: MAX_NOTE - 4]} ..." for note in tool.notes)
        known = contract.provenance.notes
        update["provenance"] = contract.provenance.model_copy(
            update={"notes": (*known, *(note for note in notes if note not in known))}
        )
    return contract.model_copy(update=update) if update else contract
