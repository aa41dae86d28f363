"""agent-tool-router from descriptions (TF-IDF): it has no example tasks here and reads no schemas."""

from __future__ import annotations

from collections.abc import Sequence

from agent_tool_router import Router

from benchmarks.peers.adapters import Search
from benchmarks.peers.encoding import Embed
from benchmarks.peers.tools import PeerTool


def build(tools: Sequence[PeerTool], *, k: int, embed: Embed | None) -> Search:
    """Return the router's route."""
    router = Router.from_descriptions([(tool.name, tool.description) for tool in tools])
    return lambda request: router.route(request, k=min(k, len(tools)))
