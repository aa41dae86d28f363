"""Whether the server still has the tool that a contract speaks of: its listing now, against the contract."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from toolsearch.contracts.change.change import ChangeClass
from toolsearch.contracts.change.diff import diff_contracts
from toolsearch.contracts.enrich.foreign import clean_name
from toolsearch.contracts.read import read_data
from toolsearch.model.contract import SideEffect, ToolContract
from toolsearch.model.errors import ContractError

_FAILS = frozenset({ChangeClass.BREAKING, ChangeClass.HALF_BREAKING})


@dataclass(slots=True, eq=False)
class ListedTools:
    """What one listing of a server says of tools.

    Attributes:
        server: Name of the server.
        tools: Definitions as listed.
    """

    server: str
    tools: tuple[dict[str, Any], ...]
    _by_name: dict[str, dict[str, Any]] = field(init=False)
    _verdicts: dict[tuple[str, str], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._by_name = {}
        for tool in self.tools:
            try:
                self._by_name.setdefault(clean_name(str(tool.get("name", ""))), tool)
            except ContractError:
                continue

    def name_of(self, contract: ToolContract) -> str | None:
        """Return what the server calls a tool, or None if it has none such."""
        tool = self._by_name.get(contract.identity.name)
        return None if tool is None else str(tool["name"])

    def changed(self, contract: ToolContract) -> str:
        """Return what makes a call by the contract fail or mean something else now; "" if nothing does.

        A contract that asks for more than the server does, as one that people wrote may, is not outdated.
        """
        key = contract.identity.name, contract.fingerprint
        if key not in self._verdicts:
            self._verdicts[key] = self._change(contract)
        return self._verdicts[key]

    def _change(self, contract: ToolContract) -> str:
        tool = self._by_name[contract.identity.name]
        try:
            trusted = contract.provenance.trusted
            report = read_data([tool], source=self.server, server=self.server, trusted=trusted)
        except ContractError:
            return "its definition cannot be read any more"
        if len(report.contracts) != 1:
            return "its definition cannot be read any more"
        now = report.contracts[0]
        if now.fingerprint == contract.fingerprint:
            return ""
        for change in diff_contracts(contract, now):
            if change.verdict in _FAILS and change.path.startswith("/input/schema"):
                return f"{change.path.removeprefix('/input/schema') or 'its input'} changed: {change.why}"
        inferred = "execution.side_effect" in contract.provenance.fields
        if inferred and _risk(now) > _risk(contract):
            return f"it is {_risk(now).label} now"
        return ""


def _risk(contract: ToolContract) -> SideEffect:
    return contract.assumed_side_effect
