"""graph-tool-call: tools ingested as MCP listings, one for each server, with dependency detection as shipped."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from graph_tool_call import ToolGraph

from benchmarks.peers.adapters import Search
from benchmarks.peers.encoding import Embed
from benchmarks.peers.tools import PeerTool


def build(tools: Sequence[PeerTool], *, k: int, embed: Embed | None) -> Search:
    """Return the keyword and graph search."""
    return _search(_graph(tools), k=k)


def build_embedded(tools: Sequence[PeerTool], *, k: int, embed: Embed | None) -> Search:
    """Return the same with `enable_embedding` over the shared encoder."""
    graph = _graph(tools)
    graph.enable_embedding(lambda texts: embed(texts).tolist())
    return _search(graph, k=k)


def _graph(tools: Sequence[PeerTool]) -> ToolGraph:
    graph = ToolGraph()
    ordered = sorted(tools, key=lambda tool: tool.server)
    for server, members in groupby(ordered, key=lambda tool: tool.server):
        graph.ingest_mcp_tools([tool.mcp for tool in members], server_name=server or None)
    return graph


def _search(graph: ToolGraph, *, k: int) -> Search:
    return lambda request: [tool.name for tool in graph.retrieve(request, top_k=k)]
