"""OpenAI function tools: the nested Chat Completions shape and the flat one of the Responses API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolsearch.contracts.enrich.foreign import ForeignTool, schema_at, text_at, unkept_notes
from toolsearch.model.errors import ContractError

_SENDING = ("strict", "defer_loading", "allowed_callers", "async")


class OpenAITool:
    """Reads one function tool. `strict`, `defer_loading` and the like concern the sending and are only noted."""

    name = "openai"

    def recognises(self, data: Mapping[str, Any]) -> bool:
        """Tell whether it is `{type: function, ...}`, or a bare `{name, parameters}` without keys of other formats."""
        if data.get("type") == "function" or isinstance(data.get("function"), Mapping):
            return True
        return "name" in data and "parameters" in data and not {"input_schema", "inputSchema"}.intersection(data)

    def read(self, data: Mapping[str, Any], *, server: str | None, trusted: bool) -> ForeignTool:
        """Return the tool that the definition describes.

        Raises:
            ContractError: If a part has the wrong type.
        """
        nested = data.get("function")
        if nested is not None and not isinstance(nested, Mapping):
            raise ContractError(f"function is a {type(nested).__name__}, not an object", path="/function")
        body, where = (nested, "/function") if isinstance(nested, Mapping) else (data, "")
        return ForeignTool(
            name=text_at(body, "name", where=where),
            description=text_at(body, "description", where=where),
            input_schema=schema_at(body, "parameters", where=where),
            output_schema=schema_at(body, "output_schema", where=where),
            server=server,
            notes=unkept_notes({**data, **body}, *_SENDING),
            format=self.name,
            trusted=trusted,
        )
