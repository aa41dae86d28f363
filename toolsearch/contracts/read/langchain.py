"""LangChain tools as data: the arguments of `StructuredTool`, with the schema of the arguments as JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolsearch.contracts.enrich.foreign import ForeignTool, schema_at, text_at, texts_at


class LangChainTool:
    """Reads one tool: `name`, `description`, `args_schema`, `tags`. Our own sections in `metadata` are read later."""

    name = "langchain"

    def recognises(self, data: Mapping[str, Any]) -> bool:
        """Tell whether it has a name and an `args_schema`."""
        return "name" in data and "args_schema" in data

    def read(self, data: Mapping[str, Any], *, server: str | None, trusted: bool) -> ForeignTool:
        """Return the tool that the data describe.

        Raises:
            ContractError: If a part has the wrong type.
        """
        return ForeignTool(
            name=text_at(data, "name"),
            description=text_at(data, "description"),
            input_schema=schema_at(data, "args_schema"),
            tags=texts_at(data, "tags"),
            server=server,
            format=self.name,
            trusted=trusted,
        )
