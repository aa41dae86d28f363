"""The catalogue and the principal of the conversation, both of which change on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from benchmarks.prompt_cache.conversation import (
    ADDED,
    CLERK,
    REVOKED_BEFORE,
    UPDATE_BEFORE,
    UPDATED,
    updated,
    without_scope,
)
from toolsearch import CandidateSet, Outcome, Rule, RuleBook, SearchRequest, ToolContract, ToolIndex, load_contracts
from toolsearch.adapters.source import SourceSessions, on_behalf_of
from toolsearch.contracts.read import read_path
from toolsearch.eval.catalogue import read_rules
from toolsearch.model.request import DefinitionFormat
from toolsearch.search.visibility.rules import RuleEffect, ToolScope

STARTER = Path(__file__).resolve().parents[2] / "indexes" / "starter"


class World:
    """An index and a principal at one turn of the conversation; a source of tools for adapters."""

    def __init__(self, index: ToolIndex) -> None:
        """Begin before the first turn, with an index of `catalogue`."""
        self._index, self._principal = index, CLERK
        self._before = index.tool(UPDATED, principal=CLERK)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Put the catalogue back to what it was, for another world."""
        self._index.add([self._before])
        self._index.remove([str(ADDED.ref)])

    @property
    def sessions(self) -> SourceSessions:
        """Return the sessions of the principal."""
        return on_behalf_of(self._index, self._principal).sessions

    def search(self, request: SearchRequest) -> CandidateSet:
        """Search on behalf of the principal."""
        return on_behalf_of(self._index, self._principal).search(request)

    def record_outcome(self, outcome: Outcome) -> None:
        """Record how a call ended."""
        on_behalf_of(self._index, self._principal).record_outcome(outcome)

    def before(self, turn: int) -> None:
        """Let happen what happens before a turn.

        Args:
            turn: Its number, from 1.
        """
        if turn == UPDATE_BEFORE:
            self._index.add([updated(self._before), ADDED])
        if turn == REVOKED_BEFORE:
            self._principal = without_scope(self._principal)

    def definitions(self) -> list[dict[str, Any]]:
        """Return the definitions of all visible tools in the shape of Chat Completions, sorted by reference."""
        return list(self._index.export(format=DefinitionFormat.OPENAI, principal=self._principal).tools)


def catalogue(data: Path | None) -> tuple[list[ToolContract], RuleBook]:
    """Return contracts and rules: the starter catalogue, and with data the tools of real servers, open to everyone.

    Args:
        data: Folder with `real_servers/tools.jsonl`; None = the starter catalogue alone.
    """
    contracts, rules = list(load_contracts(STARTER / "contracts")), read_rules(STARTER / "rules.yaml")
    if data is None:
        return contracts, rules
    real = list(read_path(data / "real_servers" / "tools.jsonl").contracts)
    servers = tuple(sorted({contract.identity.server for contract in real}))
    public = Rule(id="real", effect=RuleEffect.ALLOW, reason="a benchmark", tools=ToolScope(servers=servers))
    return contracts + real, RuleBook(rules=(*rules.rules, public))


def opened(data: Path | None, *, encoder: str) -> ToolIndex:
    """Return the catalogue as an index in memory."""
    contracts, rules = catalogue(data)
    index = ToolIndex.create(None, rules=rules, encoder=encoder)
    index.add(contracts)
    index.warm()
    return index
