"""Differences of contracts and of catalogues, classified. Pure functions.

Every difference of the canonical JSON is told: two contracts have no changes exactly if their fingerprints are equal.
The classes follow one question: what becomes of somebody who still works by the old contract?
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import Field

from toolsearch.contracts.change.change import ChangeClass, ChangeKind, FieldChange, canonical, pointer, same, worst
from toolsearch.contracts.change.schemas import SchemaPair
from toolsearch.model.contract import Frozen, SideEffect, ToolContract, ToolRef, parse_duration

SAFE, BEHAVIOUR, HALF, BREAKING = ChangeClass
Verdicts = tuple[ChangeClass, ChangeClass, ChangeClass]
"""Classes of a value that is added, removed, replaced."""

_PROSE: Verdicts = (BEHAVIOUR, BEHAVIOUR, BEHAVIOUR)
_NOTES: Verdicts = (SAFE, SAFE, SAFE)
_PROMISE: Verdicts = (BEHAVIOUR, HALF, HALF)

_AGAIN = "the model or the ranking reads it: evaluate again"
_RULES = "access rules and exposure may go by it"

FIELDS: Mapping[str, tuple[ChangeKind, Verdicts, str]] = {
    "identity.name": (ChangeKind.IDENTITY, (BREAKING,) * 3, "calls by the old name fail"),
    "identity.server": (ChangeKind.IDENTITY, (BREAKING,) * 3, "calls to the old server fail"),
    "identity.version": (ChangeKind.IDENTITY, _NOTES, "the author's number; calls do not carry it"),
    "identity.title": (ChangeKind.DESCRIPTION, _PROSE, _AGAIN),
    "identity.aliases": (ChangeKind.DESCRIPTION, _PROSE, _AGAIN),
    "identity.domain": (ChangeKind.ACCESS, _PROSE, _RULES),
    "capability.does": (ChangeKind.DESCRIPTION, _PROSE, _AGAIN),
    "capability.does_not": (ChangeKind.BOUNDARY, _PROSE, _AGAIN),
    "capability.examples": (ChangeKind.DESCRIPTION, _PROSE, _AGAIN),
    "capability.tags": (ChangeKind.ACCESS, _PROSE, _RULES),
    "selection.use_when": (ChangeKind.BOUNDARY, _PROSE, _AGAIN),
    "selection.do_not_use_when": (ChangeKind.BOUNDARY, _PROSE, _AGAIN),
    "selection.adjacent_tools": (ChangeKind.BOUNDARY, _PROSE, _AGAIN),
    "input.semantics": (ChangeKind.DESCRIPTION, _PROSE, _AGAIN),
    "input.semantic_rules": (ChangeKind.DESCRIPTION, _PROSE, _AGAIN),
    "input.clarification_fields": (ChangeKind.FIELD, _PROSE, "what is asked of the user changes"),
    "input.forbidden_inference_fields": (ChangeKind.FIELD, _PROSE, "what is asked of the user changes"),
    "output.produces": (ChangeKind.OUTPUT, (SAFE, BREAKING, BREAKING), "tools that are fed by it look there"),
    "output.success_evidence": (ChangeKind.OUTPUT, _PROSE, _AGAIN),
    "output.error_taxonomy": (ChangeKind.OUTPUT, (HALF, SAFE, HALF), "callers may meet an error they do not know"),
    "execution.idempotency": (ChangeKind.EXECUTION, _PROMISE, "whether a call may be repeated goes by it"),
    "execution.timeout_ms": (ChangeKind.EXECUTION, _PROMISE, "how long callers wait goes by it"),
    "execution.retry": (ChangeKind.EXECUTION, _PROMISE, "whether a call may be repeated goes by it"),
    "execution.approval": (ChangeKind.APPROVAL, (HALF, HALF, HALF), "who must agree to a call changes"),
    "operational.freshness.text": (ChangeKind.OPERATIONAL, _PROSE, _AGAIN),
    "operational.typical_latency_ms": (ChangeKind.OPERATIONAL, _PROSE, _AGAIN),
    "operational.cost_class": (ChangeKind.OPERATIONAL, _PROSE, _AGAIN),
    "operational.result_scale": (ChangeKind.OPERATIONAL, _PROSE, _AGAIN),
    "operational.owner": (ChangeKind.OPERATIONAL, _NOTES, "a note for people"),
    "operational.support_runbook": (ChangeKind.OPERATIONAL, _NOTES, "a note for people"),
    "provenance.source": (ChangeKind.PROVENANCE, _NOTES, "a note for people"),
    "provenance.trusted": (ChangeKind.ACCESS, (HALF, HALF, HALF), "whether its hints count changes"),
    "provenance.fields": (ChangeKind.PROVENANCE, _NOTES, "who stated a field"),
    "provenance.confidence": (ChangeKind.PROVENANCE, _NOTES, "how sure a reader was"),
    "provenance.authors": (ChangeKind.PROVENANCE, _NOTES, "who stated a field"),
    "provenance.notes": (ChangeKind.PROVENANCE, _NOTES, "a note for people"),
}
"""Field -> kind, classes, why. Fields with a rule of their own are in `_SPECIAL`."""

_MAPPINGS = frozenset(
    {
        "selection.adjacent_tools",
        "input.semantics",
        "output.produces",
        "execution.retry",
        "provenance.fields",
        "provenance.confidence",
        "provenance.authors",
    }
)
"""Fields that are compared entry by entry."""

_ACCESS_FIELDS = ("scopes_all", "scopes_any", "roles_any", "tenants", "environments")


class ToolDiff(Frozen):
    """What changed between two contracts of a tool.

    Attributes:
        verdict: Class of the worst change; None = nothing changed.
        changes: Worst first, then by path.
    """

    ref: str = Field(description="Of the new contract; of the old one where there is no new one.")
    before: str | None = Field(description="Fingerprint of the old contract; null = there was none.")
    after: str | None = Field(description="Fingerprint of the new contract; null = there is none.")
    verdict: ChangeClass | None
    changes: tuple[FieldChange, ...]


class CatalogueDiff(Frozen):
    """What changed between two catalogues: the tools that differ, by ref, and how many do not."""

    verdict: ChangeClass | None
    tools: tuple[ToolDiff, ...]
    unchanged: int


def diff_contracts(before: ToolContract, after: ToolContract) -> tuple[FieldChange, ...]:
    """Return every change, worst first, then by path; none exactly if the fingerprints are equal."""
    if before.fingerprint == after.fingerprint:
        return ()
    found: list[FieldChange] = []
    old, new = before.canonical(), after.canonical()
    for path in _differing_fields(old, new):
        found.extend(_field_changes(path, before=before, after=after, old=_at(old, path), new=_at(new, path)))
    return tuple(sorted(found, key=lambda each: (-each.verdict.rank, each.path, canonical([each.before, each.after]))))


def diff_tools(before: ToolContract | None, after: ToolContract | None) -> ToolDiff:
    """Return what changed of one tool; None = it was, or is, not there."""
    if before is None or after is None:
        there = before or after
        if there is None:
            raise ValueError("neither contract is given")
        verdict, why = (SAFE, "a new tool") if before is None else (BREAKING, "the tool is gone")
        changes: tuple[FieldChange, ...] = (FieldChange(verdict=verdict, kind=ChangeKind.TOOL, path="", why=why),)
    else:
        there = after
        changes = diff_contracts(before, after)
    return ToolDiff(
        ref=str(there.ref),
        before=None if before is None else before.fingerprint,
        after=None if after is None else after.fingerprint,
        verdict=worst(changes),
        changes=changes,
    )


def diff_catalogues(before: Iterable[ToolContract], after: Iterable[ToolContract]) -> CatalogueDiff:
    """Return what changed between two catalogues.

    Tools are matched by ref; then by server and name, where that leaves one on each side (the author raised the
    version); then, where each catalogue is one tool, with each other.
    """
    pairs = list(_matched(tuple(before), tuple(after)))
    diffs = [diff_tools(old, new) for old, new in pairs]
    changed = sorted((each for each in diffs if each.verdict is not None), key=lambda each: each.ref)
    verdict = worst(change for each in changed for change in each.changes)
    return CatalogueDiff(verdict=verdict, tools=tuple(changed), unchanged=len(diffs) - len(changed))


def _matched(
    before: Sequence[ToolContract], after: Sequence[ToolContract]
) -> Iterator[tuple[ToolContract | None, ToolContract | None]]:
    if len(before) == len(after) == 1:
        yield before[0], after[0]
        return
    old, new = {each.ref: each for each in before}, {each.ref: each for each in after}
    for ref in sorted(old.keys() & new.keys()):
        yield old.pop(ref), new.pop(ref)
    for old_ref in sorted(old):
        mine = [ref for ref in old if ref[:2] == old_ref[:2]]
        theirs = [ref for ref in new if ref[:2] == old_ref[:2]]
        if len(mine) == len(theirs) == 1:
            yield old.pop(old_ref), new.pop(theirs[0])
    yield from ((contract, None) for _, contract in sorted(old.items(), key=_by_ref))
    yield from ((None, contract) for _, contract in sorted(new.items(), key=_by_ref))


def _by_ref(item: tuple[ToolRef, ToolContract]) -> ToolRef:
    return item[0]


def _differing_fields(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """Yield the dotted paths of the fields that differ: two levels, three under freshness."""
    for section in sorted(old.keys() | new.keys()):
        before, after = old.get(section, {}), new.get(section, {})
        for name in sorted(before.keys() | after.keys()):
            if same(before.get(name), after.get(name)):
                continue
            if name != "freshness":
                yield f"{section}.{name}"
                continue
            was, now = before.get(name, {}), after.get(name, {})
            for part in sorted(was.keys() | now.keys()):
                if not same(was.get(part), now.get(part)):
                    yield f"{section}.{name}.{part}"


def _at(data: Mapping[str, Any], path: str) -> Any:
    found: Any = data
    for part in path.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _field_changes(
    path: str, *, before: ToolContract, after: ToolContract, old: Any, new: Any
) -> Iterator[FieldChange]:
    special = _SPECIAL.get(path)
    if special is not None:
        yield from special(before, after)
        return
    kind, verdicts, why = FIELDS.get(path, (ChangeKind.STRUCTURE, (HALF, HALF, HALF), "no rule knows this field"))
    at = pointer("", *path.split("."))
    if isinstance(old or new, list):
        yield from _list_changes(old or [], new or [], kind=kind, verdicts=verdicts, path=at, why=why)
    elif path in _MAPPINGS:
        was, now = old or {}, new or {}
        for name in sorted(was.keys() | now.keys()):
            if not same(was.get(name), now.get(name)):
                verdict = _of(verdicts, was.get(name), now.get(name))
                yield _change(verdict, kind, pointer(at, name), was.get(name), now.get(name), why)
    else:
        yield _change(_of(verdicts, old, new), kind, at, old, new, why)


def _of(verdicts: Verdicts, old: Any, new: Any) -> ChangeClass:
    return verdicts[0 if old is None else 1 if new is None else 2]


def _list_changes(
    old: Sequence[Any], new: Sequence[Any], *, kind: ChangeKind, verdicts: Verdicts, path: str, why: str
) -> Iterator[FieldChange]:
    """Yield the entries that came and went, at their place; the same entries in another order are one safe change."""
    known_old, known_new = set(map(canonical, old)), set(map(canonical, new))
    for number, entry in enumerate(old):
        if canonical(entry) not in known_new:
            yield _change(verdicts[1], kind, pointer(path, number), entry, None, why)
    for number, entry in enumerate(new):
        if canonical(entry) not in known_old:
            yield _change(verdicts[0], kind, pointer(path, number), None, entry, why)
    if known_old == known_new:
        yield _change(SAFE, kind, path, list(old), list(new), "the same entries, listed otherwise")


def _schema(before: ToolContract, after: ToolContract, *, is_input: bool) -> Iterator[FieldChange]:
    section = "input" if is_input else "output"
    old, new = (part.schema_ for part in ((before.input, after.input) if is_input else (before.output, after.output)))
    at = f"/{section}/schema"
    if isinstance(old, dict) and isinstance(new, dict):
        # As plain JSON: a schema given from Python may hold tuples.
        was, now = (_at(each.canonical(), f"{section}.schema") or {} for each in (before, after))
        yield from SchemaPair(
            before=was,
            after=now,
            is_input=is_input,
            also_required_before=frozenset(before.input.required),
            also_required_after=frozenset(after.input.required),
        ).changes(at)
    elif not old or not new:
        # Where there was no schema, nothing was promised and nothing was refused.
        verdict = HALF if is_input == (not old) else BEHAVIOUR
        yield _change(verdict, ChangeKind.STRUCTURE, at, old, new, "a schema where there was none, or none any more")
    else:
        yield _change(BREAKING, ChangeKind.STRUCTURE, at, old, new, "another schema, known by its name only")


def _required(before: ToolContract, after: ToolContract) -> Iterator[FieldChange]:
    old, new = before.input.required, after.input.required
    at = "/input/required"
    for name in dict.fromkeys(new):
        if name not in old:
            known = name in before.required_inputs
            why = f"{name!r} was required already" if known else f"{name!r} is required now"
            yield _change(SAFE if known else BREAKING, ChangeKind.REQUIRED, at, None, name, why)
    for name in dict.fromkeys(old):
        if name not in new:
            why = f"{name!r} is {'required still' if name in after.required_inputs else 'optional now'}"
            yield _change(SAFE, ChangeKind.REQUIRED, at, name, None, why)
    if set(old) == set(new):
        yield _change(SAFE, ChangeKind.REQUIRED, at, list(old), list(new), "the same fields, listed otherwise")


def _side_effect(before: ToolContract, after: ToolContract) -> Iterator[FieldChange]:
    old, new = before.execution.side_effect, after.execution.side_effect
    assumed_old, assumed_new = before.assumed_side_effect, after.assumed_side_effect
    if assumed_new > assumed_old:
        verdict, why = BREAKING, "a call risks more than whoever allowed it was told"
    elif assumed_new < assumed_old:
        verdict, why = HALF, "what guards risky calls no longer guards it: make sure that it is true"
    else:
        verdict, why = BEHAVIOUR, "what is not stated counts as irreversible: the risk stays, who states it changes"
    yield _change(verdict, ChangeKind.SIDE_EFFECT, "/execution/side_effect", _label(old), _label(new), why)


def _label(effect: SideEffect | None) -> str | None:
    return None if effect is None else effect.label


def _staleness(before: ToolContract, after: ToolContract) -> Iterator[FieldChange]:
    old, new = (each.operational.freshness.max_staleness for each in (before, after))
    older = new is None or (old is not None and parse_duration(new) > parse_duration(old))
    verdict, why = (HALF, "data may be older than was promised") if older else (BEHAVIOUR, _AGAIN)
    yield _change(verdict, ChangeKind.OPERATIONAL, "/operational/freshness/max_staleness", old, new, why)


def _access(name: str) -> Callable[[ToolContract, ToolContract], Iterator[FieldChange]]:
    def changes(before: ToolContract, after: ToolContract) -> Iterator[FieldChange]:
        old, new = getattr(before.access, name), getattr(after.access, name)
        gone, came = set(old) - set(new), set(new) - set(old)
        at = pointer("/access", name)
        if not gone and not came:
            yield _change(SAFE, ChangeKind.ACCESS, at, list(old), list(new), "the same entries, listed otherwise")
            return
        # Stating no requirement grants nothing; with one stated, every further kind of requirement narrows.
        if name == "scopes_all" or not old or not new:
            narrower = bool(came) if before.access.declared and after.access.declared else not after.access.declared
        else:
            narrower = bool(gone)
        why = "some principals lose the tool" if narrower else "more principals get the tool"
        yield _change(BREAKING if narrower else HALF, ChangeKind.ACCESS, at, list(old), list(new), why)

    return changes


def _change(verdict: ChangeClass, kind: ChangeKind, path: str, before: Any, after: Any, why: str) -> FieldChange:
    return FieldChange(verdict=verdict, kind=kind, path=path, before=before, after=after, why=why)


_SPECIAL: Mapping[str, Callable[[ToolContract, ToolContract], Iterator[FieldChange]]] = {
    "input.schema": lambda before, after: _schema(before, after, is_input=True),
    "output.schema": lambda before, after: _schema(before, after, is_input=False),
    "input.required": _required,
    "execution.side_effect": _side_effect,
    "operational.freshness.max_staleness": _staleness,
    **{f"access.{name}": _access(name) for name in _ACCESS_FIELDS},
}
