"""Tools run by the gateway: the calls of a conversation go to the MCP servers that its tools came from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from pydantic import ValidationError

from toolsearch.adapters.calling import ToolSetResult
from toolsearch.calls.gateway import CallResult as Envelope
from toolsearch.calls.gateway import Gateway, ToolCall
from toolsearch.calls.gateway.outcomes import outcome_of
from toolsearch.model.request import OutcomeStatus, Principal

Confirm: TypeAlias = Callable[[ToolCall, Envelope], Awaitable[bool]]
"""Asks whoever answers for it whether a write is meant: `(call, refusal) -> yes`. The model is not to be asked."""


class GatewayRun:
    """A `run` for adapters whose calls are awaited: `aresults`, the Agents SDK, pydantic-ai.

    What the model reads is the gateway's envelope. The gateway reports the outcomes itself.
    """

    def __init__(
        self, gateway: Gateway, *, principal: Principal, writes: bool = False, confirm: Confirm | None = None
    ) -> None:
        """Forward calls.

        Args:
            gateway: An open one, of the index that the tools come from.
            principal: On whose behalf, as for the search.
            writes: Whether calls may write at all.
            confirm: Asked about each write that needs it; None = those are refused.
        """
        self._gateway, self._principal, self._writes, self._confirm = gateway, principal, writes, confirm

    async def forward(
        self, ref: str, arguments: dict[str, Any], *, session: str, trace_id: str | None
    ) -> ToolSetResult:
        """Return what became of a call."""
        try:
            call = ToolCall(
                name_or_ref=ref, arguments=arguments, session=session, trace_id=trace_id, write_allowed=self._writes
            )
        except ValidationError as error:
            text = f"the call was not made: {error.errors()[0]['msg'].removeprefix('Value error, ')}"
            return ToolSetResult(text=text, status=OutcomeStatus.REJECTED, ref=ref)
        result = await self._gateway.call(call, principal=self._principal)
        refused = result.error
        if refused is not None and refused.confirmation and self._confirm and await self._confirm(call, result):
            evidence = refused.confirmation
            if refused.approval == "approve":
                evidence = self._gateway.approve(evidence)
            confirmed = call.model_copy(update={"confirmation": evidence})
            result = await self._gateway.call(confirmed, principal=self._principal)
        return _read(ref, result)


def _read(ref: str, result: Envelope) -> ToolSetResult:
    """Return the envelope as the model reads it; evidence for a confirmation is not for the model."""
    hidden = {"error": {"confirmation"}} if result.error else None
    return ToolSetResult(
        text=result.model_dump_json(exclude=hidden, exclude_defaults=True),
        status=OutcomeStatus.SUCCESS if result.ok else outcome_of(result) or OutcomeStatus.REJECTED,
        ref=ref,
        value=result,
    )
