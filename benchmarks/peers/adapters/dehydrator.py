"""dehydrator's tool index (BM25L) without the re-ranker, which needs a service."""

from __future__ import annotations

from collections.abc import Sequence

from dehydrator import ToolIndex

from benchmarks.peers.adapters import Search
from benchmarks.peers.encoding import Embed
from benchmarks.peers.tools import PeerTool


def build(tools: Sequence[PeerTool], *, k: int, embed: Embed | None) -> Search:
    """Return the index's search."""
    definitions = [
        {"name": tool.name, "description": tool.description, "input_schema": dict(tool.input_schema)} for tool in tools
    ]
    return ToolIndex(definitions, top_k=k).search
