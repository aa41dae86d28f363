"""`toolsearch remove`: take tools out of an index."""

from __future__ import annotations

from typing import Annotated

import typer

from toolsearch.cli import options as o
from toolsearch.cli.connect import connected


def remove(
    refs: Annotated[list[str], typer.Argument(help="server/name@version of each tool.", show_default=False)],
    author: o.AuthorOption = None,
    reason: o.ReasonOption = "",
    index: o.IndexOption = None,
    api_key: o.ApiKeyOption = None,
    as_json: o.JsonOption = False,
) -> None:
    """Remove tools from the catalogue. For administrators."""
    from pydantic_core import to_json

    with connected(index, principal=o.acting(author), api_key=api_key) as (found, who):
        report = found.remove(refs, author=who.subject, reason=reason)
    if as_json:
        print(to_json(report).decode("utf-8"))
    else:
        from toolsearch.cli.render import console, plain

        console().print(plain(f"removed {len(report.removed)}: {', '.join(report.removed)}"))
