"""`toolsearch outcomes`: report how the call of a tool ended."""

from __future__ import annotations

from typing import Annotated

import typer

from toolsearch.cli import options as o
from toolsearch.cli.connect import connected


def outcomes(
    ref: Annotated[str, typer.Argument(help="server/name@version, or server/name for the newest.", show_default=False)],
    status: Annotated[
        str, typer.Argument(help="success, tool_error, timeout, rejected or unknown.", show_default=False)
    ],
    index: o.IndexOption = None,
    trace_id: Annotated[str | None, typer.Option(help="Of the search before it.", show_default=False)] = None,
    latency_ms: Annotated[float | None, typer.Option(help="How long the call took.", show_default=False)] = None,
    subject: o.SubjectOption = None,
    tenant: o.TenantOption = None,
    environment: o.EnvironmentOption = None,
    role: o.RoleOption = None,
    scope: o.ScopeOption = None,
    principal: o.PrincipalOption = None,
    api_key: o.ApiKeyOption = None,
    as_json: o.JsonOption = False,
) -> None:
    """Report how a call ended; it feeds the reliability signal."""
    from toolsearch import Outcome

    outcome = o.validated(
        Outcome, {"ref": ref, "status": status, "trace_id": trace_id, "latency_ms": latency_ms}, what="outcome"
    )
    who = o.principal_from(
        subject=subject, tenant=tenant, environment=environment, role=role, scope=scope, file=principal
    )
    with connected(index, principal=who, api_key=api_key) as (found, on_behalf_of):
        found.record_outcome(outcome, principal=on_behalf_of)
    if as_json:
        print(outcome.model_dump_json())
    else:
        print(f"recorded: {outcome.ref} {outcome.status.value}")
