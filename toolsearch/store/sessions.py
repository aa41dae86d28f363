"""Sessions: the tools a conversation was handed, each with the very text of its definition.

A row of `session_tools` is written when a tool is handed out and changes only when it leaves the list or is refreshed.
Rows of tools that left stay, without their definition: their names are never given to another tool.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from toolsearch.model.contract import ToolRef
from toolsearch.store.database import Connection, from_utc, relation, to_utc

_WHOSE = "subject = ? AND tenant IS NOT DISTINCT FROM ?::VARCHAR"
_ONE = f"session_id = ? AND {_WHOSE}"


class SessionKey(NamedTuple):
    """What there is one session of: two principals may use one id and never meet."""

    session_id: str
    subject: str
    tenant: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionToolRow:
    """One tool of a session.

    Attributes:
        position: Place in the session, from 0; the rows of a session have every place once.
        fingerprint: Of the contract that is pinned.
        api_name: Name under which the model calls it.
        format: Shape of the definition, as in `DefinitionFormat`.
        detail: How much of it, as in `Detail`.
        definition: The definition as compact JSON; empty once the tool has left.
        listed: Whether it is in the list; False = it left.
    """

    position: int
    ref: ToolRef
    fingerprint: str
    api_name: str
    format: str
    detail: str
    definition: str
    listed: bool = True


def sessions(connection: Connection) -> list[tuple[SessionKey, datetime]]:
    """Return all sessions with the moment of their last noted use, longest idle first."""
    rows = connection.execute(
        "SELECT session_id, subject, tenant, updated_at FROM sessions ORDER BY updated_at, session_id, subject, tenant"
    ).fetchall()
    return [(SessionKey(*row[:3]), from_utc(row[3])) for row in rows]


def session_tools(connection: Connection, key: SessionKey) -> list[SessionToolRow]:
    """Return the rows of a session in order of position."""
    rows = connection.execute(
        f"""
        SELECT position, server, name, version, fingerprint, api_name, format, detail, definition, listed
        FROM session_tools WHERE {_ONE} ORDER BY position
        """,
        list(key),
    ).fetchall()
    return [
        SessionToolRow(
            position=row[0],
            ref=ToolRef(*row[1:4]),
            fingerprint=row[4],
            api_name=row[5],
            format=row[6],
            detail=row[7],
            definition=row[8],
            listed=row[9],
        )
        for row in rows
    ]


def put_session(
    connection: Connection,
    key: SessionKey,
    *,
    tools: Sequence[SessionToolRow],
    known: int,
    begin: bool,
    used_at: datetime | None,
) -> None:
    """Begin or change a session.

    Args:
        connection: Inside a transaction.
        key: Which session.
        tools: Rows to write; those at positions below `known` replace what is there.
        known: How many rows the session has.
        begin: Whether it is new.
        used_at: Aware moment of its use; None = what is noted stays. A new session needs one.
    """
    if begin and used_at is not None:
        at = to_utc(used_at)
        connection.execute("INSERT INTO sessions SELECT ?, ?, ?::VARCHAR, 'open', ?, ?", [*key, at, at])
    elif used_at is not None:
        connection.execute(f"UPDATE sessions SET updated_at = ? WHERE {_ONE}", [to_utc(used_at), *key])
    replaced = [tool.position for tool in tools if tool.position < known]
    if replaced:
        connection.execute(f"DELETE FROM session_tools WHERE {_ONE} AND list_contains(?, position)", [*key, replaced])
    if tools:
        # A search waits for this: a handful of rows as lists takes half as long as `insert`, which is for thousands.
        connection.execute(
            f"INSERT INTO session_tools SELECT ?, ?, ?::VARCHAR, {', '.join(['unnest(?)'] * 10)}",
            [
                *key,
                [tool.position for tool in tools],
                [tool.ref.server for tool in tools],
                [tool.ref.name for tool in tools],
                [tool.ref.version for tool in tools],
                [tool.fingerprint for tool in tools],
                [tool.api_name for tool in tools],
                [tool.format for tool in tools],
                [tool.detail for tool in tools],
                [tool.definition for tool in tools],
                [tool.listed for tool in tools],
            ],
        )


def delete_sessions(connection: Connection, keys: Iterable[SessionKey]) -> None:
    """Delete sessions and their rows; those that are not there are passed over."""
    gone = list(keys)
    if not gone:
        return
    columns = {name: [getattr(key, name) for key in gone] for name in SessionKey._fields}
    for table in ("sessions", "session_tools"):
        with relation(connection, columns) as given:
            connection.execute(
                f"""
                DELETE FROM {table} AS old USING {given} g WHERE old.session_id = g.session_id
                  AND old.subject = g.subject AND old.tenant IS NOT DISTINCT FROM g.tenant::VARCHAR
                """
            )
