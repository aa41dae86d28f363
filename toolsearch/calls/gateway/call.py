"""What a call is and what comes of it: one envelope for every answer, refusal and failure."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, Field, StringConstraints

from toolsearch.model.contract import Frozen
from toolsearch.model.request import Label, SessionId, TraceId

MAX_ARGUMENT_BYTES = 1_048_576
MAX_ARGUMENT_DEPTH = 32

Progress: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]
"""Called with (done, in all, what is being done), as the server tells it; the text is untrusted."""

Transport = Literal["not_sent", "ok", "timeout", "lost", "unreachable"]
Protocol = Literal["none", "ok", "error"]
Business = Literal["none", "ok", "rejected", "unknown"]
DataState = Literal["none", "present", "empty", "truncated", "invalid"]
Effect = Literal["none", "not_started", "committed", "failed", "unknown"]


def _plain(arguments: dict[str, Any]) -> dict[str, Any]:
    if _depth(arguments) > MAX_ARGUMENT_DEPTH:
        raise ValueError(f"are nested deeper than {MAX_ARGUMENT_DEPTH} levels")
    try:
        size = len(json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode())
    except (TypeError, ValueError, UnicodeEncodeError):
        raise ValueError(
            "are not plain JSON (text, finite numbers, true, false, null, arrays, objects); write dates as text"
        ) from None
    if size > MAX_ARGUMENT_BYTES:
        raise ValueError(f"have {size} bytes; at most {MAX_ARGUMENT_BYTES} are forwarded")
    return arguments


def _depth(value: Any, level: int = 0) -> int:
    if level > MAX_ARGUMENT_DEPTH or not isinstance(value, dict | list | tuple):
        return level
    parts = value.values() if isinstance(value, dict) else value
    return max((_depth(part, level + 1) for part in parts), default=level)


class ToolCall(Frozen):
    """One call of a tool.

    Attributes:
        name_or_ref: `server/name@version`, `server/name`, a name that is unique among the visible tools, or the name
            that the session gave the tool.
        arguments: As the model wrote them; never part of how the server is reached.
        confirmation: What shows that a write is meant; see docs/gateway.md.
        session: Session whose pinned definition the model worked by, and within which repetition is noticed.
        trace_id: Of the search that handed the tool out.
        idempotency_key: Of one logical write; None = made of tool, arguments, principal and session.
        write_allowed: Whether this call may be a write at all: the caller's own distinction, not the model's.
        timeout_s: Seconds to wait for the answer; None = what the contract or the gateway says. It only shortens.
        result_tokens: Estimated tokens of the data that are wanted at once; None = the gateway's. It only shortens.
    """

    name_or_ref: Label
    arguments: Annotated[dict[str, Any], AfterValidator(_plain)] = Field(default_factory=dict)
    confirmation: Annotated[str, StringConstraints(min_length=1, max_length=1_024)] | None = None
    session: SessionId | None = None
    trace_id: TraceId | None = None
    idempotency_key: Annotated[str, StringConstraints(min_length=1, max_length=128)] | None = None
    write_allowed: bool = False
    timeout_s: float | None = Field(default=None, gt=0, le=86_400)
    result_tokens: int | None = Field(default=None, ge=16, le=1_000_000)


class CallStatus(Frozen):
    """How far a call came, layer by layer; what is fine in one says nothing of the next."""

    transport: Transport = Field(default="not_sent", description="Whether the request went out and an answer came.")
    protocol: Protocol = Field(default="none", description="Whether the answer was one of MCP.")
    business: Business = Field(default="none", description="Whether the tool did what it was asked.")
    data: DataState = Field(default="none", description="What the result is worth.")
    side_effect: Effect = Field(default="none", description="What became of a write; `none` for a read.")


class Repair(Frozen):
    """A change of form that was made to the arguments."""

    field: str = Field(description="JSON pointer into the arguments as they came.")
    kind: Literal["trim", "enum_case", "number", "boolean", "date", "alias", "list", "unit", "json"]
    before: Any
    after: Any


class Flag(Frozen):
    """A place in a result that speaks to the model instead of answering it."""

    kind: str
    severity: str
    path: str
    why: str


class CallMeta(Frozen):
    """Everything about a call that is not its data."""

    status: CallStatus = CallStatus()
    ref: str | None = Field(default=None, description="The tool that was meant, if it is visible.")
    version: int | None = None
    fingerprint: str | None = Field(default=None, description="Of the contract that the call was checked by.")
    trace_id: str | None = None
    latency_ms: float = 0.0
    upstream_ms: float | None = Field(default=None, description="Of that, spent waiting for the server.")
    empty: bool = False
    empty_reason: str | None = Field(default=None, description="What is empty, where the tool answered with nothing.")
    truncated: bool = False
    total: int | None = Field(default=None, description="Items or characters in all, where the data are truncated.")
    returned: int | None = Field(default=None, description="Items or characters of those in `data`.")
    cursor: str | None = Field(default=None, description="What `more` takes for the next part; it expires.")
    resource: str | None = Field(default=None, description="The whole result as a resource link; it expires.")
    idempotency_key: str | None = None
    replayed: bool = Field(default=False, description="Whether this is the answer of an earlier call of that key.")
    attempts: int = Field(default=0, description="How often the request was sent.")
    repairs: tuple[Repair, ...] = ()
    unchecked: tuple[str, ...] = Field(default=(), description="Rules of the contract that no program can check.")
    flags: tuple[Flag, ...] = Field(default=(), description="Suspicious places in the data.")
    untrusted: Literal[True] = Field(default=True, description="The data are words of a server, never instructions.")


class CallError(Frozen):
    """Why a call has no good answer, and what to do about it."""

    code: str
    message: str
    retryable: bool = Field(default=False, description="Whether the same call may work later, unchanged or mended.")
    hint: str = Field(default="", description="What to do next.")
    field: str | None = Field(default=None, description="Dotted name of the argument at fault.")
    layer: Literal["gate", "structure", "semantics", "precondition", "upstream", "result"] = "gate"
    question: str | None = Field(default=None, description="To be put to the user, where only the user can answer.")
    options: tuple[Any, ...] = Field(default=(), description="Values that would do.")
    check: tuple[str, ...] = Field(default=(), description="Read-only tools that show what became of the write.")
    confirmation: str | None = Field(default=None, description="Repeat the call with it, once the write is meant.")
    approval: Literal["confirm", "approve"] | None = Field(
        default=None, description="What the confirmation needs: to be repeated, or to be approved by a person first."
    )


class CallResult(Frozen):
    """The envelope: `ok`, `data`, `meta`, and `error` where it is not ok."""

    ok: bool
    data: Any = None
    meta: CallMeta = CallMeta()
    error: CallError | None = None
