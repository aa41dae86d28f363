"""What is wrong with an argument, in words that whoever sent it can act on."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field

from toolsearch.model.contract import Frozen

MAX_SHOWN = 80
"""Characters of a given value that are shown back."""


class Layer(StrEnum):
    """Which check failed."""

    STRUCTURE = "structure"
    SEMANTICS = "semantics"
    PRECONDITION = "precondition"


class ArgumentProblem(Frozen):
    """One thing that keeps a call from being made."""

    layer: Layer
    code: str = Field(description="JSON Schema keyword, `format`, `rule`, or what the precondition is called.")
    field: str = Field(description="Dotted path of the argument; empty = the arguments as a whole.")
    message: str = Field(description="The offending value and the limit.")
    hint: str = Field(default="", description="What to send instead.")
    options: tuple[Any, ...] = Field(default=(), description="Values that would do, where they can be listed.")


def shown(value: Any) -> str:
    """Return a value as it may stand in a message."""
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"
