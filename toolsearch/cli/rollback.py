"""`toolsearch rollback`: make an earlier revision current again."""

from __future__ import annotations

from typing import Annotated

import typer

from toolsearch.cli import options as o
from toolsearch.cli.connect import connected


def rollback(
    ref: Annotated[str, typer.Argument(help="server/name@version of the tool.", show_default=False)],
    to: Annotated[
        str, typer.Option(help="Fingerprint of the revision [default: the last good one].", show_default=False)
    ] = "",
    author: o.AuthorOption = None,
    reason: o.ReasonOption = "",
    index: o.IndexOption = None,
    api_key: o.ApiKeyOption = None,
    as_json: o.JsonOption = False,
) -> None:
    """Make an earlier revision current again, as a new one; end a roll-out. For administrators."""
    with connected(index, principal=o.acting(author), api_key=api_key) as (found, who):
        line = found.versions.rollback(ref, to=to, author=who.subject, reason=reason)
    if as_json:
        print(line.model_dump_json())
    else:
        from toolsearch.cli.render_versions import print_decision

        print_decision(line)
