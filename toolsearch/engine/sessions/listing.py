"""The list of one session as a value: what is in it, how it is hashed, and how it changes. Pure functions.

Nothing here changes a definition that was handed out: a list grows at its end, tools leave it, and only `refreshed`
puts another revision in a tool's place.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from toolsearch.contracts.export import definition, estimate_tokens
from toolsearch.model.contract import ToolContract, ToolRef
from toolsearch.model.request import DefinitionFormat, Detail
from toolsearch.store.sessions import SessionKey, SessionToolRow


@dataclass(frozen=True, slots=True, eq=False)
class Session:
    """A session at one moment.

    Attributes:
        key: Which one.
        tools: Every tool it was ever handed, by position; of one that left and came back each time.
        listed: The list, in order.
        tools_hash: Of the list: equal exactly where order, references and bytes are.
        tokens: Estimated prompt tokens of the list.
    """

    key: SessionKey
    tools: tuple[SessionToolRow, ...]
    listed: Mapping[ToolRef, SessionToolRow]
    tools_hash: str
    tokens: int

    @classmethod
    def of(cls, key: SessionKey, tools: Iterable[SessionToolRow] = ()) -> Session:
        """Return the session of all rows, by position."""
        rows = tuple(tools)
        listed = {tool.ref: tool for tool in rows if tool.listed}
        shown = json.dumps([[str(ref), tool.definition] for ref, tool in listed.items()])
        return cls(
            key=key,
            tools=rows,
            listed=listed,
            tools_hash=hashlib.sha256(shown.encode()).hexdigest()[:32],
            tokens=sum(estimate_tokens(tool.definition) for tool in listed.values()),
        )

    @property
    def names(self) -> dict[ToolRef, str]:
        """Return the name of every tool it was ever handed."""
        return {tool.ref: tool.api_name for tool in self.tools}

    @property
    def left(self) -> tuple[ToolRef, ...]:
        """Return the tools that left and did not come back, in order of their places."""
        return tuple(dict.fromkeys(tool.ref for tool in self.tools if tool.ref not in self.listed))

    def changed(self, rows: Sequence[SessionToolRow]) -> Session:
        """Return the session with rows put in their places; new places follow the last one."""
        if not rows:
            return self
        tools = dict(enumerate(self.tools)) | {tool.position: tool for tool in rows}
        return Session.of(self.key, [tools[position] for position in range(len(tools))])

    def appended(self, tools: Iterable[SessionToolRow]) -> list[SessionToolRow]:
        """Return the rows of tools at the end of the list."""
        return [replace(tool, position=len(self.tools) + number) for number, tool in enumerate(tools)]


def definition_of(tool: SessionToolRow) -> dict[str, Any]:
    """Return the definition of a tool, each time as new data: nobody can change what the session holds."""
    data: dict[str, Any] = json.loads(tool.definition)
    return data


def pinned(
    contract: ToolContract, *, format: DefinitionFormat, detail: Detail, api_name: str, adjacent: Mapping[str, str]
) -> SessionToolRow:
    """Return a tool with the definition it is to have in the session; its position is to be set.

    Args:
        contract: The revision to pin.
        format: Shape of the definition.
        detail: How much of it.
        api_name: Its name in the session.
        adjacent: The adjacent tools that may be named; see `export.definition`.
    """
    data = definition(contract, format=format, detail=detail, api_name=api_name, adjacent=adjacent)
    return SessionToolRow(
        position=-1,
        ref=contract.ref,
        fingerprint=contract.fingerprint,
        api_name=api_name,
        format=format.value,
        detail=detail.value,
        definition=json.dumps(data, ensure_ascii=False, separators=(",", ":")),
    )
