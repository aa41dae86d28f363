"""What lint says: findings, each with a rule, a position, the reason and what to write instead."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pydantic import Field

from toolsearch.model.contract import Frozen

Path = tuple[str | int, ...]
"""Place inside a contract: keys and list indices from its root."""


class Severity(StrEnum):
    """How much a finding weighs; the names are those of SARIF."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"

    @property
    def rank(self) -> int:
        """Return 0 for a note, 1 for a warning, 2 for an error."""
        return list(Severity).index(self)


class Edit(Frozen):
    """A mechanical correction: one key that is added to an object of the contract.

    Attributes:
        pointer: JSON pointer of the object, from the root of the contract.
        key: The key that it lacks.
        value: Plain data.
    """

    pointer: str
    key: str
    value: Any


class Misrouted(Frozen):
    """A request that goes to the wrong tool.

    Attributes:
        request: The request, as declared by an example or found in the log.
        expected: The tool it is for.
        first: The tool that ranks first.
        origin: `example` (declared in the contract) or `log` (a past request that the tool served).
    """

    request: str
    expected: str
    first: str
    origin: str = "example"


class Place(Frozen):
    """Where a finding stands in a file.

    Attributes:
        source: File name or label of the input.
        line: From 1.
        column: From 1.
    """

    source: str
    line: int = Field(default=1, ge=1)
    column: int = Field(default=1, ge=1)


class Finding(Frozen):
    """One thing to mend in one contract, or between contracts.

    Attributes:
        rule: Stable id, e.g. `TS301`.
        name: Name of the rule, e.g. `parameter-undescribed`.
        severity: As configured.
        ref: The tool.
        pointer: JSON pointer into the contract; "" is the whole of it.
        message: The offending value, and why it matters.
        suggestion: What to write instead, or "".
        edit: The correction, where it is mechanical.
        related: Other tools that take part.
        misrouted: Requests that go to the wrong one of them.
        measures: Numbers behind the finding.
        place: Where it stands in the file it was read from, if it was read from one.
    """

    rule: str
    name: str
    severity: Severity
    ref: str
    pointer: str
    message: str
    suggestion: str = ""
    edit: Edit | None = None
    related: tuple[str, ...] = ()
    misrouted: tuple[Misrouted, ...] = ()
    measures: dict[str, float] = Field(default_factory=dict)
    place: Place | None = None


class LintReport(Frozen):
    """The findings over a catalogue, by tool, then rule, then position.

    Attributes:
        tools: How many contracts were looked at.
        findings: What is to be mended.
    """

    tools: int
    findings: tuple[Finding, ...] = ()

    def at_least(self, severity: Severity) -> tuple[Finding, ...]:
        """Return the findings of that severity or a higher one."""
        return tuple(finding for finding in self.findings if finding.severity.rank >= severity.rank)

    def counts(self) -> dict[str, int]:
        """Return severity -> number of findings, the gravest first."""
        return {
            severity.value: sum(finding.severity is severity for finding in self.findings)
            for severity in reversed(Severity)
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """What a rule finds in a contract; the rule's id and severity are added by `check`.

    Attributes:
        path: Where in the contract.
        message: The offending value, and why it matters.
        suggestion: What to write instead.
        edit: (path of an object, key, value) to add.
        related: Refs of other tools that take part.
        misrouted: Requests that go wrong.
        measures: Numbers behind it.
    """

    path: Path
    message: str
    suggestion: str = ""
    edit: tuple[Path, str, Any] | None = None
    related: tuple[str, ...] = ()
    misrouted: tuple[Misrouted, ...] = ()
    measures: dict[str, float] = field(default_factory=dict)


def shown(value: object, *, limit: int = 80) -> str:
    """Return a value for a message: quoted, on one line, cut to `limit` characters."""
    text = " ".join(str(value).split())
    return repr(text if len(text) <= limit else f"{text[: limit - 1]}…")


def listed(values: Iterable[object], *, most: int = 6) -> str:
    """Return values for a message, the first `most` of them."""
    items = [str(value) for value in values]
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(items[:most]) + more
