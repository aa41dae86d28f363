"""Ledger: which past requests are kept. Bounds in number, and in what one source may add.

A source is one subject of one tenant. Its additions to a tool are limited by the day and in all, and where room is
short the source that takes most of it gives way: so one client can neither fill the memory nor push out what others
told. How much a kept request counts in a ranking is for `rank.experience` to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from toolsearch.model.contract import ToolRef
from toolsearch.store.experience import ExperienceKey, ExperienceRow

LedgerKey = tuple[str | None, ToolRef]
"""Tenant and tool: the requests that one tool version served for one tenant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperienceBounds:
    """How many past requests are kept.

    Attributes:
        per_day: New texts one source may add to one tool within 24 hours.
        per_source: Texts of one source kept for one tool.
        per_tool: Texts kept for one tool version and tenant.
        per_tenant: Texts kept for one tenant; beyond it the tools that have most give up their oldest.
        in_all: Texts kept; beyond it the tenants that have most give way.
        max_age: Age at which a text is dropped.
    """

    per_day: int = 5
    per_source: int = 20
    per_tool: int = 60
    per_tenant: int = 10_000
    in_all: int = 100_000
    max_age: timedelta = timedelta(days=360)


@dataclass(frozen=True, slots=True)
class LedgerChange:
    """What a call changed: rows put (new, or in place of those of the same key), and keys dropped."""

    put: tuple[ExperienceRow, ...] = ()
    drop: tuple[ExperienceKey, ...] = ()


