"""`toolsearch explain`: how one visible tool scored for a request."""

from __future__ import annotations

from typing import Annotated

import typer

from toolsearch.cli import options as o
from toolsearch.cli.connect import connected


def explain(
    ref: Annotated[str, typer.Argument(help="server/name@version, server/name or name.", show_default=False)],
    text: Annotated[str | None, typer.Argument(help="The request.", show_default=False)] = None,
    index: o.IndexOption = None,
    given: o.InputOption = None,
    weight: o.WeightOption = None,
    request: o.RequestOption = None,
    subject: o.SubjectOption = None,
    tenant: o.TenantOption = None,
    environment: o.EnvironmentOption = None,
    role: o.RoleOption = None,
    scope: o.ScopeOption = None,
    principal: o.PrincipalOption = None,
    api_key: o.ApiKeyOption = None,
    as_json: o.JsonOption = False,
) -> None:
    """Show how one tool scored for a request, whether or not it was returned."""
    asked = o.request_from(
        text,
        file=request,
        inputs=o.pairs(given, option="--input"),
        weights=o.pairs(weight, option="--weight"),
    )
    who = o.principal_from(
        subject=subject, tenant=tenant, environment=environment, role=role, scope=scope, file=principal
    )
    with connected(index, principal=who, api_key=api_key) as (found, on_behalf_of):
        answer = found.explain(asked, ref=ref, principal=on_behalf_of)
    if as_json:
        print(answer.model_dump_json())
    else:
        from toolsearch.cli.render import print_explanation

        print_explanation(answer)
