"""A write is made once: claimed, noted before it is sent, noted again when it is known what became of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from toolsearch.calls.gateway.call import CallError
from toolsearch.calls.gateway.gate import Admitted, Refused
from toolsearch.calls.gateway.writes import State, WriteLog
from toolsearch.model.errors import IndexStateError
from toolsearch.model.request import Principal
from toolsearch.store.writes import WriteRow

_LOG = logging.getLogger("toolsearch.gateway")
_USED = CallError(
    code="confirmation_used",
    message="the write was not made: this confirmation was used for a write before",
    hint="One confirmation is good for one write. If another one is meant, call without it and confirm again.",
    layer="precondition",
)


class WriteOnce:
    """Keeps the log of writes."""

    def __init__(self, log: WriteLog, *, remember_s: float, clock: Callable[[], datetime]) -> None:
        """Note writes in a log, each for so many seconds."""
        self._log, self._remembered, self._clock = log, timedelta(seconds=remember_s), clock
        self._in_flight: set[tuple[str, str | None, str]] = set()

    @contextmanager
    def claimed(self, admitted: Admitted) -> Iterator[None]:
        """Hold the key of a write while it is being made.

        Raises:
            Refused: If it is being made already.
        """
        if admitted.place in self._in_flight:
            text = "the same write is being made at this moment"
            error = CallError(code="in_progress", message=text, retryable=True, hint="Wait for its answer.")
            raise Refused(error, contract=admitted.contract, checked=admitted.checked)
        self._in_flight.add(admitted.place)
        try:
            yield
        finally:
            self._in_flight.discard(admitted.place)

    async def earlier(self, key: str, *, principal: Principal) -> WriteRow | None:
        """Return the write of a key that was sent, as far as it is remembered; None where none was, or it failed."""
        row = await asyncio.to_thread(self._log.write, key, principal=principal)
        fresh = row is not None and row.state != "not_done" and self._clock() - row.at <= self._remembered
        return row if fresh else None

    async def sending(self, admitted: Admitted) -> None:
        """Use up the confirmation and note that the write is about to be sent.

        Raises:
            Refused: If the confirmation was used before; or if nothing can be noted: then nobody would know of the
                write after a crash, so it is not sent.
        """
        try:
            fresh = await asyncio.to_thread(
                self._log.spend, admitted.evidence, expires=admitted.expires, now=self._clock()
            )
            if not fresh:
                raise Refused(_USED, contract=admitted.contract, checked=admitted.checked)
            await self._note(admitted, "sent")
        except IndexStateError as error:
            _LOG.error("a write was not sent, as it could not be noted: %s", error)
            text = "the write was not made: it could not be noted"
            told = CallError(code="not_noted", message=text, hint="Tell the user: only the operator can mend this.")
            raise Refused(told, contract=admitted.contract, checked=admitted.checked) from None

    async def ended(self, admitted: Admitted, state: State, *, answer: str = "", sent: bool = True) -> None:
        """Note what became of a write; where that fails, it stays `sent`, of which nobody knows the outcome.

        Args:
            admitted: The write.
            state: What became of it.
            answer: What was answered, as JSON.
            sent: Whether anything went out; if not, its confirmation can be used again.
        """
        try:
            if not sent:
                await asyncio.to_thread(self._log.restore, admitted.evidence)
            await self._note(admitted, state, answer=answer)
        except IndexStateError as error:
            _LOG.error("the outcome of a write could not be noted: %s", error)

    async def _note(self, admitted: Admitted, state: State, *, answer: str = "") -> None:
        row = WriteRow(
            key=admitted.key or "",
            ref=str(admitted.contract.ref),
            evidence=admitted.evidence,
            state=state,
            at=self._clock(),
            answer=answer,
            call=admitted.digest,
        )
        await asyncio.to_thread(self._log.note_write, row, principal=admitted.principal, remembered=self._remembered)
