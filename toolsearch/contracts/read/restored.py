"""What our own exports say of a contract beside the format's fields, read back into it.

MCP definitions and LangChain tools carry our sections under one key; descriptions that `export.description` wrote are
taken apart again. A source that is not trusted may say that a tool does less or risks more, never that it risks less:
its sections are not read, and the side effect that its words claim is not taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolsearch.contracts.export.description import Statements, statements
from toolsearch.contracts.export.mcp import META_KEY
from toolsearch.model.contract import ToolContract

_HOLDERS = ("_meta", "metadata")
_WHOLE = ("capability", "selection", "execution", "operational")
_PARTS = {
    "identity": ("title", "aliases", "domain"),
    "input": ("semantics", "semantic_rules", "clarification_fields", "forbidden_inference_fields"),
    "output": ("schema", "produces", "success_evidence", "error_taxonomy"),
}
_BESIDE = ("title", "schema", "semantics")
_WORDS = (
    *("capability.does", "capability.does_not", "selection.use_when", "selection.do_not_use_when"),
    *("selection.adjacent_tools", "input.semantic_rules", "operational.freshness"),
)


_TAKEN = (
    *_WHOLE,
    *("output", "identity.aliases", "identity.domain", "input.semantic_rules", "input.clarification_fields"),
    "input.forbidden_inference_fields",
)


def restored(contract: ToolContract, *, data: Mapping[str, Any], description: str, trusted: bool) -> ToolContract:
    """Return a contract with what an export of ours says of it.

    Args:
        contract: What enrichment made of the definition.
        data: The definition.
        description: Its description.
        trusted: Whether the source may lower an assumed risk.

    Raises:
        ValidationError: If our sections do not fit into a contract.
    """
    sections = _sections(data) if trusted else None
    if sections is not None:
        return _with_sections(contract, sections)
    said = statements(description)
    return contract if said is None else _with_statements(contract, said, trusted=trusted)


def _sections(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    for holder in _HOLDERS:
        meta = data.get(holder)
        found = meta.get(META_KEY) if isinstance(meta, Mapping) else None
        if isinstance(found, Mapping):
            return found
    return None


def _with_sections(contract: ToolContract, sections: Mapping[str, Any]) -> ToolContract:
    made = contract.canonical()
    for name in _WHOLE:
        made[name] = sections.get(name, {})
    for name, keys in _PARTS.items():
        before, stated = made.get(name, {}), sections.get(name)
        given = {key: stated[key] for key in keys if key in stated} if isinstance(stated, Mapping) else {}
        # What the format has a field for stays; so do meanings of parameters, which stand in the schema.
        kept = {key: value for key, value in before.items() if key not in keys or key in _BESIDE}
        if isinstance(given.get("semantics"), Mapping):
            given["semantics"] = {**kept.get("semantics", {}), **given["semantics"]}
        made[name] = {**kept, **given}
    return _declared(made, taken=_TAKEN)


def _with_statements(contract: ToolContract, said: Statements, *, trusted: bool) -> ToolContract:
    made = contract.canonical()
    made["capability"] = {**made.get("capability", {}), "does": said.does, "does_not": said.does_not}
    made["selection"] = {
        "use_when": said.use_when,
        "do_not_use_when": said.do_not_use_when,
        "adjacent_tools": said.adjacent,
    }
    made["input"] = {**made.get("input", {}), "semantic_rules": said.rules}
    operational = made.get("operational", {})
    freshness = {**operational.get("freshness", {}), "text": said.fresh}
    made["operational"] = {**operational, "freshness": freshness}
    execution = {key: value for key, value in made.get("execution", {}).items() if key != "approval"}
    if said.required_when:
        execution["approval"] = {"required_when": said.required_when}
    taken: tuple[str, ...] = _WORDS
    if trusted:
        execution.pop("side_effect", None)
        if said.side_effect is not None:
            execution["side_effect"] = said.side_effect.label
        taken = (*_WORDS, "execution.side_effect")
    made["execution"] = execution
    return _declared(made, taken=taken)


def _declared(made: dict[str, Any], *, taken: tuple[str, ...]) -> ToolContract:
    """Return the contract of plain data; fields that were read word for word, or below one, are not inferred."""
    provenance = made.get("provenance", {})
    inferred = {
        field: origin
        for field, origin in provenance.get("fields", {}).items()
        if not any(field == name or field.startswith(f"{name}.") for name in taken)
    }
    return ToolContract.model_validate({**made, "provenance": {**provenance, "fields": inferred}})
