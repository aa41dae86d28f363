"""The gate: which calls may be forwarded. Seen, pinned, a read or a write, checked, confirmed."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from toolsearch import ToolIndex
from toolsearch.calls.gateway.call import CallError, ToolCall
from toolsearch.calls.gateway.check import Checked, check
from toolsearch.calls.gateway.confirm import Confirmations, Kind, digest, intent_of
from toolsearch.calls.gateway.writes import write_key
from toolsearch.model.contract import SideEffect, ToolContract
from toolsearch.model.errors import RequestError, UnknownTool
from toolsearch.model.request import Principal
from toolsearch.search.inputs.rules import approval_needed

_MOST_READS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """A call that passed the gate.

    Attributes:
        call: As it came.
        principal: On whose behalf.
        contract: Of the tool.
        checked: Its arguments, mended and checked.
        key: Idempotency key of a write; None for a read.
        evidence: Hash of the confirmation of a write.
        expires: When that confirmation expires.
    """

    call: ToolCall
    principal: Principal
    contract: ToolContract
    checked: Checked
    key: str | None = None
    evidence: str = ""
    expires: datetime = datetime.min

    @property
    def digest(self) -> str:
        """Return a hash of what is called with which arguments: two writes under one key must agree in it."""
        return digest([str(self.contract.ref), self.checked.arguments])

    @property
    def place(self) -> tuple[str, str | None, str]:
        """Return whose write it is, under which key."""
        return self.principal.subject, self.principal.tenant, self.key or ""


class Refused(Exception):
    """The gate does not let a call through.

    Attributes:
        error: Why, and what to do.
        contract: Of the tool, if it is visible.
        checked: Its arguments, as far as they were looked at.
        key: Idempotency key of a write that only lacks its evidence.
    """

    def __init__(
        self,
        error: CallError,
        *,
        contract: ToolContract | None = None,
        checked: Checked | None = None,
        key: str | None = None,
    ) -> None:
        super().__init__(error.code)
        self.error, self.contract, self.checked, self.key = error, contract, checked, key


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """Decides about calls.

    Attributes:
        index: Who sees which tools.
        servers: Names of the servers that can be reached.
        confirmations: Makes and reads the evidence that a write is meant.
        clock: The time.
    """

    index: ToolIndex
    servers: Collection[str]
    confirmations: Confirmations
    clock: Callable[[], datetime]

    def admit(self, call: ToolCall, *, principal: Principal) -> Admitted:
        """Return a call as it may be forwarded.

        Raises:
            Refused: If it may not.
        """
        contract = self._contract(call, principal=principal)
        if contract.identity.server not in self.servers:
            raise Refused(_not_callable(contract), contract=contract)
        if is_write(contract) and not call.write_allowed:
            raise Refused(_not_a_read(contract), contract=contract)
        checked = check(call.arguments, contract, now=self.clock())
        if checked.error is not None:
            raise Refused(checked.error, contract=contract, checked=checked)
        admitted = Admitted(call=call, principal=principal, contract=contract, checked=checked)
        return self._confirmed(admitted) if is_write(contract) else admitted

    def reads_beside(self, contract: ToolContract, *, principal: Principal) -> tuple[str, ...]:
        """Return visible read-only tools that may show what became of a write: adjacent ones, else of its server."""
        found = []
        for name in contract.selection.adjacent_tools:
            with suppress(UnknownTool, RequestError):
                other = self.index.tool(name, principal=principal)
                if not is_write(other):
                    found.append(str(other.ref))
        if not found:
            server = f"{contract.identity.server}/"
            summaries = self.index.tools(principal=principal)
            found = [
                each.ref
                for each in summaries
                if each.ref.startswith(server) and each.side_effect <= SideEffect.READ_ONLY
            ]
        return tuple(found[:_MOST_READS])

    def _contract(self, call: ToolCall, *, principal: Principal) -> ToolContract:
        """Return the contract of a visible tool, which is the one that the session pinned."""
        name = call.name_or_ref
        pinned = None
        if call.session is not None:
            pinned = self.index.sessions.pinned(call.session, name, principal=principal)
        if pinned is None:
            try:
                return self.index.tool(name, principal=principal)
            except UnknownTool:
                raise Refused(_unknown(name)) from None
            except RequestError as error:
                hint = "Call it by server and name."
                raise Refused(CallError(code="tool_ambiguous", message=str(error), retryable=True, hint=hint)) from None
        if pinned.fingerprint != pinned.current:
            raise Refused(_outdated(), contract=pinned.contract)
        return pinned.contract

    def _confirmed(self, admitted: Admitted) -> Admitted:
        """Return a write with its key, if the evidence that it is meant is there."""
        call, contract, arguments = admitted.call, admitted.contract, admitted.checked.arguments
        intent = intent_of(
            contract, arguments, principal=admitted.principal, session=call.session, key=call.idempotency_key
        )
        needed: Kind = "approve" if approval_needed(arguments, contract=contract) else "confirm"
        key = write_key(
            contract, arguments, principal=admitted.principal, session=call.session, given=call.idempotency_key
        )
        word = call.confirmation
        given = None if word is None else self.confirmations.kind_for(word, intent)
        if word is None or given is None or (needed == "approve" and given != "approve"):
            error = _unconfirmed(word, given=given, needed=needed, confirmation=self.confirmations.issue(intent))
            raise Refused(error, contract=contract, checked=admitted.checked, key=key)
        # Not of the whole word: an approval stands for the confirmation that it was made from.
        expires = datetime.fromtimestamp(self.confirmations.expiry_of(word), UTC)
        return replace(admitted, key=key, evidence=digest(word.split(".")[2:4]), expires=expires)


def is_write(contract: ToolContract) -> bool:
    """Tell whether a call may change something; where nobody said so, it may."""
    return contract.assumed_side_effect > SideEffect.READ_ONLY


def _unknown(name: str) -> CallError:
    return CallError(
        code=UnknownTool.code,
        message=f"no tool {name[:200]!r} is visible",
        hint="Search for a tool, and call it by the name or ref that the search gives.",
    )


def _not_callable(contract: ToolContract) -> CallError:
    return CallError(
        code="not_callable",
        message=f"no connection to server {contract.identity.server!r} is configured",
        hint="Use another tool, or let the harness call it.",
    )


def _outdated() -> CallError:
    return CallError(
        code="contract_changed",
        message="the session pinned another revision of this tool than the one that is valid now",
        hint="Refresh the session and work by the definition that it returns.",
    )


def _not_a_read(contract: ToolContract) -> CallError:
    effect = contract.execution.side_effect
    why = "nobody said what it changes" if effect is None else f"its side effect is {effect.label}"
    return CallError(
        code="write_refused",
        message=f"{contract.ref} is no read-only tool: {why}",
        hint="Call it by call_write_tool, if the change is meant.",
    )


def _unconfirmed(word: str | None, *, given: Kind | None, needed: Kind, confirmation: str) -> CallError:
    if word is None:
        text = "the write was not made: nothing shows that it is meant"
    elif given is None:
        text = "the write was not made: the confirmation is not for this call with these arguments, or it expired"
    else:
        text = "the write was not made: a person has to approve it"
    hint = {
        "confirm": "If exactly this call is meant, repeat it unchanged with the confirmation.",
        "approve": "Have a person approve exactly this call; then repeat it unchanged with the approval.",
    }[needed]
    return CallError(
        code="confirmation_needed" if needed == "confirm" else "approval_needed",
        message=text,
        hint=hint,
        layer="precondition",
        confirmation=confirmation,
        approval=needed,
    )
