"""`toolsearch reject`: turn a waiting definition down."""

from __future__ import annotations

from typing import Annotated

import typer

from toolsearch.cli import options as o
from toolsearch.cli.connect import connected


def reject(
    ref: Annotated[str, typer.Argument(help="server/name@version of the tool.", show_default=False)],
    fingerprint: o.FingerprintOption = "",
    author: o.AuthorOption = None,
    reason: o.ReasonOption = "",
    index: o.IndexOption = None,
    api_key: o.ApiKeyOption = None,
    as_json: o.JsonOption = False,
) -> None:
    """Turn a waiting definition down, for good. For administrators."""
    with connected(index, principal=o.acting(author), api_key=api_key) as (found, who):
        line = found.versions.reject(ref, fingerprint=fingerprint, author=who.subject, reason=reason)
    if as_json:
        print(line.model_dump_json())
    else:
        from toolsearch.cli.render_versions import print_decision

        print_decision(line)
