"""An index behind a running server: the same verbs, over HTTP, with the standard library's client."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from http.client import HTTPException
from typing import Any
from urllib.parse import quote, urlencode

from pydantic import TypeAdapter

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
from toolsearch.cli.remote_export import RemoteExport
from toolsearch.cli.remote_importing import RemoteImporting
from toolsearch.cli.remote_lint import RemoteLint
from toolsearch.cli.remote_models import RemoteModels
from toolsearch.cli.remote_prepare import RemotePrepare
from toolsearch.cli.remote_sessions import RemoteSessions
from toolsearch.cli.remote_versions import RemoteVersions
from toolsearch.client.errors import as_error, json_or_none
from toolsearch.engine.writer import LearnReport
from toolsearch.model.answer import ScoreExplanation, ToolSummary, VisibilityReport
from toolsearch.model.errors import IndexLocked

_CHANGES = TypeAdapter(ChangeReport)
_LEARNT = TypeAdapter(LearnReport)
_LEARN_BYTES = 250_000
"""Past requests in one body: far below the default limit on bodies, and encoded within the time limit."""

_TIMEOUT_S = 310.0
_START_WAIT_S = 15.0


class RemoteIndex(RemoteExport, RemoteImporting, RemoteLint, RemotePrepare):
    """A client of one server. The server decides on the principal; the arguments of that name are not sent."""

    def __init__(self, url: str, *, api_key: str | None = None) -> None:
        """Talk to the server at `url`, e.g. `http://127.0.0.1:8765`."""
        self.url = url
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        # No proxy: the server is on this machine, and the environment's proxy is for others.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def is_instance(self, instance: str) -> bool:
        """Tell whether that very server answers here, waiting a little while it starts."""
        deadline = time.monotonic() + _START_WAIT_S
        while True:
            health = self._health()
            if health.get("instance") != instance:
                return False
            if health.get("status") != "starting" or time.monotonic() > deadline:
                return True
            time.sleep(0.1)

    def search(self, request: SearchRequest, *, principal: Principal) -> CandidateSet:
        """Return the candidates for a request."""
        return CandidateSet.model_validate_json(self.send("POST", "/v1/search", request.model_dump_json()))

    def explain(self, request: SearchRequest, *, ref: str, principal: Principal) -> ScoreExplanation:
        """Return how one tool scored."""
        body = json.dumps({"request": request.model_dump(mode="json"), "ref": ref})
        return ScoreExplanation.model_validate_json(self.send("POST", "/v1/explain", body))

    def why_not(self, ref: str, *, principal: Principal, asked_by: Principal) -> VisibilityReport:
        """Return which rule shows or hides a tool from `principal`."""
        body = json.dumps({"ref": ref, "principal": principal.model_dump(mode="json")})
        return VisibilityReport.model_validate_json(self.send("POST", "/v1/why-not", body))

    def tools(self, *, principal: Principal) -> tuple[ToolSummary, ...]:
        """Return the visible tools."""
        return tuple(ToolSummary.model_validate(entry) for entry in json.loads(self.send("GET", "/v1/tools")))

    def tool(self, ref: str, *, principal: Principal) -> ToolContract:
        """Return one contract."""
        return ToolContract.model_validate_json(self.send("GET", f"/v1/tools/{quote(ref)}"))

    def add(self, contracts: Iterable[ToolContract], *, author: str = "", reason: str = "") -> ChangeReport:
        """Add or replace contracts; the server knows the author."""
        return self._put_tools(contracts, others="keep", reason=reason)

    def replace_all(self, contracts: Iterable[ToolContract], *, author: str = "", reason: str = "") -> ChangeReport:
        """Make these the whole catalogue; the server knows the author."""
        return self._put_tools(contracts, others="remove", reason=reason)

    def remove(self, refs: Iterable[str], *, author: str = "", reason: str = "") -> ChangeReport:
        """Remove tools, one after the other."""
        removed: list[str] = []
        query = urlencode({"reason": reason})
        generation = 0
        for ref in refs:
            report = _CHANGES.validate_json(self.send("DELETE", f"/v1/tools/{quote(ref)}?{query}"))
            removed.extend(report.removed)
            generation = report.generation
        return ChangeReport(added=(), replaced=(), unchanged=(), removed=tuple(removed), generation=generation)

    def set_rules(self, rules: RuleBook) -> None:
        """Replace the access rules."""
        self.send("PUT", "/v1/rules", rules.model_dump_json())

    def record_outcome(self, outcome: Outcome, *, principal: Principal) -> None:
        """Record how a call ended."""
        self.send("POST", "/v1/outcomes", outcome.model_dump_json())

    def learn(self, requests: Iterable[PastRequest]) -> LearnReport:
        """Learn from a log, in parts that a server takes."""
        parts = [_LEARNT.validate_json(self.send("POST", "/v1/learn", body)) for body in _bodies(requests)]
        return LearnReport(
            learnt=sum(part.learnt for part in parts),
            refused=sum(part.refused for part in parts),
            unknown=sum(part.unknown for part in parts),
        )

    def forget(self, subject: str, *, tenant: str | None = None) -> int:
        """Delete what a subject asked and was answered."""
        answer = json.loads(self.send("POST", "/v1/forget", json.dumps({"subject": subject, "tenant": tenant})))
        return int(answer["forgotten"])

    def decision(self, trace_id: str, *, principal: Principal) -> dict[str, Any]:
        """Return the record of one search."""
        record: dict[str, Any] = json.loads(self.send("GET", f"/v1/decisions/{quote(trace_id, safe='')}"))
        return record

    @property
    def sessions(self) -> RemoteSessions:
        """Return the sessions."""
        return RemoteSessions(self.send)

    @property
    def models(self) -> RemoteModels:
        """Return the learnt models."""
        return RemoteModels(self.send)

    @property
    def versions(self) -> RemoteVersions:
        """Return the versions."""
        return RemoteVersions(self.send)

    def _put_tools(self, contracts: Iterable[ToolContract], *, others: str, reason: str) -> ChangeReport:
        body = "[" + ",".join(contract.canonical_json for contract in contracts) + "]"
        query = urlencode({"others": others, "reason": reason})
        return _CHANGES.validate_json(self.send("PUT", f"/v1/tools?{query}", body))

    def _health(self) -> dict[str, Any]:
        try:
            with self._opener.open(f"{self.url}/healthz", timeout=2.0) as answer:
                found = json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                found = json_or_none(error.read())
        except (OSError, HTTPException, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def send(self, method: str, path: str, body: str | None = None) -> bytes:
        """Send one request and return the body of its answer.

        Raises:
            ToolSearchError: Of the kind that the problem document names.
            IndexLocked: If the server does not answer.
        """
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else body.encode("utf-8", "replace"),
            headers=self._headers | {"Content-Type": "application/json"},
        )
        try:
            with self._opener.open(request, timeout=_TIMEOUT_S) as answer:
                received: bytes = answer.read()
                return received
        except urllib.error.HTTPError as error:
            with error:
                raise as_error(error.code, error.read()) from None
        except (OSError, HTTPException) as error:
            raise IndexLocked(f"the server at {self.url} owns the index but does not answer: {error}") from None


def _bodies(requests: Iterable[PastRequest]) -> Iterator[str]:
    """Yield JSON lists of past requests."""
    part: list[str] = []
    for request in requests:
        text = request.model_dump_json()
        if part and sum(map(len, part)) + len(text) > _LEARN_BYTES:
            yield f"[{','.join(part)}]"
            part = []
        part.append(text)
    yield f"[{','.join(part)}]"
