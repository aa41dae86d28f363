"""`toolsearch forget`: delete what a subject asked and was answered."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from toolsearch.cli import options as o
from toolsearch.cli.connect import connected


def forget(
    subject: Annotated[str, typer.Argument(help="Whose requests to forget.", show_default=False)],
    index: o.IndexOption = None,
    tenant: Annotated[str | None, typer.Option(help="Tenant of the subject.", show_default=False)] = None,
    api_key: o.ApiKeyOption = None,
    as_json: o.JsonOption = False,
) -> None:
    """Delete past requests and decision records of a subject. For administrators."""
    with connected(index, principal=None, api_key=api_key) as (found, _):
        forgotten = found.forget(subject, tenant=tenant)
    print(json.dumps({"forgotten": forgotten}) if as_json else f"forgotten: {forgotten}")
