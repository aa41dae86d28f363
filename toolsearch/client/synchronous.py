"""The client that waits."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import httpx2

from toolsearch.client import admin_calls, calls
from toolsearch.client.calls import Call
from toolsearch.client.transport import checked_url, options, pause, request_of, result, unreachable
from toolsearch.contracts.export import ExportedTools
from toolsearch.model.answer import (
    CandidateSet,
    ScoreExplanation,
    SessionList,
    SessionRefresh,
    ToolSummary,
    VisibilityReport,
)
from toolsearch.model.contract import ToolContract
from toolsearch.model.prepared import Prepared, PrepareRequest
from toolsearch.model.request import DefinitionFormat, Detail, Outcome, PastRequest, Principal, SearchRequest
from toolsearch.search.visibility.rules import RuleBook

if TYPE_CHECKING:
    from toolsearch.contracts.change.diff import ToolDiff
    from toolsearch.contracts.change.records import PendingReport, Revision
    from toolsearch.contracts.lint.check import LintOptions
    from toolsearch.contracts.lint.finding import LintReport
    from toolsearch.engine.models import LearntModel, ModelEntry
    from toolsearch.engine.writer import ChangeReport, LearnReport

_T = TypeVar("_T")


class Client:
    """The verbs of `ToolIndex` at a server. Safe to share between threads.

    There is no `principal` argument: the server takes it from the credentials. A request can narrow it (`restrict`).
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        timeout_s: float = 30.0,
        retries: int = 2,
        backoff_s: float = 0.1,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        """Talk to a server; nothing is sent before the first call.

        Args:
            url: Its address, e.g. `http://127.0.0.1:8765`.
            api_key: A key or token of the server, sent as `Authorization: Bearer`.
            timeout_s: Longest wait for an answer.
            retries: How often a read is sent again when the server does not answer or is busy. Changes never are.
            backoff_s: Wait before the first repetition; it doubles with each.
            transport: How requests travel; None = the network. For tests, and for proxies.

        Raises:
            RequestError: If the address is none.
        """
        self.url = checked_url(url)
        self._timeout_s, self._retries, self._backoff_s = timeout_s, retries, backoff_s
        self._http = httpx2.Client(transport=transport, **options(api_key=api_key, timeout_s=timeout_s))
        self.sessions = ClientSessions(self)
        self.versions = ClientVersions(self)
        self.models = ClientModels(self)

    def search(self, request: SearchRequest | str) -> CandidateSet:
        """Return the few permitted tools that fit a request, with reasons."""
        return self.do(calls.search(request))

    def explain(self, request: SearchRequest | str, *, ref: str) -> ScoreExplanation:
        """Return how one visible tool scores for a request, whether or not it would be returned."""
        return self.do(calls.explain(request, ref=ref))

    def why_not(self, ref: str, *, principal: Principal) -> VisibilityReport:
        """Return which rule shows or hides a tool from `principal`. For administrators."""
        return self.do(calls.why_not(ref, principal=principal))

    def tools(self) -> tuple[ToolSummary, ...]:
        """Return the visible tools, sorted by reference."""
        return self.do(calls.tools())

    def tool(self, ref: str) -> ToolContract:
        """Return one visible contract."""
        return self.do(calls.tool(ref))

    def export(
        self,
        *,
        format: DefinitionFormat,
        tools: Sequence[str] = (),
        detail: Detail = Detail.FULL,
        strict: bool = False,
        defer_loading: bool = False,
        namespaces: bool = False,
    ) -> ExportedTools:
        """Return definitions of visible tools in a provider's shape; see `ToolIndex.export`."""
        return self.do(
            calls.export(
                format=format,
                tools=tools,
                detail=detail,
                strict=strict,
                defer_loading=defer_loading,
                namespaces=namespaces,
            )
        )

    def prepare(self, request: PrepareRequest) -> Prepared:
        """Return the whole definition of one chosen tool, and what of its inputs is at hand."""
        return self.do(calls.prepare(request))

    def lint(self, *, options: LintOptions | None = None) -> LintReport:
        """Return what is to be mended in the visible tools."""
        return self.do(calls.lint(options))

    def record_outcome(self, outcome: Outcome) -> None:
        """Report how the call of a tool ended."""
        self.do(calls.record_outcome(outcome))

    def decision(self, trace_id: str) -> dict[str, Any]:
        """Return the record kept of one search of the caller."""
        return self.do(calls.decision(trace_id))

    def add(self, contracts: Iterable[ToolContract], *, reason: str = "") -> ChangeReport:
        """Add or replace contracts. For administrators."""
        return self.do(calls.put_tools(contracts, others="keep", reason=reason))

    def replace_all(self, contracts: Iterable[ToolContract], *, reason: str = "") -> ChangeReport:
        """Make these the whole catalogue. For administrators."""
        return self.do(calls.put_tools(contracts, others="remove", reason=reason))

    def remove(self, ref: str, *, reason: str = "") -> ChangeReport:
        """Remove one tool. For administrators."""
        return self.do(calls.remove(ref, reason=reason))

    def set_rules(self, rules: RuleBook) -> None:
        """Replace the access rules. For administrators."""
        self.do(calls.set_rules(rules))

    def learn(self, requests: Iterable[PastRequest]) -> LearnReport:
        """Learn from a log of past requests; one body's worth, see `max_body_bytes`. For administrators."""
        return self.do(calls.learn(requests))

    def forget(self, subject: str, *, tenant: str | None = None) -> int:
        """Delete what a subject asked and was answered, and return how many records. For administrators."""
        return self.do(calls.forget(subject, tenant=tenant))

    def do(self, call: Call[_T]) -> _T:
        """Send one call and return its result.

        Raises:
            ToolSearchError: The error that the server answered with.
            ServerUnreachable: If it does not answer.
        """
        attempt = 0
        while True:
            failure: httpx2.Response | httpx2.TransportError
            try:
                response = failure = self._http.request(**request_of(call, url=self.url))
            except httpx2.TransportError as error:
                failure = error
            wait = pause(call, failure, attempt=attempt, retries=self._retries, backoff_s=self._backoff_s)
            if wait is None:
                if isinstance(failure, httpx2.TransportError):
                    raise unreachable(failure, url=self.url, timeout_s=self._timeout_s) from None
                return result(call, response)
            time.sleep(wait)
            attempt += 1

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class ClientSessions:
    """The verbs of `ToolIndex.sessions` at a server."""

    def __init__(self, client: Client) -> None:
        """Talk through a client."""
        self._client = client

    def open(self, session_id: str | None = None) -> SessionList:
        """Begin a session, or return the caller's session of that id; None = a random id."""
        return self._client.do(calls.open_session(session_id))

    def get(self, session_id: str) -> SessionList:
        """Return a session with its definitions, as they were handed out."""
        return self._client.do(calls.get_session(session_id))

    def refresh(self, session_id: str, refs: Sequence[str] = (), *, detail: Detail | None = None) -> SessionRefresh:
        """Move tools of a session, or all, to their current revisions."""
        return self._client.do(calls.refresh_session(session_id, refs, detail=detail))

    def end(self, session_id: str) -> None:
        """End a session."""
        self._client.do(calls.end_session(session_id))


