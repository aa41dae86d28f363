"""What an export could not say the way the contract says it. Nothing is lost in silence: each loss is listed."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pydantic import Field

from toolsearch.model.contract import Frozen
from toolsearch.model.request import DefinitionFormat


class LossKind(StrEnum):
    """What became of it."""

    MOVED = "moved"
    """It stands as text in a description: the model reads it, the provider does not enforce it."""

    CHANGED = "changed"
    """It is said in another way, and the text tells what that means for the caller of the tool."""

    LEFT_OUT = "left_out"
    """The format has no place for it."""

    NOT_STRICT = "not_strict"
    """Strict mode was asked for, and the schema cannot be made strict: the tool is exported without."""

    REFUSED = "refused"
    """The provider will refuse the tool as it stands: change the contract, or leave the tool out."""


class Loss(Frozen):
    """One thing that an export does not say, or says in another way."""

    ref: str = Field(description="`server/name@version`.")
    path: str = Field(description="JSON pointer into the input schema, or dotted contract field.")
    kind: LossKind
    text: str = Field(description="What it was and what became of it.")


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaLoss:
    """A loss before it is known whose: see `Loss`."""

    path: str
    kind: LossKind
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """One definition and what it does not say.

    Attributes:
        definition: In the shape of the provider.
        lost: In the order of the schema, then of the contract.
    """

    definition: dict[str, Any]
    lost: tuple[Loss, ...] = ()


class ExportedTools(Frozen):
    """Definitions of several tools, ready for a provider, and the way back from the names a model calls."""

    format: DefinitionFormat
    tools: tuple[dict[str, Any], ...] = Field(description="Sorted by ref.")
    names: dict[str, str] = Field(description="Name that the model calls -> `server/name@version`.")
    lost: tuple[Loss, ...] = Field(description="What the format does not say, or says in another way; sorted by ref.")


@dataclass(slots=True, kw_only=True)
class LossLog:
    """Collects what is lost while a schema is written."""

    entries: list[SchemaLoss] = field(default_factory=list)

    def add(self, path: str, kind: LossKind, text: str) -> None:
        """Note one loss; the same one is noted once."""
        loss = SchemaLoss(path=path, kind=kind, text=text)
        if loss not in self.entries:
            self.entries.append(loss)

    def of(self, ref: str) -> tuple[Loss, ...]:
        """Return what was noted, as losses of one tool."""
        return tuple(Loss(ref=ref, path=entry.path, kind=entry.kind, text=entry.text) for entry in self.entries)
