"""What became of writes, under their idempotency keys: so that a repeated call answers instead of acting again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import time
from typing import Any, Literal, Protocol

from toolsearch.contract import ToolContract
from toolsearch.gateway.confirm import digest
from toolsearch.query import Principal

State = Literal["sent", "done", "unknown", "not_done"]
MAX_WRITES = 10_000
_NEGATIVE = ("not idempotent", "none", "no", "unsafe", "非幂等", "不幂等")
_PARAMETERS = ("idempotency_key", "idempotencyKey", "idempotency-key")


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One write.

    Attributes:
        key: Its idempotency key.
        ref: Of the tool.
        evidence: Hash of the confirmation that it was sent with.
        state: `sent` (no answer yet), `done` (answered), `unknown` (nobody knows), `not_done`.
        at: Seconds since 1970.
        answer: JSON of the CallResult, once it is done.
    """

    key: str
    ref: str
    evidence: str
    state: State
    at: float
    answer: str = ""


class WriteLog(Protocol):
    """Where writes are noted."""

    def find(self, key: str, *, principal: Principal) -> Write | None:
        """Return the last write of a key, or None."""

    def note(self, write: Write, *, principal: Principal) -> None:
        """Note a write in place of an earlier one of its key."""


class WritesInMemory:
    """Notes writes as long as the process lives, for a while, the oldest out first."""

    def __init__(self, *, remember_s: float, clock: Callable[[], float] = time) -> None:
        self._remember_s, self._clock = remember_s, clock
        self._writes: OrderedDict[tuple[str, str | None, str], Write] = OrderedDict()

    def find(self, key: str, *, principal: Principal) -> Write | None:
        """Return the last write of a key, or None."""
        found = self._writes.get((principal.subject, principal.tenant, key))
        return found if found is not None and self._clock() - found.at <= self._remember_s else None

    def note(self, write: Write, *, principal: Principal) -> None:
        """Note a write in place of an earlier one of its key."""
        place = principal.subject, principal.tenant, write.key
        self._writes[place] = write
        self._writes.move_to_end(place)
        while len(self._writes) > MAX_WRITES:
            self._writes.popitem(last=False)


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
