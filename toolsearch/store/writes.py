"""What became of writes that the gateway forwarded, under their idempotency keys: one row a key of a principal."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from toolsearch.store.database import Connection, from_utc, scalar, to_utc

CLOCK_SLACK = timedelta(days=1)
"""Used confirmations are kept this long beyond their expiry, so that a clock set back revives none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRow:
    """One write.

    Attributes:
        key: Its idempotency key.
        ref: Of the tool.
        evidence: Hash of the confirmation that it was sent with.
        state: `sent`, `done`, `unknown` or `not_done`.
        at: When that was noted.
        answer: What was answered, as JSON, once it is done.
        call: Hash of tool and arguments; "" of a write that was noted before these were.
    """

    key: str
    ref: str
    evidence: str
    state: str
    at: datetime
    answer: str = ""
    call: str = ""


def write(connection: Connection, key: str, *, subject: str, tenant: str | None) -> WriteRow | None:
    """Return the last write under a key of a principal, or None."""
    row = connection.execute(
        "SELECT key, ref, evidence, state, noted_at, answer, call FROM writes "
        "WHERE key = ? AND subject = ? AND tenant IS NOT DISTINCT FROM ?::VARCHAR",
        [key, subject, tenant],
    ).fetchone()
    if row is None:
        return None
    return WriteRow(
        key=row[0], ref=row[1], evidence=row[2], state=row[3], at=from_utc(row[4]), answer=row[5], call=row[6]
    )


def note_write(
    connection: Connection, row: WriteRow, *, subject: str, tenant: str | None, remembered: timedelta
) -> None:
    """Note a write in place of an earlier one of its key, and forget those that are older than is remembered."""
    connection.execute("DELETE FROM writes WHERE noted_at < ?", [to_utc(row.at - remembered)])
    forget_write(connection, row.key, subject=subject, tenant=tenant)
    connection.execute(
        "INSERT INTO writes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [subject, tenant, row.key, row.ref, row.evidence, row.state, to_utc(row.at), row.answer, row.call],
    )


def forget_write(connection: Connection, key: str, *, subject: str, tenant: str | None) -> None:
    """Delete the write under a key of a principal."""
    connection.execute(
        "DELETE FROM writes WHERE key = ? AND subject = ? AND tenant IS NOT DISTINCT FROM ?::VARCHAR",
        [key, subject, tenant],
    )


def forget_writes(connection: Connection, *, subject: str, tenant: str | None) -> int:
    """Delete all writes of a principal and return how many."""
    whose = "subject = ? AND tenant IS NOT DISTINCT FROM ?::VARCHAR"
    return int(scalar(connection, f"DELETE FROM writes WHERE {whose}", [subject, tenant]))


def spend(connection: Connection, evidence: str, *, expires: datetime, now: datetime) -> bool:
    """Note that a confirmation is used, and return whether it was not used before. It names nobody, so it stays."""
    connection.execute("DELETE FROM spent_confirmations WHERE expires_at < ?", [to_utc(now - CLOCK_SLACK)])
    known = scalar(connection, "SELECT count(*) FROM spent_confirmations WHERE evidence = ?", [evidence])
    if not known:
        connection.execute("INSERT INTO spent_confirmations VALUES (?, ?)", [evidence, to_utc(expires)])
    return not known


def restore(connection: Connection, evidence: str) -> None:
    """Take back that a confirmation is used."""
    connection.execute("DELETE FROM spent_confirmations WHERE evidence = ?", [evidence])
