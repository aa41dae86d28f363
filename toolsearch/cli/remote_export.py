"""The export of an index behind a server."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from toolsearch.contracts.export import ExportedTools
from toolsearch.model.request import DefinitionFormat, Detail, Principal


class RemoteExport:
    """What `RemoteIndex` has of `ToolIndex.export`."""

    def send(self, method: str, path: str, body: str | None = None) -> bytes:
        """Send one request; `RemoteIndex` does."""
        raise NotImplementedError

    def export(
        self,
        *,
        principal: Principal,
        format: DefinitionFormat,
        tools: Sequence[str] = (),
        detail: Detail = Detail.FULL,
        strict: bool = False,
        defer_loading: bool = False,
        namespaces: bool = False,
    ) -> ExportedTools:
        """Return definitions of visible tools."""
        flags = {"strict": strict, "defer_loading": defer_loading, "namespaces": namespaces}
        query = [
            ("format", format.value),
            ("detail", detail.value),
            *((name, "true") for name, wanted in flags.items() if wanted),
            *(("tool", tool) for tool in tools),
        ]
        return ExportedTools.model_validate_json(self.send("GET", f"/v1/export?{urlencode(query)}"))
