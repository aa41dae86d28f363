"""Preparation of a call behind a server."""

from __future__ import annotations

from toolsearch.model.prepared import Prepared, PrepareRequest
from toolsearch.model.request import Principal


class RemotePrepare:
    """What `RemoteIndex` has of `ToolIndex.prepare`."""

    def send(self, method: str, path: str, body: str | None = None) -> bytes:
        """Send one request; `RemoteIndex` does."""
        raise NotImplementedError

    def prepare(self, request: PrepareRequest, *, principal: Principal) -> Prepared:
        """Return the whole definition of a tool and what is at hand for a call."""
        return Prepared.model_validate_json(self.send("POST", "/v1/prepare", request.model_dump_json()))
