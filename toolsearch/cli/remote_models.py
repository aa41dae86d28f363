"""The learnt models of an index behind a running server."""

from __future__ import annotations

from pydantic import TypeAdapter

from toolsearch.cli.remote_sessions import Send
from toolsearch.engine.models import LearntModel, ModelEntry

_ENTRIES = TypeAdapter(tuple[ModelEntry, ...])
_ENTRY_OR_NONE = TypeAdapter(ModelEntry | None)


class RemoteModels:
    """The verbs of `ToolIndex.models`, over HTTP."""

    def __init__(self, send: Send) -> None:
        """Talk through `send`."""
        self._send = send

    def list(self) -> tuple[ModelEntry, ...]:
        """Return the installed models."""
        return _ENTRIES.validate_json(self._send("GET", "/v1/models"))

    def install(self, model: LearntModel, *, activate: bool = True) -> ModelEntry:
        """Store a model, and by default put it into service."""
        path = f"/v1/models?activate={'true' if activate else 'false'}"
        return ModelEntry.model_validate_json(self._send("POST", path, model.model_dump_json()))

    def activate(self, number: int) -> ModelEntry:
        """Put a model into service."""
        return ModelEntry.model_validate_json(self._send("POST", f"/v1/models/{number}/activate"))

    def rollback(self) -> ModelEntry | None:
        """Take the newest change of what serves back."""
        return _ENTRY_OR_NONE.validate_json(self._send("POST", "/v1/models/rollback"))
