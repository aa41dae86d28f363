"""Learnt models: documents that never change, and which of them were put into service when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from toolsearch.store.database import Connection, from_utc, scalar, to_utc


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRow:
    """One model as it was installed.

    Attributes:
        number: From 1, in order of installation.
        document: Its JSON.
    """

    number: int
    document: str
    installed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Activation:
    """One change of what serves.

    Attributes:
        undone_at: When it was rolled back; None = it was not.
    """

    seq: int
    number: int
    activated_at: datetime
    undone_at: datetime | None


def models(connection: Connection) -> list[ModelRow]:
    """Return all models in order of number."""
    rows = connection.execute("SELECT number, document, installed_at FROM models ORDER BY number").fetchall()
    return [ModelRow(number=row[0], document=row[1], installed_at=from_utc(row[2])) for row in rows]


def add_model(connection: Connection, document: str, *, at: datetime) -> int:
    """Store a model and return its number."""
    number = int(scalar(connection, "SELECT coalesce(max(number), 0) + 1 FROM models"))
    connection.execute("INSERT INTO models VALUES (?, ?, ?)", [number, document, to_utc(at)])
    return number


def activations(connection: Connection) -> list[Activation]:
    """Return all changes of what serves, oldest first."""
    rows = connection.execute(
        "SELECT seq, number, activated_at, undone_at FROM model_activations ORDER BY seq"
    ).fetchall()
    return [
        Activation(
            seq=row[0],
            number=row[1],
            activated_at=from_utc(row[2]),
            undone_at=None if row[3] is None else from_utc(row[3]),
        )
        for row in rows
    ]


def activate_model(connection: Connection, number: int, *, at: datetime) -> None:
    """Note that a model serves from a moment on."""
    connection.execute(
        "INSERT INTO model_activations SELECT coalesce(max(seq), 0) + 1, ?, ?, NULL FROM model_activations",
        [number, to_utc(at)],
    )


def undo_activation(connection: Connection, seq: int, *, at: datetime) -> None:
    """Note that a change of what serves was taken back."""
    connection.execute("UPDATE model_activations SET undone_at = ? WHERE seq = ?", [to_utc(at), seq])
