"""toolhunch's first stage: BM25, and BM25 with dense retrieval fused. Its second stage needs a language model."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from toolhunch import ToolCard, ToolCatalog
from toolhunch.retrieval import BM25Retriever, DenseRetriever, EmbeddingBatch, HybridRetriever

from benchmarks.peers.adapters import Search
from benchmarks.peers.encoding import Embed
from benchmarks.peers.tools import PeerTool


class _Embedder:
    model_id = "minilm"

    def __init__(self, embed: Embed) -> None:
        self._embed = embed

    async def embed(self, texts: Sequence[str], /, *, kind: str) -> EmbeddingBatch:
        return EmbeddingBatch(vectors=tuple(map(tuple, self._embed(texts).tolist())), input_tokens=0)


def build_bm25(tools: Sequence[PeerTool], *, k: int, embed: Embed | None) -> Search:
    """Return the BM25 retriever's search."""
    return _search(BM25Retriever(), tools, k=k)


def build_hybrid(tools: Sequence[PeerTool], *, k: int, embed: Embed | None) -> Search:
    """Return the hybrid retriever's search."""
    return _search(HybridRetriever([BM25Retriever(), DenseRetriever(_Embedder(embed))]), tools, k=k)


def _search(retriever: Any, tools: Sequence[PeerTool], *, k: int) -> Search:
    catalogue = ToolCatalog(
        [
            ToolCard(
                name=tool.name,
                description=tool.description,
                parameters=dict(tool.input_schema),
                source=tool.server or None,
            )
            for tool in tools
        ]
    )
    loop = asyncio.new_event_loop()

    def search(request: str) -> list[str]:
        found = loop.run_until_complete(retriever.retrieve([request], catalogue, k=k))
        return [match.card.name for match in found.matches]

    return search
