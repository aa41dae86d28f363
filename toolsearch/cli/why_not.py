"""`toolsearch why-not`: which rule shows or hides a tool."""

from __future__ import annotations

from typing import Annotated

import typer

from toolsearch.cli import options as o
from toolsearch.cli.connect import connected


def why_not(
    ref: Annotated[str, typer.Argument(help="server/name@version, server/name or name.", show_default=False)],
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
    """Show which rule shows a tool to a principal, or hides it. For administrators."""
    about = o.principal_from(
        subject=subject, tenant=tenant, environment=environment, role=role, scope=scope, file=principal
    )
    with connected(index, principal=None, api_key=api_key) as (found, asked_by):
        answer = found.why_not(ref, principal=about or asked_by, asked_by=asked_by)
    if as_json:
        print(answer.model_dump_json())
    else:
        from toolsearch.cli.render import print_visibility

        print_visibility(answer)
