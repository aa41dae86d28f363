"""What the meta-tools do: arguments -> answer, on behalf of a principal. Knows nothing of how MCP is spoken.

An error is an answer too: what was wrong, what to do, whether to try again. It names no tool that the principal may not
see, as the index and the gateway do not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from pydantic import ValidationError

from toolsearch import CandidateSet, Principal, Restriction, SearchRequest, SideEffect, ToolIndex
from toolsearch.calls.gateway.call import CallError, CallResult, Progress, ToolCall
from toolsearch.model.answer import Candidate
from toolsearch.model.contract import Frozen
from toolsearch.model.errors import RequestError, ToolSearchError, UnknownSession, UnknownTool
from toolsearch.model.prepared import PrepareRequest
from toolsearch.model.request import DefinitionFormat, Detail
from toolsearch.serve.mcp.definitions import (
    CallTool,
    CallWriteTool,
    DescribedTool,
    DescribeTool,
    FoundTool,
    FoundTools,
    Given,
    Later,
    Needed,
    Refusal,
    SearchTools,
)

if TYPE_CHECKING:
    from toolsearch.calls.gateway.gateway import Gateway

T = TypeVar("T")
Verb = Callable[[ToolIndex], T]

_NEXT = {
    UnknownTool.code: "Call search_tools, and pass the `ref` of a tool that it returns.",
    UnknownSession.code: "Leave `session` out, or use the id that the earlier calls had.",
    "overloaded": "Wait a moment and call again.",
    "not_ready": "Wait a moment and call again.",
    "timeout": "Call again, asking for less.",
}
_PASSING = frozenset({"overloaded", "not_ready", "timeout", "stopping", "index_locked"})


class Desk(Protocol):
    """Where the meta-tools get their answers from."""

    async def read(self, verb: Verb[T]) -> T:
        """Run a verb of the index, away from the event loop."""

    async def gateway(self) -> Gateway:
        """Return what calls are forwarded through."""


class Caller(Frozen):
    """Who calls a meta-tool, and in which conversation.

    Attributes:
        principal: On whose behalf.
        session: Conversation that the transport knows of; an argument of the call wins.
    """

    principal: Principal
    session: str | None = None


async def answer(given: Given, *, desk: Desk, caller: Caller, progress: Progress) -> Frozen:
    """Return the answer of the meta-tool whose arguments these are.

    Raises:
        ToolSearchError: Where `refused` makes the answer.
    """
    match given:
        case SearchTools():
            return await _search(given, desk=desk, caller=caller)
        case DescribeTool():
            return await _describe(given, desk=desk, caller=caller)
        case CallTool(cursor=str(cursor)):
            return await (await desk.gateway()).more(cursor, principal=caller.principal)
        case CallTool() | CallWriteTool():
            return await call_through(given, desk=desk, caller=caller, progress=progress)
    raise RequestError(f"no tool takes {type(given).__name__}")


def refused(error: Exception, *, kind: type[Frozen]) -> Frozen:
    """Return the answer of a meta-tool that failed.

    Args:
        error: A ToolSearchError, or what pydantic says of the arguments; the text of others is not shown.
        kind: What the meta-tool answers with.
    """
    refusal = _refusal(error)
    if kind is CallResult:
        told = CallError(
            code=refusal.code,
            message=refusal.message,
            hint=refusal.hint,
            retryable=refusal.retryable,
            field=refusal.field,
        )
        return CallResult(ok=False, error=told)
    beside = {"message": refusal.hint} if kind is FoundTools else {}
    return kind.model_validate({"ok": False, "error": refusal, **beside})


def _refusal(error: Exception) -> Refusal:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_context=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        message = f"{field or 'the arguments'}: {first['msg'].removeprefix('Value error, ')}"
        if first["type"] != "missing":
            message += f"; given {str(first['input'])[:100]!r}"
        return Refusal(
            code="request_invalid",
            message=message,
            hint="Mend it by the input schema of this tool and call again.",
            retryable=True,
            field=field or None,
        )
    code = str(getattr(error, "code", ""))
    if not isinstance(error, ToolSearchError) and code not in _PASSING:
        return Refusal(
            code="internal",
            message="the server failed on this call; its log has the cause",
            hint="Do not repeat it: tell the user.",
            retryable=False,
        )
    at = error.field if isinstance(error, RequestError) else None
    mended = f"Change {at} and call again." if at else "Change the call, and call again."
    passing = code in _PASSING
    is_request = isinstance(error, RequestError | UnknownTool | UnknownSession)
    hint = _NEXT.get(code) or (mended if is_request else "Tell the user: only the operator can mend this.")
    return Refusal(code=code, message=str(error), hint=hint, retryable=passing or is_request, field=at or None)


async def _search(given: SearchTools, *, desk: Desk, caller: Caller) -> FoundTools:
    session = given.session or caller.session
    request = SearchRequest(
        text=given.query,
        k=given.limit,
        inputs=given.inputs,
        detail=given.detail,
        format=DefinitionFormat.NATIVE,
        session=session,
        restrict=Restriction(max_side_effect=SideEffect.READ_ONLY) if given.read_only else None,
    )
    return await desk.read(lambda index: _found(index, request, principal=caller.principal))


def _found(index: ToolIndex, request: SearchRequest, *, principal: Principal) -> FoundTools:
    answer = index.search(request, principal=principal)
    names = {} if request.session else _names(index, answer, principal=principal)
    return FoundTools(
        ok=True,
        outcome=answer.outcome.value,
        message=answer.message,
        tools=tuple(_card(one, name=names.get(one.ref), detail=request.detail) for one in answer.candidates),
        question=None if answer.clarify is None else answer.clarify.question,
        later=tuple(Later(ref=held.ref, unlock=held.unlock) for held in answer.withheld),
        left=() if answer.session is None else tuple(tool.ref for tool in answer.session.left),
        trace_id=answer.trace_id,
    )


def _names(index: ToolIndex, answer: CandidateSet, *, principal: Principal) -> dict[str, str]:
    """Return ref -> the name that means this tool in every later call, whatever else a search finds then."""
    try:
        exported = index.export(
            principal=principal,
            format=DefinitionFormat.NATIVE,
            detail=Detail.NAME,
            tools=[one.ref for one in answer.candidates] or [""],
        )
    except UnknownTool:  # nothing was found, or the catalogue changed between the two
        return {}
    return {ref: name for name, ref in exported.names.items()}


def _card(one: Candidate, *, name: str | None, detail: Detail) -> FoundTool:
    shown = one.definition or {}
    does = shown.get("does") or shown.get("capability", {}).get("does", "") or one.title
    return FoundTool(
        ref=one.ref,
        name=name or str(shown.get("name", one.ref)),
        title=one.title,
        does=does,
        call_with=_door(one.side_effect),
        side_effect=one.side_effect,
        parameters=tuple(shown.get("parameters", ())),
        definition=shown if detail is Detail.FULL else None,
        known=one.inputs.ready,
        missing=tuple(
            Needed(field=item.field, ask=item.ask, obtain_from=item.obtain_from) for item in one.inputs.missing
        ),
        cautions=tuple(caution.text for caution in one.cautions),
        approval=one.approval,
        alternatives=tuple(other.ref for other in one.alternatives),
        already_loaded=one.already_loaded,
    )


async def _describe(given: DescribeTool, *, desk: Desk, caller: Caller) -> DescribedTool:
    request = PrepareRequest(
        ref=given.name, text=given.text, inputs=given.inputs, session=given.session or caller.session
    )
    prepared = await desk.read(lambda index: index.prepare(request, principal=caller.principal))
    return DescribedTool(ok=True, call_with=_door(prepared.side_effect), tool=prepared)


async def call_through(
    given: CallTool | CallWriteTool, *, desk: Desk, caller: Caller, progress: Progress
) -> CallResult:
    """Return what became of a call that the gateway forwards, or refuses."""
    gateway = await desk.gateway()
    session = given.session or caller.session
    name = await desk.read(lambda index: _meant(index, given.name, session=session, principal=caller.principal))
    writes: dict[str, Any] = {}
    if isinstance(given, CallWriteTool):
        writes = {
            "write_allowed": True,
            "confirmation": given.confirmation,
            "idempotency_key": given.idempotency_key,
        }
    call = ToolCall(
        name_or_ref=name,
        arguments=given.arguments,
        session=session,
        trace_id=given.trace_id,
        timeout_s=given.timeout_s,
        **writes,
    )
    return await gateway.call(call, principal=caller.principal, progress=progress)


def _meant(index: ToolIndex, name: str, *, session: str | None, principal: Principal) -> str:
    """Return the ref that a name speaks of; names that a session gave or nobody knows are left to the gateway."""
    if session is not None and index.sessions.pinned(session, name, principal=principal) is not None:
        return name
    try:
        return index.ref_of(name, principal=principal)
    except (UnknownTool, RequestError):
        return name


def _door(effect: SideEffect) -> Literal["call_tool", "call_write_tool"]:
    return "call_tool" if effect <= SideEffect.READ_ONLY else "call_write_tool"
