"""Reach an index: through the server that owns it, or by opening its folder.

The registry has one writing process. Where a server runs, it is that process, and the command line is its client.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from toolsearch.model.errors import RequestError
from toolsearch.serve.address import read_address

if TYPE_CHECKING:
    from toolsearch import (
        CandidateSet,
        ChangeReport,
        Outcome,
        PastRequest,
        Principal,
        RuleBook,
        SearchRequest,
        ToolContract,
    )
    from toolsearch.contracts.change.diff import ToolDiff
    from toolsearch.contracts.change.records import PendingReport, Revision
    from toolsearch.contracts.export import ExportedTools
    from toolsearch.contracts.lint.check import LintOptions
    from toolsearch.contracts.lint.finding import LintReport
    from toolsearch.engine.models import LearntModel, ModelEntry
    from toolsearch.engine.writer import LearnReport
    from toolsearch.model.answer import ScoreExplanation, SessionList, SessionRefresh, ToolSummary, VisibilityReport
    from toolsearch.model.prepared import Prepared, PrepareRequest
    from toolsearch.model.request import DefinitionFormat, Detail
    from toolsearch.store.sources import SourceRow


class SessionVerbs(Protocol):
    """What the commands ask of the sessions of an index."""

    def open(self, session_id: str | None = None, *, principal: Principal) -> SessionList:
        """Begin a session, or return it."""

    def get(self, session_id: str, *, principal: Principal) -> SessionList:
        """Return a session."""

    def end(self, session_id: str, *, principal: Principal) -> None:
        """End a session."""

    def refresh(
        self, session_id: str, refs: Sequence[str] = (), *, detail: Detail | None = None, principal: Principal
    ) -> SessionRefresh:
        """Move tools to the revisions that are current now."""


class VersionVerbs(Protocol):
    """What the commands ask of the versions of an index."""

    def diff(self, before: str | ToolContract, after: str | ToolContract, *, principal: Principal) -> ToolDiff:
        """Return what changed between two contracts."""

    def contracts(self) -> tuple[ToolContract, ...]:
        """Return the current contract of every tool."""

    def history(self, ref: str, *, principal: Principal) -> tuple[Revision, ...]:
        """Return the revisions of a tool."""

    def pending(self) -> PendingReport:
        """Return what waits for a decision."""

    def approve(self, ref: str, *, share: float, fingerprint: str, author: str, reason: str) -> Revision:
        """Let a waiting definition take effect."""

    def reject(self, ref: str, *, fingerprint: str, author: str, reason: str) -> Revision:
        """Turn a waiting definition down."""

    def rollback(self, ref: str, *, to: str, author: str, reason: str) -> Revision:
        """Make an earlier revision current again."""


class ModelVerbs(Protocol):
    """What the commands ask of the learnt models of an index."""

    def list(self) -> tuple[ModelEntry, ...]:
        """Return the installed models."""

    def install(self, model: LearntModel, *, activate: bool = True) -> ModelEntry:
        """Store a model, and by default put it into service."""

    def activate(self, number: int) -> ModelEntry:
        """Put a model into service."""

    def rollback(self) -> ModelEntry | None:
        """Take the newest change of what serves back."""


class Verbs(Protocol):
    """What the commands ask of an index; `ToolIndex` and `RemoteIndex` both have it."""

    def search(self, request: SearchRequest, *, principal: Principal) -> CandidateSet:
        """Return the candidates for a request."""

    def explain(self, request: SearchRequest, *, ref: str, principal: Principal) -> ScoreExplanation:
        """Return how one tool scored."""

    def why_not(self, ref: str, *, principal: Principal, asked_by: Principal) -> VisibilityReport:
        """Return which rule shows or hides a tool."""

    def tools(self, *, principal: Principal) -> tuple[ToolSummary, ...]:
        """Return the visible tools."""

    def tool(self, ref: str, *, principal: Principal) -> ToolContract:
        """Return one contract."""

    def export(
        self,
        *,
        principal: Principal,
        format: DefinitionFormat,
        tools: Sequence[str],
        detail: Detail,
        strict: bool,
        defer_loading: bool,
        namespaces: bool,
    ) -> ExportedTools:
        """Return definitions of visible tools in a provider's shape."""

    def prepare(self, request: PrepareRequest, *, principal: Principal) -> Prepared:
        """Return what a call of one tool needs and has."""

    def lint(self, *, principal: Principal, options: LintOptions | None) -> LintReport:
        """Return what is to be mended in the visible tools."""

    def add(self, contracts: Iterable[ToolContract], *, author: str = ..., reason: str = "") -> ChangeReport:
        """Add or replace contracts."""

    def replace_all(self, contracts: Iterable[ToolContract], *, author: str = ..., reason: str = "") -> ChangeReport:
        """Make these the whole catalogue."""

    def remove(self, refs: Iterable[str], *, author: str = ..., reason: str = "") -> ChangeReport:
        """Remove tools."""

    def set_rules(self, rules: RuleBook) -> None:
        """Replace the access rules."""

    def record_outcome(self, outcome: Outcome, *, principal: Principal) -> None:
        """Record how a call ended."""

    def learn(self, requests: Iterable[PastRequest]) -> LearnReport:
        """Learn from a log."""

    def forget(self, subject: str, *, tenant: str | None = None) -> int:
        """Delete what a subject asked and was answered."""

    def sources(self) -> tuple[SourceRow, ...]:
        """Return where the tools of each imported server were last read."""

    def decision(self, trace_id: str, *, principal: Principal) -> dict[str, Any]:
        """Return the record of one search."""

    @property
    def sessions(self) -> SessionVerbs:
        """Return the sessions."""

    @property
    def models(self) -> ModelVerbs:
        """Return the learnt models."""

    @property
    def versions(self) -> VersionVerbs:
        """Return the versions."""


@contextmanager
def connected(
    index: Path | None, *, principal: Principal | None, api_key: str | None = None
) -> Iterator[tuple[Verbs, Principal]]:
    """Yield an index and the principal to ask on behalf of.

    Args:
        index: Folder of the index; None takes the setting.
        principal: The principal of the options; None takes `local_principal` of the settings.
        api_key: Credentials for a server.

    Raises:
        RequestError: If a principal is given and a server, which decides on the principal itself, owns the index.
        IndexStateError: If there is no usable index.
    """
    from toolsearch.serve.settings import load_settings

    settings = load_settings(index=index)
    remote = server_of(settings.index, api_key=api_key)
    if remote is not None:
        if principal is not None:
            raise RequestError(
                f"the server at {remote.url} owns {settings.index} and takes the principal from the credentials: "
                "leave the principal options out and use --api-key, or stop the server",
                field="principal",
            )
        yield remote, settings.local_principal
        return
    from toolsearch import ToolIndex
    from toolsearch.engine.writer import REGISTRY_FILE

    registry = settings.index / REGISTRY_FILE
    with ToolIndex.open(
        settings.index,
        read_only=registry.exists() and not os.access(registry, os.W_OK),  # a read-only mount can be searched
        limits=settings.search_limits,
        remember_requests=settings.remember_requests,
        session_limits=settings.session_limits,
        reranker=settings.reranker,
    ) as local:
        yield local, principal or settings.local_principal


def server_of(folder: Path, *, api_key: str | None) -> Any:
    """Return a client of the server that owns an index folder, or None where none answers."""
    address = read_address(folder)
    if address is None:
        return None
    from toolsearch.cli.remote import RemoteIndex

    remote = RemoteIndex(address.url, api_key=api_key)
    return remote if remote.is_instance(address.instance) else None
