"""`toolsearch decisions`: the record kept of one search."""

from __future__ import annotations

from typing import Annotated

import typer

from toolsearch.cli import options as o
from toolsearch.cli.connect import connected


def decisions(
    trace_id: Annotated[str, typer.Argument(help="trace_id of the answer.", show_default=False)],
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
    """Show the record kept of one search: what was asked, decided and returned."""
    from pydantic_core import to_json

    who = o.principal_from(
        subject=subject, tenant=tenant, environment=environment, role=role, scope=scope, file=principal
    )
    with connected(index, principal=who, api_key=api_key) as (found, on_behalf_of):
        record = found.decision(trace_id, principal=on_behalf_of)
    print(to_json(record, indent=None if as_json else 2).decode("utf-8"))
