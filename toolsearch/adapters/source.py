"""Where an adapter's tools come from: a server's `Client`, or an index on behalf of one principal."""

from __future__ import annotations

from typing import Protocol

from toolsearch.engine.search import ToolIndex
from toolsearch.model.answer import CandidateSet, SessionList
from toolsearch.model.request import Outcome, Principal, SearchRequest


class SourceSessions(Protocol):
    """What an adapter asks of sessions."""

    def open(self, session_id: str | None = None) -> SessionList:
        """Begin a session, or return it."""

    def get(self, session_id: str) -> SessionList:
        """Return a session."""


class ToolSource(Protocol):
    """What an adapter asks; `toolsearch.Client` has it, and `on_behalf_of` gives it to a `ToolIndex`."""

    @property
    def sessions(self) -> SourceSessions:
        """Return the sessions."""

    def search(self, request: SearchRequest) -> CandidateSet:
        """Return the candidates for a request."""

    def record_outcome(self, outcome: Outcome) -> None:
        """Record how a call ended."""


def on_behalf_of(index: ToolIndex, principal: Principal) -> ToolSource:
    """Return an index as a source of tools for one principal."""
    return _Local(index, principal)


class _Local:
    """An index with the principal of one caller."""

    def __init__(self, index: ToolIndex, principal: Principal) -> None:
        self._index, self._principal = index, principal
        self.sessions = _LocalSessions(index, principal)

    def search(self, request: SearchRequest) -> CandidateSet:
        return self._index.search(request, principal=self._principal)

    def record_outcome(self, outcome: Outcome) -> None:
        self._index.record_outcome(outcome, principal=self._principal)


class _LocalSessions:
    """The sessions of one caller."""

    def __init__(self, index: ToolIndex, principal: Principal) -> None:
        self._index, self._principal = index, principal

    def open(self, session_id: str | None = None) -> SessionList:
        return self._index.sessions.open(session_id, principal=self._principal)

    def get(self, session_id: str) -> SessionList:
        return self._index.sessions.get(session_id, principal=self._principal)
