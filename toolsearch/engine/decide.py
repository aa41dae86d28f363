"""Decisions on one tool: approve, reject, roll back. Each plans a step; `VersionRoom` says what they mean."""

from __future__ import annotations

from toolsearch.contracts.change.diff import diff_tools
from toolsearch.contracts.change.propose import ProposalContext
from toolsearch.engine.revisions import checked, earlier_revision, known_tool, named, situation_of
from toolsearch.engine.writer import LiveIndex
from toolsearch.model.contract import ToolContract
from toolsearch.model.errors import RequestError, UnknownTool
from toolsearch.store.revisions import Action, RolloutRow, Step


def plan_approval(live: LiveIndex, ref: str, *, share: float, fingerprint: str, author: str, reason: str) -> Step:
    """Return the step that lets what waits or is rolled out take effect, or takes the mark from a tool."""
    situation = situation_of(live)
    contract = _candidate(ref, situation, fingerprint=fingerprint)
    if contract is None and share < 1:
        raise UnknownTool(f"nothing waits that could be rolled out under {ref[:200]!r}; see `toolsearch pending`")
    if contract is None:
        return _evaluated(live, ref, fingerprint=fingerprint, author=author, reason=reason)
    if share < 1:
        if situation.current(contract.ref) is None:
            raise RequestError(
                f"{contract.ref} has no current revision that the other sessions could get; approve it for all",
                field="share",
            )
        return Step(author=author, reason=reason, roll_out=[RolloutRow(contract=contract, share=share)])
    base = situation.base(contract.ref)
    shifts = base is not None and any(change.verdict.rank for change in diff_tools(base, contract).changes)
    return Step(
        upserts=[contract],
        author=author,
        reason=reason,
        action=Action.APPROVE,
        end=[contract.ref],
        marked=frozenset([contract.ref] if shifts else ()),
    )


def plan_rejection(live: LiveIndex, ref: str, *, fingerprint: str, author: str, reason: str) -> Step:
    """Return the step that turns a waiting definition down."""
    waits = named(ref, live.registry.waiting())
    if waits is None:
        raise UnknownTool(f"nothing waits for approval under {ref[:200]!r}; `toolsearch pending` lists what does")
    content = (waits.contract.ref, checked(waits.contract.fingerprint, wanted=fingerprint))
    return Step(
        author=author,
        reason=reason,
        drop=[content[0]],
        refuse=[content],
        also=[(Action.REJECT, *content)],
    )


def plan_rollback(live: LiveIndex, ref: str, *, to: str, author: str, reason: str) -> Step:
    """Return the step that makes an earlier revision current again."""
    found, situation = known_tool(live, ref), situation_of(live)
    current, rollout = situation.current(found), situation.rollouts.get(found)
    back = [] if rollout is None else [(found, rollout.contract.fingerprint)]
    if back and current is not None and current.fingerprint.startswith(to):
        also = [(Action.ROLLBACK, found, current.fingerprint)]
        return Step(author=author, reason=reason, end=[found], refuse=back, also=also)
    target = earlier_revision(live, found, to=to, current=current, refusals=situation.refusals)
    if current is not None:
        back.append((found, current.fingerprint))
    return Step(
        upserts=[target],
        author=author,
        reason=reason,
        action=Action.ROLLBACK,
        end=[found],
        refuse=[content for content in back if content[1] != target.fingerprint],
    )


def _evaluated(live: LiveIndex, ref: str, *, fingerprint: str, author: str, reason: str) -> Step:
    """Return the step that takes the mark from a tool."""
    event = named(ref, {event.ref: event for event in live.registry.marked()})
    if event is None:
        raise UnknownTool(f"nothing is to be approved under {ref[:200]!r}; `toolsearch pending` lists what is")
    checked(event.fingerprint, wanted=fingerprint)
    return Step(author=author, reason=reason, also=[(Action.APPROVE, event.ref, event.fingerprint)])


def _candidate(ref: str, situation: ProposalContext, *, fingerprint: str) -> ToolContract | None:
    """Return the definition to approve: what waits or is rolled out; None = neither.

    Raises:
        RequestError: If the fingerprint is of something else, or needed to tell the two apart.
    """
    waits, rollout = named(ref, situation.waiting), named(ref, situation.rollouts)
    found = [each.contract for each in (waits, rollout) if each is not None]
    if len(found) == 2 and not fingerprint:
        raise RequestError(
            f"{found[0].fingerprint[:12]} waits and {found[1].fingerprint[:12]} is rolled out under {ref[:200]!r}; say "
            "which one with its fingerprint",
            field="fingerprint",
        )
    for contract in found:
        if contract.fingerprint.startswith(fingerprint):
            return contract
    if found:
        checked(found[0].fingerprint, wanted=fingerprint)
    return None
