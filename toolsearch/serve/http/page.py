"""The page at `/`: the endpoints, and a request that works as pasted. No script, nothing from another host."""

from __future__ import annotations

import html
import json
import shlex
from collections.abc import Mapping
from typing import Any

from fastapi import Request, Response

EXAMPLE_TEXT = "what is the weather in Hangzhou"
"""Asked where no example of the catalogue can be shown."""

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "td{padding:.1rem 1rem .1rem 0;vertical-align:top}pre{background:#f4f4f4;padding:1rem;overflow-x:auto}"
)
_CSP = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"


def example_request(base_url: str, *, authenticated: bool, text: str = EXAMPLE_TEXT) -> str:
    """Return a shell command that asks the server at `base_url`."""
    key = " -H 'Authorization: Bearer YOUR_KEY'" if authenticated else ""
    body = shlex.quote(json.dumps({"text": text}, ensure_ascii=False))
    url = f"{base_url.rstrip('/')}/v1/search"
    return f"curl -s {shlex.quote(url)}{key} -H 'Content-Type: application/json' -d {body}"


def index_page(request: Request) -> Response:
    """Return the page."""
    # From the description, as `app.routes` does not hold the routes of routers.
    rows = "\n".join(_row(path, verbs) for path, verbs in request.app.openapi()["paths"].items())
    command = example_request(str(request.base_url), authenticated=request.app.state.sidecar.settings.authenticated)
    text = (
        "<!doctype html><html lang=en><meta charset=utf-8><title>toolsearch</title>"
        f"<style>{_STYLE}</style><h1>toolsearch</h1>"
        "<p>Tools for a request: permitted, ranked, explained.</p>"
        f"<pre>{html.escape(command)}</pre><table>{rows}</table>"
        "<p><a href=/openapi.json>openapi.json</a> describes every endpoint.</p></html>"
    )
    return Response(text, media_type="text/html", headers={"Content-Security-Policy": _CSP})


def _row(path: str, verbs: Mapping[str, Any]) -> str:
    methods = [name for name, verb in verbs.items() if isinstance(verb, Mapping)]
    first = verbs[methods[0]] if methods else {}
    summary = str(first.get("description") or first.get("summary") or "").split("\n", 1)[0]
    cells = (" ".join(sorted(methods)).upper(), path, summary)
    return "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>"
