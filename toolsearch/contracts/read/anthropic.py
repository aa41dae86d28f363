"""Anthropic client tools: name, description, input_schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolsearch.contracts.enrich.foreign import ForeignTool, schema_at, text_at, unkept_notes

_SENDING = ("strict", "defer_loading", "allowed_callers", "cache_control", "eager_input_streaming")


class AnthropicTool:
    """Reads one client tool; `strict`, `defer_loading`, `cache_control` and the like are only noted."""

    name = "anthropic"

    def recognises(self, data: Mapping[str, Any]) -> bool:
        """Tell whether it has a name and an `input_schema`, and no benchmark id."""
        return "name" in data and "input_schema" in data and "id" not in data

    def read(self, data: Mapping[str, Any], *, server: str | None, trusted: bool) -> ForeignTool:
        """Return the tool that the definition describes.

        Raises:
            ContractError: If a part has the wrong type.
        """
        examples = data.get("input_examples")
        schema = schema_at(data, "input_schema")
        if isinstance(examples, list) and examples and "examples" not in schema:
            schema = {**schema, "examples": examples}
        return ForeignTool(
            name=text_at(data, "name"),
            description=text_at(data, "description"),
            input_schema=schema,
            server=server,
            notes=unkept_notes(data, *_SENDING),
            format=self.name,
            trusted=trusted,
        )
