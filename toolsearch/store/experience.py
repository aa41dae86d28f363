"""Past requests that a tool served: rows of the registry, one for each tool version, source and text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import numpy as np

from toolsearch.model.contract import ToolRef
from toolsearch.store.database import Connection, from_utc, insert, relation, scalar, utc_array


class ExperienceKey(NamedTuple):
    """What there is one row of: a tool version, a source (subject and tenant) and a text.

    Attributes:
        text_hash: Hex sha256 of the text, its key in the embedding cache.
    """

    tenant: str | None
    server: str
    name: str
    version: int
    subject: str
    text_hash: str

    @property
    def ref(self) -> ToolRef:
        """Return the tool."""
        return ToolRef(self.server, self.name, self.version)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperienceRow:
    """One past request that a tool served.

    Attributes:
        key: Tool, source and text hash.
        text: The request.
        at: Aware moment of the newest success.
        failures: Failures that the same source reported for the same tool and text since, less later successes.
    """

    key: ExperienceKey
    text: str
    at: datetime
    failures: int = 0


def experience(connection: Connection) -> list[ExperienceRow]:
    """Return all rows, sorted by key; rows without a tenant first."""
    rows = connection.execute(
        """
        SELECT tenant, server, name, version, subject, text_hash, text, learned_at, failures FROM experience
        ORDER BY tenant NULLS FIRST, server, name, version, subject, text_hash
        """
    ).fetchall()
    return [
        ExperienceRow(key=ExperienceKey(*row[:6]), text=row[6], at=from_utc(row[7]), failures=row[8]) for row in rows
    ]


def change_experience(connection: Connection, *, put: Sequence[ExperienceRow], drop: Iterable[ExperienceKey]) -> None:
    """Add rows, or replace those of the same key, and delete others."""
    gone = list(dict.fromkeys([*(row.key for row in put), *drop]))
    if gone:
        with relation(
            connection, {name: [getattr(key, name) for key in gone] for name in ExperienceKey._fields}
        ) as given:
            connection.execute(
                f"""
                DELETE FROM experience USING {given} g
                WHERE experience.text_hash = g.text_hash AND experience.name = g.name
                  AND experience.server = g.server AND experience.version = g.version::INTEGER
                  AND experience.subject = g.subject
                  AND experience.tenant IS NOT DISTINCT FROM g.tenant::VARCHAR
                """
            )
    insert(
        connection,
        "experience",
        {name: [getattr(row.key, name) for row in put] for name in ExperienceKey._fields}
        | {
            "text": [row.text for row in put],
            "learned_at": utc_array([row.at for row in put]),
            "failures": np.array([row.failures for row in put], dtype=np.int32),
        },
    )


def forget_source(connection: Connection, *, subject: str, tenant: str | None) -> int:
    """Delete what a source asked and was answered; return how many past requests and decision records that were.

    Outcomes stay, as they hold no text and reliability is made of them, but no longer say whose they are.
    """
    whose, source = "subject = ? AND tenant IS NOT DISTINCT FROM ?::VARCHAR", [subject, tenant]
    found = connection.execute(f"SELECT DISTINCT text_hash FROM experience WHERE {whose}", source).fetchall()
    deleted = int(scalar(connection, f"DELETE FROM experience WHERE {whose}", source))
    deleted += int(scalar(connection, f"DELETE FROM decisions WHERE {whose}", source))
    connection.execute(f"UPDATE outcomes SET subject = '', trace_id = NULL WHERE {whose}", source)
    if found:
        # A vector tells of its text; those of texts that others asked too are still needed.
        with relation(connection, {"hash": [row[0] for row in found]}) as given:
            connection.execute(
                f"""
                DELETE FROM embeddings USING {given} g WHERE embeddings.hash = g.hash
                AND NOT EXISTS (SELECT 1 FROM experience WHERE text_hash = g.hash)
                """
            )
    return deleted
