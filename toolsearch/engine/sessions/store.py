"""The open sessions of an index: durable in the registry, the ones in use in memory, each behind its lock.

What a harness was handed must be the same after any crash. So a change is committed before the answer that tells of it
is given; a search that changes nothing of its session writes nothing.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from typing import TypeAlias

from toolsearch.engine.sessions.listing import Session
from toolsearch.model.limits import SessionLimits
from toolsearch.store.registry import Registry
from toolsearch.store.sessions import SessionKey, SessionToolRow

LOCKS = 256
"""Sessions whose keys fall together share a lock: they wait for each other, and nothing else."""

IN_MEMORY = 256
"""Sessions kept in memory; one of 20 full definitions takes about 50 kB."""

NOTED_TENTH = 10
"""A use is written down once a tenth of the idle time has passed since the last one that was."""

SWEEP_EVERY = timedelta(minutes=1)

_Owner: TypeAlias = tuple[str, str | None]


@dataclass(slots=True)
class _Use:
    """When a session was last used, and which use the registry knows of."""

    last: datetime
    noted: datetime


class SessionStore:
    """Keeps sessions. Safe to share between threads; who reads or changes a session holds its lock."""

    def __init__(
        self,
        registry: Registry,
        *,
        limits: SessionLimits | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.limits = limits or SessionLimits()
        self._registry, self._clock = registry, clock
        self._locks = tuple(threading.RLock() for _ in range(LOCKS))
        self._guard = threading.Lock()  # the three below; never held while the registry writes
        self._owners: dict[_Owner, OrderedDict[str, _Use]] | None = None  # longest idle first
        self._kept: OrderedDict[SessionKey, Session] = OrderedDict()
        self._swept = clock()

    @contextmanager
    def locked(self, key: SessionKey) -> Iterator[None]:
        """Hold the lock of one session."""
        with self._lock_of(key):
            yield

    def find(self, key: SessionKey) -> Session | None:
        """Return a session that is open, or None; the caller holds its lock."""
        with self._guard:
            use, kept = self._use_of(key), self._kept.get(key)
        if use is None:
            return None
        if self._clock() - use.last > self._idle:
            if not self._registry.read_only:
                self._drop({key: use})
            return None
        if kept is not None:
            return kept
        session = Session.of(key, self._registry.session_tools(key))
        with self._guard:
            self._keep(session)
        return session

    def put(self, before: Session, rows: Sequence[SessionToolRow], *, begin: bool) -> Session:
        """Change a session, or begin it, and note its use; it is durable when this returns.

        Args:
            before: What `find` returned, or an empty session.
            rows: Rows to put in their places; none = only the use is noted.
            begin: Whether the session is new.

        Raises:
            IndexStateError: If the registry cannot be written; nothing has changed then.
        """
        key, now = before.key, self._clock()
        if begin:
            self._make_room(key, now=now)
        with self._guard:
            use = self._use_of(key)
        noted = now if use is None or now - use.noted > self._idle / NOTED_TENTH else use.noted
        due = noted == now and not self._registry.read_only
        if begin or rows or due:
            self._registry.put_session(
                key, tools=rows, known=len(before.tools), begin=begin, used_at=now if begin or due else None
            )
        after = before.changed(rows)
        with self._guard:
            uses = self._all_uses().setdefault((key.subject, key.tenant), OrderedDict())
            uses[key.session_id] = _Use(now, noted)
            uses.move_to_end(key.session_id)
            self._keep(after)
        return after

    def end(self, key: SessionKey) -> bool:
        """End a session and return whether it was open; the caller holds its lock."""
        found = self.find(key) is not None
        with self._guard:
            use = self._use_of(key)
        if use is not None:
            self._drop({key: use})
        return found

    def forget(self, *, subject: str, tenant: str | None) -> int:
        """End all sessions of a principal and return how many."""
        with self._guard:
            keys = list(self._of_owner((subject, tenant)))
        ended = 0
        for key in keys:
            with self.locked(key):
                ended += self.end(key)
        return ended

    @property
    def _idle(self) -> timedelta:
        return timedelta(seconds=self.limits.idle_s)

    def _lock_of(self, key: SessionKey) -> threading.RLock:
        return self._locks[hash(key) % LOCKS]

    def _use_of(self, key: SessionKey) -> _Use | None:
        uses = self._all_uses().get((key.subject, key.tenant))
        return None if uses is None else uses.get(key.session_id)

    def _all_uses(self) -> dict[_Owner, OrderedDict[str, _Use]]:
        """Return the uses of all sessions by principal; the caller holds the guard."""
        if self._owners is None:
            self._owners = {}
            for key, at in self._registry.sessions():
                self._owners.setdefault((key.subject, key.tenant), OrderedDict())[key.session_id] = _Use(at, at)
        return self._owners

    def _of_owner(self, owner: _Owner) -> dict[SessionKey, _Use]:
        """Return the sessions of a principal, longest idle first; the caller holds the guard."""
        uses = self._all_uses().get(owner)
        return {} if uses is None else {SessionKey(session_id, *owner): use for session_id, use in uses.items()}

    def _keep(self, session: Session) -> None:
        self._kept[session.key] = session
        self._kept.move_to_end(session.key)
        while len(self._kept) > IN_MEMORY:
            self._kept.popitem(last=False)

    def _make_room(self, key: SessionKey, *, now: datetime) -> None:
        """Drop the sessions that expired and, where a principal has too many, those that it left idle longest."""
        with self._guard:
            mine = self._of_owner((key.subject, key.tenant))
            chosen = dict(islice(mine.items(), max(0, len(mine) + 1 - self.limits.per_principal)))
            if now - self._swept > SWEEP_EVERY:
                self._swept = now
                chosen |= self._expired(now)
        self._drop(chosen)

    def _expired(self, now: datetime) -> dict[SessionKey, _Use]:
        return {
            SessionKey(session_id, *owner): use
            for owner, uses in self._all_uses().items()
            for session_id, use in takewhile(lambda item: now - item[1].last > self._idle, uses.items())
        }

    def _drop(self, chosen: Mapping[SessionKey, _Use]) -> None:
        """Delete sessions whose last use is the given one; whoever uses one at this moment, or did since, keeps it."""
        with ExitStack() as held:
            gone = []
            for key, use in chosen.items():
                lock = self._lock_of(key)
                if lock.acquire(blocking=False):
                    held.callback(lock.release)
                    with self._guard:
                        if self._use_of(key) is use:
                            gone.append(key)
            if not gone:
                return
            self._registry.delete_sessions(gone)
            with self._guard:
                for key in gone:
                    self._kept.pop(key, None)
                    owner = (key.subject, key.tenant)
                    self._all_uses()[owner].pop(key.session_id)
                    if not self._all_uses()[owner]:
                        del self._all_uses()[owner]
