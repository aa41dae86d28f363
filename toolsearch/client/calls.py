"""Each verb as a value: what is sent, and how the answer is read. Both clients send the same calls."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import quote, urlencode

from pydantic import TypeAdapter

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
    from toolsearch.contracts.lint.check import LintOptions
    from toolsearch.contracts.lint.finding import LintReport
    from toolsearch.engine.writer import ChangeReport, LearnReport

_T = TypeVar("_T")
_SUMMARIES = TypeAdapter(tuple[ToolSummary, ...])
_RECORD = TypeAdapter(dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[_T]):
    """One request to the server.

    Attributes:
        method: HTTP method.
        path: Path and query.
        read: Answer's body -> the verb's result.
        body: JSON, or None.
        repeatable: It may be sent again after a failure: it changes nothing, or the same once more.
    """

    method: str
    path: str
    read: Callable[[bytes], _T]
    body: str | None = None
    repeatable: bool = False


def search(request: SearchRequest | str) -> Call[CandidateSet]:
    """Return the call of `search`. Repeated, it lists the same tools in its session."""
    asked = _request(request).model_dump_json()
    return Call(method="POST", path="/v1/search", body=asked, read=CandidateSet.model_validate_json, repeatable=True)


def explain(request: SearchRequest | str, *, ref: str) -> Call[ScoreExplanation]:
    """Return the call of `explain`."""
    body = json.dumps({"request": _request(request).model_dump(mode="json"), "ref": ref})
    return Call(
        method="POST", path="/v1/explain", body=body, read=ScoreExplanation.model_validate_json, repeatable=True
    )


def why_not(ref: str, *, principal: Principal) -> Call[VisibilityReport]:
    """Return the call of `why_not`."""
    body = json.dumps({"ref": ref, "principal": principal.model_dump(mode="json")})
    return Call(
        method="POST", path="/v1/why-not", body=body, read=VisibilityReport.model_validate_json, repeatable=True
    )


def tools() -> Call[tuple[ToolSummary, ...]]:
    """Return the call of `tools`."""
    return Call(method="GET", path="/v1/tools", read=_SUMMARIES.validate_json, repeatable=True)


def tool(ref: str) -> Call[ToolContract]:
    """Return the call of `tool`."""
    return Call(method="GET", path=f"/v1/tools/{quote(ref)}", read=ToolContract.model_validate_json, repeatable=True)


def export(
    *,
    format: DefinitionFormat,
    tools: Sequence[str],
    detail: Detail,
    strict: bool,
    defer_loading: bool,
    namespaces: bool,
) -> Call[ExportedTools]:
    """Return the call of `export`."""
    flags = {"strict": strict, "defer_loading": defer_loading, "namespaces": namespaces}
    query = [
        ("format", format.value),
        ("detail", detail.value),
        *((name, "true") for name, wanted in flags.items() if wanted),
        *(("tool", tool) for tool in tools),
    ]
    return Call(
        method="GET",
        path=f"/v1/export?{urlencode(query)}",
        read=ExportedTools.model_validate_json,
        repeatable=True,
    )


def prepare(request: PrepareRequest) -> Call[Prepared]:
    """Return the call of `prepare`."""
    body = request.model_dump_json()
    return Call(method="POST", path="/v1/prepare", body=body, read=Prepared.model_validate_json, repeatable=True)


def lint(options: LintOptions | None) -> Call[LintReport]:
    """Return the call of `lint`; the severities of the options are set on what comes back."""
    from toolsearch.contracts.lint.check import LintOptions

    chosen = options or LintOptions()
    query = urlencode([*(("select", name) for name in chosen.select), *(("ignore", name) for name in chosen.ignore)])

    def read(answer: bytes) -> LintReport:
        from toolsearch.contracts.lint.finding import LintReport

        report = LintReport.model_validate_json(answer)
        severities = {rule.id: severity for rule, severity in chosen.rules()}
        findings = (one.model_copy(update={"severity": severities[one.rule]}) for one in report.findings)
        return report.model_copy(update={"findings": tuple(findings)})

    return Call(method="GET", path=f"/v1/lint{'?' if query else ''}{query}", read=read, repeatable=True)


def decision(trace_id: str) -> Call[dict[str, Any]]:
    """Return the call of `decision`."""
    return Call(
        method="GET", path=f"/v1/decisions/{quote(trace_id, safe='')}", read=_RECORD.validate_json, repeatable=True
    )


def record_outcome(outcome: Outcome) -> Call[None]:
    """Return the call of `record_outcome`; never repeated, as every report counts."""
    return Call(method="POST", path="/v1/outcomes", body=outcome.model_dump_json(), read=_nothing)


def open_session(session_id: str | None) -> Call[SessionList]:
    """Return the call of `sessions.open`; repeatable where it names the session."""
    return Call(
        method="POST",
        path="/v1/sessions",
        body=json.dumps({"session": session_id}),
        read=SessionList.model_validate_json,
        repeatable=session_id is not None,
    )


def get_session(session_id: str) -> Call[SessionList]:
    """Return the call of `sessions.get`."""
    return Call(method="GET", path=_session(session_id), read=SessionList.model_validate_json, repeatable=True)


def refresh_session(session_id: str, refs: Sequence[str], *, detail: Detail | None) -> Call[SessionRefresh]:
    """Return the call of `sessions.refresh`; never repeated, as the second answer would name no change."""
    return Call(
        method="POST",
        path=f"{_session(session_id)}/refresh",
        body=json.dumps({"refs": list(refs), "detail": detail}),
        read=SessionRefresh.model_validate_json,
    )


def end_session(session_id: str) -> Call[None]:
    """Return the call of `sessions.end`."""
    return Call(method="DELETE", path=_session(session_id), read=_nothing)


def put_tools(contracts: Iterable[ToolContract], *, others: str, reason: str) -> Call[ChangeReport]:
    """Return the call of `add` (`others="keep"`) or `replace_all` (`others="remove"`)."""
    body = "[" + ",".join(contract.canonical_json for contract in contracts) + "]"
    path = f"/v1/tools?{urlencode({'others': others, 'reason': reason})}"
    return Call(method="PUT", path=path, body=body, read=_changes)


def remove(ref: str, *, reason: str) -> Call[ChangeReport]:
    """Return the call of `remove`, for one tool."""
    return Call(method="DELETE", path=f"/v1/tools/{quote(ref)}?{urlencode({'reason': reason})}", read=_changes)


def set_rules(rules: RuleBook) -> Call[None]:
    """Return the call of `set_rules`."""
    return Call(method="PUT", path="/v1/rules", body=rules.model_dump_json(), read=_nothing)


def learn(requests: Iterable[PastRequest]) -> Call[LearnReport]:
    """Return the call of `learn`."""
    body = "[" + ",".join(request.model_dump_json() for request in requests) + "]"
    return Call(method="POST", path="/v1/learn", body=body, read=_learnt)


def forget(subject: str, *, tenant: str | None) -> Call[int]:
    """Return the call of `forget`."""
    body = json.dumps({"subject": subject, "tenant": tenant})
    return Call(method="POST", path="/v1/forget", body=body, read=lambda answer: int(json.loads(answer)["forgotten"]))


def _request(request: SearchRequest | str) -> SearchRequest:
    return SearchRequest(text=request) if isinstance(request, str) else request


def _session(session_id: str) -> str:
    return f"/v1/sessions/{quote(session_id, safe='')}"


def _nothing(answer: bytes) -> None:
    """Read the answer of a verb that returns nothing."""


def _changes(answer: bytes) -> ChangeReport:
    from toolsearch.engine.writer import ChangeReport  # here: it brings the index with it, which a search does not need

    return TypeAdapter(ChangeReport).validate_json(answer)


def _learnt(answer: bytes) -> LearnReport:
    from toolsearch.engine.writer import LearnReport

    return TypeAdapter(LearnReport).validate_json(answer)
