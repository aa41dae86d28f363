"""`toolsearch history`: the revisions of a tool."""

from __future__ import annotations

from typing import Annotated

import typer

from toolsearch.cli import options as o
from toolsearch.cli.connect import connected


def history(
    ref: Annotated[
        str, typer.Argument(help="server/name@version, or server/name for all versions.", show_default=False)
    ],
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
    """List the revisions of a tool, oldest first, with who made them and why."""
    who = o.principal_from(
        subject=subject, tenant=tenant, environment=environment, role=role, scope=scope, file=principal
    )
    with connected(index, principal=who, api_key=api_key) as (found, on_behalf_of):
        revisions = found.versions.history(ref, principal=on_behalf_of)
    if as_json:
        from pydantic_core import to_json

        print(to_json(revisions).decode("utf-8"))
    else:
        from toolsearch.cli.render_versions import print_history

        print_history(revisions)
