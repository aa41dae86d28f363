"""What came back -> status and error of the envelope. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from toolsearch.calls.gateway.call import Business, CallError, CallStatus, DataState, Effect, Protocol, Transport
from toolsearch.calls.gateway.envelope import Told, told
from toolsearch.calls.gateway.forward import Reply
from toolsearch.model.contract import ToolContract

CLOSING = (
    "The same call was answered the same {times} times. Do not call it again: conclude from what is there, or say what "
    "is missing."
)
_RECONCILE = (
    "Do not repeat it. First find out what became of it{by}; only if it was not done, call again with a new "
    "confirmation."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """A reply, understood.

    Attributes:
        status: Layer by layer.
        data: What the tool said, whole; None where nothing usable came.
        empty_reason: What is empty, or None.
        error: Why it is no good answer, or None.
    """

    status: CallStatus
    data: Any = None
    empty_reason: str | None = None
    error: CallError | None = None


def meaning_of(
    reply: Reply, *, contract: ToolContract, write: bool, max_bytes: int, reads: Callable[[], tuple[str, ...]]
) -> Meaning:
    """Return what a reply means.

    Args:
        reply: What came back.
        contract: Of the tool.
        write: Whether the call was a write.
        max_bytes: Size beyond which a result is not taken.
        reads: Finds the tools that show what became of a write; asked only where nobody knows.
    """
    if reply.answer is None:
        return _without_answer(reply, write=write, reads=reads)
    if reply.answer.size > max_bytes:
        text = f"the result has {reply.answer.size} bytes; more than {max_bytes} are not taken"
        status = _answered("ok", "invalid", "committed" if write else "none")
        hint = "Ask for less: a narrower range, a filter, a page."
        return Meaning(status=status, error=CallError(code="result_too_large", message=text, hint=hint, layer="result"))
    said = told(
        reply.answer.content,
        reply.answer.structured,
        is_error=reply.answer.is_error,
        contract=contract,
        write=write,
    )
    if said.business == "rejected":
        return _rejected(said, write=write)
    if said.business == "unknown":
        status = _answered("unknown", said.state, "unknown")
        return Meaning(status=status, data=said.data, error=unknown_outcome(said.complaint, reads()))
    status = _answered("ok", said.state, "committed" if write else "none")
    return Meaning(status=status, data=said.data, empty_reason=said.empty_reason)


def unknown_outcome(message: str, reads: tuple[str, ...]) -> CallError:
    """Return the error of a write of which nobody knows whether it was done."""
    return CallError(
        code="outcome_unknown",
        message=f"nobody knows whether the write was done: {message}",
        hint=_RECONCILE.format(by=f", with {' or '.join(reads)}" if reads else ""),
        layer="upstream",
        check=reads,
    )


def _rejected(said: Told, *, write: bool) -> Meaning:
    error = CallError(
        code=said.code or "tool_error",
        message=said.complaint or "the tool says that it failed and does not say why",
        hint="Read what the tool says; call again only with something changed, else tell the user.",
        layer="result",
    )
    return Meaning(status=_answered("rejected", "none", "failed" if write else "none"), data=said.data, error=error)


def _answered(business: Business, data: DataState, effect: Effect) -> CallStatus:
    return CallStatus(transport="ok", protocol="ok", business=business, data=data, side_effect=effect)


def _without_answer(reply: Reply, *, write: bool, reads: Callable[[], tuple[str, ...]]) -> Meaning:
    failure = reply.failure
    if write and reply.sent:
        protocols: dict[str, Protocol] = {"error": "error", "invalid": "ok"}
        status = CallStatus(
            transport=failure if failure in ("timeout", "lost") else "ok",
            protocol=protocols.get(failure, "none"),
            business="unknown",
            data="invalid" if failure == "invalid" else "none",
            side_effect="unknown",
        )
        return Meaning(status=status, error=unknown_outcome(reply.message, reads()))
    effect: Effect = "not_started" if write else "none"
    transport, protocol, code, retryable, hint = _FAILURES[failure]
    if reply.retry_s:
        hint = f"Try again in {reply.retry_s:.1f} s. {hint}"
    status = CallStatus(
        transport=transport,
        protocol=protocol,
        business="rejected" if failure == "refused" else "none",
        data="invalid" if failure == "invalid" else "none",
        side_effect=effect,
    )
    error = CallError(
        code=code,
        message=reply.message,
        retryable=retryable,
        hint=hint,
        layer="gate" if failure in ("gone", "changed") else "upstream",
    )
    return Meaning(status=status, error=error)


_OTHERWISE = "If it stays so, use another tool or tell the user that it is not available."
_FAILURES: dict[str, tuple[Transport, Protocol, str, bool, str]] = {
    "unavailable": ("unreachable", "none", "upstream_unavailable", True, _OTHERWISE),
    "unreachable": ("unreachable", "none", "upstream_unavailable", True, _OTHERWISE),
    "gone": ("not_sent", "none", "tool_gone", False, "Search again: the tool is withdrawn."),
    "changed": (
        "not_sent",
        "none",
        "contract_changed",
        False,
        "Search again, or refresh the session, and work by the definition that is valid now.",
    ),
    "timeout": ("timeout", "none", "upstream_timeout", True, "Ask for less, or allow more time. " + _OTHERWISE),
    "lost": ("lost", "none", "upstream_lost", True, _OTHERWISE),
    "refused": ("ok", "error", "upstream_refused", False, "The server did not take the call; change the arguments."),
    "error": ("ok", "error", "upstream_error", False, _OTHERWISE),
    "invalid": ("ok", "ok", "result_invalid", False, "What came back cannot be used. " + _OTHERWISE),
}
