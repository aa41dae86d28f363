"""Outcomes: what became of tools that were called, and the tallies made of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from toolsearch.model.request import OutcomeStatus
from toolsearch.store.database import Connection, from_utc, scalar, to_utc
from toolsearch.store.tally import HALF_LIFE_DAYS, Tally, verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeRow:
    """One reported outcome.

    Attributes:
        version: Contract version, where it was told.
        at: Aware moment of the call's end.
    """

    server: str
    name: str
    version: int | None = None
    status: OutcomeStatus
    trace_id: str | None = None
    latency_ms: float | None = None
    subject: str
    tenant: str | None = None
    at: datetime


def add_outcome(connection: Connection, row: OutcomeRow) -> None:
    """Append one outcome."""
    connection.execute(
        """
        INSERT INTO outcomes
        SELECT coalesce(max(seq), 0) + 1, ?, ?, ?::INTEGER, ?, ?::VARCHAR, ?::DOUBLE, ?, ?::VARCHAR, ?::TIMESTAMP
        FROM outcomes
        """,
        [
            row.server,
            row.name,
            row.version,
            row.status.value,
            row.trace_id,
            row.latency_ms,
            row.subject,
            row.tenant,
            to_utc(row.at),
        ],
    )


def count_outcomes(connection: Connection) -> int:
    """Return how many outcomes are kept."""
    return int(scalar(connection, "SELECT count(*) FROM outcomes"))


def prune_outcomes(connection: Connection, *, before: datetime) -> int:
    """Delete outcomes observed before a moment; return how many."""
    return int(scalar(connection, "DELETE FROM outcomes WHERE observed_at < ?", [to_utc(before)]))


ToolVersion: TypeAlias = tuple[str, str, int]
"""Server, name and contract version; 0 where no version was told."""


def tallies(connection: Connection, *, half_life_days: float = HALF_LIFE_DAYS) -> dict[ToolVersion, Tally]:
    """Return each tool version's Tally as of its newest observation, sorted by tool.

    Versions are counted apart: who sees only one of them must learn nothing of the others.

    The outcomes are told one by one in the order of arrival, just as a running engine tells them to the tallies it
    holds: so a restart changes no bit of a score, which a SUM in SQL would.
    """
    rows = connection.execute("SELECT server, name, version, status, observed_at FROM outcomes ORDER BY seq").fetchall()
    verdicts = {status.value: verdict(status) for status in OutcomeStatus}
    empty = Tally(half_life_days=half_life_days)
    found: dict[ToolVersion, Tally] = {}
    for server, name, version, status, observed_at in rows:
        key = (server, name, version or 0)
        found[key] = found.get(key, empty).observed(verdicts[status], from_utc(observed_at))
    return {key: found[key] for key in sorted(found) if found[key].as_of is not None}
