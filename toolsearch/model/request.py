"""What is asked, and on whose behalf: SearchRequest, Principal, Outcome.

A Principal is made by the caller of the library, or at the server from a verified token. The request can only narrow
what the principal may see (`restrict`), never widen it.
"""

from __future__ import annotations

import math
import re
import unicodedata
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field, StringConstraints

from toolsearch.model.contract import Frozen, SideEffectField

MAX_QUERY_CHARS = 8_000
"""Longest request text; an agent's turn fits, a pasted document does not."""

MAX_K = 100
"""Largest candidate count a request may ask for."""

MAX_INPUT_DEPTH = 32
"""Deepest nesting of a given input value."""

Label = Annotated[str, StringConstraints(min_length=1, max_length=256)]
SESSION_ID = r"^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$"
SessionId = Annotated[str, StringConstraints(pattern=SESSION_ID)]
TraceId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{8,64}$")]


def _speaks(text: str) -> str:
    if not any(not char.isspace() and unicodedata.category(char) not in {"Cc", "Cf", "Cs"} for char in text):
        raise ValueError("is empty; write what the user wants done")
    return re.sub(r"[\ud800-\udfff]", "�", text)


def _is_json(value: Any, depth: int = 0) -> bool:
    if depth > MAX_INPUT_DEPTH:
        return False
    if isinstance(value, dict):
        return all(_is_json(key) and _is_json(part, depth + 1) for key, part in value.items())
    if isinstance(value, list | tuple):
        return all(_is_json(part, depth + 1) for part in value)
    if isinstance(value, str):
        return not re.search(r"[\ud800-\udfff]", value)
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or (isinstance(value, int) and value.bit_length() <= 1_024)


def _json_inputs(inputs: dict[str, Any]) -> dict[str, Any]:
    for name, value in inputs.items():
        if not _is_json(value):
            raise ValueError(
                f"{name[:100]!r} is not plain JSON of at most {MAX_INPUT_DEPTH} levels (text, finite numbers, true, "
                "false, null, arrays, objects); write dates and other values as text"
            )
    return inputs


JsonInputs = Annotated[dict[str, Any], AfterValidator(_json_inputs)]
"""Values by input name, as plain JSON."""


def _written_moment(value: object) -> object:
    number = isinstance(value, int | float) or (isinstance(value, str) and re.fullmatch(r"\s*[-+]?[\d.]+\s*", value))
    if number:
        raise ValueError(f"{str(value)[:40]} is a number; write date, time and offset, such as 2026-09-17T12:00:00Z")
    return value


Moment = Annotated[AwareDatetime, BeforeValidator(_written_moment)]
"""A moment as RFC 3339 text or an aware datetime; numbers are not guessed to be seconds."""


class Restriction(Frozen):
    """A narrowing of what is visible. An empty field narrows nothing; every stated one must hold."""

    servers: tuple[Label, ...] = ()
    domains: tuple[Label, ...] = ()
    tools: tuple[Label, ...] = Field(default=(), description="Tool names or `server/name`; others are not visible.")
    exclude_tools: tuple[Label, ...] = ()
    max_side_effect: SideEffectField | None = None


class Principal(Frozen):
    """On whose behalf tools are searched. Absent facts satisfy no requirement."""

    subject: Label = "anonymous"
    tenant: Label | None = None
    environment: Label | None = None
    roles: tuple[Label, ...] = ()
    scopes: tuple[Label, ...] = ()
    restrictions: tuple[Restriction, ...] = ()

    def narrowed(self, restriction: Restriction) -> Principal:
        """Return the principal with one more restriction; what was visible can only shrink."""
        return self.model_copy(update={"restrictions": (*self.restrictions, restriction)})


class Mode(StrEnum):
    """Which recall lanes take part."""

    HYBRID = "hybrid"
    LEXICAL = "lexical"
    VECTOR = "vector"


class Detail(StrEnum):
    """How much of each tool is handed out."""

    NAME = "name"
    SIGNATURE = "signature"
    FULL = "full"


class DefinitionFormat(StrEnum):
    """The shape of `definition`. `openai` is that of Chat Completions, and may be written `openai_chat`."""

    NATIVE = "native"
    OPENAI = "openai"
    OPENAI_RESPONSES = "openai_responses"
    ANTHROPIC = "anthropic"
    ANTHROPIC_REFERENCE = "anthropic_reference"
    GEMINI = "gemini"
    GEMINI_JSON_SCHEMA = "gemini_json_schema"
    MCP = "mcp"
    LANGCHAIN = "langchain"

    @classmethod
    def _missing_(cls, value: object) -> DefinitionFormat | None:
        return cls.OPENAI if value == "openai_chat" else None


SignalName = Literal[
    "semantic", "lexical", "experience", "input_readiness", "reliability", "freshness", "cost", "rerank"
]
SIGNAL_NAMES: tuple[SignalName, ...] = (
    "semantic",
    "lexical",
    "experience",
    "input_readiness",
    "reliability",
    "freshness",
    "cost",
)
"""The signals of every answer; `rerank` is one more where an index has a reranker."""

WeightValue = Annotated[float, Field(ge=0, le=10)]


class SearchRequest(Frozen):
    """One request for candidate tools."""

    text: Annotated[str, StringConstraints(max_length=MAX_QUERY_CHARS), AfterValidator(_speaks)]
    k: int | None = Field(default=None, ge=1, le=MAX_K, description="At most this many; None = by situation.")
    inputs: JsonInputs = Field(default_factory=dict, description="Parameter values already at hand, as plain JSON.")
    restrict: Restriction | None = Field(default=None, description="Narrows the principal for this request.")
    mode: Mode = Mode.HYBRID
    profile: Literal["default", "seed"] = "default"
    weights: dict[SignalName, WeightValue] = Field(default_factory=dict, description="Overrides of the profile.")
    token_budget: int | None = Field(default=None, ge=0, le=10_000_000)
    detail: Detail = Detail.FULL
    format: DefinitionFormat = DefinitionFormat.NATIVE
    always_on: tuple[Label, ...] = Field(default=(), description="Tool names or refs listed apart, if visible.")
    loaded: tuple[Label, ...] = Field(default=(), description="Refs the model already has.")
    session: SessionId | None = Field(
        default=None, description="Session whose list this search continues; a new id begins one."
    )
    now: Moment | None = Field(default=None, description="The moment of the request; None = the clock.")
    trace_id: TraceId | None = None


class OutcomeStatus(StrEnum):
    """How a call that followed a search ended."""

    SUCCESS = "success"
    TOOL_ERROR = "tool_error"
    TIMEOUT = "timeout"
    REJECTED = "rejected"
    UNKNOWN = "unknown"


class Outcome(Frozen):
    """What became of a tool that was called after a search."""

    ref: Label = Field(description="`server/name@version`, or `server/name` for the newest version.")
    status: OutcomeStatus
    trace_id: TraceId | None = None
    latency_ms: float | None = Field(default=None, ge=0, le=86_400_000)
    at: AwareDatetime | None = None


class PastRequest(Frozen):
    """A request of the past, and a tool that served it: what a log teaches."""

    text: Annotated[str, StringConstraints(max_length=MAX_QUERY_CHARS), AfterValidator(_speaks)]
    ref: Label = Field(description="`server/name@version`, or `server/name` for the newest version.")
    subject: Label = Field(description="Who asked: without distinct subjects a log weighs little.")
    tenant: Label | None = None
    at: AwareDatetime | None = Field(default=None, description="When; None = now.")
