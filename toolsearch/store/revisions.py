"""Revisions of the registry: who accepted which content of a tool, when and why; what waits; what is rolled out.

`contract_versions` holds the contents and when each was current; here stands who made it so. The record of events
only grows. What waits for approval, what a part of the sessions gets, and what was turned down are small tables of the
present.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias

import numpy as np

from toolsearch.model.contract import ToolContract, ToolRef
from toolsearch.store.contracts import Changes, apply_changes, current_fingerprints_of, ref_columns
from toolsearch.store.database import Connection, from_utc, insert, relation, scalar, utc_array

Content: TypeAlias = tuple[ToolRef, str]
"""A ref and the fingerprint of one content of it."""


class Action(StrEnum):
    """What happened to a tool."""

    ADD = "add"
    REPLACE = "replace"
    REMOVE = "remove"
    APPROVE = "approve"
    ROLLBACK = "rollback"
    ROLLOUT = "rollout"
    HOLD = "hold"
    REJECT = "reject"


_EVENT = "seq, happened_at, server, name, version, action, fingerprint, author, reason, share, marked"

MAKES_CURRENT = frozenset({Action.ADD, Action.REPLACE, Action.APPROVE, Action.ROLLBACK})
"""The actions that make a content the current one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One line of a tool's history.

    Attributes:
        share: Of sessions, for a roll-out.
        marked: Whether the revision has to be evaluated again.
    """

    seq: int
    at: datetime
    ref: ToolRef
    action: Action
    fingerprint: str
    author: str
    reason: str
    share: float | None = None
    marked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A definition that waits for approval, one at most for each ref.

    Attributes:
        causes: Why it waits, one sentence each.
    """

    contract: ToolContract
    author: str
    reason: str
    at: datetime
    causes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutRow:
    """A content that a share of new sessions gets."""

    contract: ToolContract
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One change of the catalogue and of what waits, with its author: it happens whole, or not at all.

    Attributes:
        upserts: Contents to make current.
        removals: Refs to take away; those also upserted are passed over.
        author: Name of a person, a program or a server.
        action: What is noted of the contents that become current; None = add or replace.
        marked: Refs whose new revision has to be evaluated again.
        hold: Definitions to wait for approval, in place of what waits under the same ref.
        drop: Refs whose waiting definition goes.
        roll_out: Contents to give to a share of new sessions, in place of what the ref rolled out.
        end: Refs whose roll-out ends.
        refuse: (ref, fingerprint) to hold back from now on, whoever proposes them.
        also: (action, ref, fingerprint) to note beside what follows from the above.
    """

    upserts: Sequence[ToolContract] = ()
    removals: Sequence[ToolRef] = ()
    author: str = "library"
    reason: str = ""
    action: Action | None = None
    marked: frozenset[ToolRef] = frozenset()
    hold: Sequence[Waiting] = ()
    drop: Sequence[ToolRef] = ()
    roll_out: Sequence[RolloutRow] = ()
    end: Sequence[ToolRef] = ()
    refuse: Sequence[Content] = ()
    also: Sequence[tuple[Action, ToolRef, str]] = ()


def take_step(connection: Connection, step: Step, *, at: datetime) -> Changes:
    """Take a step; the caller holds the transaction.

    Whatever replaces or removes the current content of a ref ends its roll-out; a content that becomes current or is
    rolled out no longer waits and is no longer turned down; of a ref that is removed nothing waits.

    Raises:
        ContractError: If one ref is given twice with different content.
    """
    before = current_fingerprints_of(connection, step.removals)
    changes = apply_changes(connection, upserts=step.upserts, removals=step.removals, at=at)
    fingerprints = {contract.ref: contract.fingerprint for contract in step.upserts}
    happened = [
        *((step.action or Action.ADD, ref, fingerprints[ref], 0.0) for ref in changes.added),
        *((step.action or Action.REPLACE, ref, fingerprints[ref], 0.0) for ref in changes.replaced),
    ]
    accepted = [
        *((ref, fingerprint) for _, ref, fingerprint, _ in happened),
        *((row.contract.ref, row.contract.fingerprint) for row in step.roll_out),
    ]
    happened += [(Action.REMOVE, ref, before[ref], 0.0) for ref in changes.removed]
    happened += [(Action.ROLLOUT, row.contract.ref, row.contract.fingerprint, row.share) for row in step.roll_out]
    happened += [(Action.HOLD, each.contract.ref, each.contract.fingerprint, 0.0) for each in step.hold]
    happened += [(*each, 0.0) for each in step.also]
    _forget(connection, "rollouts", [*changes.replaced, *changes.removed, *step.end])
    _forget(connection, "waiting", [*changes.removed, *step.drop])
    for table in ("waiting", "refusals"):
        _forget_contents(connection, table, accepted)
    _hold(connection, step.hold)
    _roll_out(connection, step.roll_out)
    _refuse(connection, step.refuse)
    _note(connection, happened, step=step, at=at)
    return changes


def events(connection: Connection, *, server: str, name: str) -> tuple[Event, ...]:
    """Return what happened to a tool, over all its versions, oldest first."""
    rows = connection.execute(
        f"SELECT {_EVENT} FROM revisions WHERE server = ? AND name = ? ORDER BY seq", [server, name]
    ).fetchall()
    return tuple(map(_event, rows))


def waiting(connection: Connection) -> dict[ToolRef, Waiting]:
    """Return what waits for approval, sorted by ref."""
    rows = connection.execute("SELECT document, author, reason, held_at, causes FROM waiting").fetchall()
    found = [
        Waiting(
            contract=ToolContract.from_stored(row[0]),
            author=row[1],
            reason=row[2],
            at=from_utc(row[3]),
            causes=tuple(row[4].splitlines()),
        )
        for row in rows
    ]
    return {each.contract.ref: each for each in sorted(found, key=lambda each: each.contract.ref)}


def rollouts(connection: Connection) -> dict[ToolRef, RolloutRow]:
    """Return what is rolled out, sorted by ref."""
    rows = connection.execute("SELECT document, share FROM rollouts").fetchall()
    found = [RolloutRow(contract=ToolContract.from_stored(row[0]), share=row[1]) for row in rows]
    return {each.contract.ref: each for each in sorted(found, key=lambda each: each.contract.ref)}


def refusals(connection: Connection) -> frozenset[Content]:
    """Return the (ref, fingerprint) that were turned down."""
    rows = connection.execute("SELECT server, name, version, fingerprint FROM refusals").fetchall()
    return frozenset((ToolRef(*row[:3]), row[3]) for row in rows)


def marked(connection: Connection) -> tuple[Event, ...]:
    """Return the events that made a current content so which has to be evaluated again, sorted by ref."""
    actions = ", ".join(f"'{action.value}'" for action in sorted(MAKES_CURRENT))
    rows = connection.execute(
        f"""
        SELECT {_EVENT} FROM revisions SEMI JOIN (
            SELECT server, name, version, max(seq) AS seq FROM revisions
            WHERE action IN ({actions}, '{Action.REMOVE.value}') GROUP BY ALL
        ) AS last USING (server, name, version, seq) WHERE marked ORDER BY server, name, version
        """
    ).fetchall()
    return tuple(map(_event, rows))


def _event(row: tuple[Any, ...]) -> Event:
    return Event(
        seq=row[0],
        at=from_utc(row[1]),
        ref=ToolRef(*row[2:5]),
        action=Action(row[5]),
        fingerprint=row[6],
        author=row[7],
        reason=row[8],
        share=row[9] or None,
        marked=row[10],
    )


def _forget(connection: Connection, table: str, refs: Sequence[ToolRef]) -> None:
    if not refs or _is_empty(connection, table):
        return
    with relation(connection, ref_columns(refs)) as given:
        connection.execute(
            f"""
            DELETE FROM {table} USING {given} AS gone WHERE {table}.server = gone.server
              AND {table}.name = gone.name AND {table}.version = gone.version
            """
        )


def _forget_contents(connection: Connection, table: str, contents: Sequence[Content]) -> None:
    if not contents or _is_empty(connection, table):
        return
    columns = {**ref_columns([ref for ref, _ in contents]), "fingerprint": [fingerprint for _, fingerprint in contents]}
    with relation(connection, columns) as given:
        connection.execute(
            f"""
            DELETE FROM {table} USING {given} AS gone WHERE {table}.server = gone.server
              AND {table}.name = gone.name AND {table}.version = gone.version
              AND {table}.fingerprint = gone.fingerprint
            """
        )


def _is_empty(connection: Connection, table: str) -> bool:
    """Tell whether nothing is there: mostly so, and asking is ten times faster than deleting by a relation."""
    return not scalar(connection, f"SELECT count(*) FROM {table}")


def _hold(connection: Connection, held: Sequence[Waiting]) -> None:
    refs = [each.contract.ref for each in held]
    _forget(connection, "waiting", refs)
    insert(
        connection,
        "waiting",
        {
            **ref_columns(refs),
            "fingerprint": [each.contract.fingerprint for each in held],
            "document": [each.contract.stored_json for each in held],
            "author": [each.author for each in held],
            "reason": [each.reason for each in held],
            "held_at": utc_array([each.at for each in held]),
            "causes": ["\n".join(" ".join(cause.split()) for cause in each.causes) for each in held],
        },
    )


def _roll_out(connection: Connection, rows: Sequence[RolloutRow]) -> None:
    refs = [row.contract.ref for row in rows]
    _forget(connection, "rollouts", refs)
    insert(
        connection,
        "rollouts",
        {
            **ref_columns(refs),
            "fingerprint": [row.contract.fingerprint for row in rows],
            "document": [row.contract.stored_json for row in rows],
            "share": np.array([row.share for row in rows], dtype=np.float64),
        },
    )


def _refuse(connection: Connection, contents: Sequence[Content]) -> None:
    _forget_contents(connection, "refusals", contents)
    insert(
        connection,
        "refusals",
        {**ref_columns([ref for ref, _ in contents]), "fingerprint": [fingerprint for _, fingerprint in contents]},
    )


def _note(
    connection: Connection, happened: Sequence[tuple[Action, ToolRef, str, float]], *, step: Step, at: datetime
) -> None:
    last = int(scalar(connection, "SELECT coalesce(max(seq), 0) FROM revisions"))
    count = len(happened)
    insert(
        connection,
        "revisions",
        {
            "seq": np.arange(last + 1, last + 1 + count, dtype=np.int64),
            "happened_at": utc_array([at] * count),
            **ref_columns([ref for _, ref, _, _ in happened]),
            "action": [action.value for action, *_ in happened],
            "fingerprint": [fingerprint for _, _, fingerprint, _ in happened],
            "author": [step.author] * count,
            "reason": [step.reason] * count,
            "share": np.array([share for *_, share in happened], dtype=np.float64),
            "marked": np.array(
                [action in MAKES_CURRENT and ref in step.marked for action, ref, *_ in happened], dtype=np.bool_
            ),
        },
    )
