"""Evidence that a write is meant: signed words that only the gateway can make and only fit one call.

A first call of a write is refused with a *confirmation*. It shows that the very call was put before somebody; repeated
with it, the call passes. Where the contract asks for approval, it must first be turned into an *approval* by `approve`,
which the harness calls once a person agreed; no model can reach that. Both are HMAC-SHA256 over tool, contract,
arguments, principal, session and idempotency key, and expire. Each is good for one write: `WriteLog.spend` notes it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Mapping
from time import time
from typing import Any, Literal

from toolsearch.model.contract import ToolContract
from toolsearch.model.errors import RequestError
from toolsearch.model.request import Principal

Kind = Literal["confirm", "approve"]
_MARKS: Mapping[str, Kind] = {"c1": "confirm", "a1": "approve"}


class Confirmations:
    """Makes and reads the evidence."""

    def __init__(self, secret: bytes, *, good_s: float, clock: Callable[[], float] = time) -> None:
        """Sign with a secret; who has it can approve, so it stays with the gateway and the harness."""
        self._secret, self._good_s, self._clock = secret, good_s, clock

    def issue(self, intent: str) -> str:
        """Return a confirmation of an intent."""
        return self._signed("c1", expiry=int(self._clock() + self._good_s), nonce=secrets.token_hex(8), intent=intent)

    def approve(self, confirmation: str) -> str:
        """Turn a confirmation into an approval.

        Raises:
            RequestError: If it is none of ours, or expired.
        """
        read = self._read(confirmation)
        if read is None:
            raise RequestError("this is no confirmation of this gateway, or it expired", field="confirmation")
        _, nonce, intent = read
        return self._signed("a1", expiry=int(self._clock() + self._good_s), nonce=nonce, intent=intent)

    def expiry_of(self, word: str) -> float:
        """Return when a word expires, in seconds since 1970; 0 where it is none of ours."""
        return float(word.split(".")[1]) if self._read(word) is not None else 0.0

    def kind_for(self, word: str, intent: str) -> Kind | None:
        """Return what a word is for an intent; None if it is forged, expired, or made for another call."""
        read = self._read(word)
        return read[0] if read is not None and hmac.compare_digest(read[2], intent) else None

    def _read(self, word: str) -> tuple[Kind, str, str] | None:
        parts = word.split(".")
        if len(parts) != 5 or parts[0] not in _MARKS or not parts[1].isdecimal() or len(parts[1]) > 12:
            return None
        mark, expiry, nonce, intent, _ = parts
        good = self._signed(mark, expiry=int(expiry), nonce=nonce, intent=intent)
        if not hmac.compare_digest(good.encode(), word.encode("utf-8", "replace")) or int(expiry) < self._clock():
            return None
        return _MARKS[mark], nonce, intent

    def _signed(self, mark: str, *, expiry: int, nonce: str, intent: str) -> str:
        text = f"{mark}.{expiry}.{nonce}.{intent}"
        return f"{text}.{hmac.new(self._secret, text.encode(), hashlib.sha256).hexdigest()[:32]}"


def intent_of(
    contract: ToolContract,
    arguments: Mapping[str, Any],
    *,
    principal: Principal,
    session: str | None = None,
    key: str | None = None,
) -> str:
    """Return a hash of who calls what with which arguments, in which session and under which idempotency key.

    Session and key are written by the model: were they left out, one approval would pay once for each it thinks of.
    """
    who = [principal.subject, principal.tenant, session, key]
    return digest([str(contract.ref), contract.fingerprint, arguments, *who])


def digest(value: Any) -> str:
    """Return a hash of plain data that does not depend on the order of keys: 32 hex digits."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]
