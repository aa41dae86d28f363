"""What became of forwarded calls, on its way to the index: in order, in the background, none lost at the end."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from toolsearch import ToolIndex
from toolsearch.calls.gateway.call import CallResult
from toolsearch.model.errors import ToolSearchError
from toolsearch.model.request import Outcome, OutcomeStatus, Principal

_LOG = logging.getLogger("toolsearch.gateway")
_WAITING = 10_000


class Outcomes:
    """Records outcomes without letting calls wait for the registry."""

    def __init__(self, index: ToolIndex) -> None:
        self._index = index
        self._waiting: asyncio.Queue[tuple[Outcome, Principal]] = asyncio.Queue(_WAITING)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to record."""
        self._task = asyncio.create_task(self._record(), name="gateway outcomes")

    async def put(self, outcome: Outcome, *, principal: Principal) -> None:
        """Take an outcome."""
        await self._waiting.put((outcome, principal))

    async def settled(self) -> None:
        """Wait until all that was taken is recorded."""
        await self._waiting.join()

    async def stop(self) -> None:
        """Record what waits, and end."""
        await self.settled()
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _record(self) -> None:
        while True:
            outcome, principal = await self._waiting.get()
            try:
                await asyncio.to_thread(self._index.record_outcome, outcome, principal=principal)
            except ToolSearchError as error:  # withdrawn meanwhile, or the registry is closed
                _LOG.info("outcome of %s not recorded: %s", outcome.ref, type(error).__name__)
            except Exception:  # noqa: BLE001 - one that fails must not end the recording of the others
                _LOG.exception("outcome of %s not recorded", outcome.ref)
            finally:
                self._waiting.task_done()


def outcome_of(result: CallResult) -> OutcomeStatus | None:
    """Return what a result says of the tool's reliability; None where the call says nothing of it."""
    if result.meta.replayed:
        return None
    status = result.meta.status
    if status.side_effect == "unknown":
        return OutcomeStatus.UNKNOWN
    if status.transport == "timeout":
        return OutcomeStatus.TIMEOUT
    if status.transport in ("lost", "unreachable"):
        return OutcomeStatus.TOOL_ERROR
    if status.transport == "not_sent":
        return None
    if status.business == "ok":
        return OutcomeStatus.SUCCESS
    # The server turned the arguments down: this says as much of the caller as of the tool.
    return OutcomeStatus.REJECTED if status.protocol == "error" else OutcomeStatus.TOOL_ERROR
