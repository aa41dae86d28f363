"""A source whose principal can lose rights, and which keeps the outcomes it is told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from toolsearch import CandidateSet, Outcome, Principal, SearchRequest, ToolIndex
from toolsearch.adapters.source import SourceSessions, on_behalf_of
from toolsearch.eval.catalogue import open_catalogue

STARTER = Path(__file__).parents[2] / "indexes" / "starter"
LEAD = Principal(
    subject="lea",
    tenant="acme",
    environment="production",
    roles=("support", "support-lead"),
    scopes=("orders.read", "crm.read"),
)
CLERK = LEAD.model_copy(update={"scopes": ("orders.read",)})
"""The same subject without the right to see customers."""


class ChangingSource:
    """An index on behalf of whoever `principal` is now."""

    def __init__(self, index: ToolIndex, principal: Principal = LEAD) -> None:
        self.index, self.principal = index, principal
        self.searches: list[str] = []
        self.outcomes: list[Outcome] = []

    @property
    def sessions(self) -> SourceSessions:
        return on_behalf_of(self.index, self.principal).sessions

    def search(self, request: SearchRequest) -> CandidateSet:
        self.searches.append(request.text)
        return on_behalf_of(self.index, self.principal).search(request)

    def record_outcome(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        on_behalf_of(self.index, self.principal).record_outcome(outcome)


@contextmanager
def starter_source() -> Iterator[ChangingSource]:
    """Open the starter catalogue in memory, without a model."""
    with open_catalogue(STARTER, encoder="hashed") as index:
        yield ChangingSource(index)
