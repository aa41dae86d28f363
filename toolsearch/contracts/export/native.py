"""Our own shape: the sections that a harness uses. Access, provenance, owner and runbook stay inside."""

from __future__ import annotations

from typing import Any

from toolsearch.contracts.export.description import first_sentence
from toolsearch.contracts.export.schemas import type_of
from toolsearch.model.contract import ToolContract
from toolsearch.model.request import Detail

_SECTIONS = ("capability", "selection", "input", "output", "execution")


def native_definition(contract: ToolContract, *, detail: Detail, api_name: str) -> dict[str, Any]:
    """Return the definition in our own shape; `side_effect` is null where nobody said."""
    effect = contract.execution.side_effect
    head: dict[str, Any] = {"ref": str(contract.ref), "name": api_name, "title": contract.identity.title}
    if detail is not Detail.FULL:
        head["does"] = first_sentence(contract.capability.does or contract.identity.title)
    if detail is Detail.NAME:
        return head
    head["side_effect"] = None if effect is None else effect.label
    if detail is Detail.SIGNATURE:
        return {**head, "parameters": _parameters(contract)}
    return {**head, "domain": contract.identity.domain, **shared_sections(contract)}


def shared_sections(contract: ToolContract) -> dict[str, Any]:
    """Return the sections that may leave the product, defaults left out."""
    data = contract.canonical()
    sections = {name: data[name] for name in _SECTIONS if name in data}
    operational = {
        key: value for key, value in data.get("operational", {}).items() if key not in ("owner", "support_runbook")
    }
    return {**sections, "operational": operational} if operational else sections


def _parameters(contract: ToolContract) -> list[dict[str, Any]]:
    properties = contract.input_schema.get("properties")
    nodes = properties if isinstance(properties, dict) else {}
    required = contract.required_inputs
    names = dict.fromkeys((*required, *nodes, *contract.input.semantics))
    return [{"name": name, "type": type_of(nodes.get(name)), "required": name in required} for name in names]
