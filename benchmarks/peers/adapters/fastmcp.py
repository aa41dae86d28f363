"""FastMCP's search transforms over its own `Tool` objects.

`_search` is what their `search_tools` tool calls after it has listed the caller's tools; calling it leaves out the
transport. In use, a model writes the pattern of the regex transform; here it is any of the request's words of four
characters or more, since a whole sentence as a pattern matches nothing.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

from fastmcp.server.transforms.search import BM25SearchTransform, RegexSearchTransform
from fastmcp.tools import Tool

from benchmarks.peers.adapters import Search
from benchmarks.peers.encoding import Embed
from benchmarks.peers.tools import PeerTool

_WORD = re.compile(r"[^\W_]{4,}")
_LONGEST_PATTERN = 1_000
"""Longer ones the transform answers with nothing."""


def build_bm25(tools: Sequence[PeerTool], *, k: int, embed: Embed | None) -> Search:
    """Return the BM25 transform's search."""
    return _search(BM25SearchTransform(max_results=k), tools)


def build_regex(tools: Sequence[PeerTool], *, k: int, embed: Embed | None) -> Search:
    """Return the regex transform's search, which keeps catalogue order."""
    search = _search(RegexSearchTransform(max_results=k), tools)
    return lambda request: search(_pattern(request))


def _pattern(request: str) -> str:
    words = list(dict.fromkeys(_WORD.findall(request))) or [re.escape(request)]
    pattern = "|".join(words)
    return pattern[:_LONGEST_PATTERN].rpartition("|")[0] if len(pattern) > _LONGEST_PATTERN else pattern


def _search(transform: BM25SearchTransform | RegexSearchTransform, tools: Sequence[PeerTool]) -> Search:
    catalogue = [
        Tool(name=tool.name, description=tool.description, parameters=dict(tool.input_schema)) for tool in tools
    ]
    loop = asyncio.new_event_loop()

    def search(request: str) -> list[str]:
        return [tool.name for tool in loop.run_until_complete(transform._search(catalogue, request))]

    return search
