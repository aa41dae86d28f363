"""The versions of an index behind a running server."""

from __future__ import annotations

import json
from urllib.parse import quote

from pydantic import TypeAdapter

from toolsearch import Principal, ToolContract
from toolsearch.cli.remote_sessions import Send
from toolsearch.contracts.change.diff import ToolDiff
from toolsearch.contracts.change.records import PendingReport, Revision

_CONTRACTS = TypeAdapter(tuple[ToolContract, ...])
_REVISIONS = TypeAdapter(tuple[Revision, ...])


class RemoteVersions:
    """The verbs of `ToolIndex.versions`, over HTTP; the server decides on the principal, who is also the author."""

    def __init__(self, send: Send) -> None:
        """Talk through `send`."""
        self._send = send

    def diff(self, before: str | ToolContract, after: str | ToolContract, *, principal: Principal) -> ToolDiff:
        """Return what changed between two contracts."""
        body = f'{{"before":{_json(before)},"after":{_json(after)}}}'
        return ToolDiff.model_validate_json(self._send("POST", "/v1/diff", body))

    def contracts(self) -> tuple[ToolContract, ...]:
        """Return the current contract of every tool."""
        return _CONTRACTS.validate_json(self._send("GET", "/v1/contracts"))

    def history(self, ref: str, *, principal: Principal) -> tuple[Revision, ...]:
        """Return the revisions of a tool."""
        return _REVISIONS.validate_json(self._send("GET", f"/v1/history/{quote(ref)}"))

    def pending(self) -> PendingReport:
        """Return what waits for a decision."""
        return PendingReport.model_validate_json(self._send("GET", "/v1/pending"))

    def approve(self, ref: str, *, share: float, fingerprint: str, author: str, reason: str) -> Revision:
        """Let a waiting definition take effect."""
        return self._decide("approve", {"ref": ref, "share": share, "fingerprint": fingerprint, "reason": reason})

    def reject(self, ref: str, *, fingerprint: str, author: str, reason: str) -> Revision:
        """Turn a waiting definition down."""
        return self._decide("reject", {"ref": ref, "fingerprint": fingerprint, "reason": reason})

    def rollback(self, ref: str, *, to: str, author: str, reason: str) -> Revision:
        """Make an earlier revision current again."""
        return self._decide("rollback", {"ref": ref, "to": to, "reason": reason})

    def _decide(self, verb: str, body: dict[str, object]) -> Revision:
        return Revision.model_validate_json(self._send("POST", f"/v1/{verb}", json.dumps(body)))


def _json(side: str | ToolContract) -> str:
    return json.dumps(side) if isinstance(side, str) else side.canonical_json
