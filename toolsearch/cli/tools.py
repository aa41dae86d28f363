"""`toolsearch tools`: the tools a principal can see."""

from __future__ import annotations

from typing import Annotated

import typer

from toolsearch.cli import options as o
from toolsearch.cli.connect import connected


def tools(
    ref: Annotated[str | None, typer.Argument(help="Show this one's contract.", show_default=False)] = None,
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
    """List the visible tools, or print one contract."""
    who = o.principal_from(
        subject=subject, tenant=tenant, environment=environment, role=role, scope=scope, file=principal
    )
    with connected(index, principal=who, api_key=api_key) as (found, on_behalf_of):
        if ref is not None:
            contract = found.tool(ref, principal=on_behalf_of)
            print(contract.canonical_json if as_json else _yaml(contract.canonical()))
            return
        listed = found.tools(principal=on_behalf_of)
    if as_json:
        print(_json(listed))
    else:
        from toolsearch.cli.render import print_tools

        print_tools(listed)


def _json(listed: object) -> str:
    from pydantic_core import to_json

    return to_json(listed).decode("utf-8")


def _yaml(data: object) -> str:
    import yaml

    text: str = yaml.safe_dump(data, allow_unicode=True, sort_keys=False, width=100)
    return text.rstrip("\n")
