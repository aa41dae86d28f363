"""Contracts of the registry: the current ones, and every earlier fingerprint with the time it was valid."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from toolsearch.model.contract import ToolContract, ToolRef, by_ref
from toolsearch.store.database import Columns, Connection, from_utc, insert, relation, to_utc
from toolsearch.store.settings import bump, counter


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What one `apply` did, each list sorted by ref.

    Attributes:
        generation: Counter of the registry afterwards; one higher than before if anything changed.
    """

    added: tuple[ToolRef, ...]
    replaced: tuple[ToolRef, ...]
    unchanged: tuple[ToolRef, ...]
    removed: tuple[ToolRef, ...]
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractVersion:
    """One fingerprint a ref had, and when.

    Attributes:
        valid_to: When it was replaced or removed; None = it is current.
    """

    ref: ToolRef
    fingerprint: str
    contract: ToolContract
    valid_from: datetime
    valid_to: datetime | None


def apply_changes(
    connection: Connection, *, upserts: Iterable[ToolContract], removals: Iterable[ToolRef], at: datetime
) -> Changes:
    """Add, replace and remove contracts; the caller holds the transaction.

    A ref in both lists is upserted; removing what is not there does nothing.

    Raises:
        ContractError: If one ref is given twice with different content.
    """
    wanted = by_ref(upserts)
    leaving = sorted({ref for ref in removals if ref not in wanted})
    current = current_fingerprints_of(connection, [*wanted, *leaving])
    added = tuple(ref for ref in wanted if ref not in current)
    replaced = tuple(ref for ref in wanted if ref in current and current[ref] != wanted[ref].fingerprint)
    removed = tuple(ref for ref in leaving if ref in current)
    unchanged = tuple(ref for ref in wanted if current.get(ref) == wanted[ref].fingerprint)
    generation = counter(connection, "generation")
    if added or replaced or removed:
        generation = bump(connection, "generation")
        _end(connection, [*replaced, *removed], generation=generation, at=at)
        _begin(connection, [wanted[ref] for ref in (*added, *replaced)], generation=generation, at=at)
    return Changes(added=added, replaced=replaced, unchanged=unchanged, removed=removed, generation=generation)


def current_contracts(connection: Connection) -> tuple[ToolContract, ...]:
    """Return the contracts that are valid now, sorted by ref."""
    rows = connection.execute("SELECT document FROM contract_versions WHERE valid_to IS NULL").fetchall()
    return tuple(sorted((ToolContract.from_stored(row[0]) for row in rows), key=lambda each: each.ref))


def current_fingerprints(connection: Connection) -> dict[ToolRef, str]:
    """Return ref -> fingerprint of the contracts that are valid now, sorted by ref, without reading their text."""
    rows = connection.execute(
        "SELECT server, name, version, fingerprint FROM contract_versions WHERE valid_to IS NULL"
    ).fetchall()
    return {ToolRef(*row[:3]): row[3] for row in sorted(rows)}


def history(connection: Connection, *, server: str, name: str) -> tuple[ContractVersion, ...]:
    """Return every fingerprint a tool ever had, over all its versions, oldest first."""
    rows = connection.execute(
        """
        SELECT server, name, version, fingerprint, document, valid_from, valid_to FROM contract_versions
        WHERE server = ? AND name = ? ORDER BY generation_from, version
        """,
        [server, name],
    ).fetchall()
    return tuple(
        ContractVersion(
            ref=ToolRef(*row[:3]),
            fingerprint=row[3],
            contract=ToolContract.from_stored(row[4]),
            valid_from=from_utc(row[5]),
            valid_to=None if row[6] is None else from_utc(row[6]),
        )
        for row in rows
    )


def ref_columns(refs: Sequence[ToolRef]) -> Columns:
    """Return refs as the columns that name them in every table."""
    return {
        "server": [ref.server for ref in refs],
        "name": [ref.name for ref in refs],
        "version": np.array([ref.version for ref in refs], dtype=np.int32),
    }


def current_fingerprints_of(connection: Connection, refs: Sequence[ToolRef]) -> dict[ToolRef, str]:
    """Return the current fingerprints of the given refs; refs that are not there are left out."""
    if not refs:
        return {}
    with relation(connection, ref_columns(refs)) as given:
        rows = connection.execute(
            f"""
            SELECT server, name, version, fingerprint FROM contract_versions
            SEMI JOIN {given} USING (server, name, version) WHERE valid_to IS NULL
            """
        ).fetchall()
    return {ToolRef(*row[:3]): row[3] for row in rows}


def _end(connection: Connection, refs: Sequence[ToolRef], *, generation: int, at: datetime) -> None:
    if not refs:
        return
    with relation(connection, ref_columns(refs)) as given:
        connection.execute(
            f"""
            UPDATE contract_versions AS old SET valid_to = ?, generation_to = ? FROM {given} AS gone
            WHERE old.server = gone.server AND old.name = gone.name AND old.version = gone.version
              AND old.valid_to IS NULL
            """,
            [to_utc(at), generation],
        )


def _begin(connection: Connection, contracts: Sequence[ToolContract], *, generation: int, at: datetime) -> None:
    refs = [contract.ref for contract in contracts]
    insert(
        connection,
        "contract_versions",
        {
            **ref_columns(refs),
            "fingerprint": [contract.fingerprint for contract in contracts],
            "document": [contract.stored_json for contract in contracts],
            "valid_from": np.full(len(refs), np.datetime64(to_utc(at), "us")),
            "generation_from": np.full(len(refs), generation, dtype=np.int64),
        },
    )
