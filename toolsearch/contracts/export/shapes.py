"""One contract in one shape, and what that shape does not say."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from toolsearch.contracts.export.anthropic import anthropic_definition, tool_reference
from toolsearch.contracts.export.carried import left_out
from toolsearch.contracts.export.description import describe, first_sentence
from toolsearch.contracts.export.draft import Draft
from toolsearch.contracts.export.gemini import gemini_definition, gemini_json_schema_definition
from toolsearch.contracts.export.langchain import langchain_definition
from toolsearch.contracts.export.limits import LIMITS
from toolsearch.contracts.export.losses import Exported, LossKind
from toolsearch.contracts.export.mcp import mcp_definition
from toolsearch.contracts.export.native import native_definition
from toolsearch.contracts.export.nodes import child
from toolsearch.contracts.export.openai import openai_definition, openai_responses_definition
from toolsearch.model.contract import ToolContract
from toolsearch.model.errors import RequestError
from toolsearch.model.request import DefinitionFormat, Detail

_SHAPES: dict[DefinitionFormat, Callable[[Draft], dict[str, Any]]] = {
    DefinitionFormat.OPENAI: openai_definition,
    DefinitionFormat.OPENAI_RESPONSES: openai_responses_definition,
    DefinitionFormat.ANTHROPIC: anthropic_definition,
    DefinitionFormat.GEMINI: gemini_definition,
    DefinitionFormat.GEMINI_JSON_SCHEMA: gemini_json_schema_definition,
    DefinitionFormat.MCP: mcp_definition,
    DefinitionFormat.LANGCHAIN: langchain_definition,
}
STRICT_FORMATS = tuple(form for form, limits in LIMITS.items() if limits.strict is not None)
DEFERRED_FORMATS = (DefinitionFormat.OPENAI_RESPONSES, DefinitionFormat.ANTHROPIC)


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
    made, _ = _made(contract, format=format, detail=detail, api_name=api_name, adjacent=adjacent)
    return made


def export(
    contract: ToolContract,
    *,
    format: DefinitionFormat,
    detail: Detail = Detail.FULL,
    api_name: str,
    adjacent: Mapping[str, str] | None = None,
    strict: bool = False,
    deferred: bool = False,
) -> Exported:
    """Return the definition of a tool, and everything that the format does not say of it.

    At the details `name` and `signature` most is left out on purpose; then only the schema's losses are listed.

    Args:
        contract: The tool.
        format: Shape of the provider.
        detail: See `definition`.
        api_name: Name under which the model calls it (`api_names`).
        adjacent: See `definition`.
        strict: Make the schema strict where that is possible.
        deferred: Say that the definition is loaded by a tool search only.

    Raises:
        RequestError: If the format knows no strict mode or no deferred loading, or strict is asked for in part.
    """
    check(format=format, detail=detail, strict=strict, deferred=deferred)
    shown = contract if adjacent is None else contract.naming_only(adjacent)
    made, draft = _made(
        shown, format=format, detail=detail, api_name=api_name, adjacent=None, strict=strict, deferred=deferred
    )
    _note_refusals(draft)
    whole = left_out(shown, format=format) if detail is Detail.FULL else ()
    return Exported(definition=made, lost=(*draft.log.of(str(contract.ref)), *whole))


def check(*, format: DefinitionFormat, detail: Detail, strict: bool, deferred: bool, namespaces: bool = False) -> None:
    """Refuse what a format cannot do.

    Raises:
        RequestError: Naming the formats that can.
    """
    if strict and format not in STRICT_FORMATS:
        raise RequestError(f"{format} has no strict mode; it is of {', '.join(STRICT_FORMATS)}", field="strict")
    if strict and detail is not Detail.FULL:
        raise RequestError(f"strict needs the whole schema: use detail full, not {detail}", field="detail")
    if deferred and format not in DEFERRED_FORMATS:
        raise RequestError(
            f"{format} has no deferred loading; it is of {', '.join(DEFERRED_FORMATS)}", field="defer_loading"
        )
    if namespaces and format is not DefinitionFormat.OPENAI_RESPONSES:
        raise RequestError(f"{format} has no namespaces; use {DefinitionFormat.OPENAI_RESPONSES}", field="namespaces")


def _made(
    contract: ToolContract,
    *,
    format: DefinitionFormat,
    detail: Detail,
    api_name: str,
    adjacent: Mapping[str, str] | None,
    strict: bool = False,
    deferred: bool = False,
) -> tuple[dict[str, Any], Draft]:
    if adjacent is not None:
        contract = contract.naming_only(adjacent)
    draft = Draft(
        contract=contract,
        format=format,
        detail=detail,
        api_name=api_name,
        description="",
        strict=strict,
        deferred=deferred,
    )
    if format is DefinitionFormat.ANTHROPIC_REFERENCE:
        return tool_reference(api_name), draft
    if format is DefinitionFormat.NATIVE:
        return native_definition(contract, detail=detail, api_name=api_name), draft
    draft.description = (
        describe(contract)
        if detail is Detail.FULL
        else first_sentence(contract.capability.does or contract.identity.title)
    )
    return _SHAPES[format](draft), draft


def _note_refusals(draft: Draft) -> None:
    """Note what the provider will refuse, and no exporter can put right without changing what is called."""
    limits = LIMITS.get(draft.format)
    if limits is None:
        return
    if limits.max_description is not None and len(draft.description) > limits.max_description:
        text = f"the description has {len(draft.description)} characters; the API takes {limits.max_description}"
        draft.log.add("capability.does", LossKind.REFUSED, text)
    properties = draft.contract.input_schema.get("properties")
    if limits.parameter_name is None or not isinstance(properties, Mapping):
        return
    for name in properties:
        if not re.fullmatch(limits.parameter_name, name):
            text = f"the API takes no parameter named {name[:100]!r}, only {limits.parameter_name}"
            draft.log.add(child("/properties", name), LossKind.REFUSED, text)
