"""Memory: the way of a past request into the registry and into the current state.

Two truths are kept in step under one lock: the ledger (which requests are kept) and the registry (durable). What a
search reads is a third thing, an immutable `Experience` that is published as a whole.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from toolsearch.model.contract import ToolRef
from toolsearch.search.index.experience import Experience
from toolsearch.store.experience import ExperienceKey, ExperienceRow
from toolsearch.store.ledger import ExperienceBounds, Ledger, LedgerChange
from toolsearch.store.registry import Registry
from toolsearch.text.embed.cached import text_key


class EmbedTexts(Protocol):
    """Texts -> float32[n, dim] unit rows, through a cache."""

    def __call__(
        self, texts: Sequence[str], *, progress: Callable[[int, int], None] | None = None
    ) -> NDArray[np.float32]:
        """Return the vectors; `progress` is called with (texts done, texts in all)."""


MAX_TEXT = 1_000
"""Characters of a request that are kept; an encoder reads no more of it."""


class Memory:
    """Owns what is learnt from use. Safe to share between threads."""

    def __init__(
        self,
        registry: Registry,
        *,
        dim: int,
        embed: EmbedTexts,
        publish: Callable[[Experience], None],
        bounds: ExperienceBounds | None = None,
    ) -> None:
        """Remember nothing yet; `load` reads the registry.

        Args:
            registry: Where rows are kept.
            dim: Length of a vector.
            embed: Texts -> unit vectors, through the embedding cache.
            publish: Called with each new experience, in order.
            bounds: How much is kept.
        """
        self._registry, self._embed, self._publish, self._bounds = registry, embed, publish, bounds
        self._ledger = Ledger(bounds=bounds)
        self._experience = Experience(dim)
        self._lock = threading.Lock()  # ledger, registry and experience in step; texts are embedded outside it

    def load(self, *, catalogue: Iterable[ToolRef], now: datetime) -> None:
        """Read the registry, dropping what is too old or whose tool is gone."""
        with self._lock:
            self._ledger = Ledger(self._registry.experience(), bounds=self._bounds)
            moved = self._ledger.follow(frozenset(catalogue))
            old = self._ledger.drop(self._ledger.older(now=now))
            if not self._registry.read_only:
                self._write(_together([moved, old]))
            rows = self._ledger.rows()
            self._show(LedgerChange(tuple(rows)), Experience(self._experience.dim))

    def learn(
        self, rows: Sequence[ExperienceRow], *, now: datetime, progress: Callable[[int, int], None] | None = None
    ) -> int:
        """Take successes; return how many were kept. Searchable and durable when this returns."""
        with self._lock:
            wanted = [row for row in rows if not self._ledger.refused(row, now=now)]
        self._embed(
            [row.text for row in wanted], progress=progress
        )  # into the cache, so that no search waits for it under the lock
        with self._lock:
            change = _together(self._ledger.succeed(row, now=now) for row in wanted)
            self._take(change)
        kept = {row.key for row in change.put}
        return sum(row.key in kept for row in wanted)

    def fail(self, key: ExperienceKey) -> None:
        """Take a failure: it counts against what the same source told of the same tool and text."""
        with self._lock:
            self._take(self._ledger.fail(key))

    def follow(self, catalogue: Iterable[ToolRef]) -> None:
        """Let withdrawn tools leave what they learnt to their other versions, if there are any."""
        with self._lock:
            if len(self._ledger):
                self._take(self._ledger.follow(frozenset(catalogue)))

    def forget(self, *, subject: str, tenant: str | None) -> int:
        """Delete what a source asked and was answered; return how many past requests and decision records."""
        with self._lock:
            deleted = self._registry.forget(subject=subject, tenant=tenant)
            self._show(self._ledger.drop(self._ledger.of_source(subject=subject, tenant=tenant)), self._experience)
            return deleted

    def __len__(self) -> int:
        return len(self._ledger)

    def _take(self, change: LedgerChange) -> None:
        self._write(change)
        self._show(change, self._experience)

    def _write(self, change: LedgerChange) -> None:
        if change.put or change.drop:
            self._registry.change_experience(put=change.put, drop=change.drop)

    def _show(self, change: LedgerChange, before: Experience) -> None:
        if not change.put and not change.drop and before is self._experience:
            return
        texts = {row.key.text_hash: row.text for row in change.put}
        vectors = dict(zip(texts, self._embed(list(texts.values())), strict=True))
        self._experience = before.changed(change.put, change.drop, vectors=vectors)
        self._publish(self._experience)


def experience_row(*, ref: ToolRef, text: str, subject: str, tenant: str | None, at: datetime) -> ExperienceRow:
    """Return the row of a past request; only the start of a long text is kept."""
    kept = text[:MAX_TEXT]
    return ExperienceRow(key=ExperienceKey(tenant, *ref, subject, text_key(kept)), text=kept, at=at)


def _together(changes: Iterable[LedgerChange]) -> LedgerChange:
    """Return one change with the effect of several, one after the other."""
    put: dict[ExperienceKey, ExperienceRow] = {}
    drop: dict[ExperienceKey, None] = {}
    for change in changes:
        for row in change.put:
            put[row.key] = row
            drop.pop(row.key, None)
        for key in change.drop:
            put.pop(key, None)
            drop[key] = None
    return LedgerChange(tuple(put.values()), tuple(drop))
