"""The log a model is fitted on: whose it is, how much one subject may say, and which requests are alike.

What one source may tell is bounded as it is for experience (`store.ledger`), and where three or more subjects asked,
none of them counts for more than a third of the requests: who floods a log neither steers what is fitted nor what is
measured.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from toolsearch.engine.experience import experience_row
from toolsearch.model.contract import ToolRef
from toolsearch.model.errors import ModelRefused, RequestError
from toolsearch.model.request import PastRequest
from toolsearch.search.rank.experience import SOURCES
from toolsearch.store.ledger import Ledger
from toolsearch.text.analysis.analyzer import fold

MIN_REQUESTS, MIN_TOOLS, MIN_HELD_OUT = 60, 5, 15
"""Least number of requests that differ, of tools that served them, and of requests held out."""

MAX_REQUESTS = 20_000
"""Requests used at most: beyond it the time grows, and what is learnt does not."""

HELD_OUT, INNER = 0.25, 0.25
"""Share of the requests that is held out, and share of the others that choices are made on."""

MAX_SHARE = 1 / 3
"""Share of the requests that one subject may have asked, where three or more asked; the rest of its own is left out."""

NEAR = 0.9
"""Calibrated likeness from which on two requests are alike: they stand on the same side of every split."""

_BLOCK = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request of the log, whoever asked it.

    Attributes:
        text: As it was asked first.
        tenant: Whose.
        golds: Refs of the tools that served it, sorted.
        subjects: Who asked, sorted.
    """

    text: str
    tenant: str | None
    golds: tuple[str, ...]
    subjects: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Log:
    """A log made ready to be learnt from.

    Attributes:
        asked: Requests in an order that depends on their texts alone.
        groups: int64[n], requests that are alike have one number.
        unknown: Lines of tools that are not in the index, or not of one tool.
        refused: Lines beyond the bounds.
    """

    asked: tuple[Asked, ...]
    groups: NDArray[np.int64]
    unknown: int
    refused: int

    @property
    def tools(self) -> int:
        """Return how many tools served a request."""
        return len({ref for one in self.asked for ref in one.golds})

    @property
    def subjects(self) -> int:
        """Return how many subjects asked."""
        return len({subject for one in self.asked for subject in one.subjects})


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Positions in a log: what is fitted to, what choices are made on, and what only judges."""

    fit: tuple[int, ...]
    inner: tuple[int, ...]
    held_out: tuple[int, ...]


def of_tenant(requests: Iterable[PastRequest], *, tenant: str | None, all_tenants: bool) -> list[PastRequest]:
    """Return the requests of the tenant whose log it is to be.

    Args:
        requests: The whole log.
        tenant: The tenant that was named; None = none was.
        all_tenants: Whether the model is to serve everybody, so that it may be fitted on everybody's requests.

    Raises:
        RequestError: If the log is of several tenants and nothing says which.
    """
    given = list(requests)
    if tenant is not None:
        return [request for request in given if request.tenant == tenant]
    tenants = {request.tenant for request in given}
    if len(tenants) > 1 and not all_tenants:
        raise RequestError(
            f"the log is of {len(tenants)} tenants, and a model learnt from one must not serve another: name one with "
            "--tenant, or say --all-tenants",
            field="tenant",
        )
    return given


def read_log(
    requests: Sequence[PastRequest],
    *,
    newest: Callable[[str], ToolRef | None],
    encode: Callable[[Sequence[str]], NDArray[np.float32]],
    floor: float,
    at: datetime,
    seed: int,
    max_share: float = MAX_SHARE,
) -> Log:
    """Bound a log, merge what was asked in the same words, and find what is alike.

    Args:
        requests: Past requests and the tool that served each.
        newest: Ref of a log -> ref of the index, or None.
        encode: Texts -> unit vectors.
        floor: Cosine of unrelated texts.
        at: The moment; requests without one are of it.
        seed: Decides which requests are left out where there are too many.
        max_share: Of one subject, in (0, 1].
    """
    known = [(request, newest(request.ref)) for request in requests]
    kept = Ledger()
    for request, ref in known:
        if ref is not None:
            moment = at if request.at is None else min(request.at, at)
            row = experience_row(ref=ref, text=request.text, subject=request.subject, tenant=request.tenant, at=moment)
            kept.succeed(row, now=at)
    merged: dict[tuple[str | None, str], list[tuple[str, str, str]]] = {}
    for row in kept.rows():
        entry = (row.text, str(row.key.ref), row.key.subject)
        merged.setdefault((row.key.tenant, plain(row.text)), []).append(entry)
    order = sorted(merged, key=lambda key: _hash(f"{seed}:{key[0] or ''}:{key[1]}"))
    asked = [
        Asked(
            text=min(text for text, _, _ in merged[key]),
            tenant=key[0],
            golds=tuple(sorted({ref for _, ref, _ in merged[key]})),
            subjects=tuple(sorted({subject for _, _, subject in merged[key]})),
        )
        for key in order
    ]
    asked = fair(asked, max_share=max_share)[:MAX_REQUESTS]
    groups = alike([plain(one.text) for one in asked], encode([one.text for one in asked]), floor=floor)
    unknown = sum(ref is None for _, ref in known)
    return Log(tuple(asked), groups, unknown, len(known) - unknown - len(kept))


def plain(text: str) -> str:
    """Return what two requests must share to be the same one: their words, without case, marks and digits."""
    letters = (("#" if char.isdigit() else char) if char.isalnum() else " " for char in fold(text))
    return " ".join("".join(letters).split()) or text


def fair(asked: Sequence[Asked], *, max_share: float = MAX_SHARE) -> list[Asked]:
    """Return the requests without the excess of any subject; what several subjects asked is nobody's own.

    Args:
        asked: Requests; of a subject's own, the first ones stay.
        max_share: Share of the requests that one subject may have asked.
    """
    counts = Counter(one.subjects[0] for one in asked if len(one.subjects) == 1)
    common = len(asked) - counts.total()
    if len(counts) < SOURCES or max_share >= 1.0:
        return list(asked)
    most = max(counts.values())
    while most > 1 and most > max_share * (common + sum(min(count, most) for count in counts.values())):
        most -= 1
    held: Counter[str] = Counter()
    chosen = []
    for one in asked:
        if len(one.subjects) == 1:
            held[one.subjects[0]] += 1
        if len(one.subjects) > 1 or held[one.subjects[0]] <= most:
            chosen.append(one)
    return chosen


def alike(texts: Sequence[str], vectors: NDArray[np.float32], *, floor: float) -> NDArray[np.int64]:
    """Return int64[n]: the first text that each one is alike to, over any number of steps."""
    parent = list(range(len(texts)))

    def root(at: int) -> int:
        while parent[at] != at:
            parent[at] = parent[parent[at]]
            at = parent[at]
        return at

    first: dict[str, int] = {}
    for at, text in enumerate(texts):
        parent[at] = first.setdefault(text, at)
    least = floor + NEAR * (1.0 - floor)
    for start in range(0, len(texts), _BLOCK):
        near = np.argwhere(vectors[start : start + _BLOCK] @ vectors[: start + _BLOCK].T >= least)
        for row, other in near.tolist():
            low, high = sorted((root(start + row), root(other)))
            parent[high] = low
    return np.array([root(at) for at in range(len(texts))], dtype=np.int64)


def split(log: Log, *, seed: int) -> Split:
    """Divide a log by the hash of the words of each group: the same request falls on the same side in every run.

    Raises:
        ModelRefused: If there is too little to fit to or to judge by.
    """
    members: dict[int, list[int]] = {}
    for at, group in enumerate(log.groups.tolist()):
        members.setdefault(group, []).append(at)
    sides: dict[str, list[int]] = {"fit": [], "inner": [], "held out": []}
    counts: Counter[str] = Counter()
    for places in members.values():
        words = min(plain(log.asked[at].text) for at in places)
        held = _hash(f"held out:{seed}:{words}") < HELD_OUT
        side = "held out" if held else "inner" if _hash(f"inner:{seed}:{words}") < INNER else "fit"
        sides[side] += places
        counts[side] += 1
    if len(members) < MIN_REQUESTS or log.tools < MIN_TOOLS or counts["held out"] < MIN_HELD_OUT or not counts["inner"]:
        raise ModelRefused(
            f"the log has {len(members)} requests that differ, {counts['held out']} of them held out, for {log.tools} "
            f"tools; at least {MIN_REQUESTS}, {MIN_HELD_OUT} and {MIN_TOOLS} are needed: collect more; meanwhile past "
            "requests vote by themselves"
        )
    return Split(*(tuple(sorted(sides[side])) for side in ("fit", "inner", "held out")))


def _hash(text: str) -> float:
    """Return a number in [0, 1) that is the same in every process."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:8], "big") / 2.0**64
