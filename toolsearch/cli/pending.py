"""`toolsearch pending`: what waits for an administrator."""

from __future__ import annotations

from toolsearch.cli import options as o
from toolsearch.cli.connect import connected


def pending(index: o.IndexOption = None, api_key: o.ApiKeyOption = None, as_json: o.JsonOption = False) -> None:
    """List what waits for approval, is rolled out, or has to be evaluated again. For administrators."""
    with connected(index, principal=None, api_key=api_key) as (found, _):
        report = found.versions.pending()
    if as_json:
        print(report.model_dump_json())
    else:
        from toolsearch.cli.render_versions import print_pending

        print_pending(report)
