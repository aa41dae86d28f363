"""Findings for people."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.text import Text

from toolsearch.cli.render import console, plain
from toolsearch.model.reasons import counted

if TYPE_CHECKING:
    from toolsearch.contracts.lint.finding import Finding, LintReport

_STYLES = {"error": "bold red", "warning": "yellow", "note": "cyan"}
_MISROUTED = 3
"""Requests shown for each pair; JSON has all."""


def print_report(report: LintReport) -> None:
    """Print findings under their tools, and how many there are of each rule."""
    out = console()
    last = ""
    for finding in report.findings:
        if finding.ref != last:
            out.print(plain(finding.ref, "bold"), soft_wrap=True)
            last = finding.ref
        for line in _lines(finding):
            out.print(line, soft_wrap=True)
    counts = report.counts()
    named = ", ".join(counted(count, severity) for severity, count in counts.items())
    out.print(plain(f"{counted(report.tools, 'tool')}: {named}", "bold"), soft_wrap=True)
    by_rule = Counter((finding.rule, finding.name) for finding in report.findings)
    for (rule, name), count in sorted(by_rule.items()):
        out.print(plain(f"{count:6}  {rule} {name}", "dim"), soft_wrap=True)


def _lines(finding: Finding) -> list[Text]:
    place = "" if finding.place is None else f"{finding.place.source}:{finding.place.line}:{finding.place.column}: "
    head = Text("  ").append(finding.severity.value, _STYLES[finding.severity.value])
    head.append(f" {finding.rule} ", "dim").append_text(plain(f"{place}{finding.message}"))
    lines = [head]
    if finding.suggestion:
        lines.append(Text("    instead: ", "green").append_text(plain(finding.suggestion)))
    lines += [
        Text("    ").append_text(plain(f"{one.origin}: {one.request!r} goes to {one.first}, not to {one.expected}"))
        for one in finding.misrouted[:_MISROUTED]
    ]
    return lines
