"""What each format carries of a contract: as a field, as words in the description, or not at all.

docs/export.md shows this table, and a test holds the two together. What a format does not carry is listed for each tool
whose contract says it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from toolsearch.contracts.export.losses import Loss, LossKind
from toolsearch.model.contract import ToolContract
from toolsearch.model.request import DefinitionFormat


class Carriage(StrEnum):
    """How a contract field leaves."""

    FIELD = "field"
    """As a field of its own: a reader gets it back as it was."""

    WORDS = "words"
    """In the description: a model reads it, a reader has to infer it."""

    NOT = "-"
    """Not at all; it is listed as left out."""

    NEVER = "never"
    """By design: access rules, provenance, owner and runbook stay inside, and are not listed either."""


_WORDS = {
    *("capability.does", "capability.does_not", "selection.use_when", "selection.do_not_use_when"),
    *("selection.adjacent_tools", "input.semantic_rules", "execution.side_effect", "execution.approval"),
    "operational.freshness",
}
_NEVER = {
    *("access.scopes_all", "access.scopes_any", "access.roles_any", "access.tenants", "access.environments"),
    *("provenance.source", "provenance.trusted", "provenance.fields", "provenance.notes", "provenance.source_id"),
    *("operational.owner", "operational.support_runbook"),
}
_ALWAYS = {"identity.name", "identity.server", "identity.version", "input.schema", "input.required", "input.semantics"}
"""Name, server and version by way of the mapping of names; required names and meanings inside the schema."""

_OUTPUT = {
    DefinitionFormat.OPENAI_RESPONSES,
    DefinitionFormat.GEMINI,
    DefinitionFormat.GEMINI_JSON_SCHEMA,
}
_WHOLE = {DefinitionFormat.NATIVE, DefinitionFormat.MCP, DefinitionFormat.LANGCHAIN}
_NATIVE_LACKS = {"identity.aliases"}


def carriage(field: str, *, format: DefinitionFormat) -> Carriage:
    """Return how a format carries a contract field.

    Args:
        field: Section and name, e.g. `selection.use_when`.
        format: Shape of the provider.
    """
    if field in _NEVER or field.startswith(("access.", "provenance.")):
        return Carriage.NEVER
    if format is DefinitionFormat.ANTHROPIC_REFERENCE:
        return Carriage.FIELD if field.startswith("identity.") and field in _ALWAYS else Carriage.NOT
    if field in _ALWAYS:
        return Carriage.FIELD
    if format in _WHOLE:
        return Carriage.NOT if format is DefinitionFormat.NATIVE and field in _NATIVE_LACKS else Carriage.FIELD
    if field == "output.schema" and format in _OUTPUT:
        return Carriage.FIELD
    return Carriage.WORDS if field in _WORDS else Carriage.NOT


def contract_fields() -> tuple[str, ...]:
    """Return every field of a contract, `section.name`, in the order of the model."""
    found = []
    for section, info in ToolContract.model_fields.items():
        fields: dict[str, Any] = getattr(info.annotation, "model_fields", {})
        found += [f"{section}.{field.alias or name}" for name, field in fields.items()]
    return tuple(found)


def left_out(contract: ToolContract, *, format: DefinitionFormat) -> tuple[Loss, ...]:
    """Return what a contract says and a format does not carry.

    Args:
        contract: The tool, naming only adjacent tools that may be named.
        format: Shape of the provider.
    """
    data = contract.canonical()
    said = [f"{section}.{name}" for section, part in data.items() if isinstance(part, dict) for name in part]
    lost = [field for field in said if carriage(field, format=format) is Carriage.NOT]
    output = contract.output.schema_
    if (
        "output.schema" in said
        and format in _OUTPUT
        and not (isinstance(output, dict) and output.get("type") == "object")
    ):
        lost.append("output.schema")
    return tuple(
        Loss(ref=str(contract.ref), path=field, kind=LossKind.LEFT_OUT, text="the format has no place for it")
        for field in lost
    )
