"""langgraph-bigtool's default retrieval over LangGraph's in-memory store, with the text its README stores."""

from __future__ import annotations

from collections.abc import Sequence

from langgraph.store.memory import InMemoryStore
from langgraph_bigtool.tools import get_default_retrieval_tool

from benchmarks.peers.adapters import Search
from benchmarks.peers.encoding import Embed
from benchmarks.peers.tools import PeerTool

_NAMESPACE = ("tools",)


def build(tools: Sequence[PeerTool], *, k: int, embed: Embed | None) -> Search:
    """Return the default retrieval function."""
    store = InMemoryStore(
        index={"embed": lambda texts: embed(texts).tolist(), "dims": embed.dim, "fields": ["description"]}
    )
    for tool in tools:
        store.put(_NAMESPACE, tool.name, {"description": f"{tool.name}: {tool.description}"})
    retrieve, _ = get_default_retrieval_tool(_NAMESPACE, limit=k)
    return lambda request: retrieve(request, store=store)
