"""`toolsearch export`: the visible tools in a provider's shape."""

from __future__ import annotations

import json
import sys
from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from toolsearch.cli import options as o
from toolsearch.cli.connect import connected

if TYPE_CHECKING:
    from toolsearch.contracts.export import ExportedTools

Choice = TypeVar("Choice", bound=StrEnum)


def export(
    format: Annotated[str, typer.Option("--format", help="native, openai, anthropic, gemini, mcp, langchain ...")],
    tool: Annotated[
        list[str] | None, typer.Option("--tool", help="A visible tool; repeat for more. Without: all.")
    ] = None,
    detail: Annotated[str, typer.Option("--detail", help="name, signature or full.")] = "full",
    strict: Annotated[
        bool, typer.Option("--strict", help="Strict schemas where the provider and the schema allow it.")
    ] = False,
    defer_loading: Annotated[bool, typer.Option("--defer-loading", help="Loaded by a tool search only.")] = False,
    namespaces: Annotated[
        bool, typer.Option("--namespaces", help="openai_responses: one namespace for each server.")
    ] = False,
    bare: Annotated[
        bool, typer.Option("--bare", help="Print the list of tools alone, as a provider takes it.")
    ] = False,
    names: Annotated[
        Path | None, typer.Option("--names", help="Write the way back from names to refs here.", show_default=False)
    ] = None,
    index: o.IndexOption = None,
    subject: o.SubjectOption = None,
    tenant: o.TenantOption = None,
    environment: o.EnvironmentOption = None,
    role: o.RoleOption = None,
    scope: o.ScopeOption = None,
    principal: o.PrincipalOption = None,
    api_key: o.ApiKeyOption = None,
) -> None:
    """Print the visible tools as JSON in a provider's shape, with what the shape does not say."""
    from toolsearch.model.request import DefinitionFormat, Detail

    who = o.principal_from(
        subject=subject, tenant=tenant, environment=environment, role=role, scope=scope, file=principal
    )
    with connected(index, principal=who, api_key=api_key) as (found, on_behalf_of):
        exported = found.export(
            principal=on_behalf_of,
            format=_member(DefinitionFormat, format, option="--format"),
            tools=tool or (),
            detail=_member(Detail, detail, option="--detail"),
            strict=strict,
            defer_loading=defer_loading,
            namespaces=namespaces,
        )
    if names is not None:
        _write(names, exported)
    print(json.dumps(exported.tools, ensure_ascii=False, indent=1) if bare else exported.model_dump_json())
    print(_summary(exported), file=sys.stderr)


def _member(kind: type[Choice], text: str, *, option: str) -> Choice:
    from toolsearch.model.errors import RequestError

    try:
        return kind(text)
    except ValueError:
        known = ", ".join(kind)
        raise RequestError(f"{option} {text[:80]!r} is not one of {known}", field=option.lstrip("-")) from None


def _write(path: Path, exported: ExportedTools) -> None:
    from toolsearch.model.errors import RequestError

    try:
        path.write_text(json.dumps(exported.names, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise RequestError(f"--names {path}: {error.strerror or error}", field="names") from None


def _summary(exported: ExportedTools) -> str:
    from toolsearch.model.reasons import counted

    counts = Counter(loss.kind.value.replace("_", " ") for loss in exported.lost)
    lost = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    return f"{counted(len(exported.names), 'tool')} as {exported.format.value}{f'; {lost}' if lost else ''}"