class ClientVersions:
    """The verbs of `ToolIndex.versions` at a server, which knows the author of a decision from the credentials."""

    def __init__(self, client: Client) -> None:
        """Talk through a client."""
        self._client = client

    def diff(self, before: str | ToolContract, after: str | ToolContract) -> ToolDiff:
        """Return what changed between two contracts, each a reference or the contract itself."""
        return self._client.do(admin_calls.diff(before, after))

    def contracts(self) -> tuple[ToolContract, ...]:
        """Return the current contract of every tool. For administrators."""
        return self._client.do(admin_calls.contracts())

    def history(self, ref: str) -> tuple[Revision, ...]:
        """Return the revisions of a visible tool."""
        return self._client.do(admin_calls.history(ref))

    def pending(self) -> PendingReport:
        """Return what waits for a decision. For administrators."""
        return self._client.do(admin_calls.pending())

    def approve(self, ref: str, *, share: float = 1.0, fingerprint: str = "", reason: str = "") -> Revision:
        """Let a waiting definition take effect, for a share of the sessions. For administrators."""
        return self._client.do(
            admin_calls.decide("approve", ref=ref, share=share, fingerprint=fingerprint, reason=reason)
        )

    def reject(self, ref: str, *, fingerprint: str = "", reason: str = "") -> Revision:
        """Turn a waiting definition down. For administrators."""
        return self._client.do(admin_calls.decide("reject", ref=ref, fingerprint=fingerprint, reason=reason))

    def rollback(self, ref: str, *, to: str = "", reason: str = "") -> Revision:
        """Make an earlier revision current again. For administrators."""
        return self._client.do(admin_calls.decide("rollback", ref=ref, to=to, reason=reason))


class ClientModels:
    """The verbs of `ToolIndex.models` at a server. For administrators."""

    def __init__(self, client: Client) -> None:
        """Talk through a client."""
        self._client = client

    def list(self) -> tuple[ModelEntry, ...]:
        """Return the installed models."""
        return self._client.do(admin_calls.models())

    def install(self, model: LearntModel, *, activate: bool = True) -> ModelEntry:
        """Store a model, and by default put it into service."""
        return self._client.do(admin_calls.install_model(model, activate=activate))

    def activate(self, number: int) -> ModelEntry:
        """Put a model into service."""
        return self._client.do(admin_calls.activate_model(number))

    def rollback(self) -> ModelEntry | None:
        """Take the newest change of what serves back."""
        return self._client.do(admin_calls.rollback_model())
