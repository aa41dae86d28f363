"""Past requests as vectors: one shelf a tenant, so that no search can touch what another tenant asked.

Everything is immutable; a change gives a new object that shares what stayed. New vectors go to a segment of their own,
and segments of like size are merged: each vector is copied about log2(n) times in its life, and the scan of a search is
over few, large blocks. A row that is dropped is masked until its segment is next made again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from toolsearch.model.contract import ToolRef
from toolsearch.search.index.docset import DocSet
from toolsearch.search.index.vectors import VectorIndex
from toolsearch.store.experience import ExperienceKey, ExperienceRow

Vector = NDArray[np.float32]
_GONE = -1
"""In `Segment.failures`: the row was dropped."""


@dataclass(frozen=True, slots=True, eq=False)
class PastHits:
    """Past requests near a query, in no order that means anything.

    Attributes:
        tools: int32[n], tool numbers of the shelf.
        sources: int64[n], see `source_number`.
        cosines: float64[n].
        at: float64[n], seconds since the epoch.
        failures: int32[n].
    """

    tools: NDArray[np.int32]
    sources: NDArray[np.int64]
    cosines: NDArray[np.float64]
    at: NDArray[np.float64]
    failures: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """Some past requests of one tenant. Arrays are parallel to the rows of `vectors`; owners are tool numbers."""

    vectors: VectorIndex
    sources: NDArray[np.int64]
    at: NDArray[np.float64]
    failures: NDArray[np.int32]
    places: Mapping[ExperienceKey, int]

    @classmethod
    def build(
        cls, rows: Sequence[ExperienceRow], vectors: Sequence[Vector], *, numbers: Mapping[ToolRef, int], dim: int
    ) -> Segment:
        """Return the segment of rows and their unit vectors."""
        owners = np.array([numbers[row.key.ref] for row in rows], dtype=np.int32)
        order = np.argsort(owners, kind="stable").tolist()
        ordered = [rows[at] for at in order]
        return cls(
            vectors=VectorIndex.build([vectors[at] for at in order], owners[order], dim=dim),
            sources=np.array([source_number(row.key.subject) for row in ordered], dtype=np.int64),
            at=np.array([row.at.timestamp() for row in ordered], dtype=np.float64),
            failures=np.array([row.failures for row in ordered], dtype=np.int32),
            places={row.key: place for place, row in enumerate(ordered)},
        )

    @property
    def live(self) -> int:
        """Return how many rows were not dropped."""
        return int(np.count_nonzero(self.failures != _GONE))

    def told(self, put: Sequence[ExperienceRow], drop: Sequence[ExperienceKey]) -> Segment:
        """Return the segment with new facts about rows that it holds."""
        if not put and not drop:
            return self
        at, failures = self.at.copy(), self.failures.copy()
        for row in put:
            at[self.places[row.key]], failures[self.places[row.key]] = row.at.timestamp(), row.failures
        failures[[self.places[key] for key in drop]] = _GONE
        places = {key: place for key, place in self.places.items() if failures[place] != _GONE} if drop else self.places
        return replace(self, at=at, failures=failures, places=places)

    def merged(self, other: Segment) -> Segment:
        """Return one segment of the live rows of two."""
        kept = [np.flatnonzero(one.failures != _GONE) for one in (self, other)]
        both = list(zip((self, other), kept, strict=True))
        owners = np.concatenate([one.vectors.owners[rows] for one, rows in both])
        order = np.argsort(owners, kind="stable")
        keys = [
            *sorted(self.places, key=lambda key: self.places[key]),
            *sorted(other.places, key=lambda key: other.places[key]),
        ]
        return Segment(
            vectors=VectorIndex(np.concatenate([one.vectors.rows[rows] for one, rows in both])[order], owners[order]),
            sources=np.concatenate([one.sources[rows] for one, rows in both])[order],
            at=np.concatenate([one.at[rows] for one, rows in both])[order],
            failures=np.concatenate([one.failures[rows] for one, rows in both])[order],
            places={keys[old]: place for place, old in enumerate(order.tolist())},
        )

    def near(self, query: Vector, *, tools: DocSet, least: float) -> PastHits:
        """Return the live rows of the tools whose cosine is `least` or more."""
        rows, cosines = self.vectors.within(query, docs=tools, least=least)
        live = self.failures[rows] != _GONE
        rows, cosines = rows[live], cosines[live]
        return PastHits(self.vectors.owners[rows], self.sources[rows], cosines, self.at[rows], self.failures[rows])


@dataclass(frozen=True, slots=True, eq=False)
class PastVectors:
    """The past requests of one tenant.

    Attributes:
        numbers: Tool -> its number here; a number is never given to another tool.
        segments: Oldest and largest first.
    """

    numbers: Mapping[ToolRef, int]
    segments: tuple[Segment, ...]

    @property
    def live(self) -> int:
        """Return how many past requests there are."""
        return sum(segment.live for segment in self.segments)

    def changed(
        self, put: Sequence[ExperienceRow], drop: Iterable[ExperienceKey], *, vectors: Mapping[str, Vector], dim: int
    ) -> PastVectors:
        """Return the shelf after rows were put and dropped.

        Args:
            put: New rows, and rows that take the place of those of the same key.
            drop: Keys of rows that are gone; unknown ones are passed over.
            vectors: Text hash -> unit vector, of the new rows at least.
            dim: Length of a vector.
        """
        gone = list(dict.fromkeys(drop))
        segments = [
            segment.told(
                [row for row in put if row.key in segment.places], [key for key in gone if key in segment.places]
            )
            for segment in self.segments
        ]
        new = [row for row in put if not any(row.key in segment.places for segment in segments)]
        tools = dict.fromkeys(row.key.ref for row in new)
        unknown = [tool for tool in tools if tool not in self.numbers]
        numbers = self.numbers
        if unknown:
            first = len(numbers)
            numbers = {**numbers, **{tool: first + place for place, tool in enumerate(unknown)}}
        if new:
            rows = [vectors[row.key.text_hash] for row in new]
            segments.append(Segment.build(new, rows, numbers=numbers, dim=dim))
        return PastVectors(numbers, _tidied(segments))

    def near(self, query: Vector, *, tools: DocSet, least: float) -> PastHits:
        """Return the past requests that given tools served and whose cosine is `least` or more.

        Args:
            query: float32[dim], a unit vector.
            tools: Set of tool numbers.
            least: Cosine in [-1, 1].
        """
        found = [segment.near(query, tools=tools, least=least) for segment in self.segments]
        return PastHits(
            np.concatenate([hits.tools for hits in found]),
            np.concatenate([hits.sources for hits in found]),
            np.concatenate([hits.cosines for hits in found]),
            np.concatenate([hits.at for hits in found]),
            np.concatenate([hits.failures for hits in found]),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Experience:
    """The past requests of all tenants; None is the tenant of those without one."""

    dim: int
    shelves: Mapping[str | None, PastVectors] = field(default_factory=lambda: MappingProxyType({}))

    def changed(
        self, put: Sequence[ExperienceRow], drop: Sequence[ExperienceKey], *, vectors: Mapping[str, Vector]
    ) -> Experience:
        """Return the experience after rows were put and dropped; see `Shelf.changed`."""
        shelves = dict(self.shelves)
        for tenant in dict.fromkeys([*(row.key.tenant for row in put), *(key.tenant for key in drop)]):
            before = shelves.get(tenant, PastVectors({}, ()))
            after = before.changed(
                [row for row in put if row.key.tenant == tenant],
                [key for key in drop if key.tenant == tenant],
                vectors=vectors,
                dim=self.dim,
            )
            shelves[tenant] = after
            if not after.segments:
                del shelves[tenant]
        return Experience(self.dim, shelves)

    def __len__(self) -> int:
        return sum(shelf.live for shelf in self.shelves.values())


def source_number(subject: str) -> int:
    """Return the number that stands for a subject: 63 bits of its sha256, so that no table of subjects is needed."""
    return int.from_bytes(hashlib.sha256(subject.encode("utf-8", "surrogatepass")).digest()[:8], "big") >> 1


def _tidied(segments: Sequence[Segment]) -> tuple[Segment, ...]:
    """Return segments without dropped ones, each at least twice as large as the next."""
    tidy: list[Segment] = []
    for segment in segments:
        if not segment.places:
            continue
        tidy.append(segment)
        while len(tidy) > 1 and tidy[-2].live < 2 * tidy[-1].live:
            tidy[-2:] = [tidy[-2].merged(tidy[-1])]
    return tuple(tidy)
