"""The way to the server: a line of the principal, the tool as the server has it now, the call, one retry for reads."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

from toolsearch.calls.gateway.call import Progress
from toolsearch.calls.gateway.listed import ListedTools
from toolsearch.calls.gateway.pool import Line, Pool, Unavailable
from toolsearch.model.contract import ToolContract
from toolsearch.model.errors import UpstreamError
from toolsearch.model.request import Principal

if TYPE_CHECKING:
    from toolsearch.calls.upstream.calling import Answer
    from toolsearch.calls.upstream.connect import Connection

Failure = Literal["", "unavailable", "gone", "changed", "timeout", "lost", "unreachable", "refused", "error", "invalid"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back, or why nothing did.

    Attributes:
        answer: Of the tool, or None.
        failure: Why there is none; "" where there is one.
        message: The same for people and models, without secrets.
        sent: Whether the server may have got the request.
        attempts: How often it was sent.
        ms: Milliseconds spent on it.
        retry_s: Seconds after which another try makes sense, where that is known.
    """

    answer: Answer | None = None
    failure: Failure = ""
    message: str = ""
    sent: bool = False
    attempts: int = 0
    ms: float = 0.0
    retry_s: float | None = None


class Forwarder:
    """Forwards calls over a pool."""

    def __init__(self, pool: Pool, *, calls: int) -> None:
        """Forward at most `calls` at the same time."""
        self._pool = pool
        self._places = asyncio.Semaphore(calls)

    async def forward(
        self,
        contract: ToolContract,
        arguments: Mapping[str, Any],
        *,
        principal: Principal,
        timeout_s: float,
        repeatable: bool,
        progress: Progress | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Reply:
        """Call a tool and return what came of it.

        Args:
            contract: The tool, as the call was checked.
            arguments: Sent as they are.
            principal: Whose connection is used.
            timeout_s: Seconds for the answer; opening a connection has its own.
            repeatable: Whether it may be sent again, once, where the connection broke.
            progress: Called with the progress that the server tells of.
            meta: Keys for `_meta` of the request.
        """
        started = perf_counter()
        attempts = 0
        async with self._places:
            while True:
                reply = await self._once(
                    contract, arguments, principal=principal, timeout_s=timeout_s, progress=progress, meta=meta
                )
                attempts += reply.attempts
                again = reply.failure == "unreachable" or (repeatable and reply.failure == "lost")
                if not again or attempts > 1:
                    break
        return Reply(
            answer=reply.answer,
            failure=reply.failure,
            message=reply.message,
            sent=reply.sent,
            attempts=attempts,
            ms=1000 * (perf_counter() - started),
            retry_s=reply.retry_s,
        )

    async def _once(
        self,
        contract: ToolContract,
        arguments: Mapping[str, Any],
        *,
        principal: Principal,
        timeout_s: float,
        progress: Progress | None,
        meta: Mapping[str, Any] | None,
    ) -> Reply:
        from toolsearch.calls.upstream.calling import CallFault, call_tool

        try:
            line = self._pool.line(contract.identity.server, principal=principal)
        except Unavailable as error:
            return Reply(failure="unavailable", message=str(error), retry_s=error.retry_s)
        line.calls += 1
        try:
            connection = await self._pool.connection(line)
            seen = await self._seen_over(line, connection)
            name = seen.name_of(contract)
            if name is None:
                return Reply(failure="gone", message=f"server {seen.server!r} does not offer it any more")
            if change := seen.changed(contract):
                return Reply(failure="changed", message=f"server {seen.server!r} changed it: {change}")
            answer = await call_tool(connection, name, arguments, timeout_s=timeout_s, progress=progress, meta=meta)
        except Unavailable as error:
            return Reply(failure="unavailable", message=str(error), retry_s=error.retry_s)
        except UpstreamError as error:  # its list cannot be read
            await self._pool.broken(line, connection, reason=str(error))
            return Reply(failure="unavailable", message=str(error))
        except CallFault as fault:
            if fault.breaks:
                await self._pool.broken(line, connection, reason=str(fault))
            return Reply(failure=fault.kind, message=str(fault), sent=fault.sent, attempts=1)
        finally:
            line.calls -= 1
            self._pool.touched(line)
        self._pool.worked(line)
        return Reply(answer=answer, sent=True, attempts=1)

    async def _seen_over(self, line: Line, connection: Connection) -> ListedTools:
        listing = await self._pool.listed(line, connection)
        if line.seen is None or line.seen.tools is not listing.tools:
            line.seen = ListedTools(listing.server, listing.tools)
        return line.seen
