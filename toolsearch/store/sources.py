"""Where the tools of each server were last read, and whether that still works: one row a server."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from toolsearch.store.database import Connection, from_utc, to_utc


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


def source_read(connection: Connection, *, server: str, origin: str, title: str, tools: int, at: datetime) -> None:
    """Note that the tools of a server were read."""
    connection.execute("DELETE FROM sources WHERE server = ?", [server])
    connection.execute(
        "INSERT INTO sources VALUES (?, ?, ?, ?, ?, NULL, '', false)", [server, origin, title, tools, to_utc(at)]
    )


def source_failed(connection: Connection, *, server: str, origin: str, error: str, at: datetime) -> None:
    """Note that the tools of a server could not be read; what is known of it stays."""
    connection.execute(
        "UPDATE sources SET failed_at = ?, error = ?, stale = true WHERE server = ?", [to_utc(at), error, server]
    )
    connection.execute(
        """
        INSERT INTO sources SELECT ?, ?, '', 0, NULL, ?, ?, true
        WHERE NOT EXISTS (SELECT 1 FROM sources WHERE server = ?)
        """,
        [server, origin, to_utc(at), error, server],
    )
