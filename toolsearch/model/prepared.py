"""What is asked and answered about a call that is to be made: PrepareRequest, Prepared."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Field, StringConstraints

from toolsearch.model.answer import MissingInput
from toolsearch.model.argument_problem import ArgumentProblem
from toolsearch.model.contract import Frozen, SideEffectField
from toolsearch.model.request import DefinitionFormat, JsonInputs, Label, Restriction, SessionId

MAX_TURNS = 200
"""Turns of a conversation that are read."""

MAX_TURN_CHARS = 20_000
"""Characters of one turn."""

Role = Literal["user", "assistant", "tool", "system"]
State = Literal["given", "found", "default", "write", "obtain", "ask", "absent"]


class Turn(Frozen):
    """One message of a conversation, oldest first. Only what users say counts as stated by the user."""

    role: Role
    text: Annotated[str, StringConstraints(max_length=MAX_TURN_CHARS)]


class PrepareRequest(Frozen):
    """Which tool is to be called, and what is known so far."""

    ref: Label = Field(description="The tool: a ref, `server/name`, or the name a search gave it.")
    text: Annotated[str, StringConstraints(max_length=MAX_TURN_CHARS)] = Field(
        default="", description="What the user wants now: the newest turn."
    )
    conversation: tuple[Turn, ...] = Field(
        default=(), max_length=MAX_TURNS, description="Turns before it, oldest first."
    )
    inputs: JsonInputs = Field(default_factory=dict, description="Argument values already at hand, as plain JSON.")
    session: SessionId | None = Field(default=None, description="Session in which the tool was handed out.")
    format: DefinitionFormat = DefinitionFormat.NATIVE
    restrict: Restriction | None = Field(default=None, description="Narrows the principal for this request.")
    now: AwareDatetime | None = Field(default=None, description="The moment of the request; None = the clock.")


class PreparedInput(Frozen):
    """One input of the tool, and where its value comes from."""

    field: str
    required: bool
    state: State = Field(
        description="given, found in the conversation, default, for the model to write, to obtain from another tool, "
        "to ask the user, or absent and not needed."
    )
    value: Any = None
    source: str | None = Field(default=None, description="`inputs`, `text`, `conversation[n]` or `schema`.")
    forbidden_to_infer: bool = False
    obtain_from: tuple[str, ...] = Field(default=(), description="Refs of visible read-only producers.")
    options: tuple[str, ...] = Field(
        default=(), description="Values that stand in the conversation and decide nothing."
    )
    note: str = ""


class Prepared(Frozen):
    """A call made ready as far as rules can: its definition, its arguments, what is missing, what would be refused."""

    ref: str
    name: str = Field(description="Name under which the model calls it.")
    title: str
    fingerprint: str = Field(description="Of the contract revision that the definition shows.")
    changed: bool = Field(default=False, description="True: the session was handed another revision; work by this one.")
    ready: bool = Field(description="True: `arguments` is complete and nothing is known against it.")
    message: str = Field(description="One sentence: what to do next.")
    definition: dict[str, Any]
    side_effect: SideEffectField
    side_effect_inferred: bool = False
    approval: str | None = Field(default=None, description="When a person must approve the call.")
    approval_needed: bool = Field(default=False, description="Whether that holds of `arguments`, or cannot be told.")
    inputs: tuple[PreparedInput, ...] = ()
    arguments: dict[str, Any] = Field(default_factory=dict, description="The values given or found.")
    missing: tuple[MissingInput, ...] = ()
    must_not_infer: tuple[str, ...] = Field(default=(), description="Fields that only the user may state.")
    problems: tuple[ArgumentProblem, ...] = Field(default=(), description="What a call with `arguments` would break.")
    rules: tuple[str, ...] = Field(default=(), description="Rules that no program can check: the model must keep them.")
