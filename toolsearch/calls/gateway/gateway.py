"""Gateway: forward a call, after the gate. The way of a call stands in `Gate.admit` and `Gateway._send`."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from toolsearch import ToolIndex
from toolsearch.calls.gateway.answer import CLOSING, Meaning, meaning_of, unknown_outcome
from toolsearch.calls.gateway.call import CallError, CallMeta, CallResult, CallStatus, Progress, ToolCall
from toolsearch.calls.gateway.check import Checked
from toolsearch.calls.gateway.confirm import Confirmations, digest
from toolsearch.calls.gateway.envelope import flags_of, without_blobs
from toolsearch.calls.gateway.forward import Forwarder
from toolsearch.calls.gateway.gate import Admitted, Gate, Refused, is_write
from toolsearch.calls.gateway.limits import GatewayLimits
from toolsearch.calls.gateway.outcomes import Outcomes, outcome_of
from toolsearch.calls.gateway.pages import SCHEME, Page, Results, page
from toolsearch.calls.gateway.pool import Pool
from toolsearch.calls.gateway.repeats import Repeats
from toolsearch.calls.gateway.write_once import WriteOnce
from toolsearch.calls.gateway.writes import State, WriteLog, is_idempotent, with_key
from toolsearch.calls.upstream.server import UpstreamServer
from toolsearch.model.contract import ToolContract
from toolsearch.model.errors import MissingExtraError, RequestError
from toolsearch.model.request import Outcome, OutcomeStatus, Principal
from toolsearch.store.writes import WriteRow

if TYPE_CHECKING:
    from toolsearch.calls.upstream.connect import Connector

_LOG = logging.getLogger("toolsearch.gateway")
_SWEEP_S = 15.0
_STATES: Mapping[str, State] = {"committed": "done", "unknown": "unknown"}


class Gateway:
    """Forwards calls of visible tools to the MCP servers that they came from. For one event loop.

    `async with Gateway(index, servers) as gateway: await gateway.call(ToolCall(...), principal=...)`
    """

    def __init__(
        self,
        index: ToolIndex,
        servers: Mapping[str, UpstreamServer],
        *,
        limits: GatewayLimits | None = None,
        connector: Connector | None = None,
        writes: WriteLog | None = None,
        secret: bytes | None = None,
        seed: int | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Prepare; nothing is started before the first call.

        Args:
            index: Who sees which tools.
            servers: How servers are reached, by the name that their contracts have. Nothing else is ever reached.
            limits: How long, how many, how much.
            connector: How to connect; None = `toolsearch.calls.upstream.connect.connect`.
            writes: Where writes are noted; None = in the index, durably.
            secret: Signs confirmations, at least 32 bytes; None = a random one, so that they end with the process.
            seed: Of the jitter between tries to start a server.
            clock: The time.

        Raises:
            MissingExtraError: If the package mcp is not installed.
            RequestError: If the secret is too short.
        """
        if secret is not None and len(secret) < 32:
            raise RequestError("the secret of the gateway has less than 32 bytes", field="secret")
        self._index, self._limits, self._clock = index, limits or GatewayLimits(), clock
        self._pool = Pool(
            servers, connector=connector or self._connector(self._limits.connect_s), limits=self._limits, seed=seed
        )
        self._forwarder = Forwarder(self._pool, calls=self._limits.calls)
        self._once = WriteOnce(writes or index, remember_s=self._limits.remember_s, clock=clock)
        self._gate = Gate(
            index=index,
            servers=self._pool.servers,
            confirmations=Confirmations(
                secret or secrets.token_bytes(32), good_s=self._limits.confirm_s, clock=self._seconds
            ),
            clock=clock,
        )
        self._results = Results(limits=self._limits)
        self._repeats = Repeats()
        self._outcomes = Outcomes(index)
        self._sweeper: asyncio.Task[None] | None = None

    @property
    def servers(self) -> frozenset[str]:
        """Return the names of the servers that calls can be forwarded to."""
        return self._pool.servers

    async def call(self, call: ToolCall, *, principal: Principal, progress: Progress | None = None) -> CallResult:
        """Return what became of a call. Whatever goes wrong with it is told in the result.

        Args:
            call: The call.
            principal: On whose behalf; what it sees now counts, and its own connections are used.
            progress: Called with the progress that the server tells of.

        Raises:
            asyncio.CancelledError: If the caller is cancelled; the server is told.
        """
        started = perf_counter()
        try:
            admitted = self._gate.admit(call, principal=principal)
            result = await self._send(admitted, progress=progress)
        except Refused as refused:
            result = self._refusal(await self._warned(refused, principal=principal), call)
        meta = result.meta.model_copy(update={"latency_ms": round(1000 * (perf_counter() - started), 3)})
        result = self._concluded(result.model_copy(update={"meta": meta}), call, principal=principal)
        await self._record(result, principal=principal)
        return result

    async def more(self, cursor: str, *, principal: Principal) -> CallResult:
        """Return the next part of a truncated result: by its `cursor`, or by its `resource` from the start.

        Args:
            cursor: As a result of the same principal gave it.
            principal: Whose result it is.
        """
        number, _, start = cursor.removeprefix(SCHEME).partition(".")
        found = self._results.find(number, principal=principal)
        at = int(start) if start.isdecimal() and len(start) <= 12 else 0
        if found is None or (start and not start.isdecimal()):
            error = CallError(
                code="cursor_unknown",
                message="there is no such result any more",
                hint="Call the tool again, and ask for less.",
            )
            return CallResult(ok=False, error=error)
        whole, ref, tokens = found  # under another budget the cursor would count in other units
        part = page(without_blobs(whole)[0], start=at, tokens=tokens)
        meta = CallMeta(ref=ref, flags=flags_of(part.data), **_place(part, number))
        return CallResult(ok=True, data=part.data, meta=meta)

    def whole(self, resource: str, *, principal: Principal) -> Any:
        """Return all of a kept result, pictures and files included; None if it is not kept any more.

        Args:
            resource: As a result of the same principal gave it.
            principal: Whose result it is.
        """
        found = self._results.find(resource.removeprefix(SCHEME), principal=principal)
        return None if found is None else found[0]

    def approve(self, confirmation: str) -> str:
        """Turn the confirmation of a refused write into an approval, once a person agreed to the call.

        For the harness: it must not be within reach of a model.

        Raises:
            RequestError: If it is no confirmation of this gateway, or expired.
        """
        return self._gate.confirmations.approve(confirmation)

    async def settled(self) -> None:
        """Wait until the outcomes of all calls that ended are recorded."""
        await self._outcomes.settled()

    async def __aenter__(self) -> Self:
        self._outcomes.start()
        self._sweeper = asyncio.create_task(self._sweep(), name="gateway sweep")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._sweeper is not None:
            self._sweeper.cancel()
            with suppress(asyncio.CancelledError):
                await self._sweeper
        await self._pool.close()
        await self._outcomes.stop()

    async def _send(self, admitted: Admitted, *, progress: Progress | None) -> CallResult:
        """Forward an admitted call, or answer a write that was sent before."""
        if admitted.key is None:
            return await self._forwarded(admitted, admitted.checked.arguments, progress=progress)
        with self._once.claimed(admitted):
            earlier = await self._once.earlier(admitted.key, principal=admitted.principal)
            if earlier is not None and earlier.call != admitted.digest:
                raise Refused(_other_call(), contract=admitted.contract, checked=admitted.checked)
            if earlier is not None and (answer := self._replayed(earlier, admitted)) is not None:
                return answer
            return await self._written(admitted, admitted.key, progress=progress)

    async def _written(self, admitted: Admitted, key: str, *, progress: Progress | None) -> CallResult:
        """Send a write, and note before and after what is known of it."""
        await self._once.sending(admitted)
        state: State = "unknown"
        answer, sent = "", True
        try:
            arguments = with_key(admitted.contract, admitted.checked.arguments, key)
            result = await self._forwarded(admitted, arguments, progress=progress)
            state = _STATES.get(result.meta.status.side_effect, "not_done")
            answer = result.model_dump_json() if state == "done" else ""
            sent = result.meta.status.side_effect != "not_started"
            return result
        except asyncio.CancelledError:
            await self._record_unknown(admitted)
            raise
        finally:
            await self._once.ended(admitted, state, answer=answer, sent=sent)

    def _replayed(self, earlier: WriteRow, admitted: Admitted) -> CallResult | None:
        """Return the answer that a write has already, because it was sent before; None where it is to be sent."""
        same = earlier.evidence == admitted.evidence
        if earlier.state == "done" and (same or admitted.call.idempotency_key or is_idempotent(admitted.contract)):
            result = CallResult.model_validate_json(earlier.answer)
            return result.model_copy(update={"meta": result.meta.model_copy(update={"replayed": True})})
        if earlier.state != "done" and same:
            reads = self._gate.reads_beside(admitted.contract, principal=admitted.principal)
            status = CallStatus(business="unknown", side_effect="unknown")
            meta = self._meta(admitted.call, admitted.contract, admitted.checked, status=status)
            meta = meta.model_copy(update={"replayed": True, "idempotency_key": admitted.key})
            error = unknown_outcome("it was sent before, and no answer came", reads)
            return CallResult(ok=False, error=error, meta=meta)
        return None

    async def _warned(self, refused: Refused, *, principal: Principal) -> Refused:
        """Return the refusal of an unconfirmed write; it tells of an equal one of which nobody knows the outcome."""
        if refused.key is None or refused.contract is None:
            return refused
        earlier = await self._once.earlier(refused.key, principal=principal)
        if earlier is None or earlier.state == "done":
            return refused
        reads = self._gate.reads_beside(refused.contract, principal=principal)
        told = f"{refused.error.message}; the same write was sent before, and nobody knows whether it was done"
        hint = unknown_outcome("", reads).hint
        error = refused.error.model_copy(update={"message": told, "hint": hint, "check": reads})
        return Refused(error, contract=refused.contract, checked=refused.checked)

    async def _forwarded(
        self, admitted: Admitted, arguments: Mapping[str, Any], *, progress: Progress | None
    ) -> CallResult:
        contract, call = admitted.contract, admitted.call
        reply = await self._forwarder.forward(
            contract,
            arguments,
            principal=admitted.principal,
            timeout_s=self._timeout_s(call, contract),
            repeatable=admitted.key is None,
            progress=progress,
            meta={"toolsearch/idempotency_key": admitted.key} if admitted.key else None,
        )
        meaning = meaning_of(
            reply,
            contract=contract,
            write=admitted.key is not None,
            max_bytes=self._limits.max_result_bytes,
            reads=lambda: self._gate.reads_beside(contract, principal=admitted.principal),
        )
        meta = self._meta(call, contract, admitted.checked, status=meaning.status).model_copy(
            update={
                "upstream_ms": round(reply.ms, 3),
                "attempts": reply.attempts,
                "idempotency_key": admitted.key,
                "empty": meaning.empty_reason is not None,
                "empty_reason": meaning.empty_reason,
            }
        )
        return self._cut(
            meaning, meta, call, principal=admitted.principal, size=reply.answer.size if reply.answer else 0
        )

    def _cut(self, meaning: Meaning, meta: CallMeta, call: ToolCall, *, principal: Principal, size: int) -> CallResult:
        """Return the envelope, with no more data than the budget allows; the rest is kept."""
        if meaning.data is None:
            return CallResult(ok=meaning.error is None, meta=meta, error=meaning.error)
        slim, has_blobs = without_blobs(meaning.data)
        tokens = min(call.result_tokens or self._limits.result_tokens, self._limits.result_tokens)
        part = page(slim, start=0, tokens=tokens)
        if has_blobs or not part.last:
            number = self._results.keep(meaning.data, size=size, ref=meta.ref or "", tokens=tokens, principal=principal)
            status = meta.status
            if status.data == "present":
                status = status.model_copy(update={"data": "truncated"})
            meta = meta.model_copy(update={"status": status, **_place(part, number)})
        meta = meta.model_copy(update={"flags": flags_of(part.data)})
        return CallResult(ok=meaning.error is None, data=part.data, meta=meta, error=meaning.error)

    def _concluded(self, result: CallResult, call: ToolCall, *, principal: Principal) -> CallResult:
        """Return the result, or a closing instruction where the conversation turns in circles."""
        code = None if result.error is None else (result.error.code, result.error.field)
        times = self._repeats.note(
            digest([result.meta.ref or call.name_or_ref, call.arguments]),
            digest([result.ok, result.data, code]),
            principal=principal,
            conversation=call.session or call.trace_id,
        )
        if times < self._limits.repeats or result.meta.replayed:
            return result
        told = CLOSING.format(times=times)
        error = result.error or CallError(code="repeated_call", message=told, layer="result")
        update = {"code": "repeated_call", "message": f"{told} {error.message}" if result.error else told}
        closing = error.model_copy(update={**update, "retryable": False, "hint": told})
        return result.model_copy(update={"ok": False, "error": closing})

    async def _record(self, result: CallResult, *, principal: Principal) -> None:
        status, meta = outcome_of(result), result.meta
        _LOG.info(
            "call of %s: %s, %.0f ms", meta.ref, "ok" if result.error is None else result.error.code, meta.latency_ms
        )
        if status is not None and meta.ref is not None:
            latency = None if meta.upstream_ms is None else min(meta.upstream_ms, 86_400_000.0)
            outcome = Outcome(ref=meta.ref, status=status, trace_id=meta.trace_id, latency_ms=latency)
            await self._outcomes.put(outcome, principal=principal)

    async def _record_unknown(self, admitted: Admitted) -> None:
        outcome = Outcome(ref=str(admitted.contract.ref), status=OutcomeStatus.UNKNOWN, trace_id=admitted.call.trace_id)
        await self._outcomes.put(outcome, principal=admitted.principal)

    def _refusal(self, refused: Refused, call: ToolCall) -> CallResult:
        write = refused.contract is not None and is_write(refused.contract)
        status = CallStatus(side_effect="not_started" if write else "none")
        meta = self._meta(call, refused.contract, refused.checked, status=status)
        return CallResult(ok=False, meta=meta, error=refused.error)

    def _meta(
        self, call: ToolCall, contract: ToolContract | None, checked: Checked | None, *, status: CallStatus
    ) -> CallMeta:
        return CallMeta(
            status=status,
            ref=None if contract is None else str(contract.ref),
            version=None if contract is None else contract.identity.version,
            fingerprint=None if contract is None else contract.fingerprint,
            trace_id=call.trace_id,
            repairs=() if checked is None else checked.repairs,
            unchecked=() if checked is None else checked.unchecked,
        )

    def _timeout_s(self, call: ToolCall, contract: ToolContract) -> float:
        declared = contract.execution.timeout_ms
        own = self._limits.call_s if declared is None else declared / 1000
        return min(own, self._limits.longest_s, call.timeout_s or own)

    def _seconds(self) -> float:
        return self._clock().timestamp()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_S)
            self._results.sweep()
            await self._pool.close_idle()

    @staticmethod
    def _connector(timeout_s: float) -> Connector:
        try:
            from toolsearch.calls.upstream.connect import connect
        except ImportError:
            raise MissingExtraError(package="mcp", extra="mcp") from None
        return partial(connect, timeout_s=timeout_s)


def _other_call() -> CallError:
    return CallError(
        code="idempotency_conflict",
        message="the write was not made: its idempotency key stands for another call, of another tool or with other "
        "arguments",
        hint="Choose a new idempotency key for a new write; repeat a write only unchanged.",
        field="idempotency_key",
        layer="precondition",
    )


def _place(part: Page, number: str | None) -> dict[str, Any]:
    return {
        "truncated": not part.last,
        "total": part.total,
        "returned": part.stop - part.start,
        "cursor": None if number is None or part.last else f"{number}.{part.stop}",
        "resource": None if number is None else f"{SCHEME}{number}",
    }
