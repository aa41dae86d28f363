"""pydantic-ai's local tool search (keyword overlap), as its `search_tools` fallback runs it.

The step behind that tool is called directly, with the catalogue as its corpus and nothing discovered yet: a model run
is not part of retrieval. A request without a Latin letter or digit makes it ask the model to retry; that is no hit.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import FunctionToolset
from pydantic_ai.toolsets._tool_search import ToolSearchToolset

from benchmarks.peers.adapters import Search
from benchmarks.peers.encoding import Embed
from benchmarks.peers.tools import PeerTool


def build(tools: Sequence[PeerTool], *, k: int, embed: Embed | None) -> Search:
    """Return the keyword search."""
    toolset = ToolSearchToolset(wrapped=FunctionToolset(), max_results=k)
    corpus = [
        ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=dict(tool.input_schema))
        for tool in tools
    ]
    called = SimpleNamespace(corpus=corpus, discovered_tool_names=set())

    def search(request: str) -> list[str]:
        try:
            found = toolset._run_keywords_search([request], called)
        except ModelRetry:
            return []
        return [match["name"] for match in found["discovered_tools"]]

    return search
