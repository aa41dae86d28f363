"""toolscope's index on its memory backend: dense, over the first 256 characters of name and description."""

from __future__ import annotations

from collections.abc import Sequence

import toolscope

from benchmarks.peers.adapters import Search
from benchmarks.peers.encoding import Embed
from benchmarks.peers.tools import PeerTool


class _Provider:
    def __init__(self, embed: Embed) -> None:
        self._embed = embed

    def embed_texts(self, texts: Sequence[str]) -> list[list[float]]:
        return self._embed(texts).tolist()


def build(tools: Sequence[PeerTool], *, k: int, embed: Embed | None) -> Search:
    """Return the index's filter."""
    index = toolscope.index([tool.mcp for tool in tools], embedder=_Provider(embed))
    return lambda request: [tool["name"] for tool in index.filter(request, k=k)]
