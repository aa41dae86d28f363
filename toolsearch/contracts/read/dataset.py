"""Lines of a benchmark's `tools.jsonl`: id, name, description, input_schema, server, output, annotations.

Ids are unique in a file; (server, name) is not once both are valid names. Tools that share it are numbered in the
order of their ids, so the order of the lines changes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from toolsearch.contracts.enrich.foreign import ForeignTool, Hints, clean_name, schema_at, text_at, texts_at
from toolsearch.contracts.read.mcp import hints_of

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class DatasetTool:
    """Reads one line of a benchmark catalogue."""

    name = "dataset"

    def recognises(self, data: Mapping[str, Any]) -> bool:
        """Tell whether it has an id, a name and an `input_schema`."""
        return "id" in data and "name" in data and "input_schema" in data

    def read(self, data: Mapping[str, Any], *, server: str | None, trusted: bool) -> ForeignTool:
        """Return the tool that the line describes.

        Raises:
            ContractError: If a part has the wrong type.
        """
        annotations, http = data.get("annotations"), data.get("http")
        hints = hints_of(annotations) if isinstance(annotations, Mapping) else Hints()
        if hints == Hints() and isinstance(http, Mapping):
            hints = _hints_of_method(str(http.get("method", "")).upper())
        output = text_at(data, "output")
        return ForeignTool(
            name=text_at(data, "name"),
            description=text_at(data, "description"),
            input_schema=schema_at(data, "input_schema"),
            output_schema={"description": output} if output else {},
            hints=hints,
            server=text_at(data, "server") or server,
            domain=text_at(data, "category"),
            tags=texts_at(data, "tags"),
            format=self.name,
            trusted=trusted,
        )


def numbered_names(lines: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return id -> tool name for the lines whose server and cleaned name another line has too.

    The first id in string order keeps the name, the next ones get `_2`, `_3`, ... .
    """
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for line in lines:
        identifier, name = line.get("id"), line.get("name")
        if isinstance(identifier, str) and isinstance(name, str):
            key = (clean_name(str(line.get("server") or ""), default="local"), clean_name(name, default="tool"))
            groups[key].append(identifier)
    taken = set(groups)
    names: dict[str, str] = {}
    for (server, name), identifiers in sorted(groups.items()):
        number = 1
        for identifier in sorted(set(identifiers))[1:]:
            number += 1
            while (server, f"{name}_{number}") in taken:
                number += 1
            taken.add((server, f"{name}_{number}"))
            names[identifier] = f"{name}_{number}"
    return names


def _hints_of_method(method: str) -> Hints:
    if method in _SAFE_METHODS:
        return Hints(read_only=True)
    return Hints(read_only=False, destructive=True) if method == "DELETE" else Hints()
