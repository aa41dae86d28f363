"""`toolsearch sessions`: what a conversation was handed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from toolsearch.cli import options as o
from toolsearch.cli.connect import connected
from toolsearch.model.errors import RequestError

if TYPE_CHECKING:
    from toolsearch.model.answer import SessionList, SessionRefresh
    from toolsearch.model.request import Detail


def sessions(
    session_id: Annotated[
        str | None, typer.Argument(help="Its id; with --open it may be left out.", show_default=False)
    ] = None,
    begin: Annotated[bool, typer.Option("--open", help="Begin the session, or show it if it is open.")] = False,
    end: Annotated[bool, typer.Option("--end", help="End the session.")] = False,
    refresh: Annotated[bool, typer.Option("--refresh", help="Move its tools to their current revisions.")] = False,
    tool: Annotated[
        list[str] | None,
        typer.Option("--tool", help="With --refresh: only server/name@version; repeat.", show_default=False),
    ] = None,
    detail: Annotated[
        str | None,
        typer.Option(help="With --refresh: name, signature or full; without it as before.", show_default=False),
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
    """Show the tools that a session was handed, with their definitions; open, refresh or end it."""
    if sum((begin, end, refresh)) > 1:
        raise RequestError("--open, --end and --refresh exclude each other: give one of them", field="session")
    if session_id is None and not begin:
        raise RequestError("which session? give its id, or --open to begin one", field="session")
    if (tool or detail) and not refresh:
        raise RequestError("--tool and --detail say what to refresh: give --refresh too", field="refresh")
    who = o.principal_from(
        subject=subject, tenant=tenant, environment=environment, role=role, scope=scope, file=principal
    )
    with connected(index, principal=who, api_key=api_key) as (found, on_behalf_of):
        room = found.sessions
        answer: SessionList | SessionRefresh | None = None
        if session_id is None or begin:
            answer = room.open(session_id, principal=on_behalf_of)
        elif refresh:
            answer = room.refresh(session_id, tool or (), detail=_detail(detail), principal=on_behalf_of)
        elif end:
            room.end(session_id, principal=on_behalf_of)
        else:
            answer = room.get(session_id, principal=on_behalf_of)
    if answer is None:
        if not as_json:
            print(f"ended: {session_id}")
    elif as_json:
        print(answer.model_dump_json())
    else:
        _print(answer)


def _detail(given: str | None) -> Detail | None:
    from toolsearch.model.request import Detail

    if given is not None and given not in set(Detail):
        raise RequestError(f"--detail {given!r}: write one of {', '.join(Detail)}", field="detail")
    return None if given is None else Detail(given)


def _print(answer: SessionList | SessionRefresh) -> None:
    from toolsearch.cli.render import console, plain
    from toolsearch.model.answer import SessionRefresh
    from toolsearch.model.reasons import counted

    out = console()
    session = answer.session if isinstance(answer, SessionRefresh) else answer
    for tool in session.tools:
        newer = "; a newer one is there" if tool.newer_available else ""
        revision = f"revision {tool.fingerprint[:12]}{newer}"
        out.print(plain(f"{tool.ref} as {tool.api_name} ({tool.format}, {tool.detail}), {revision}"), soft_wrap=True)
    for gone in session.left:
        out.print(plain(f"left: {gone.ref}: {gone.reason}", "yellow"), soft_wrap=True)
    if isinstance(answer, SessionRefresh):
        moved = ", ".join(tool.ref for tool in answer.changed) or "nothing"
        out.print(plain(f"refreshed: {moved}", "bold"), soft_wrap=True)
    begun = "begun: " if session.created else ""
    tokens = session.token_metrics.returned
    line = (
        f"{begun}{session.id}: {counted(len(session.tools), 'tool')}, {tokens} tokens, tools_hash {session.tools_hash}"
    )
    out.print(plain(line, "dim"), soft_wrap=True)
