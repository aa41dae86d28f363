"""`toolsearch approve`: let a waiting definition take effect."""

from __future__ import annotations

from typing import Annotated

import typer

from toolsearch.cli import options as o
from toolsearch.cli.connect import connected


def approve(
    ref: Annotated[str, typer.Argument(help="server/name@version of the tool.", show_default=False)],
    share: Annotated[float, typer.Option(help="Share of new sessions that get it, in (0, 1].")] = 1.0,
    fingerprint: o.FingerprintOption = "",
    author: o.AuthorOption = None,
    reason: o.ReasonOption = "",
    index: o.IndexOption = None,
    api_key: o.ApiKeyOption = None,
    as_json: o.JsonOption = False,
) -> None:
    """Let a waiting definition take effect, for everyone or a share of new sessions. For administrators."""
    with connected(index, principal=o.acting(author), api_key=api_key) as (found, who):
        line = found.versions.approve(ref, share=share, fingerprint=fingerprint, author=who.subject, reason=reason)
    if as_json:
        print(line.model_dump_json())
    else:
        from toolsearch.cli.render_versions import print_decision

        print_decision(line)
