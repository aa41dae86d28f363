"""The answer: a small, permitted, explained CandidateSet, and the decision record kept of it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from toolsearch.model.contract import Frozen, SideEffectField
from toolsearch.model.reasons import Explanation, Reason, SignalValue


class OutcomeKind(StrEnum):
    """What kind of answer this is."""

    CANDIDATES = "candidates"
    CLARIFY = "clarify"
    NO_TOOL = "no_tool"


class MissingInput(Frozen):
    """A required input that is not at hand, and where it can come from."""

    field: str
    ask: bool = Field(description="True: only the user can say; False: a visible read-only tool produces it.")
    obtain_from: tuple[str, ...] = Field(default=(), description="Refs of visible read-only producers.")
    forbidden_to_infer: bool = False


class InputState(Frozen):
    """Which required inputs are at hand."""

    ready: dict[str, Any] = Field(default_factory=dict, description="Field -> value given or found in the request.")
    missing: tuple[MissingInput, ...] = ()


class Alternative(Frozen):
    """A near-duplicate of a candidate, folded under it."""

    ref: str
    score: float
    similarity: float = Field(ge=0, le=1)


class Candidate(Frozen):
    """One tool of the answer."""

    rank: int = Field(ge=1)
    ref: str
    title: str
    score: float = Field(ge=0, le=1)
    signals: dict[str, SignalValue] = Field(default_factory=dict)
    reasons: tuple[Reason, ...] = ()
    cautions: tuple[Reason, ...] = ()
    inputs: InputState = InputState()
    side_effect: SideEffectField
    side_effect_inferred: bool = False
    approval: str | None = None
    clauses: tuple[int, ...] = Field(default=(), description="Which clauses of the request it answers, from 0.")
    alternatives: tuple[Alternative, ...] = ()
    already_loaded: bool = False
    definition: dict[str, Any] | None = None


class AlwaysOn(Frozen):
    """A tool the model always has, listed apart from the ranking."""

    ref: str
    title: str
    already_loaded: bool = False
    definition: dict[str, Any] | None = None


class Withheld(Frozen):
    """A visible, relevant tool that is not offered yet, and what would unlock it."""

    ref: str
    reason: Reason
    unlock: str


class Clarify(Frozen):
    """What must be asked of the user: inputs of the best candidate, or which of two domains is meant."""

    ref: str
    fields: tuple[str, ...] = ()
    domains: tuple[str, ...] = Field(
        default=(),
        exclude_if=lambda domains: not domains,
        description="Two domains, or servers where none is stated, that fit the request alike; `fields` is then empty.",
    )
    question: str


class NearMiss(Frozen):
    """A tool below the floor: for the log, not for the model."""

    ref: str
    score: float


class TokenMetrics(Frozen):
    """Estimated prompt tokens of definitions: everything visible against what was returned."""

    baseline: int = Field(ge=0)
    returned: int = Field(ge=0)
    savings_percent: float


class LeftTool(Frozen):
    """A tool that left the list of a session. Why nobody may see it any more is not told."""

    ref: str
    reason: Literal["revoked"] = Field(
        default="revoked", description="The tool was withdrawn, or the principal may not use it any more."
    )


class SessionUpdate(Frozen):
    """What one search did to the list of its session."""

    id: str
    created: bool = Field(description="True: the session began with this search, and knows of nothing before it.")
    refs: tuple[str, ...] = Field(description="The whole list, in order.")
    tools_hash: str = Field(description="Hash of the whole list: equal exactly where its bytes are.")
    appended: tuple[str, ...] = Field(default=(), description="What this search put at the end of the list.")
    left: tuple[LeftTool, ...] = Field(default=(), description="What left the list since the session was last used.")
    newer_available: tuple[str, ...] = Field(
        default=(), description="Listed tools of which another revision is current; see `refresh`."
    )
    token_metrics: TokenMetrics = Field(description="Of the whole list.")


class SessionTool(Frozen):
    """One tool of a session, as it was handed out."""

    ref: str
    fingerprint: str = Field(description="Of the contract revision that is pinned.")
    api_name: str = Field(description="Name under which the model calls it; no other tool of the session has it.")
    format: str
    detail: str
    newer_available: bool = False
    definition: dict[str, Any]


class SessionList(Frozen):
    """A session: the tools it was handed, with their definitions, to be shown to the model again."""

    id: str
    created: bool = Field(default=False, description="True only in the answer that began the session.")
    tools_hash: str
    tools: tuple[SessionTool, ...] = ()
    left: tuple[LeftTool, ...] = Field(default=(), description="What left over time and did not come back.")
    token_metrics: TokenMetrics


class RefreshedTool(Frozen):
    """A tool of a session that moved to another revision."""

    ref: str
    before: str = Field(description="Fingerprint that was pinned.")
    after: str = Field(description="Fingerprint that is pinned now.")


class SessionRefresh(Frozen):
    """What `refresh` changed, and the session afterwards."""

    changed: tuple[RefreshedTool, ...] = ()
    session: SessionList


class CandidateSet(Frozen):
    """The answer to one SearchRequest."""

    trace_id: str
    catalog_version: str = Field(description="Hash of the visible view: changes when a visible contract does.")
    tools_hash: str = Field(description="Hash of the tools handed out, in order.")
    outcome: OutcomeKind
    confidence: float = Field(
        default=0.0, ge=0, le=1, description="How likely the best tool fits; below `min_confidence` none is offered."
    )
    visible_tools: int = Field(ge=0)
    candidates: tuple[Candidate, ...] = ()
    always_on: tuple[AlwaysOn, ...] = ()
    withheld: tuple[Withheld, ...] = ()
    clarify: Clarify | None = None
    message: str = Field(description="One sentence for the model or the log.")
    near_misses: tuple[NearMiss, ...] = Field(default=(), description="Only when nothing fits: for the log.")
    token_metrics: TokenMetrics
    session: SessionUpdate | None = Field(
        default=None, exclude_if=lambda update: update is None, description="Only where the request names a session."
    )
    timings_ms: dict[str, float] = Field(default_factory=dict)


class ScoreExplanation(Frozen):
    """`explain`: how one visible tool scored for one request, whether or not it was returned."""

    trace_id: str
    ref: str
    rank: int | None = Field(description="Position before diversity and sizes; None if it was not recalled.")
    returned: bool
    score: Explanation
    confidence: Explanation | None = Field(
        default=None, description="Of the whole answer: why tools are offered at all, or none; in log odds."
    )
    reasons: tuple[Reason, ...] = ()
    cautions: tuple[Reason, ...] = ()


class VisibilityReport(Frozen):
    """`why-not`, for administrators: the decision about one tool and the rule that made it."""

    ref: str
    allowed: bool
    rule: str
    reason: str


class ToolSummary(Frozen):
    """One line of `GET /v1/tools`."""

    ref: str
    title: str
    does: str
    side_effect: SideEffectField
    fingerprint: str
