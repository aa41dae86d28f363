"""A small buffer between searches and the registry: many decision records, one transaction.

A commit waits for the disk; a search should not. So records gather here and go down together: at `capacity`
records, before any read, and at close. A process that is killed loses the records since the last of these, at most
`capacity - 1`; a committed record is never lost, and an orderly close loses nothing. A server that wants less at
stake calls `flush` from a timer.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from datetime import timedelta

from toolsearch.model.errors import IndexStateError
from toolsearch.store.decisions import MAX_DECISION_AGE_DAYS, MAX_DECISIONS, DecisionRow
from toolsearch.store.registry import Registry

CAPACITY = 128
"""Records held back at most; one batch of them takes about 6 ms to commit."""

PRUNE_EVERY = 10_000
"""Records after which old ones are deleted, so that `max_rows` is passed by at most this many."""


class Journal:
    """The way decision records take into the registry. Safe to share between threads.

    Attributes:
        lost: Records given up because the registry could not be written.
    """

    def __init__(
        self,
        registry: Registry,
        *,
        capacity: int = CAPACITY,
        max_rows: int = MAX_DECISIONS,
        max_age_days: float = MAX_DECISION_AGE_DAYS,
    ) -> None:
        self._registry, self._capacity = registry, capacity
        self._max_rows, self._max_age = max_rows, timedelta(days=max_age_days)
        self._pending: list[DecisionRow] = []
        self._since_prune = PRUNE_EVERY  # the first batch prunes: quiet servers may never reach another
        self.lost = 0
        self._lock = threading.Lock()  # guards the three above; never held while the disk is waited for
        self._writing = threading.Lock()  # keeps batches in order

    def append(self, row: DecisionRow) -> None:
        """Take a record; every `capacity`-th call also writes the batch.

        Never raises: a search is answered even when the disk is full. The next `flush` tells what is wrong.
        """
        with self._lock:
            self._pending.append(row)
            full = len(self._pending) % self._capacity == 0
        if full:
            with suppress(IndexStateError):
                self.flush()

    def flush(self) -> None:
        """Write what is held back. If that fails the records stay; the oldest beyond ten batches are given up.

        Raises:
            IndexStateError: If the registry cannot be written.
        """
        with self._writing:
            with self._lock:
                batch = list(self._pending)
            if not batch:
                return
            try:
                self._registry.record_decisions(batch)
            except IndexStateError:
                with self._lock:
                    given_up = max(0, len(self._pending) - 10 * self._capacity)
                    del self._pending[:given_up]
                    self.lost += given_up
                raise
            with self._lock:
                del self._pending[: len(batch)]
                self._since_prune += len(batch)
                prune = self._since_prune >= PRUNE_EVERY
                self._since_prune = 0 if prune else self._since_prune
            if prune:
                self._registry.prune_decisions(max_rows=self._max_rows, before=batch[-1].at - self._max_age)

    def find(self, trace_id: str) -> DecisionRow | None:
        """Return the newest record of a trace_id, or None; writes nothing."""
        with self._lock:
            for row in reversed(self._pending):
                if row.trace_id == trace_id:
                    return row
        return self._registry.decision(trace_id)

    def close(self) -> None:
        """Write what is held back; the registry stays open.

        Raises:
            IndexStateError: If the registry cannot be written.
        """
        self.flush()
