"""callbus: its real scorers and text formats, with the small shared encoder.

Departs from its headline set-up, which needs an 8B embedding model on a GPU. Texts are the defaults of its commands:
`documentation` for BM25, `name_desc` for the dense side, requests plain, English stemming as with its `stem` extra.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from callbus.adapters.bm25 import BM25Scorer
from callbus.adapters.dense import DenseScorer
from callbus.adapters.hybrid import HybridScorer
from callbus.domain import Query, Tool
from callbus.ingest.mcp import tool_from_mcp

from benchmarks.peers.adapters import Search
from benchmarks.peers.encoding import Embed
from benchmarks.peers.tools import PeerTool


class _Encoder:
    name = "minilm"

    def __init__(self, embed: Embed) -> None:
        self._embed = embed

    def encode(self, texts: Sequence[str], *, kind: str = "document") -> np.ndarray:
        return self._embed(texts)


def build_bm25(tools: Sequence[PeerTool], *, k: int, embed: Embed | None) -> Search:
    """Return the BM25 scorer's search; hits that score 0 are padding and left out, as its hybrid does."""
    scorer = BM25Scorer()
    scorer.index(_tools(tools))

    def search(request: str) -> list[str]:
        found = scorer.rank([_query(request)], k)[0]
        return [name for name, score in zip(found.tool_ids, found.scores, strict=True) if score > 0]

    return search


def build_dense(tools: Sequence[PeerTool], *, k: int, embed: Embed | None) -> Search:
    """Return the dense scorer's search."""
    return _search(DenseScorer(_Encoder(embed)), tools, k=k)


def build_hybrid(tools: Sequence[PeerTool], *, k: int, embed: Embed | None) -> Search:
    """Return the reciprocal rank fusion of both."""
    return _search(HybridScorer(DenseScorer(_Encoder(embed)), BM25Scorer("documentation", "plain")), tools, k=k)


def _search(scorer: Any, tools: Sequence[PeerTool], *, k: int) -> Search:
    scorer.index(_tools(tools))
    return lambda request: scorer.rank([_query(request)], k)[0].tool_ids


def _tools(tools: Sequence[PeerTool]) -> list[Tool]:
    # Its own ids, server/name, would clash where a server lists a name twice.
    return [replace(tool_from_mcp(tool.server or "tools", tool.mcp), id=tool.name) for tool in tools]


def _query(request: str) -> Query:
    return Query(id="q", text=request, qrels={})
