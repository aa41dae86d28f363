"""Counters, settings and access rules of the registry."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from toolsearch.store.database import Connection, scalar, to_utc

CounterName = Literal["generation", "rules_generation"]


def counter(connection: Connection, name: CounterName) -> int:
    """Return a counter: `generation` rises with every change of contracts, `rules_generation` of rules."""
    return int(scalar(connection, "SELECT value FROM counters WHERE name = ?", [name]))


def bump(connection: Connection, name: CounterName) -> int:
    """Raise a counter by one and return it."""
    connection.execute("UPDATE counters SET value = value + 1 WHERE name = ?", [name])
    return counter(connection, name)


def current_rules(connection: Connection) -> str | None:
    """Return the rules document as it was given, or None if none ever was."""
    document: str | None = scalar(connection, "SELECT document FROM rules ORDER BY generation DESC LIMIT 1")
    return document


def put_rules(connection: Connection, document: str, *, at: datetime) -> int:
    """Store a rules document, the earlier ones stay; return the rules generation, unchanged for the same text."""
    if current_rules(connection) == document:
        return counter(connection, "rules_generation")
    generation = bump(connection, "rules_generation")
    connection.execute("INSERT INTO rules VALUES (?, ?, ?)", [generation, document, to_utc(at)])
    return generation


def setting(connection: Connection, name: str) -> str | None:
    """Return the value of a setting, or None."""
    value: str | None = scalar(connection, "SELECT value FROM settings WHERE name = ?", [name])
    return value


def put_setting(connection: Connection, name: str, value: str) -> None:
    """Set a setting."""
    connection.execute("DELETE FROM settings WHERE name = ?", [name])
    connection.execute("INSERT INTO settings VALUES (?, ?)", [name, value])
