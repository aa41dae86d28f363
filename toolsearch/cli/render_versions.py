"""Differences, histories and what waits, for people."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table

from toolsearch.cli.render import console, plain
from toolsearch.model.reasons import counted

if TYPE_CHECKING:
    from toolsearch.contracts.change.diff import CatalogueDiff, ToolDiff
    from toolsearch.contracts.change.records import PendingReport, Revision

_VALUE_CELLS = 60
_STYLES = {"safe": "green", "behaviour": "yellow", "half_breaking": "yellow", "breaking": "red"}


def print_diff(diff: CatalogueDiff) -> None:
    """Print what changed, tool by tool, worst change first."""
    for tool in diff.tools:
        _print_tool(tool)
    verdict = diff.verdict or "same"
    out = f"{verdict}: {counted(len(diff.tools), 'tool')} changed, {diff.unchanged} unchanged"
    console().print(plain(out, _STYLES.get(verdict, "")))


def _print_tool(tool: ToolDiff) -> None:
    console().print(plain(f"{tool.ref}: {tool.verdict or 'same'}", "bold"))
    for change in tool.changes:
        _print_inset(f"{change.verdict} {change.path or '/'}: {change.why}", style=_STYLES[change.verdict])
        if change.before is not None or change.after is not None:
            _print_inset(f"{_shown(change.before)} -> {_shown(change.after)}", level=2)


def print_history(revisions: Sequence[Revision]) -> None:
    """Print a history, oldest first."""
    refs = {each.ref for each in revisions}
    table = Table(title=None if len(refs) > 1 else plain("".join(refs)), title_justify="left")
    for column in ("when", "what", "fingerprint", "who", "why"):
        table.add_column(column, overflow="fold")
    if len(refs) > 1:
        table.add_column("ref", overflow="fold")
    for each in revisions:
        what = f"{each.action}{'' if each.share is None else f' {each.share:g}'}"
        notes = [word for word, holds in (("current", each.current), ("evaluate", each.reevaluate)) if holds]
        table.add_row(
            plain(f"{each.at:%Y-%m-%d %H:%M}"),
            plain(" ".join([what, *(f"({note})" for note in notes)])),
            plain(each.fingerprint[:12]),
            plain(each.author),
            plain(each.reason),
            *((plain(each.ref),) if len(refs) > 1 else ()),
        )
    console().print(table)


def print_pending(report: PendingReport) -> None:
    """Print what waits for a decision."""
    out = console()
    for each in report.waiting:
        out.print(plain(f"{each.ref}: {each.fingerprint[:12]} from {each.author} waits", "bold"), soft_wrap=True)
        for cause in each.causes:
            _print_inset(cause)
    for rollout in report.rollouts:
        told = f"{rollout.ref}: {rollout.fingerprint[:12]} goes to {rollout.share:.0%} of new sessions"
        out.print(plain(told), soft_wrap=True)
    for line in report.reevaluate:
        out.print(plain(f"{line.ref}: {line.fingerprint[:12]} was taken, evaluate it again"), soft_wrap=True)
    if not (report.waiting or report.rollouts or report.reevaluate):
        out.print("nothing waits")


def print_decision(line: Revision) -> None:
    """Print what a decision did."""
    share = "" if line.share is None else f" to {line.share:.0%} of new sessions"
    console().print(plain(f"{line.ref}: {line.action}{share}, {line.fingerprint[:12]}"))


def _print_inset(text: str, *, level: int = 1, style: str = "") -> None:
    console().print("  " * level, plain(text, style), sep="", soft_wrap=True)


def _shown(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _VALUE_CELLS else f"{text[: _VALUE_CELLS - 3]}..."
