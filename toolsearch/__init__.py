"""toolsearch: which few tools fit this request, for this principal, now, and why.

The public names, nothing else. Each is imported when it is first used, so `import toolsearch` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolsearch.client import Client
    from toolsearch.contract import SideEffect, ToolContract, ToolRef
    from toolsearch.engine import ToolIndex
    from toolsearch.errors import ToolSearchError
    from toolsearch.ingest.reader import ReadReport, load_contracts, read_path
    from toolsearch.live import ChangeReport
    from toolsearch.preparation import PrepareRequest, Turn
    from toolsearch.query import DefinitionFormat, Outcome, PastRequest, Principal, Restriction, SearchRequest
    from toolsearch.result import Candidate, CandidateSet
    from toolsearch.visibility.rules import Rule, RuleBook

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
    "Candidate": "result",
    "CandidateSet": "result",
    "ChangeReport": "live",
    "Client": "client",
    "DefinitionFormat": "query",
    "IndexStatus": "upkeep",
    "Outcome": "query",
    "PastRequest": "query",
    "PrepareRequest": "preparation",
    "Principal": "query",
    "ReadReport": "ingest.reader",
    "Restriction": "query",
    "Rule": "visibility.rules",
    "RuleBook": "visibility.rules",
    "SearchRequest": "query",
    "SideEffect": "contract",
    "ToolContract": "contract",
    "ToolIndex": "engine",
    "ToolRef": "contract",
    "ToolSearchError": "errors",
    "Turn": "preparation",
    "load_contracts": "ingest.reader",
    "read_path": "ingest.reader",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'toolsearch' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"toolsearch.{home}"), name)
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
