"""Tools that a provider runs itself, or whose input is no JSON: refused with the reason, as they have no contract."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from toolsearch.contracts.enrich.foreign import ForeignTool
from toolsearch.model.errors import UnsupportedFormat

_OPENAI = frozenset(
    {"apply_patch", "code_interpreter", "computer", "computer_use_preview", "file_search", "image_generation"}
    | {"local_shell", "mcp", "programmatic_tool_calling", "shell", "tool_search", "web_search", "web_search_preview"}
)
# `bash_20250124`, `web_search_tool_20250305`, `mcp_toolset`, `browser_toolset_20260801`: a name and a date.
_ANTHROPIC = re.compile(r"[a-z][a-z0-9_]*_20[0-9]{6}|mcp_toolset")
_OPENAI_DATED = re.compile(r"web_search(?:_preview)?_20[0-9]{2}_[0-9]{2}_[0-9]{2}")

GEMINI_BUILT_INS = frozenset(
    {"codeExecution", "computerUse", "enterpriseWebSearch", "exaAiSearch", "fileSearch", "googleMaps", "googleSearch"}
    | {"googleSearchRetrieval", "mcpServers", "parallelAiSearch", "retrieval", "urlContext"}
    | {"code_execution", "computer_use", "enterprise_web_search", "exa_ai_search", "file_search", "google_maps"}
    | {"google_search", "google_search_retrieval", "mcp_servers", "parallel_ai_search", "url_context"}
)
"""Keys of a Gemini Tool beside its function declarations, in both spellings."""


class ProviderTool:
    """Recognises what only a provider can run, and says so."""

    name = "provider"

    def recognises(self, data: Mapping[str, Any]) -> bool:
        """Tell whether it is a built-in or free-text tool of OpenAI, Anthropic or Gemini."""
        if {"input_schema", "inputSchema", "parameters", "function"}.intersection(data):
            return False
        return bool(_reason(data))

    def read(self, data: Mapping[str, Any], *, server: str | None, trusted: bool) -> ForeignTool:
        """Refuse it.

        Raises:
            UnsupportedFormat: Always, with the reason.
        """
        raise UnsupportedFormat(_reason(data), hint="hand it to the provider beside the tools that a search finds")


def _reason(data: Mapping[str, Any]) -> str:
    kind = data.get("type")
    if kind == "custom":
        return "is a custom tool: its input is free text or a grammar, not JSON with a schema"
    if isinstance(kind, str) and (kind in _OPENAI or _OPENAI_DATED.fullmatch(kind)):
        return f"is OpenAI's own tool {kind!r}: the provider runs it and knows its input"
    if isinstance(kind, str) and len(kind) < 100 and _ANTHROPIC.fullmatch(kind):
        return f"is Anthropic's own tool {kind!r}: the provider knows its input"
    if kind is None and "name" not in data:
        keys = [key for key in data if key in GEMINI_BUILT_INS]
        if keys and len(keys) == len(data):
            return f"is Gemini's own tool {', '.join(keys)!r}: the provider runs it and knows its input"
    return ""
