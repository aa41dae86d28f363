"""The calls of the rooms that administrators use: versions and learnt models. See `calls`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import quote

from pydantic import TypeAdapter

from toolsearch.client.calls import Call
from toolsearch.model.contract import ToolContract

# The models of these rooms are imported where they are read: a search needs none of them.
if TYPE_CHECKING:
    from toolsearch.contracts.change.diff import ToolDiff
    from toolsearch.contracts.change.records import PendingReport, Revision
    from toolsearch.engine.models import LearntModel, ModelEntry


def diff(before: str | ToolContract, after: str | ToolContract) -> Call[ToolDiff]:
    """Return the call of `versions.diff`."""
    from toolsearch.contracts.change.diff import ToolDiff

    body = f'{{"before":{_side(before)},"after":{_side(after)}}}'
    return Call(method="POST", path="/v1/diff", body=body, read=ToolDiff.model_validate_json, repeatable=True)


def contracts() -> Call[tuple[ToolContract, ...]]:
    """Return the call of `versions.contracts`."""
    read = TypeAdapter(tuple[ToolContract, ...]).validate_json
    return Call(method="GET", path="/v1/contracts", read=read, repeatable=True)


def history(ref: str) -> Call[tuple[Revision, ...]]:
    """Return the call of `versions.history`."""
    from toolsearch.contracts.change.records import Revision

    read = TypeAdapter(tuple[Revision, ...]).validate_json
    return Call(method="GET", path=f"/v1/history/{quote(ref)}", read=read, repeatable=True)


def pending() -> Call[PendingReport]:
    """Return the call of `versions.pending`."""
    from toolsearch.contracts.change.records import PendingReport

    return Call(method="GET", path="/v1/pending", read=PendingReport.model_validate_json, repeatable=True)


def decide(verb: str, **body: str | float) -> Call[Revision]:
    """Return the call of `versions.approve`, `versions.reject` or `versions.rollback`."""
    from toolsearch.contracts.change.records import Revision

    return Call(method="POST", path=f"/v1/{verb}", body=json.dumps(body), read=Revision.model_validate_json)


def models() -> Call[tuple[ModelEntry, ...]]:
    """Return the call of `models.list`."""
    from toolsearch.engine.models import ModelEntry

    read = TypeAdapter(tuple[ModelEntry, ...]).validate_json
    return Call(method="GET", path="/v1/models", read=read, repeatable=True)


def install_model(model: LearntModel, *, activate: bool) -> Call[ModelEntry]:
    """Return the call of `models.install`."""
    from toolsearch.engine.models import ModelEntry

    path = f"/v1/models?activate={'true' if activate else 'false'}"
    return Call(method="POST", path=path, body=model.model_dump_json(), read=ModelEntry.model_validate_json)


def activate_model(number: int) -> Call[ModelEntry]:
    """Return the call of `models.activate`."""
    from toolsearch.engine.models import ModelEntry

    return Call(method="POST", path=f"/v1/models/{number}/activate", read=ModelEntry.model_validate_json)


def rollback_model() -> Call[ModelEntry | None]:
    """Return the call of `models.rollback`."""
    from toolsearch.engine.models import ModelEntry

    read = TypeAdapter(ModelEntry | None).validate_json
    return Call(method="POST", path="/v1/models/rollback", read=read)


def _side(side: str | ToolContract) -> str:
    return json.dumps(side) if isinstance(side, str) else side.canonical_json
