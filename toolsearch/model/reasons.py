"""Reasons: a closed list of codes, each with the sentence made where the number is made.

`Signal` is one bounded number with its reason. `Explanation` is the tree shown by `explain`: value, description and the
parts it was computed from, so that the sum of `contribution`s is the score.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from pydantic import Field

from toolsearch.model.contract import Frozen


class ReasonCode(StrEnum):
    """Why a tool stands where it stands. Documented one by one in docs/reasons.md (tested)."""

    EXACT_NAME = "exact_name"
    NAME_PREFIX = "name_prefix"
    TEXT_MATCH = "text_match"
    MEANING_MATCH = "meaning_match"
    SIMILAR_REQUEST = "similar_request"
    PAST_REQUESTS = "past_requests"
    READ_TOGETHER = "read_together"
    VECTOR_ABSTAINED = "vector_abstained"
    INPUTS_READY = "inputs_ready"
    INPUTS_OBTAINABLE = "inputs_obtainable"
    INPUTS_MISSING = "inputs_missing"
    INPUT_FORBIDDEN = "input_forbidden"
    NO_INPUTS_NEEDED = "no_inputs_needed"
    RELIABLE = "reliable"
    UNRELIABLE = "unreliable"
    RELIABILITY_UNKNOWN = "reliability_unknown"
    FRESH_ENOUGH = "fresh_enough"
    TOO_STALE = "too_stale"
    FRESHNESS_UNKNOWN = "freshness_unknown"
    CHEAP = "cheap"
    COSTLY = "costly"
    NEGATIVE_BOUNDARY = "negative_boundary"
    ADJACENT_TOOL = "adjacent_tool"
    SUPPLIES_INPUT = "supplies_input"
    COVERS_CLAUSE = "covers_clause"
    CONFIRMS_WRITE = "confirms_write"
    EFFECT_INFERRED = "effect_inferred"
    EFFECT_EXCEEDS_INTENT = "effect_exceeds_intent"
    APPROVAL_REQUIRED = "approval_required"
    PRECONDITION = "precondition"
    OVER_BUDGET = "over_budget"


class Why(NamedTuple):
    """A reason inside the pipeline: a code and its sentence."""

    code: ReasonCode
    text: str


Tell: TypeAlias = Callable[[], Why]
"""A reason whose sentence is written when somebody reads it: most scored documents are never shown."""


class Part(NamedTuple):
    """A contribution inside the pipeline; `SignalValue` in the answer."""

    value: float
    weight: float
    contribution: float


class Reason(Frozen):
    """One reason or caution: a stable code and a sentence for people."""

    code: ReasonCode
    text: str


class SignalValue(Frozen):
    """One signal of one candidate, as used in its score."""

    value: float = Field(ge=0, le=1)
    weight: float = Field(ge=0, description="Weight after profile and request overrides.")
    contribution: float = Field(description="What it added to the score.")


class Explanation(Frozen):
    """A number and what it was made of."""

    value: float
    description: str
    details: tuple[Explanation, ...] = ()

    def render(self, indent: int = 0) -> str:
        """Return the tree as indented lines, value first."""
        lines = [f"{'  ' * indent}{self.value:.4f}  {self.description}"]
        lines.extend(part.render(indent + 1) for part in self.details)
        return "\n".join(lines)


def counted(count: int, noun: str) -> str:
    """Return a number with its English noun: `1 tool`, `2 tools`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
