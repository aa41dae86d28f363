"""Decision records: what was asked, by whom, and what was answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from toolsearch.store.database import Connection, first_row, from_utc, insert, scalar, to_utc, utc_array

MAX_DECISIONS = 100_000
"""Newest records kept."""

MAX_DECISION_AGE_DAYS = 90.0
"""Days a record is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRow:
    """One decision record.

    Attributes:
        at: Aware moment of the answer.
        request: The request, as JSON text.
        answer: The answer and what was kept of its making, as JSON text.
    """

    trace_id: str
    at: datetime
    subject: str
    tenant: str | None = None
    request: str
    answer: str

    def belongs_to(self, *, subject: str, tenant: str | None) -> bool:
        """Tell whether this principal made the request: the only one that may read or overwrite the record."""
        return self.subject == subject and self.tenant == tenant


def add_decisions(connection: Connection, rows: Sequence[DecisionRow]) -> None:
    """Append records in order; a later one with the same trace_id hides the earlier."""
    last = int(scalar(connection, "SELECT coalesce(max(seq), 0) FROM decisions"))
    insert(
        connection,
        "decisions",
        {
            "seq": np.arange(last + 1, last + 1 + len(rows), dtype=np.int64),
            "trace_id": [row.trace_id for row in rows],
            "decided_at": utc_array([row.at for row in rows]),
            "subject": [row.subject for row in rows],
            "tenant": [row.tenant for row in rows],
            "request": [_storable(row.request) for row in rows],
            "answer": [_storable(row.answer) for row in rows],
        },
    )


def find_decision(connection: Connection, trace_id: str) -> DecisionRow | None:
    """Return the newest record of a trace_id, or None."""
    row = first_row(
        connection,
        """
        SELECT trace_id, decided_at, subject, tenant, request, answer FROM decisions
        WHERE trace_id = ? ORDER BY seq DESC LIMIT 1
        """,
        [trace_id],
    )
    if row is None:
        return None
    return DecisionRow(
        trace_id=row[0],
        at=from_utc(row[1]),
        subject=row[2],
        tenant=row[3],
        request=row[4],
        answer=row[5],
    )


def count_decisions(connection: Connection) -> int:
    """Return how many records are kept, hidden ones included."""
    return int(scalar(connection, "SELECT count(*) FROM decisions"))


def prune_decisions(connection: Connection, *, max_rows: int = MAX_DECISIONS, before: datetime | None = None) -> int:
    """Delete records beyond the newest `max_rows`, and those decided before a moment; return how many."""
    deleted = scalar(
        connection,
        """
        DELETE FROM decisions WHERE seq <= (SELECT coalesce(max(seq), 0) FROM decisions) - ?
           OR decided_at < coalesce(?::TIMESTAMP, TIMESTAMP '0001-01-01')
        """,
        [max_rows, None if before is None else to_utc(before)],
    )
    return int(deleted)


def _storable(text: str) -> str:
    """Return the text with lone surrogates replaced: one odd record must not hold up its batch."""
    return text.encode("utf-8", "replace").decode()
