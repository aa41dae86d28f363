"""`toolsearch sources`: where the tools of each imported server were last read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolsearch.cli import options as o
from toolsearch.cli.connect import connected

if TYPE_CHECKING:
    from toolsearch.store.sources import SourceRow


def sources(index: o.IndexOption = None, api_key: o.ApiKeyOption = None, as_json: o.JsonOption = False) -> None:
    """List where the tools of each imported server come from, and which are stale. For administrators."""
    with connected(index, principal=None, api_key=api_key) as (found, _):
        rows = found.sources()
    if as_json:
        from pydantic_core import to_json

        print(to_json(rows).decode("utf-8"))
        return
    from toolsearch.cli.render import one_line

    for row in rows:
        print(one_line(_line(row)))


def _line(row: SourceRow) -> str:
    from toolsearch.model.reasons import counted

    read = (
        "never read"
        if row.read_at is None
        else f"{counted(row.tools, 'tool')}, read {row.read_at:%Y-%m-%d %H:%M:%S} UTC"
    )
    failed = "" if row.failed_at is None else f"; STALE since {row.failed_at:%Y-%m-%d %H:%M:%S} UTC: {row.error}"
    return f"{row.server}: {read}, from {row.origin}{failed}"
