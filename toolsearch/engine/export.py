"""Visible tools -> definitions for a provider, under names that all visible tools share out among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolsearch.contracts.export import ExportedTools, export
from toolsearch.contracts.export.openai import by_namespace
from toolsearch.contracts.export.shapes import check
from toolsearch.engine.state import Catalogue
from toolsearch.model.contract import ToolContract, ToolRef
from toolsearch.model.request import DefinitionFormat, Detail


def export_visible(
    catalogue: Catalogue,
    *,
    format: DefinitionFormat,
    detail: Detail,
    tools: Sequence[str],
    strict: bool,
    defer_loading: bool,
    namespaces: bool,
) -> ExportedTools:
    """Return definitions of visible tools, sorted by ref. See `ToolIndex.export`.

    A tool's name depends on the visible tools, not on which of them are exported.

    Raises:
        UnknownTool: If one of the tools is not visible.
        RequestError: If the format cannot do what is asked.
    """
    check(format=format, detail=detail, strict=strict, deferred=defer_loading, namespaces=namespaces)
    state, docs = catalogue.state, catalogue.view.docs
    visible = docs.ids.tolist()
    names = state.names_of(catalogue.view)
    wanted = {state.resolve(tool, docs=docs) for tool in tools} if tools else set(visible)
    contracts = sorted((catalogue.contracts[doc_id] for doc_id in wanted), key=lambda contract: contract.ref)
    made = [
        export(
            contract,
            format=format,
            detail=detail,
            api_name=names[contract.ref],
            adjacent=_adjacent(contract, catalogue=catalogue, names=names),
            strict=strict,
            deferred=defer_loading,
        )
        for contract in contracts
    ]
    definitions = [one.definition for one in made]
    servers = [contract.identity.server for contract in contracts]
    return ExportedTools(
        format=format,
        tools=tuple(by_namespace(definitions, servers=servers) if namespaces else definitions),
        names={names[contract.ref]: str(contract.ref) for contract in contracts},
        lost=tuple(loss for one in made for loss in one.lost),
    )


def _adjacent(contract: ToolContract, *, catalogue: Catalogue, names: Mapping[ToolRef, str]) -> dict[str, str]:
    """Return the visible adjacent tools under the names that the model calls them by, if only one tool is meant."""
    shown = {}
    for name in contract.selection.adjacent_tools:
        found = catalogue.state.find([name], docs=catalogue.view.docs)
        refs = [catalogue.contracts[doc_id].ref for doc_id in found]
        if refs:
            shown[name] = names[max(refs)] if len({ref.server for ref in refs}) == 1 else name
    return shown