class Ledger:
    """The past requests that are kept. Not safe to share between threads: its owner holds a lock."""

    def __init__(self, rows: Iterable[ExperienceRow] = (), *, bounds: ExperienceBounds | None = None) -> None:
        self.bounds = bounds or ExperienceBounds()
        self._shelves: dict[LedgerKey, dict[ExperienceKey, ExperienceRow]] = {}
        self._held: Counter[str | None] = Counter()  # texts by tenant
        for row in rows:
            self._put(row)

    def __len__(self) -> int:
        return self._held.total()

    def rows(self) -> list[ExperienceRow]:
        """Return all rows, tool by tool."""
        return [row for shelf in self._shelves.values() for row in shelf.values()]

    def refused(self, row: ExperienceRow, *, now: datetime) -> bool:
        """Tell whether a success would not be taken: too old, or more than its source may add."""
        if now - row.at > self.bounds.max_age:
            return True
        shelf = self._shelves.get(_shelf(row.key), {})
        if row.key in shelf:
            return False
        day = timedelta(days=1)
        near = [
            other for other in shelf.values() if other.key.subject == row.key.subject and abs(other.at - row.at) < day
        ]
        return len(near) >= self.bounds.per_day

    def succeed(self, row: ExperienceRow, *, now: datetime) -> LedgerChange:
        """Take a success: a new text, or the same text once more, which makes it younger and mends a failure."""
        if self.refused(row, now=now):
            return LedgerChange()
        known = self._shelves.get(_shelf(row.key), {}).get(row.key)
        if known is not None:
            row = replace(known, at=max(known.at, row.at), failures=max(0, known.failures - 1))
        self._put(row)
        dropped = self._make_room(row.key, now=now)
        return LedgerChange((row,) if row.key not in dropped else (), tuple(dropped))

    def fail(self, key: ExperienceKey) -> LedgerChange:
        """Take a failure: it counts against what the same source told of the same tool and text."""
        known = self._shelves.get(_shelf(key), {}).get(key)
        if known is None:
            return LedgerChange()
        row = replace(known, failures=known.failures + 1)
        self._put(row)
        return LedgerChange((row,))

    def drop(self, keys: Iterable[ExperienceKey]) -> LedgerChange:
        """Drop rows."""
        return LedgerChange(drop=tuple(key for key in keys if self._drop(key)))

    def of_source(self, *, subject: str, tenant: str | None) -> list[ExperienceKey]:
        """Return the keys of a source."""
        return [row.key for row in self.rows() if (row.key.subject, row.key.tenant) == (subject, tenant)]

    def follow(self, catalogue: AbstractSet[ToolRef]) -> LedgerChange:
        """Bring the rows of tools that are not in the catalogue to all other versions of them, or drop them.

        To all, not to the newest: else a version that somebody may not see could take away what another one gets.
        """
        lost = [shelf for shelf in self._shelves if shelf[1] not in catalogue]
        wanted = {ref[:2] for _, ref in lost}
        heirs: dict[tuple[str, str], list[ToolRef]] = {}
        for ref in sorted(catalogue) if wanted else ():
            if ref[:2] in wanted:
                heirs.setdefault(ref[:2], []).append(ref)
        put: dict[ExperienceKey, ExperienceRow] = {}
        drop: list[ExperienceKey] = []
        for tenant, ref in lost:
            rows = list(self._shelves[tenant, ref].values())
            for heir in heirs.get(ref[:2], ()):
                known = self._shelves.get((tenant, heir), {})
                moved = [replace(row, key=row.key._replace(version=heir.version)) for row in rows]
                fresh = [row for row in moved if row.key not in known][: max(0, self.bounds.per_tool - len(known))]
                put.update((row.key, row) for row in fresh)
                for row in fresh:
                    self._put(row)
            drop += [row.key for row in rows if self._drop(row.key)]
        return LedgerChange(tuple(put.values()), tuple(drop))

    def older(self, *, now: datetime) -> list[ExperienceKey]:
        """Return the keys of rows past the age limit."""
        return [row.key for row in self.rows() if now - row.at > self.bounds.max_age]

    def _make_room(self, key: ExperienceKey, *, now: datetime) -> list[ExperienceKey]:
        """Drop what is too old or too much after a row was put; return it."""
        shelf = self._shelves[_shelf(key)]
        gone = [row.key for row in shelf.values() if now - row.at > self.bounds.max_age]
        kept = [row for row in shelf.values() if row.key not in gone]
        own = [row for row in kept if row.key.subject == key.subject]
        gone += [row.key for row in _oldest(own)[: max(0, len(own) - self.bounds.per_source)]]
        kept = [row for row in kept if row.key not in gone]
        if len(kept) > self.bounds.per_tool:
            held = Counter(row.key.subject for row in kept)
            most = max(held.values())
            gone.append(_oldest(row for row in kept if held[row.key.subject] == most)[0].key)
        for one in gone:
            self._drop(one)
        if self._held[key.tenant] > self.bounds.per_tenant:
            gone += self._trim(key.tenant, room=_some_less(self.bounds.per_tenant))
        if len(self) > self.bounds.in_all:
            share = _level(self._held.values(), room=_some_less(self.bounds.in_all))
            for tenant in [tenant for tenant, held in self._held.items() if held > share]:
                gone += self._trim(tenant, room=share)
        return gone

    def _trim(self, tenant: str | None, *, room: int) -> list[ExperienceKey]:
        """Drop the oldest rows of the tools that have most of a tenant's, until all fit."""
        own = [shelf for shelf in self._shelves if shelf[0] == tenant]
        share = _level([len(self._shelves[shelf]) for shelf in own], room=room)
        gone = []
        for shelf in own:
            rows = _oldest(self._shelves[shelf].values())
            gone += [row.key for row in rows[: max(0, len(rows) - share)]]
        for key in gone:
            self._drop(key)
        return gone

    def _put(self, row: ExperienceRow) -> None:
        shelf = self._shelves.setdefault(_shelf(row.key), {})
        self._held[row.key.tenant] += row.key not in shelf
        shelf[row.key] = row

    def _drop(self, key: ExperienceKey) -> bool:
        shelf = self._shelves.get(_shelf(key), {})
        if shelf.pop(key, None) is None:
            return False
        if not shelf:
            del self._shelves[_shelf(key)]
        self._held[key.tenant] -= 1
        if not self._held[key.tenant]:
            del self._held[key.tenant]
        return True


def _shelf(key: ExperienceKey) -> LedgerKey:
    return key.tenant, key.ref


def _oldest(rows: Iterable[ExperienceRow]) -> list[ExperienceRow]:
    """Return rows, oldest first; equally old ones by key."""
    return sorted(rows, key=lambda row: (row.at, row.key.subject, row.key.text_hash))


def _level(sizes: Collection[int], *, room: int) -> int:
    """Return the largest number that all sizes can be cut to so that they fit: the greedy pay, the small do not."""
    low, high = 0, max(sizes, default=0)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if sum(min(size, middle) for size in sizes) <= room else (low, middle - 1)
    return low


def _some_less(bound: int) -> int:
    """Return a hundredth less than a bound, so that trimming is rare."""
    return bound - bound // 100
