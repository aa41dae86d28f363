"""Experience: tools that served requests like this one before.

A past request votes for its tool with

    u = s * 2 ** (-days / half-life) / 2 ** failures,   s = ((cosine - floor) / (1 - floor)) ** 1.5, 0 where s < 0.1

(floor: the cosine that unrelated texts reach with the encoder), and the experience of a tool is the mean of the best
votes of its three best sources, a missing one counting 0. So:

- a number depends on the tool's own past requests only; no rank, no share, nothing of other tools;
- whatever one source tells moves it by at most a third, be it one request or a thousand;
- it takes three sources that asked something alike to reach 1.

Who asks again is not taken in by anybody: the votes of the asking subject itself count in full, for itself.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from toolsearch.model.contract import ToolRef
from toolsearch.model.reasons import ReasonCode, Tell, Why
from toolsearch.search.index.docset import DocSet
from toolsearch.search.index.experience import PastHits, PastVectors, source_number
from toolsearch.text.embed.protocol import EncoderInfo

SOURCES = 3
"""Sources that must agree for full weight: one alone moves a tool's experience by 1 / SOURCES at most."""

HALF_LIFE_DAYS = 90.0
"""Age at which a past request counts half."""

LEAST_VOTE = 0.1
"""Likeness from which on a past request votes: fainter ones are many, and say little."""

NOBODY = "anonymous"
"""The subject of callers without a name: many may share it, so it is nobody's own."""

_SECONDS_PER_DAY = 86_400.0
_DECAY = np.array([2.0 ** (-days / HALF_LIFE_DAYS) for days in range(3_650)])
"""Worth of a vote by its age in whole days: a table, as the last bit of a vectorised power may depend on the place."""


@dataclass(frozen=True, slots=True, eq=False)
class Votes:
    """What past requests say about visible documents.

    Attributes:
        doc_ids: int64[n], ascending: the documents that have any vote.
        values: float64[n] in (0, 1].
        sources: int64[n], how many sources voted.
    """

    doc_ids: NDArray[np.int64]
    values: NDArray[np.float64]
    sources: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class PastRequests:
    """The past requests that count for one principal at one moment: those of its own tenant.

    Attributes:
        shelf: Of the tenant.
        tools: int32[m], tool numbers of the shelf, parallel to `doc_ids`: which tool each document is.
        doc_ids: int32[m].
        encoder: Who made the vectors.
        at: The moment.
        subject: Who asks; None = nobody in particular.
    """

    shelf: PastVectors
    tools: NDArray[np.int32]
    doc_ids: NDArray[np.int32]
    encoder: EncoderInfo
    at: datetime
    subject: str | None

    def votes(self, vector: NDArray[np.float32], *, docs: DocSet) -> Votes:
        """Return what past requests say about the documents of a set; nothing outside it is looked at.

        Args:
            vector: float32[dim], of the text that is searched for.
            docs: The visible documents.
        """
        visible = docs.mask[self.doc_ids]
        tools, doc_ids = self.tools[visible], self.doc_ids[visible]
        wanted = DocSet.of(tools, n_docs=len(self.shelf.numbers))
        floor = self.encoder.cosine_floor
        # A little lower than the least vote: what is below it is taken out by the vote itself.
        least = floor + (LEAST_VOTE ** (2.0 / 3.0) - 1e-6) * (1.0 - floor)
        hits = self.shelf.near(vector, tools=wanted, least=least)
        numbers, values, sources = experience_of(
            hits, floor=floor, at=self.at.timestamp(), own=None if self.subject is None else source_number(self.subject)
        )
        by_tool = np.full(len(self.shelf.numbers), -1, dtype=np.int64)
        by_tool[numbers] = np.arange(numbers.size)
        order = np.argsort(doc_ids, kind="stable")
        rows, found = by_tool[tools[order]], doc_ids[order].astype(np.int64)
        voted = (rows >= 0) & (values[rows] > 0) if values.size else np.zeros(rows.size, dtype=np.bool_)
        return Votes(found[voted], values[rows[voted]], sources[rows[voted]])


def experience_of(
    hits: PastHits, *, floor: float, at: float, own: int | None
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]:
    """Return the tools that past requests vote for (ascending), their values in [0, 1], and how many sources voted.

    Args:
        hits: Past requests near the query.
        floor: Cosine of unrelated texts.
        at: The moment, in seconds since the epoch.
        own: The source that asks, if it is somebody in particular.
    """
    days = np.clip((at - hits.at) / _SECONDS_PER_DAY, 0, _DECAY.size - 1).astype(np.int64)
    near = np.clip((hits.cosines - floor) / (1.0 - floor), 0.0, 1.0)
    likeness = near * np.sqrt(near)
    votes = np.where(likeness >= LEAST_VOTE, np.ldexp(likeness * _DECAY[days], -hits.failures), 0.0)
    # Best vote of each source for each tool, then the best sources of each tool, in an order that ties cannot change.
    order = np.lexsort((-votes, hits.sources, hits.tools))
    tools, sources, votes = hits.tools[order], hits.sources[order], votes[order]
    first = _starts(tools) | _starts(sources)
    tools, sources, votes = tools[first], sources[first], votes[first]
    order = np.lexsort((-votes, tools))
    tools, sources, votes = tools[order], sources[order], votes[order]
    starts = np.flatnonzero(_starts(tools))
    counts = np.diff(np.append(starts, tools.size))
    place = np.arange(tools.size) - np.repeat(starts, counts)
    values = np.zeros(starts.size)
    for rank in range(SOURCES):  # one addition after the other, best first: the same sum whatever else is there
        here = np.flatnonzero(place == rank)
        values[np.searchsorted(starts, here, side="right") - 1] += votes[here]
    values /= SOURCES
    if own is not None:
        mine = np.flatnonzero(sources == own)
        at_tool = np.searchsorted(starts, mine, side="right") - 1
        values[at_tool] = np.maximum(values[at_tool], votes[mine])
    return tools[starts], values, counts.astype(np.int64)


def lifted(relevance: NDArray[np.float64], votes: NDArray[np.float64], *, gain: float) -> NDArray[np.float64]:
    """Return relevance in [0, 1] raised by experience: r + gain * v * (1 - r). Without votes it is what it was."""
    return np.asarray(relevance + gain * votes * (1.0 - relevance), dtype=np.float64)


def tell(value: float, sources: int) -> Tell:
    """Say that the tool served requests like this one; never what others asked."""
    who = "one source" if sources == 1 else f"{sources} sources"
    return lambda: Why(ReasonCode.PAST_REQUESTS, f"it served like requests of {who} before (strength {value:.2f})")


def number_documents(
    numbers: Mapping[ToolRef, int], *, refs: Sequence[ToolRef]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return tool numbers and the DocIds of those tools, parallel; tools that are not there are left out.

    Args:
        numbers: Tool -> its number on a shelf.
        refs: Of all documents, ascending.
    """
    pairs = [
        (number, doc_id)
        for ref, number in numbers.items()
        if (doc_id := bisect_left(refs, ref)) < len(refs) and refs[doc_id] == ref
    ]
    flat = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    return flat[:, 0].copy(), flat[:, 1].copy()


def _starts(values: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Return bool[n]: does a run of equal values begin here?"""
    starts = np.ones(values.size, dtype=np.bool_)
    starts[1:] = values[1:] != values[:-1]
    return starts
