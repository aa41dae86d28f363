"""toolsearch: which few tools fit this request, for this principal, now, and why.

The public names, nothing else. Each is imported when it is first used, so `import toolsearch` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolsearch.client import Client
    from toolsearch.contracts.read.reader import ReadReport, load_contracts, read_path
    from toolsearch.engine.search import ToolIndex
    from toolsearch.engine.writer import ChangeReport
    from toolsearch.model.answer import Candidate, CandidateSet
    from toolsearch.model.contract import SideEffect, ToolContract, ToolRef
    from toolsearch.model.errors import ToolSearchError
    from toolsearch.model.prepared import PrepareRequest, Turn
    from toolsearch.model.request import DefinitionFormat, Outcome, PastRequest, Principal, Restriction, SearchRequest
    from toolsearch.search.visibility.rules import Rule, RuleBook

__all__ = [
    "Candidate",
    "CandidateSet",
    "ChangeReport",
    "Client",
    "DefinitionFormat",
    "IndexStatus",
    "Outcome",
    "PastRequest",
    "PrepareRequest",
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
    "Turn",
    "load_contracts",
    "read_path",
]

__version__ = "0.1.0"

_HOMES = {
    "Candidate": "model.answer",
    "CandidateSet": "model.answer",
    "ChangeReport": "engine.writer",
    "Client": "client",
    "DefinitionFormat": "model.request",
    "IndexStatus": "engine.index",
    "Outcome": "model.request",
    "PastRequest": "model.request",
    "PrepareRequest": "model.prepared",
    "Principal": "model.request",
    "ReadReport": "contracts.read.reader",
    "Restriction": "model.request",
    "Rule": "search.visibility.rules",
    "RuleBook": "search.visibility.rules",
    "SearchRequest": "model.request",
    "SideEffect": "model.contract",
    "ToolContract": "model.contract",
    "ToolIndex": "engine.search",
    "ToolRef": "model.contract",
    "ToolSearchError": "model.errors",
    "Turn": "model.prepared",
    "load_contracts": "contracts.read.reader",
    "read_path": "contracts.read.reader",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'toolsearch' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"toolsearch.{home}"), name)
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
