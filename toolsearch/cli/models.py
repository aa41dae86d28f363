"""`toolsearch models`: what was learnt, what of it serves, and the way back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolsearch.cli import options as o
from toolsearch.cli.connect import connected
from toolsearch.model.errors import RequestError

if TYPE_CHECKING:
    from toolsearch.engine.models import ModelEntry

_INSTALL = typer.Option(help="Install the model that `train --out` wrote, and put it into service.", show_default=False)


def models(
    index: o.IndexOption = None,
    activate: Annotated[
        int | None, typer.Option(min=1, help="Put this model into service for those it is for.", show_default=False)
    ] = None,
    rollback: Annotated[bool, typer.Option("--rollback", help="Take the newest change of what serves back.")] = False,
    install: Annotated[Path | None, _INSTALL] = None,
    api_key: o.ApiKeyOption = None,
    as_json: o.JsonOption = False,
) -> None:
    """List the learnt models of an index, or change which of them serves. For administrators."""
    if sum((activate is not None, rollback, install is not None)) > 1:
        raise RequestError("--activate, --rollback and --install exclude each other: give one of them")
    from toolsearch.engine.models import LearntModel

    model = None
    if install is not None:
        model = o.validated(LearntModel, o.read_data(str(install), what="model"), what=f"model {install}")
    with connected(index, principal=None, api_key=api_key) as (found, _):
        room = found.models
        if model is not None:
            room.install(model)
        elif activate is not None:
            room.activate(activate)
        elif rollback:
            room.rollback()
        entries = room.list()
    if as_json:
        print(json.dumps([entry.model_dump(mode="json") for entry in entries], ensure_ascii=False))
        return
    for entry in entries:
        print(_line(entry))
    if not any(entry.active for entry in entries):
        print("no model is in service")


def _line(entry: ModelEntry) -> str:
    from toolsearch.cli.render import one_line

    made = entry.manifest
    state = "not used: another encoder" if entry.stale else "serves" if entry.active else "at rest, for"
    whom = "" if entry.stale else f" {entry.serves}"
    gain = f"MRR {made.before.mrr:.3f} -> {made.after.mrr:.3f}, recall@5 {made.before.recall_5:.3f} -> "
    return one_line(
        f"{entry.number} {entry.fingerprint[:12]} {state}{whom}; {gain}{made.after.recall_5:.3f} on {made.held_out} "
        f"held-out requests; {made.created_at:%Y-%m-%d %H:%M}"
    )
