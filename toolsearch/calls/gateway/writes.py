"""What became of writes, under their idempotency keys: so that a repeated call answers instead of acting again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol

from toolsearch.calls.gateway.confirm import digest
from toolsearch.model.contract import ToolContract
from toolsearch.model.request import Principal
from toolsearch.store.writes import CLOCK_SLACK, WriteRow

State = Literal["sent", "done", "unknown", "not_done"]
MAX_WRITES = 10_000
_NEGATIVE = ("not idempotent", "none", "no", "unsafe", "非幂等", "不幂等")
_PARAMETERS = ("idempotency_key", "idempotencyKey", "idempotency-key")


class WriteLog(Protocol):
    """Where writes are noted: an index does it durably."""

    def write(self, key: str, *, principal: Principal) -> WriteRow | None:
        """Return the last write of a key, or None."""

    def note_write(self, row: WriteRow, *, principal: Principal, remembered: timedelta) -> None:
        """Note a write in place of an earlier one of its key."""

    def spend(self, evidence: str, *, expires: datetime, now: datetime) -> bool:
        """Note that a confirmation is used, and return whether it was not used before; atomic, and durable."""

    def restore(self, evidence: str) -> None:
        """Take back that a confirmation is used: its write was provably never sent."""


class WritesInMemory:
    """Notes writes as long as the process lives, the oldest out first: for an index that is open for reading only."""

    def __init__(self) -> None:
        self._writes: OrderedDict[tuple[str, str | None, str], WriteRow] = OrderedDict()
        self._spent: dict[str, datetime] = {}

    def write(self, key: str, *, principal: Principal) -> WriteRow | None:
        """Return the last write of a key, or None."""
        return self._writes.get((principal.subject, principal.tenant, key))

    def note_write(self, row: WriteRow, *, principal: Principal, remembered: timedelta) -> None:
        """Note a write in place of an earlier one of its key."""
        place = principal.subject, principal.tenant, row.key
        self._writes[place] = row
        self._writes.move_to_end(place)
        while len(self._writes) > MAX_WRITES or next(iter(self._writes.values())).at < row.at - remembered:
            self._writes.popitem(last=False)

    def spend(self, evidence: str, *, expires: datetime, now: datetime) -> bool:
        """Note that a confirmation is used, and return whether it was not used before."""
        self._spent = {word: until for word, until in self._spent.items() if until >= now - CLOCK_SLACK}
        if evidence in self._spent:
            return False
        self._spent[evidence] = expires
        return True

    def restore(self, evidence: str) -> None:
        """Take back that a confirmation is used."""
        self._spent.pop(evidence, None)


def is_idempotent(contract: ToolContract) -> bool:
    """Tell whether the contract says that a write may be repeated under one key."""
    said = contract.execution.idempotency.strip().lower()
    return bool(said) and said not in _NEGATIVE


def write_key(
    contract: ToolContract,
    arguments: Mapping[str, Any],
    *,
    principal: Principal,
    session: str | None,
    given: str | None,
) -> str:
    """Return the key of a write: the same for the same call in a session, so that a retry has it too.

    It begins with what it can be traced by: the session, and the tool.
    """
    if given is not None:
        return given
    words = digest([str(contract.ref), arguments, principal.subject, principal.tenant, session])
    return f"{(session or 'none')[:48]}:{contract.identity.name[:40]}:{words}"


def with_key(contract: ToolContract, arguments: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return the arguments with the key in the parameter that the tool has for it, if it has one and it is empty."""
    properties = contract.input_schema.get("properties", {})
    name = next((name for name in _PARAMETERS if name in properties), None)
    return dict(arguments) if name is None or arguments.get(name) else {**arguments, name: key}
