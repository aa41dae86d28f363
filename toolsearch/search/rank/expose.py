"""Last stage: how many, which risks, which now and which later, or "no tool".

Sizes by the table of the design: 3-5 where the intent is clear, up to 8 where several clauses must be combined, at most
two write tools, and never a write whose forbidden inputs are unknown while a read-only tool can confirm them first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from toolsearch.model.contract import SideEffect
from toolsearch.model.limits import SearchLimits
from toolsearch.model.reasons import ReasonCode, Why
from toolsearch.search.index.columns import Columns
from toolsearch.search.inputs.readiness import Missing
from toolsearch.search.rank.diversify import Folded

LEAST = 3
"""Never fewer than this where more fit, unless the caller asks for fewer."""

CLEAR_SHARE = 0.6
"""Beyond LEAST, a candidate of a clear request must reach this share of the best score."""


NEAR_SHARE = 0.6
"""A read-only tool with this share of a write's score stands near enough to be called before it."""


@dataclass(frozen=True, slots=True)
class Held:
    """A candidate that is not offered yet."""

    item: Folded
    reason: Why
    unlock: str


@dataclass(frozen=True, slots=True)
class Exposed:
    """What is offered, and what is held back."""

    offered: tuple[Folded, ...]
    held: tuple[Held, ...]


def situation_size(*, k: int | None, clauses: int, limits: SearchLimits) -> int:
    """Return how many candidates a request may get: the caller's k, or by situation."""
    if k is not None:
        return k
    return limits.many if clauses > 1 else limits.few


def expose(chosen: Sequence[Folded], *, k: int | None, clauses: int, columns: Columns, limits: SearchLimits) -> Exposed:
    """Decide what the model sees now.

    Args:
        chosen: Diverse candidates, best first.
        k: What the caller asked for; None = by situation.
        clauses: Clauses of the request.
        columns: Side effects of the documents.
        limits: Sizes.
    """
    ordered = _confirm_first(list(chosen), columns=columns)
    offered, held = _hold_writes(ordered, k=k, columns=columns, limits=limits)
    if k is None and clauses < 2 and offered:
        best = max(item.best.score for item in offered)
        offered = [item for rank, item in enumerate(offered) if rank < LEAST or item.best.score >= CLEAR_SHARE * best]
    return Exposed(tuple(offered), tuple(held))


def _confirm_first(items: list[Folded], *, columns: Columns) -> list[Folded]:
    """Put the best read-only tool before a leading irreversible one whose inputs are not all at hand."""
    if not items or columns.side_effect[items[0].best.doc_id] < SideEffect.IRREVERSIBLE:
        return items
    if not items[0].best.readiness.missing:
        return items
    for index, item in enumerate(items):
        if columns.side_effect[item.best.doc_id] <= SideEffect.READ_ONLY:
            text = "read-only: confirms what the write tool after it needs"
            evidence = replace(
                item.best.evidence, notes=(Why(ReasonCode.CONFIRMS_WRITE, text), *item.best.evidence.notes)
            )
            first = replace(item, best=replace(item.best, evidence=evidence))
            return [first, *items[:index], *items[index + 1 :]]
    return items


def _hold_writes(
    items: list[Folded], *, k: int | None, columns: Columns, limits: SearchLimits
) -> tuple[list[Folded], list[Held]]:
    """Hold back irreversible tools that lack what must not be guessed, and writes beyond the limit.

    The limit counts tools that are known to write. Where nobody stated an effect, every tool would count as a write and
    an unannotated catalogue would show two tools: those are gated by their inputs, not by number.
    """
    readers = [item for item in items if columns.side_effect[item.best.doc_id] <= SideEffect.READ_ONLY]
    offered: list[Folded] = []
    held: list[Held] = []
    writes = 0
    for item in items:
        effect = columns.side_effect[item.best.doc_id]
        writing = effect >= SideEffect.REVERSIBLE and bool(columns.effect_known[item.best.doc_id])
        blocked = [missing for missing in item.best.readiness.missing if missing.forbidden]
        if effect == SideEffect.IRREVERSIBLE and _confirmable(item, blocked, readers=readers, columns=columns):
            fields = ", ".join(missing.field for missing in blocked)
            text = f"irreversible, and {fields} is neither stated nor may be guessed"
            held.append(Held(item, Why(ReasonCode.PRECONDITION, text), "; ".join(map(_way_to, blocked))))
        elif writing and k is None and writes >= limits.writes:
            text = f"{limits.writes} better write tools are offered already"
            held.append(Held(item, Why(ReasonCode.PRECONDITION, text), "ask for more candidates with k"))
        else:
            writes += writing
            offered.append(item)
    return offered, held


def _confirmable(item: Folded, blocked: Sequence[Missing], *, readers: Sequence[Folded], columns: Columns) -> bool:
    """Tell whether something is missing that a read-only tool of the answer can supply, or stands near to supply."""
    producers = {ref for missing in blocked for ref in missing.obtain_from}
    return bool(blocked) and any(
        columns.refs[reader.best.doc_id] in producers or reader.best.score >= NEAR_SHARE * item.best.score
        for reader in readers
    )


def _way_to(missing: Missing) -> str:
    """Say how to get a missing input."""
    if missing.obtain_from:
        return f"give {missing.field}, or get it from {missing.obtain_from[0]}"
    return f"give {missing.field}"
