"""Where the tools of each server were last read, and whether that still works: one row a server."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from toolsearch.store.database import Connection, from_utc, scalar, to_utc


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRow:
    """What is known of the source of one server's tools.

    Attributes:
        server: Server of the contracts.
        origin: Where they come from, as shown to people: a file, a program, scheme and host. Holds no secret.
        title: Name and version that the source gives itself; untrusted.
        tools: How many it had when it was last read.
        read_at: When it was last read; None = never.
        failed_at: When it last failed; None = never.
        error: Why; "" where it works.
        stale: Whether it failed since it was last read: its contracts are the last known ones.
    """

    server: str
    origin: str
    title: str = ""
    tools: int = 0
    read_at: datetime | None = None
    failed_at: datetime | None = None
    error: str = ""
    stale: bool = False


def sources(connection: Connection) -> tuple[SourceRow, ...]:
    """Return all rows, sorted by server."""
    rows = connection.execute(
        "SELECT server, origin, title, tools, read_at, failed_at, error, stale FROM sources ORDER BY server"
    ).fetchall()
    return tuple(
        SourceRow(
            server=row[0],
            origin=row[1],
            title=row[2],
            tools=row[3],
            read_at=None if row[4] is None else from_utc(row[4]),
            failed_at=None if row[5] is None else from_utc(row[5]),
            error=row[6],
            stale=row[7],
        )
        for row in rows
    )


def note_sources(connection: Connection, rows: Iterable[SourceRow]) -> None:
    """Note how the sources of servers were found; of one that failed, what was known before stays."""
    for row in rows:
        if row.stale:
            connection.execute(
                "UPDATE sources SET failed_at = ?, error = ?, stale = true WHERE server = ?",
                [_stored(row.failed_at), row.error, row.server],
            )
            known = scalar(connection, "SELECT count(*) FROM sources WHERE server = ?", [row.server])
            if known:
                continue
        connection.execute("DELETE FROM sources WHERE server = ?", [row.server])
        connection.execute(
            "INSERT INTO sources VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                row.server,
                row.origin,
                row.title,
                row.tools,
                _stored(row.read_at),
                _stored(row.failed_at),
                row.error,
                row.stale,
            ],
        )


def _stored(at: datetime | None) -> datetime | None:
    return None if at is None else to_utc(at)
