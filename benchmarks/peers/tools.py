"""Tools as a peer gets them: what an MCP client would list.

A peer keys tools by name, so names are made unique the way gateways do: where a catalogue has several servers, the
server's name stands in front, unless the name says it already. That also gives every peer the one piece of text that
our own index reads beside name, description and schema.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_NOT_A_NAME = re.compile(r"[^\w.-]+")
"""What MCP clients refuse in a name; letters of any script are kept."""

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerTool:
    """One tool of a benchmark catalogue.

    Attributes:
        id: Id of the data set's line; what rankings are scored by. Peers do not see it.
        name: Unique in the catalogue, with letters, digits, `_`, `.` and `-` only. What a peer returns.
        server: Server that offers it, "" if the data name none.
        description: As published.
        input_schema: JSON Schema of the input; `{"type": "object", "properties": {}}` where none is known.
        annotations: MCP hints.
        record: The line itself.
    """

    id: str
    name: str
    server: str = ""
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    annotations: Mapping[str, Any] = field(default_factory=dict)
    record: Mapping[str, Any] = field(default_factory=dict)

    @property
    def mcp(self) -> dict[str, Any]:
        """Return the tool as an entry of an MCP `tools/list` answer."""
        entry = {"name": self.name, "description": self.description, "inputSchema": dict(self.input_schema)}
        return {**entry, "annotations": dict(self.annotations)} if self.annotations else entry


def read_tools(path: Path) -> list[PeerTool]:
    """Read a `tools.jsonl`."""
    with path.open(encoding="utf-8") as lines:
        return peer_tools(json.loads(line) for line in lines if line.strip())


def peer_tools(records: Iterable[Mapping[str, Any]]) -> list[PeerTool]:
    """Return one tool a record, in the same order, with unique names."""
    rows = list(records)
    servers = {str(row.get("server") or "") for row in rows}
    # Words of every server tell none apart: of azure-acr and azure-aks, acr and aks do.
    common = frozenset.intersection(*map(_words, servers)) if servers else frozenset()
    taken: set[str] = set()
    return [_tool(row, common=common, taken=taken) for row in rows]


def _tool(row: Mapping[str, Any], *, common: frozenset[str], taken: set[str]) -> PeerTool:
    server = str(row.get("server") or "")
    schema = row.get("input_schema") or {}
    known = {"input_schema": {"type": "object", **schema}} if schema else {}
    return PeerTool(
        id=str(row["id"]),
        name=_unique(_exposed_name(str(row["name"]), server=server, common=common), taken),
        server=server,
        description=str(row.get("description") or ""),
        annotations=row.get("annotations") or {},
        record=row,
        **known,
    )


def _exposed_name(name: str, *, server: str, common: frozenset[str]) -> str:
    clean = _clean(name)
    return clean if _words(server) - common <= _words(name) else f"{_clean(server)}_{clean}"


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


def _clean(text: str) -> str:
    return _NOT_A_NAME.sub("_", text).strip("_")


def _unique(name: str, taken: set[str]) -> str:
    """Return the name, numbered if another tool has it already."""
    base = name or "tool"
    found, number = base, 1
    while found in taken:
        number += 1
        found = f"{base}_{number}"
    taken.add(found)
    return found
