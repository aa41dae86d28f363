"""Haystack's SearchableToolset: its `search_tools` tool with k set, a fresh toolset state for each request.

Below its threshold of 8 tools it searches nothing and shows all of them, in catalogue order.
"""

from __future__ import annotations

from collections.abc import Sequence

from haystack.tools import SearchableToolset, Tool

from benchmarks.peers.adapters import Search
from benchmarks.peers.encoding import Embed
from benchmarks.peers.tools import PeerTool

_NO_INPUT = {"type": "object", "properties": {}}


def build(tools: Sequence[PeerTool], *, k: int, embed: Embed | None) -> Search:
    """Return the toolset's search."""
    toolset = SearchableToolset([_tool(tool) for tool in tools], top_k=k)
    toolset.warm_up()
    bootstrap = next(iter(toolset))
    if bootstrap.name != "search_tools":
        return lambda request: [tool.name for tool in tools[:k]]

    def search(request: str) -> list[str]:
        toolset.clear()
        bootstrap.invoke(tool_keywords=request)
        return list(toolset._discovered_tools)

    return search


def _tool(tool: PeerTool) -> Tool:
    def make(parameters: dict[str, object]) -> Tool:
        return Tool(
            name=tool.name, description=tool.description, parameters=parameters, function=lambda **arguments: None
        )

    try:
        return make(dict(tool.input_schema))
    except ValueError:  # it refuses schemas that are not valid; they are not part of its index
        return make(dict(_NO_INPUT))
