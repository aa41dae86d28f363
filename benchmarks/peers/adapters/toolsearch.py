"""toolsearch itself, under the same rules as the others: the same definitions in, names of tools out.

A request longer than the engine takes is cut, as our other benchmarks do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.adapters import Search
from benchmarks.peers.encoding import Embed
from benchmarks.peers.tools import PeerTool
from toolsearch.contracts.read.reader import read_data
from toolsearch.engine.search import ToolIndex
from toolsearch.model.request import MAX_QUERY_CHARS, Principal, SearchRequest
from toolsearch.search.visibility.rules import RuleBook
from toolsearch.text.embed.onnx import MINILM_INFO
from toolsearch.text.embed.protocol import EncoderInfo

_PRINCIPAL = Principal(subject="benchmark")
_RULES = RuleBook.public(reason="every tool of a benchmark catalogue is visible")


class _Encoder:
    """The shared encoder in the form the engine takes."""

    def __init__(self, embed: Embed) -> None:
        self._embed = embed

    @property
    def info(self) -> EncoderInfo:
        return MINILM_INFO

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._embed(texts)

    def encode_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._embed(texts)


def build_ranked(tools: Sequence[PeerTool], *, k: int, embed: Embed | None) -> Search:
    """Return the ranked list before diversity, floors and sizes."""
    index, names = _index(tools, embed=embed)

    def search(request: str) -> list[str]:
        found = index.rank(SearchRequest(text=request[:MAX_QUERY_CHARS], k=k), principal=_PRINCIPAL, depth=k)
        return [names[str(ref)] for ref, _ in found]

    return search


def build_answer(tools: Sequence[PeerTool], *, k: int, embed: Embed | None) -> Search:
    """Return the candidates of the whole answer, which may be none."""
    index, names = _index(tools, embed=embed)

    def search(request: str) -> list[str]:
        answer = index.search(SearchRequest(text=request[:MAX_QUERY_CHARS], k=k), principal=_PRINCIPAL)
        return [names[str(tool.ref)] for tool in answer.candidates]

    return search


def _index(tools: Sequence[PeerTool], *, embed: Embed | None) -> tuple[ToolIndex, dict[str, str]]:
    report = read_data([dict(tool.record) for tool in tools])
    index = ToolIndex.create(None, rules=_RULES, encoder=_Encoder(embed))
    index.add(report.contracts)
    index.warm()
    name_of = {tool.id: tool.name for tool in tools}
    return index, {str(ref): name_of[identifier] for ref, identifier in report.ids.items()}
