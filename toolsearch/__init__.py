"""toolsearch: which few tools fit this request, for this principal, now, and why."""

from toolsearch.contract import SideEffect, ToolContract, ToolRef
from toolsearch.engine import ChangeReport, IndexStatus, ToolIndex
from toolsearch.errors import ToolSearchError
from toolsearch.ingest.reader import ReadReport, load_contracts, read_path
from toolsearch.query import Outcome, Principal, Restriction, SearchRequest
from toolsearch.result import Candidate, CandidateSet
from toolsearch.visibility.rules import Rule, RuleBook

__all__ = [
    "Candidate",
    "CandidateSet",
    "ChangeReport",
    "IndexStatus",
    "Outcome",
    "Principal",
    "ReadReport",
    "Restriction",
    "Rule",
    "RuleBook",
    "SearchRequest",
    "SideEffect",
    "ToolContract",
    "ToolIndex",
    "ToolRef",
    "ToolSearchError",
    "load_contracts",
    "read_path",
]
