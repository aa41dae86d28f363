"""semantic-tool-router with the specs its own MCP import makes, hints included.

`build` keeps the hashing embedder it ships; `build_embedded` gives it the shared encoder instead.
"""

from __future__ import annotations

from collections.abc import Sequence

from semantic_tool_router.mcp import _tool_spec
from semantic_tool_router.registry import ToolRegistry
from semantic_tool_router.router import ToolRouter

from benchmarks.peers.adapters import Search
from benchmarks.peers.encoding import Embed
from benchmarks.peers.tools import PeerTool


class _Provider:
    def __init__(self, embed: Embed) -> None:
        self._embed = embed

    def embed(self, text: str) -> list[float]:
        return self._embed([text])[0].tolist()


def build(tools: Sequence[PeerTool], *, k: int, embed: Embed | None) -> Search:
    """Return the router's discovery as shipped."""
    return _search(ToolRouter(_registry(tools)), k=k)


def build_embedded(tools: Sequence[PeerTool], *, k: int, embed: Embed | None) -> Search:
    """Return the router's discovery with the shared encoder."""
    return _search(ToolRouter(_registry(tools), embedding_provider=_Provider(embed)), k=k)


def _registry(tools: Sequence[PeerTool]) -> ToolRegistry:
    return ToolRegistry([_tool_spec(tool.mcp, tool.server or "tools") for tool in tools])


def _search(router: ToolRouter, *, k: int) -> Search:
    return lambda request: [found.tool.name for found in router.discover(request, top_k=k)]
