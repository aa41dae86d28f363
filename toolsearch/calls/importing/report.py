"""What an import did: taken, changed, refused and why, for each server."""

from __future__ import annotations

from pydantic import Field

from toolsearch.model.contract import Frozen
from toolsearch.model.errors import ContractError, ToolSearchError, UpstreamConfigError


class RefusedTool(Frozen):
    """Something that was not taken."""

    source: str = Field(description="File or label.")
    path: str = Field(default="", description="Where in it: line and column, or a JSON pointer.")
    message: str = Field(description="Why, and what to do.")

    @classmethod
    def of(cls, error: ToolSearchError, *, source: str = "") -> RefusedTool:
        """Return the refusal that an error stands for."""
        if isinstance(error, ContractError | UpstreamConfigError):
            place = ":".join(part for part in (error.source, error.path) if part)
            return cls(source=error.source or source, path=error.path, message=str(error).removeprefix(f"{place}: "))
        return cls(source=source, message=str(error))


class ServerReport(Frozen):
    """What became of the tools of one server; refs sorted."""

    server: str
    origin: str = Field(description="Where they come from: a file, a program, scheme and host.")
    title: str = Field(default="", description="Name and version the source gives itself; untrusted.")
    added: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    marked: tuple[str, ...] = Field(default=(), description="Taken, but choices may shift: evaluate again.")
    held: tuple[str, ...] = Field(default=(), description="Waiting for approval; the old contracts serve.")
    turned_down: tuple[str, ...] = Field(default=(), description="Rejected or rolled back earlier; not taken again.")
    refused: tuple[RefusedTool, ...] = Field(
        default=(), description="Definitions that were not taken; the tools they would replace stay as they were."
    )
    error: str = Field(default="", description="Why nothing could be read; the last known contracts stay, stale.")

    @property
    def changed(self) -> bool:
        """Tell whether anything in the index changed."""
        return bool(self.added or self.replaced or self.removed)


class ImportReport(Frozen):
    """What an import did."""

    servers: tuple[ServerReport, ...] = Field(default=(), description="Sorted by server.")
    refused: tuple[RefusedTool, ...] = Field(default=(), description="What belongs to no server: a file, an entry.")
    generation: int = Field(default=0, description="Of the catalogue afterwards; the same if nothing changed.")
    contracts: int = Field(default=0, description="How many contracts were read.")
    reading_s: float = Field(default=0.0, description="Seconds to reach servers and read definitions.")
    indexing_s: float = Field(default=0.0, description="Seconds until all of it was searchable and on disk.")

    @property
    def whole(self) -> bool:
        """Tell whether everything was taken."""
        return not self.refused and not any(server.refused or server.error for server in self.servers)
