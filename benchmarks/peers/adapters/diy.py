"""What a team writes in an afternoon: rank_bm25 over lower-case words, or MiniLM vectors and a dot product."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from rank_bm25 import BM25Okapi

from benchmarks.peers.adapters import Search
from benchmarks.peers.encoding import Embed
from benchmarks.peers.tools import PeerTool

_WORD = re.compile(r"[^\W_]+")


def build_bm25(tools: Sequence[PeerTool], *, k: int, embed: Embed | None) -> Search:
    """Return BM25Okapi over name and description, without tools that score 0."""
    names = [tool.name for tool in tools]
    index = BM25Okapi([_words(f"{tool.name} {tool.description}") or ["-"] for tool in tools])

    def search(request: str) -> list[str]:
        scores = index.get_scores(_words(request))
        return [names[place] for place in np.argsort(-scores, kind="stable")[:k] if scores[place] > 0]

    return search


def build_vectors(tools: Sequence[PeerTool], *, k: int, embed: Embed | None) -> Search:
    """Return the cosine of the request and `name: description`."""
    names = [tool.name for tool in tools]
    matrix = embed([f"{tool.name}: {tool.description}" for tool in tools])

    def search(request: str) -> list[str]:
        cosines = matrix @ embed([request])[0]
        return [names[place] for place in np.argsort(-cosines, kind="stable")[:k]]

    return search


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
