"""MCP tool definitions: the items of a `tools/list` result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolsearch.contracts.enrich.foreign import ForeignTool, Hints, flag_at, schema_at, text_at, texts_at

_META_TAGS = ("tags", "fastmcp")
_CLAUDE_SEARCH_HINT = "anthropic/searchHint"


class McpTool:
    """Reads one MCP tool: `name`, `inputSchema`, and what else the protocol defines."""

    name = "mcp"

    def recognises(self, data: Mapping[str, Any]) -> bool:
        """Tell whether it has a name and one of the keys only MCP has, or no key of another format."""
        if "name" not in data or data.get("type") == "function":
            return False
        return "inputSchema" in data or (
            not {"input_schema", "parameters", "function"}.intersection(data)
            and not {"description", "annotations", "title"}.isdisjoint(data)
        )

    def read(self, data: Mapping[str, Any], *, server: str | None, trusted: bool) -> ForeignTool:
        """Return the tool that the definition describes.

        Raises:
            ContractError: If a part has the wrong type.
        """
        annotations = data.get("annotations")
        annotations = annotations if isinstance(annotations, Mapping) else {}
        meta = data.get("_meta")
        meta = meta if isinstance(meta, Mapping) else {}
        hint = meta.get(_CLAUDE_SEARCH_HINT)
        return ForeignTool(
            name=text_at(data, "name"),
            title=text_at(data, "title") or text_at(annotations, "title", where="/annotations"),
            description=text_at(data, "description"),
            input_schema=schema_at(data, "inputSchema"),
            output_schema=schema_at(data, "outputSchema"),
            hints=hints_of(annotations),
            server=server,
            tags=_tags(meta) + ((hint,) if isinstance(hint, str) else ()),
            format=self.name,
            trusted=trusted,
        )


def hints_of(annotations: Mapping[str, Any]) -> Hints:
    """Return the behaviour hints of MCP tool annotations."""
    return Hints(
        read_only=flag_at(annotations, "readOnlyHint"),
        destructive=flag_at(annotations, "destructiveHint"),
        idempotent=flag_at(annotations, "idempotentHint"),
    )


def _tags(meta: Mapping[str, Any]) -> tuple[str, ...]:
    for key in _META_TAGS:
        value = meta.get(key)
        found = texts_at(value, "tags") if isinstance(value, Mapping) else texts_at(meta, key)
        if found:
            return found
    return ()
