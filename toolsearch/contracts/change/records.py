"""What the room of versions answers: revisions, what waits for approval, what became of a proposal."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from toolsearch.contracts.change.diff import ToolDiff
from toolsearch.model.contract import Frozen
from toolsearch.store.revisions import Action


class Revision(Frozen):
    """One line of a tool's history."""

    ref: str
    at: datetime
    action: Action
    fingerprint: str
    current: bool = Field(default=False, description="Whether this is what everyone without a roll-out gets now.")
    share: float | None = Field(default=None, description="Share of new sessions, where it is a roll-out.")
    reevaluate: bool = Field(default=False, description="Choices may have shifted with it: evaluate again.")
    author: str = Field(default="", description="Who did it; shown to administrators only.")
    reason: str = Field(default="", description="Why; shown to administrators only.")


class Pending(Frozen):
    """A definition that waits for approval, and how it differs from what is current now."""

    ref: str
    fingerprint: str
    at: datetime
    author: str
    reason: str
    causes: tuple[str, ...] = Field(description="Why it waits.")
    diff: ToolDiff


class RolloutShare(Frozen):
    """A revision that a share of new sessions gets."""

    ref: str
    fingerprint: str
    share: float
    diff: ToolDiff = Field(description="From the current revision to this one.")


class PendingReport(Frozen):
    """What an administrator still has to decide on, each sorted by ref."""

    waiting: tuple[Pending, ...] = Field(default=(), description="Approve or reject them; the old contracts serve.")
    rollouts: tuple[RolloutShare, ...] = Field(default=(), description="Approve them for all, or roll them back.")
    reevaluate: tuple[Revision, ...] = Field(
        default=(), description="Taken, but choices may have shifted; approve once they are evaluated."
    )


class ProposalReport(Frozen):
    """What became of proposed definitions, as sorted refs."""

    added: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = Field(default=(), description="Current already, or being rolled out.")
    removed: tuple[str, ...] = ()
    marked: tuple[str, ...] = Field(default=(), description="Taken, but choices may shift: evaluate again.")
    held: tuple[str, ...] = Field(default=(), description="Waiting for approval; the old contracts serve.")
    refused: tuple[str, ...] = Field(default=(), description="Turned down or rolled back earlier; not taken again.")
    generation: int = 0
