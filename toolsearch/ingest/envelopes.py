"""What definitions come wrapped in: lists, `{tools: [...]}`, JSON-RPC results, OpenAI namespaces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from toolsearch.ingest.places import Document, Path

_ENVELOPES = ("tools", "result", "contracts")


@dataclass(frozen=True, slots=True)
class Found:
    """One definition and where it stands.

    Attributes:
        data: The definition, of whatever type.
        document: The document it stands in.
        path: Where in the document.
        source: Label of the input.
        server: Server of the namespace around it, else the one the caller gave.
    """

    data: Any
    document: Document
    path: Path
    source: str
    server: str | None

    @property
    def place(self) -> str:
        """Return the position for an error."""
        return self.document.place(self.path)


def definitions(document: Document, *, source: str, server: str | None) -> Iterator[Found]:
    """Yield the definitions of a document in order, out of all that is wrapped around them."""
    pending: list[tuple[Any, Path, str | None]] = [(document.data, (), server)]
    while pending:
        data, path, inside = pending.pop()
        if isinstance(data, list | tuple):
            pending.extend((data[at], (*path, at), inside) for at in range(len(data) - 1, -1, -1))
            continue
        key = _envelope(data) if isinstance(data, Mapping) else None
        if key is None:
            yield Found(data, document, path, source, inside)
            continue
        name = data.get("name")
        pending.append((data[key], (*path, key), name if isinstance(name, str) and name.strip() else inside))


def _envelope(data: Mapping[str, Any]) -> str | None:
    """Return the key under which the definitions stand, or None for a definition."""
    if "name" in data and data.get("type") != "namespace":
        return None
    return next((key for key in _ENVELOPES if isinstance(data.get(key), Mapping | list)), None)
