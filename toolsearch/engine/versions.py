"""Versions: who may change a contract, when it takes effect and how to go back.

Each verb is one transaction of the registry: after a crash it happened whole, or not at all. A step is planned under
the lock of the catalogue, so nothing changes between the look and the step.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime

from toolsearch.contracts.change.diff import ToolDiff, diff_tools
from toolsearch.contracts.change.policy import PolicyMeasure, QuarantinePolicy
from toolsearch.contracts.change.propose import Proposal, Sorted, sort_out
from toolsearch.contracts.change.records import Pending, PendingReport, ProposalReport, Revision, RolloutShare
from toolsearch.contracts.poison.scan import flagged
from toolsearch.engine.decide import plan_approval, plan_rejection, plan_rollback
from toolsearch.engine.revisions import known_tool, lines, situation_of
from toolsearch.engine.state import Catalogue
from toolsearch.engine.writer import ChangeReport, LiveIndex, Progress
from toolsearch.model.contract import ToolContract, ToolRef, by_ref
from toolsearch.model.errors import RequestError, UnknownTool
from toolsearch.model.request import Principal
from toolsearch.search.visibility.rules import ADMIN_ROLE
from toolsearch.store.revisions import MAKES_CURRENT, Step

AUTHOR = "library"
"""Who acts where nobody is named."""

_AT_CONTENT = re.compile(r"^(?P<ref>.+@\d{1,9})@(?P<fingerprint>[0-9a-f]{4,64})$")


class Versions:
    """The revisions of the tools of an index.

    `history` and `diff` are for whoever sees the tool; the rest changes the catalogue, so it is for administrators.
    """

    def __init__(self, live: LiveIndex) -> None:
        self._live = live

    def diff(self, before: str | ToolContract, after: str | ToolContract, *, principal: Principal) -> ToolDiff:
        """Return what changed between two contracts.

        Args:
            before: A contract, or `server/name@version` of a visible tool; `server/name@version@fingerprint` (at least
                4 hex digits) is an earlier or waiting revision, for administrators.
            after: The same.
            principal: Who asks.

        Raises:
            UnknownTool: If the principal sees no such tool or revision.
        """
        old, new = (each if isinstance(each, ToolContract) else self._read(each, principal) for each in (before, after))
        return diff_tools(old, new)

    def contracts(self) -> tuple[ToolContract, ...]:
        """Return the current contract of every tool, sorted by ref, whoever may see it. For administrators."""
        return tuple(self._live.state.contracts)

    def history(self, ref: str, *, principal: Principal) -> tuple[Revision, ...]:
        """Return the revisions of a tool, oldest first.

        Administrators get every event with author and reason, also of tools that are gone; others get the revisions of
        the visible versions that became current, without who and why.

        Args:
            ref: `server/name@version` for one version, else all versions of the tool.
            principal: Who asks.

        Raises:
            UnknownTool: If the principal sees no such tool.
        """
        state, admin = self._live.state, ADMIN_ROLE in principal.roles
        docs = state.views.of(principal).docs
        found = known_tool(self._live, ref) if admin else state.snapshot.contracts.refs[state.resolve(ref, docs=docs)]
        events = self._live.registry.events(server=found.server, name=found.name)
        if "@" in ref:
            events = tuple(event for event in events if event.ref == found)
        if not admin:
            seen = {state.snapshot.contracts.refs[doc_id] for doc_id in docs.ids.tolist()}
            events = tuple(event for event in events if event.ref in seen and event.action in MAKES_CURRENT)
        return lines(self._live, events, told=admin)

    def propose(
        self,
        contracts: Iterable[ToolContract],
        *,
        servers: Collection[str] = (),
        keep: Collection[str] = (),
        author: str,
        reason: str = "",
        policy: QuarantinePolicy | None = None,
        progress: Progress | None = None,
    ) -> ProposalReport:
        """Take definitions from a source that nobody reviewed, as far as a policy lets them.

        Args:
            contracts: The definitions.
            servers: Servers whose tools these are, as a whole: others of theirs are removed.
            keep: `server/name` of tools that stay as they are, as their definitions could not be read.
            author: Where they come from, for the history.
            reason: Why they are proposed.
            policy: What passes and what waits; None = the defaults.
            progress: Called while texts are embedded.

        Raises:
            ContractError: If one ref is given twice with different content; nothing is changed.
        """
        wanted, rules = by_ref(contracts), policy or QuarantinePolicy()
        catalog = self._live.state.snapshot.contracts
        there = dict(zip(catalog.refs, catalog.fingerprints, strict=True))
        doubtful = [
            each
            for ref, each in wanted.items()
            if there.get(ref) != each.fingerprint and rules.holding_for(each).poisoned is not PolicyMeasure.PASS
        ]
        proposal = Proposal(
            contracts=wanted,
            servers=servers,
            keep=keep,
            author=author,
            reason=reason,
            # Before the lock is taken: it reads every text, and depends on names only of what is there.
            findings=flagged(doubtful, beside=(each for each in catalog if each.ref not in wanted)) if doubtful else {},
        )
        sorted_out = Sorted()

        def plan() -> Step:
            nonlocal sorted_out
            sorted_out = sort_out(proposal, situation_of(self._live), policy=rules, at=_now())
            return sorted_out.step(proposal)

        changes = self._live.take(plan, progress=progress)
        return _report(sorted_out, changes)

    def pending(self) -> PendingReport:
        """Return what waits for approval, what is rolled out and what to evaluate again. For administrators."""
        situation = situation_of(self._live)
        return PendingReport(
            waiting=tuple(
                Pending(
                    ref=str(ref),
                    fingerprint=each.contract.fingerprint,
                    at=each.at,
                    author=each.author,
                    reason=each.reason,
                    causes=each.causes,
                    diff=diff_tools(situation.base(ref), each.contract),
                )
                for ref, each in situation.waiting.items()
            ),
            rollouts=tuple(
                RolloutShare(
                    ref=str(ref),
                    fingerprint=row.contract.fingerprint,
                    share=row.share,
                    diff=diff_tools(situation.current(ref), row.contract),
                )
                for ref, row in situation.rollouts.items()
            ),
            reevaluate=lines(self._live, self._live.registry.marked(), told=True),
        )

    def approve(
        self,
        ref: str,
        *,
        share: float = 1.0,
        fingerprint: str = "",
        author: str = AUTHOR,
        reason: str = "",
    ) -> Revision:
        """Let a waiting definition take effect, for everyone or for a share of new sessions. For administrators.

        Approving again with another share widens or narrows a roll-out; a share of 1 makes it the current revision. A
        tool that is only marked for evaluation loses the mark.

        Args:
            ref: The tool.
            share: Share of new sessions, in (0, 1].
            fingerprint: What was looked at, at least its first 4 digits: if something else waits now, nothing happens.
            author: Who approves.
            reason: Why.

        Raises:
            UnknownTool: If nothing waits, is rolled out or is marked under that name.
            RequestError: If the share is out of range, something else waits, or there is no current revision for the
                other sessions.
        """
        if not 0 < share <= 1:
            raise RequestError(
                f"share {share} is not in (0, 1]; 0.1 gives it to a tenth of new sessions", field="share"
            )

        return self._decide(
            lambda: plan_approval(self._live, ref, share=share, fingerprint=fingerprint, author=author, reason=reason)
        )

    def reject(self, ref: str, *, fingerprint: str = "", author: str = AUTHOR, reason: str = "") -> Revision:
        """Turn a waiting definition down; it does not wait again when it is proposed again. For administrators.

        Raises:
            UnknownTool: If nothing waits under that name.
            RequestError: If something else waits than `fingerprint` says.
        """
        return self._decide(
            lambda: plan_rejection(self._live, ref, fingerprint=fingerprint, author=author, reason=reason)
        )

    def rollback(self, ref: str, *, to: str = "", author: str = AUTHOR, reason: str = "") -> Revision:
        """Make an earlier revision current again, as a new revision; a roll-out of the tool ends. For administrators.

        What is taken back is not taken again when it is proposed again. A tool that was removed comes back.

        Args:
            ref: The tool.
            to: Fingerprint of the revision, at least its first 4 digits; empty = while something is rolled out, the
                current revision for everyone; else the last revision before the current one that was not taken back.
            author: Who does it.
            reason: Why.

        Raises:
            UnknownTool: If there never was such a tool.
            RequestError: If there is no such revision, or it is current already.
        """
        return self._decide(lambda: plan_rollback(self._live, ref, to=to, author=author, reason=reason))

    def _decide(self, plan: Callable[[], Step]) -> Revision:
        """Take a step about one tool and return the line that it added to the history."""
        refs: list[ToolRef] = []

        def noted() -> Step:
            step = plan()
            refs.extend(contract.ref for contract in step.upserts)
            refs.extend(row.contract.ref for row in step.roll_out)
            refs.extend(ref for _, ref, _ in step.also)
            return step

        self._live.take(noted)
        events = self._live.registry.events(server=refs[0].server, name=refs[0].name)
        return lines(self._live, [event for event in events if event.ref == refs[0]], told=True)[-1]

    def _read(self, ref: str, principal: Principal) -> ToolContract:
        """Return a visible contract, or for administrators any content of a tool."""
        state = self._live.state
        match = _AT_CONTENT.match(ref)
        if match is None or ADMIN_ROLE not in principal.roles:
            view = state.views.of(principal)
            contract = state.contracts[state.resolve(ref, docs=view.docs)]
            return contract.naming_only(Catalogue(state, view).visible_adjacent(contract))
        found, registry = known_tool(self._live, match["ref"]), self._live.registry
        contents = [each.contract for each in registry.history(server=found.server, name=found.name)]
        contents += [row.contract for row in registry.rollouts().values()]
        contents += [each.contract for each in registry.waiting().values()]
        wanted = match["fingerprint"]
        fitting = {each.fingerprint: each for each in contents if each.ref == found}
        fitting = {key: each for key, each in fitting.items() if key.startswith(wanted)}
        if len(fitting) != 1:
            what = "several revisions" if fitting else "no revision"
            raise UnknownTool(f"{found} has {what} {wanted}; `toolsearch history {found}` lists them")
        return next(iter(fitting.values()))


def _report(found: Sorted, changes: ChangeReport) -> ProposalReport:
    return ProposalReport(
        added=changes.added,
        replaced=changes.replaced,
        unchanged=tuple(map(str, found.unchanged)),
        removed=changes.removed,
        marked=tuple(map(str, found.marked)),
        held=tuple(map(str, found.held)),
        refused=tuple(map(str, found.refused)),
        generation=changes.generation,
    )


def _now() -> datetime:
    return datetime.now(UTC)
