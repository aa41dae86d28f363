"""The sessions of an index behind a running server."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Protocol
from urllib.parse import quote

from toolsearch import Principal
from toolsearch.model.answer import SessionList, SessionRefresh
from toolsearch.model.request import Detail


class Send(Protocol):
    """Sends one request to the server; see `RemoteIndex.send`."""

    def __call__(self, method: str, path: str, body: str | None = None) -> bytes:
        """Return the body of the answer."""


class RemoteSessions:
    """The verbs of `ToolIndex.sessions`, over HTTP; the server decides on the principal."""

    def __init__(self, send: Send) -> None:
        """Talk through `send`."""
        self._send = send

    def open(self, session_id: str | None = None, *, principal: Principal) -> SessionList:
        """Begin a session, or return it."""
        body = json.dumps({"session": session_id})
        return SessionList.model_validate_json(self._send("POST", "/v1/sessions", body))

    def get(self, session_id: str, *, principal: Principal) -> SessionList:
        """Return a session."""
        return SessionList.model_validate_json(self._send("GET", _path(session_id)))

    def end(self, session_id: str, *, principal: Principal) -> None:
        """End a session."""
        self._send("DELETE", _path(session_id))

    def refresh(
        self, session_id: str, refs: Sequence[str] = (), *, detail: Detail | None = None, principal: Principal
    ) -> SessionRefresh:
        """Move tools to the revisions that are current now."""
        body = json.dumps({"refs": list(refs), "detail": detail})
        return SessionRefresh.model_validate_json(self._send("POST", f"{_path(session_id)}/refresh", body))


def _path(session_id: str) -> str:
    return f"/v1/sessions/{quote(session_id, safe='')}"
