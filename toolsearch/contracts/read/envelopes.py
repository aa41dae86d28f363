"""What definitions come wrapped in: lists, `{tools: [...]}`, JSON-RPC results, namespaces, documents of an API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from toolsearch.contracts.read.openapi_document import is_openapi, operations
from toolsearch.contracts.read.places import Document, Path
from toolsearch.contracts.read.provider_tools import GEMINI_BUILT_INS

_ENVELOPES = ("tools", "result", "contracts")
_DECLARATIONS = ("functionDeclarations", "function_declarations")


@dataclass(frozen=True, slots=True)
class Found:
    """One definition and where it stands.

    Attributes:
        data: The definition, of whatever type: an `Operation` of an OpenAPI document, or the error that kept it from
            being one.
        document: The document it stands in.
        path: Where in the document.
        source: Label of the input.
        server: Server of the namespace around it, else the one the caller gave.
        format: Name of the format, where what is around it tells.
    """

    data: Any
    document: Document
    path: Path
    source: str
    server: str | None
    format: str = ""

    @property
    def place(self) -> str:
        """Return the position for an error."""
        return self.document.place(self.path)


def definitions(document: Document, *, source: str, server: str | None) -> Iterator[Found]:
    """Yield the definitions of a document in order, out of all that is wrapped around them."""
    pending: list[tuple[Any, Path, str | None, str]] = [(document.data, (), server, "")]
    while pending:
        data, path, inside, known = pending.pop()
        if isinstance(data, list | tuple):
            pending.extend((data[at], (*path, at), inside, known) for at in range(len(data) - 1, -1, -1))
            continue
        if isinstance(data, Mapping) and is_openapi(data):
            yield from (Found(one, document, (*path, *at), source, inside) for at, one in operations(data))
            continue
        key = _envelope(data) if isinstance(data, Mapping) else None
        if key is None:
            yield Found(data, document, path, source, inside, known)
            continue
        name = data.get("name")
        named = name if isinstance(name, str) and name.strip() else inside
        if key in _DECLARATIONS:
            built_in = {other: data[other] for other in data if other in GEMINI_BUILT_INS}
            pending.extend([(built_in, path, inside, "")] if built_in else [])
            known = "gemini"
        pending.append((data[key], (*path, key), named, known))


def _envelope(data: Mapping[str, Any]) -> str | None:
    """Return the key under which the definitions stand, or None for a definition."""
    if "name" in data and data.get("type") != "namespace":
        return None
    return next((key for key in (*_ENVELOPES, *_DECLARATIONS) if isinstance(data.get(key), Mapping | list)), None)
