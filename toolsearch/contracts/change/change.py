"""Change: one difference between two contracts, and how much it breaks."""

from __future__ import annotations

import json
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from pydantic import Field

from toolsearch.model.contract import Frozen


class ChangeClass(StrEnum):
    """How much a change breaks, in rising order."""

    SAFE = "safe"
    """Whoever calls the tool as before gets what it got before."""
    BEHAVIOUR = "behaviour"
    """No call breaks, but the tool is chosen or filled in otherwise: evaluate again."""
    HALF_BREAKING = "half_breaking"
    """Some calls, some readers of results, or what guards the call no longer fit."""
    BREAKING = "breaking"
    """Calls or readers made for the old contract fail, or mean something else."""

    @property
    def rank(self) -> int:
        """Return 0 for safe up to 3 for breaking."""
        return _RANKS[self]


_RANKS = {each: rank for rank, each in enumerate(ChangeClass)}


class ChangeKind(StrEnum):
    """What part of the contract changed."""

    TOOL = "tool"
    IDENTITY = "identity"
    DESCRIPTION = "description"
    BOUNDARY = "boundary"
    FIELD = "field"
    REQUIRED = "required"
    TYPE = "type"
    ENUM = "enum"
    BOUND = "bound"
    FORMAT = "format"
    DEFAULT = "default"
    STRUCTURE = "structure"
    OUTPUT = "output"
    SIDE_EFFECT = "side_effect"
    APPROVAL = "approval"
    ACCESS = "access"
    EXECUTION = "execution"
    OPERATIONAL = "operational"
    PROVENANCE = "provenance"


class FieldChange(Frozen):
    """One difference."""

    verdict: ChangeClass
    kind: ChangeKind
    path: str = Field(description="JSON pointer (RFC 6901) into the contract; of what is gone, into the old one.")
    before: Any = Field(default=None, description="null where there was nothing.")
    after: Any = Field(default=None, description="null where there is nothing any more.")
    why: str


def worst(changes: Iterable[FieldChange]) -> ChangeClass | None:
    """Return the class of a whole difference: that of its worst change, or None where nothing changed."""
    return max((change.verdict for change in changes), key=lambda each: each.rank, default=None)


def same(before: object, after: object) -> bool:
    """Tell whether two JSON values are the same text, as fingerprints see it: 1, 1.0 and true differ."""
    return canonical(before) == canonical(after)


def canonical(value: object) -> str:
    """Return the canonical JSON text of a value."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def pointer(path: str, *parts: object) -> str:
    """Return a JSON pointer with parts added."""
    escaped = (str(part).replace("~", "~0").replace("/", "~1") for part in parts)
    return "".join([path, *(f"/{part}" for part in escaped)])
