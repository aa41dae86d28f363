"""`toolsearch learn`: learn from a log of past requests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from toolsearch.cli import options as o
from toolsearch.cli.connect import connected
from toolsearch.model.errors import RequestError

if TYPE_CHECKING:
    from toolsearch import PastRequest


def learn(
    log: Annotated[
        str, typer.Argument(help="JSON Lines: text, ref, subject, tenant, at; - for stdin.", show_default=False)
    ],
    index: o.IndexOption = None,
    api_key: o.ApiKeyOption = None,
    as_json: o.JsonOption = False,
) -> None:
    """Learn which tools served which past requests. For administrators."""
    from pydantic_core import to_json

    requests = list(read_log(log))  # a mistake in the last line must not leave half a log learnt
    with connected(index, principal=None, api_key=api_key) as (found, _):
        report = found.learn(requests)
    if as_json:
        print(to_json(report).decode("utf-8"))
    else:
        print(f"learnt {report.learnt}, refused {report.refused}, of unknown tools {report.unknown}")


def read_log(log: str) -> Iterator[PastRequest]:
    """Yield the past requests of a file.

    Raises:
        RequestError: With the number of the first wrong line.
    """
    from toolsearch import PastRequest

    for number, line in enumerate(o.read_text(log, what="log").split("\n"), start=1):
        if line.strip():
            try:
                entry = json.loads(line)
            except ValueError as error:
                raise RequestError(f"log {log}, line {number}: not JSON: {error}") from None
            yield o.validated(PastRequest, entry, what=f"log {log}, line {number}")
