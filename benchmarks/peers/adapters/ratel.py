"""ratel's Rust BM25 catalogue. Its dense side loads models of its own and takes no vectors, so it is not run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ratel_ai import ExecutableTool, ToolCatalog

from benchmarks.peers.adapters import Search
from benchmarks.peers.encoding import Embed
from benchmarks.peers.tools import PeerTool


def build(tools: Sequence[PeerTool], *, k: int, embed: Embed | None) -> Search:
    """Return the catalogue's default search."""
    catalogue = ToolCatalog()

    async def register() -> None:
        await catalogue.register(
            [
                ExecutableTool(
                    id=tool.name,
                    name=tool.name,
                    description=tool.description,
                    input_schema=dict(tool.input_schema),
                    execute=lambda arguments: None,
                )
                for tool in tools
            ]
        )

    asyncio.run(register())
    return lambda request: [hit.tool_id for hit in catalogue.search(request, k)]
