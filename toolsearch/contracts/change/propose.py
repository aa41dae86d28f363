"""Proposals: what of proposed definitions is taken at once and what waits. A pure function of the state of things."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from toolsearch.contracts.change.policy import PolicyMeasure, QuarantinePolicy, Ruling, judge
from toolsearch.contracts.poison.scan import PoisonFinding
from toolsearch.model.contract import ToolContract, ToolRef
from toolsearch.store.revisions import Content, RolloutRow, Step, Waiting


class CurrentContracts(Protocol):
    """The current contracts by position, in the order of their refs."""

    @property
    def refs(self) -> Sequence[ToolRef]:
        """Return the refs, sorted."""

    @property
    def fingerprints(self) -> Sequence[str]:
        """Return the fingerprint of each."""

    def find(self, ref: ToolRef) -> int | None:
        """Return the position of a ref, or None."""

    def __getitem__(self, at: int, /) -> ToolContract:
        """Return the contract at a position."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProposalContext:
    """What is current, waits, is rolled out and was turned down when definitions are proposed."""

    catalog: CurrentContracts
    waiting: Mapping[ToolRef, Waiting]
    rollouts: Mapping[ToolRef, RolloutRow]
    refusals: Collection[Content]

    def current(self, ref: ToolRef) -> ToolContract | None:
        """Return the current contract of a ref, or None."""
        doc_id = self.catalog.find(ref)
        return None if doc_id is None else self.catalog[doc_id]

    def base(self, ref: ToolRef) -> ToolContract | None:
        """Return what a definition is compared with: its current contract, else the newest version of the tool."""
        versions = [other for other in self.catalog.refs if other[:2] == ref[:2]]
        return self.current(ref) or (self.current(versions[-1]) if versions else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Definitions from outside.

    Attributes:
        contracts: The definitions, by ref.
        servers: Servers whose tools these are, as a whole: others of theirs go.
        keep: `server/name` of tools that stay although they are not among the definitions.
        findings: What in them speaks to the model.
    """

    contracts: Mapping[ToolRef, ToolContract]
    servers: Collection[str]
    keep: Collection[str]
    author: str
    reason: str
    findings: Mapping[ToolRef, Sequence[PoisonFinding]]


@dataclass(slots=True, kw_only=True)
class Sorted:
    """Where each definition goes; see `ProposalReport`."""

    take: list[ToolContract] = field(default_factory=list)
    marked: list[ToolRef] = field(default_factory=list)
    unchanged: list[ToolRef] = field(default_factory=list)
    hold: list[Waiting] = field(default_factory=list)
    held: list[ToolRef] = field(default_factory=list)
    refused: list[ToolRef] = field(default_factory=list)
    remove: list[ToolRef] = field(default_factory=list)
    drop: list[ToolRef] = field(default_factory=list)

    def step(self, proposal: Proposal) -> Step:
        """Return the step that does it."""
        return Step(
            upserts=self.take,
            removals=self.remove,
            author=proposal.author,
            reason=proposal.reason,
            marked=frozenset(self.marked),
            hold=self.hold,
            drop=self.drop,
        )


def sort_out(proposal: Proposal, situation: ProposalContext, *, policy: QuarantinePolicy, at: datetime) -> Sorted:
    """Sort definitions into those to take and those to hold.

    A definition that was turned down is not taken and does not wait again. One that is current or rolled out changes
    nothing, except that what else waits under its ref is out of date. A new version of a tool is compared with the
    newest version there is, so a server cannot pass by with another number; while it waits, the old version stays.
    """
    found = Sorted()
    for ref, contract in sorted(proposal.contracts.items(), key=lambda item: item[0]):
        waits, rollout = situation.waiting.get(ref), situation.rollouts.get(ref)
        doc_id = situation.catalog.find(ref)
        served = {
            "" if doc_id is None else situation.catalog.fingerprints[doc_id],
            "" if rollout is None else rollout.contract.fingerprint,
        }
        if waits is not None and waits.contract.fingerprint == contract.fingerprint:
            found.held.append(ref)
            continue
        if contract.fingerprint in served:
            found.unchanged.append(ref)
        elif (ref, contract.fingerprint) in situation.refusals:
            found.refused.append(ref)
        else:
            findings = proposal.findings.get(ref, ())
            ruling = judge(contract, base=situation.base(ref), policy=policy, findings=findings)
            _place(found, contract, ruling, proposal=proposal, at=at)
        if waits is not None and ref not in found.held:
            found.drop.append(ref)
    _remove_others(found, proposal, situation)
    return found


def _place(found: Sorted, contract: ToolContract, ruling: Ruling, *, proposal: Proposal, at: datetime) -> None:
    if ruling.measure is PolicyMeasure.BLOCK:
        found.held.append(contract.ref)
        found.hold.append(
            Waiting(contract=contract, author=proposal.author, reason=proposal.reason, at=at, causes=ruling.causes)
        )
        return
    found.take.append(contract)
    if ruling.measure is PolicyMeasure.MARK:
        found.marked.append(contract.ref)


def _remove_others(found: Sorted, proposal: Proposal, situation: ProposalContext) -> None:
    """Let the tools go that their server no longer has, and what waits of them."""
    keep = {tool_of(ref) for ref in (*found.held, *found.refused)} | set(proposal.keep)
    for ref in situation.catalog.refs:
        if ref.server in proposal.servers and ref not in proposal.contracts and tool_of(ref) not in keep:
            found.remove.append(ref)
    for ref in situation.waiting:
        gone = ref.server in proposal.servers and ref not in proposal.contracts
        if gone and tool_of(ref) not in proposal.keep:
            found.drop.append(ref)


def tool_of(ref: ToolRef) -> str:
    """Return `server/name`."""
    return f"{ref.server}/{ref.name}"
