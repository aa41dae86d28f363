"""Quarantine: which changes of a definition from outside are taken at once, which wait for a person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pydantic import Field

from toolsearch.contract import Frozen, ToolContract
from toolsearch.ingest.poison import PoisonFinding, blocks
from toolsearch.versions.change import ChangeClass, ChangeKind
from toolsearch.versions.diff import diff_contracts


class Measure(StrEnum):
    """What is done about a change, in rising strictness."""

    PASS = "pass"
    """Take it."""
    MARK = "mark"
    """Take it, and mark the tool for evaluation."""
    BLOCK = "block"
    """Keep the old contract until an administrator approves the new one."""


_STRICTNESS = {each: rank for rank, each in enumerate(Measure)}


class QuarantinePolicy(Frozen):
    """What is done about each class of change. The strictest measure of all changes of a tool counts.

    The defaults are for a live server that nobody reviews: prose passes and is marked; a new required field, a flipped
    hint, whatever touches access or approval, and any sign of poisoning wait.
    """

    safe: Measure = Measure.PASS
    behaviour: Measure = Measure.MARK
    half_breaking: Measure = Measure.BLOCK
    breaking: Measure = Measure.BLOCK
    new_tools: Measure = Field(
        default=Measure.PASS, description="For tools not seen before; without access rules nobody sees them anyway."
    )
    poisoned: Measure = Field(default=Measure.BLOCK, description="For texts that speak to the model.")
    spare_trusted: bool = Field(
        default=False, description="Whether `trusting()` holds for definitions whose source is trusted."
    )
    kinds: dict[ChangeKind, Measure] = Field(
        default={
            ChangeKind.SIDE_EFFECT: Measure.BLOCK,
            ChangeKind.APPROVAL: Measure.BLOCK,
            ChangeKind.ACCESS: Measure.BLOCK,
        },
        description="Kind of change -> at least this, whatever its class.",
    )

    def holding_for(self, contract: ToolContract) -> QuarantinePolicy:
        """Return the policy that holds for a definition: this one, or `trusting()` where it spares its source."""
        return self.trusting() if self.spare_trusted and contract.provenance.trusted else self

    @classmethod
    def trusting(cls) -> QuarantinePolicy:
        """Return the policy of a reviewed source: everything passes, what may shift choices is marked."""
        mark, passed = Measure.MARK, Measure.PASS
        return cls(behaviour=mark, half_breaking=mark, breaking=mark, poisoned=passed, kinds={})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What a policy says about one definition.

    Attributes:
        measure: The strictest measure.
        causes: Why it blocks, one sentence each; empty where it does not.
    """

    measure: Measure
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
    by_class: Mapping[ChangeClass, Measure] = {
        ChangeClass.SAFE: policy.safe,
        ChangeClass.BEHAVIOUR: policy.behaviour,
        ChangeClass.HALF_BREAKING: policy.half_breaking,
        ChangeClass.BREAKING: policy.breaking,
    }
    said: list[tuple[Measure, str]] = []
    if base is None:
        said.append((policy.new_tools, "a tool not seen before"))
    else:
        for change in diff_contracts(base, contract):
            measure = strictest([by_class[change.verdict], policy.kinds.get(change.kind, Measure.PASS)])
            said.append((measure, f"{change.path}: {change.why} ({change.kind}, {change.verdict})"))
    if blocks(findings):
        said += [(policy.poisoned, str(finding)) for finding in findings]
    measure = strictest(each for each, _ in said)
    causes = tuple(cause for each, cause in said if each is Measure.BLOCK)
    return Ruling(measure=measure, causes=causes)


def strictest(measures: Iterable[Measure]) -> Measure:
    """Return the strictest of measures; nothing to measure passes."""
    return max(measures, key=lambda each: _STRICTNESS[each], default=Measure.PASS)
