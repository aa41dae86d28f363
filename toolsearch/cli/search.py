"""`toolsearch search`: the few permitted tools for a request."""

from __future__ import annotations

from typing import Annotated

import typer

from toolsearch.cli import options as o
from toolsearch.cli.connect import connected

_TEXT = typer.Argument(help="What the user wants, in any language.", show_default=False)


def search(
    text: Annotated[str | None, _TEXT] = None,
    index: o.IndexOption = None,
    k: Annotated[int | None, typer.Option("-k", help="At most this many.", show_default=False)] = None,
    given: o.InputOption = None,
    mode: Annotated[str | None, typer.Option(help="hybrid, lexical or vector.", show_default=False)] = None,
    profile: Annotated[str | None, typer.Option(help="default or seed.", show_default=False)] = None,
    weight: o.WeightOption = None,
    detail: Annotated[str | None, typer.Option(help="name, signature or full.", show_default=False)] = None,
    shape: Annotated[
        str | None,
        typer.Option("--format", help="native, openai, anthropic, gemini, mcp ...", show_default=False),
    ] = None,
    token_budget: Annotated[int | None, typer.Option(help="Most tokens of definitions.", show_default=False)] = None,
    max_side_effect: Annotated[
        str | None, typer.Option(help="none, read_only, reversible, irreversible.", show_default=False)
    ] = None,
    session: Annotated[
        str | None, typer.Option(help="Session whose list this search continues.", show_default=False)
    ] = None,
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
    """Find the few permitted tools for a request, with reasons."""
    asked = o.request_from(
        text,
        file=request,
        k=k,
        inputs=o.pairs(given, option="--input"),
        mode=mode,
        profile=profile,
        weights=o.pairs(weight, option="--weight"),
        detail=detail,
        format=shape,
        token_budget=token_budget,
        session=session,
        restrict=None if max_side_effect is None else {"max_side_effect": max_side_effect},
    )
    who = o.principal_from(
        subject=subject, tenant=tenant, environment=environment, role=role, scope=scope, file=principal
    )
    with connected(index, principal=who, api_key=api_key) as (found, on_behalf_of):
        answer = found.search(asked, principal=on_behalf_of)
    if as_json:
        print(answer.model_dump_json())
    else:
        from toolsearch.cli.render import print_candidates

        print_candidates(answer)
