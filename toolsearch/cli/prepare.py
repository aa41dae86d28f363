"""`toolsearch prepare`: the whole definition of one tool, and what of its inputs is at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolsearch.cli import options as o
from toolsearch.cli.connect import connected

if TYPE_CHECKING:
    from toolsearch.model.prepared import Prepared

_REF = typer.Argument(help="The tool: server/name@version, server/name, or its name.", show_default=False)


def prepare(
    ref: Annotated[str, _REF],
    text: Annotated[str, typer.Option(help="What the user wants now.", show_default=False)] = "",
    conversation: Annotated[
        str | None,
        typer.Option(help="JSON file of earlier turns, [{role, text}], oldest first; - for stdin.", show_default=False),
    ] = None,
    given: o.InputOption = None,
    session: Annotated[
        str | None, typer.Option(help="Session in which the tool was handed out.", show_default=False)
    ] = None,
    shape: Annotated[
        str | None,
        typer.Option("--format", help="native, openai, anthropic, gemini, mcp ...", show_default=False),
    ] = None,
    index: o.IndexOption = None,
    subject: o.SubjectOption = None,
    tenant: o.TenantOption = None,
    environment: o.EnvironmentOption = None,
    role: o.RoleOption = None,
    scope: o.ScopeOption = None,
    principal: o.PrincipalOption = None,
    api_key: o.ApiKeyOption = None,
    as_json: o.JsonOption = False,
) -> None:
    """Tell what a call of one tool needs and what of that the conversation states; nothing is called."""
    from toolsearch.model.prepared import PrepareRequest

    fields: dict[str, Any] = {
        "conversation": o.read_data(conversation, what="conversation file") if conversation is not None else None,
        "inputs": o.pairs(given, option="--input") or None,
        "session": session,
        "format": shape,
    }
    known = {name: value for name, value in fields.items() if value is not None}
    asked = o.validated(PrepareRequest, {"ref": ref, "text": text, **known}, what="request")
    who = o.principal_from(
        subject=subject, tenant=tenant, environment=environment, role=role, scope=scope, file=principal
    )
    with connected(index, principal=who, api_key=api_key) as (found, on_behalf_of):
        answer = found.prepare(asked, principal=on_behalf_of)
    print(answer.model_dump_json() if as_json else _told(answer))


def _told(answer: Prepared) -> str:
    from toolsearch.cli.render import one_line

    lines = [f"{answer.ref}  {answer.title}", answer.message]
    for item in answer.inputs:
        parts = [f"  {item.field}{' *' if item.required else ''}: {item.state}"]
        if item.value is not None:
            parts.append(f"= {item.value!r} ({item.source})")
        if item.obtain_from:
            parts.append(f"from {', '.join(item.obtain_from)}")
        if item.options:
            parts.append(f"- the conversation has {', '.join(item.options)}")
        lines.append(" ".join(parts))
    lines += [f"  ! {problem.field}: {problem.message}" for problem in answer.problems]
    lines += [f"  rule: {rule}" for rule in answer.rules]
    if answer.approval is not None:
        lines.append(f"  approval needed when: {answer.approval}")
    return "\n".join(map(one_line, lines))
