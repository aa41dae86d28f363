"""How tools are handed out: with a definition made for this answer, or with the one that a session holds.

An answer knows one protocol; a session implements it in `engine/sessions/handout.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from toolsearch.contracts.export import api_names, definition, json_tokens
from toolsearch.model.answer import CandidateSet
from toolsearch.model.contract import ToolContract, ToolRef
from toolsearch.model.request import SearchRequest


@dataclass(frozen=True, slots=True)
class HandedOut:
    """A definition as the model gets it, and the tokens it takes in the prompt."""

    definition: dict[str, Any]
    tokens: int


class Handout(Protocol):
    """Gives tools their names and definitions, and keeps what was given."""

    def loaded(self, refs: Sequence[str]) -> frozenset[str]:
        """Return the refs that the model has already, those of the request included."""

    def names(self, refs: Sequence[ToolRef]) -> Mapping[ToolRef, str]:
        """Return the names under which the model calls these tools."""

    def definition(
        self, contract: ToolContract, *, request: SearchRequest, api_name: str, adjacent: Mapping[str, str]
    ) -> HandedOut:
        """Return what the model gets of a visible tool.

        Args:
            contract: The current one.
            request: Says format and detail.
            api_name: Of `names`.
            adjacent: Adjacent tools that may be named.
        """

    def close(self, answer: CandidateSet) -> CandidateSet:
        """Return the answer once what it hands out is durable."""


class FreshHandout:
    """Every definition is made from the current contract; nothing is kept."""

    def loaded(self, refs: Sequence[str]) -> frozenset[str]:
        """Return the refs of the request."""
        return frozenset(refs)

    def names(self, refs: Sequence[ToolRef]) -> Mapping[ToolRef, str]:
        """Return provider-safe names."""
        return api_names(refs)

    def definition(
        self, contract: ToolContract, *, request: SearchRequest, api_name: str, adjacent: Mapping[str, str]
    ) -> HandedOut:
        """Return the definition of the current contract."""
        data = definition(contract, format=request.format, detail=request.detail, api_name=api_name, adjacent=adjacent)
        return HandedOut(data, json_tokens(data))

    def close(self, answer: CandidateSet) -> CandidateSet:
        """Return the answer as it is."""
        return answer
