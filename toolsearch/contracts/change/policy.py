"""Quarantine: which changes of a definition from outside are taken at once, which wait for a person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pydantic import Field

from toolsearch.contracts.change.change import ChangeClass, ChangeKind
from toolsearch.contracts.change.diff import diff_contracts
from toolsearch.contracts.poison.scan import PoisonFinding, blocks
from toolsearch.model.contract import Frozen, ToolContract


class PolicyMeasure(StrEnum):
    """What is done about a change, in rising strictness."""

    PASS = "pass"
    """Take it."""
    MARK = "mark"
    """Take it, and mark the tool for evaluation."""
    BLOCK = "block"
    """Keep the old contract until an administrator approves the new one."""


_STRICTNESS = {each: rank for rank, each in enumerate(PolicyMeasure)}


class QuarantinePolicy(Frozen):
    """What is done about each class of change. The strictest measure of all changes of a tool counts.

    The defaults are for a live server that nobody reviews: prose passes and is marked; a new required field, a flipped
    hint, whatever touches access or approval, and any sign of poisoning wait.
    """

    safe: PolicyMeasure = PolicyMeasure.PASS
    behaviour: PolicyMeasure = PolicyMeasure.MARK
    half_breaking: PolicyMeasure = PolicyMeasure.BLOCK
    breaking: PolicyMeasure = PolicyMeasure.BLOCK
    new_tools: PolicyMeasure = Field(
        default=PolicyMeasure.PASS,
        description="For tools not seen before; without access rules nobody sees them anyway.",
    )
    poisoned: PolicyMeasure = Field(default=PolicyMeasure.BLOCK, description="For texts that speak to the model.")
    spare_trusted: bool = Field(
        default=False, description="Whether `trusting()` holds for definitions whose source is trusted."
    )
    kinds: dict[ChangeKind, PolicyMeasure] = Field(
        default={
            ChangeKind.SIDE_EFFECT: PolicyMeasure.BLOCK,
            ChangeKind.APPROVAL: PolicyMeasure.BLOCK,
            ChangeKind.ACCESS: PolicyMeasure.BLOCK,
        },
        description="Kind of change -> at least this, whatever its class.",
    )

    def holding_for(self, contract: ToolContract) -> QuarantinePolicy:
        """Return the policy that holds for a definition: this one, or `trusting()` where it spares its source."""
        return self.trusting() if self.spare_trusted and contract.provenance.trusted else self

    @classmethod
    def trusting(cls) -> QuarantinePolicy:
        """Return the policy of a reviewed source: everything passes, what may shift choices is marked."""
        mark, passed = PolicyMeasure.MARK, PolicyMeasure.PASS
        return cls(behaviour=mark, half_breaking=mark, breaking=mark, poisoned=passed, kinds={})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What a policy says about one definition.

    Attributes:
        measure: The strictest measure.
        causes: Why it blocks, one sentence each; empty where it does not.
    """

    measure: PolicyMeasure
    causes: tuple[str, ...] = ()


def judge(
    contract: ToolContract,
    *,
    base: ToolContract | None,
    policy: QuarantinePolicy,
    findings: Sequence[PoisonFinding] = (),
) -> Ruling:
    """Return what a policy says about a changed or new definition.

    Args:
        contract: The proposed contract.
        base: What it would replace; None = the tool is new.
        policy: The policy.
        findings: What in the proposed contract speaks to the model.
    """
    policy = policy.holding_for(contract)
    by_class: Mapping[ChangeClass, PolicyMeasure] = {
        ChangeClass.SAFE: policy.safe,
        ChangeClass.BEHAVIOUR: policy.behaviour,
        ChangeClass.HALF_BREAKING: policy.half_breaking,
        ChangeClass.BREAKING: policy.breaking,
    }
    said: list[tuple[PolicyMeasure, str]] = []
    if base is None:
        said.append((policy.new_tools, "a tool not seen before"))
    else:
        for change in diff_contracts(base, contract):
            measure = strictest([by_class[change.verdict], policy.kinds.get(change.kind, PolicyMeasure.PASS)])
            said.append((measure, f"{change.path}: {change.why} ({change.kind}, {change.verdict})"))
    if blocks(findings):
        said += [(policy.poisoned, str(finding)) for finding in findings]
    measure = strictest(each for each, _ in said)
    causes = tuple(cause for each, cause in said if each is PolicyMeasure.BLOCK)
    return Ruling(measure=measure, causes=causes)


def strictest(measures: Iterable[PolicyMeasure]) -> PolicyMeasure:
    """Return the strictest of measures; nothing to measure passes."""
    return max(measures, key=lambda each: _STRICTNESS[each], default=PolicyMeasure.PASS)
