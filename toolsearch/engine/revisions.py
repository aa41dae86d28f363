"""What a ref speaks of among the tools of now and of the past, and how their history is told."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

from toolsearch.contracts.change.propose import ProposalContext, tool_of
from toolsearch.contracts.change.records import Revision
from toolsearch.engine.writer import LiveIndex
from toolsearch.model.contract import ToolContract, ToolRef
from toolsearch.model.errors import RequestError, UnknownTool
from toolsearch.store.revisions import MAKES_CURRENT, Content, Event

T = TypeVar("T")


def situation_of(live: LiveIndex) -> ProposalContext:
    """Return what is current, waits, is rolled out and was turned down."""
    registry = live.registry
    return ProposalContext(
        catalog=live.state.snapshot.contracts,
        waiting=registry.waiting(),
        rollouts=registry.rollouts(),
        refusals=registry.refusals(),
    )


def known_tool(live: LiveIndex, ref: str) -> ToolRef:
    """Return the tool of the index that is meant, else one that once was there; of several versions the newest."""
    current = {found: found for found in live.state.snapshot.contracts.refs}
    found = named(ref, current)
    if found is not None:
        return found
    tool, _, version = ref.partition("@")
    server, _, name = tool.partition("/")
    gone = [event.ref for event in live.registry.events(server=server, name=name)]
    gone = [each for each in gone if version in ("", str(each.version))]
    if not gone:
        raise UnknownTool(f"no tool {ref[:200]!r} is or was in the index")
    return max(gone)


def earlier_revision(
    live: LiveIndex, ref: ToolRef, *, to: str, current: ToolContract | None, refusals: Collection[Content]
) -> ToolContract:
    """Return the revision to go back to."""
    contents = {
        each.fingerprint: each.contract
        for each in live.registry.history(server=ref.server, name=ref.name)
        if each.ref == ref
    }
    if to:
        found = [fingerprint for fingerprint in contents if fingerprint.startswith(to)]
        if len(found) != 1:
            what = "several revisions begin" if found else "no revision begins"
            raise RequestError(f"{what} with {to[:64]!r}; `toolsearch history {ref}` lists them", field="to")
    else:
        events = live.registry.events(server=ref.server, name=ref.name)
        past = [event.fingerprint for event in events if event.ref == ref and event.action in MAKES_CURRENT]
        found = [
            each
            for each in reversed(past)
            if (ref, each) not in refusals and (current is None or each != current.fingerprint)
        ]
        if not found:
            raise RequestError(f"{ref} has no earlier revision that was not taken back; name one", field="to")
    if current is not None and found[0] == current.fingerprint:
        raise RequestError(f"{found[0][:12]} is the current revision of {ref} already", field="to")
    return contents[found[0]]


def lines(live: LiveIndex, events: Iterable[Event], *, told: bool) -> tuple[Revision, ...]:
    """Return events as lines of a history; `told` = with author and reason."""
    lines = list(events)
    catalog = live.state.snapshot.contracts
    current: dict[ToolRef, int] = {}
    for event in lines:
        if event.action in MAKES_CURRENT and catalog.find(event.ref) is not None:
            current[event.ref] = event.seq
    return tuple(
        Revision(
            ref=str(event.ref),
            at=event.at,
            action=event.action,
            fingerprint=event.fingerprint,
            current=current.get(event.ref) == event.seq,
            share=event.share,
            reevaluate=event.marked,
            author=event.author if told else "",
            reason=event.reason if told else "",
        )
        for event in lines
    )


def named(ref: str, among: Mapping[ToolRef, T]) -> T | None:
    """Return what stands under a ref, `server/name` or name; of several versions the newest.

    Raises:
        RequestError: If several tools have that name.
    """
    tool, _, version = ref.partition("@")
    found = [key for key in among if tool in (key.name, tool_of(key)) and (not version or version == str(key.version))]
    if len({key.server for key in found}) > 1:
        options = ", ".join(sorted({tool_of(key) for key in found}))
        raise RequestError(f"{ref[:200]!r} names several tools; write one of {options}", field="ref")
    return among[max(found)] if found else None


def checked(fingerprint: str, *, wanted: str) -> str:
    """Return the fingerprint if it begins as wanted.

    Raises:
        RequestError: If it does not.
    """
    if not fingerprint.startswith(wanted):
        raise RequestError(
            f"{fingerprint[:12]} is there now, not {wanted[:64]!r}; look at it with `toolsearch pending`, then decide",
            field="fingerprint",
        )
    return fingerprint
