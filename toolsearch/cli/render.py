"""Answers for people: tables and lines. Wide characters align; nothing in a contract can steer the terminal."""

from __future__ import annotations

import sys
import unicodedata
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from toolsearch.model.reasons import counted
from toolsearch.text.analysis.characters import escaped, hidden_runs

if TYPE_CHECKING:
    from toolsearch import Candidate, CandidateSet
    from toolsearch.model.answer import ScoreExplanation, SessionUpdate, ToolSummary, VisibilityReport
    from toolsearch.model.reasons import Explanation

_BAR_CELLS = 8
_BLOCKS = "▁▂▃▄▅▆▇█"
_REASONS = 3
"""Reasons shown for each tool; `explain` shows all."""

_TOOL_CELLS, _TITLE_CELLS, _EFFECT_CELLS, _BORDER_CELLS = 40, 20, 12, 13
_ROOMY = 120
"""Columns of a terminal from which on signals get a named bar each."""

_STYLES = {"none": "green", "read_only": "green", "reversible": "yellow", "irreversible": "red"}


def one_line(text: str) -> str:
    """Return a text on one line, control characters (and with them terminal sequences) replaced, unseen escaped."""
    spaced = " ".join(text.split())
    if hidden_runs(spaced):
        spaced = escaped(spaced)
    return "".join("�" if unicodedata.category(char) in {"Cc", "Cs"} else char for char in spaced)


def console(*, stderr: bool = False) -> Console:
    """Return a console on the present standard streams."""
    return Console(file=sys.stderr if stderr else sys.stdout, highlight=False)


def plain(text: str, style: str = "") -> Text:
    """Return untrusted text for a table cell: no markup, no control characters."""
    return Text(one_line(text), style=style)


def print_candidates(answer: CandidateSet) -> None:
    """Print the answer to a search."""
    out = console()
    if answer.candidates:
        roomy = out.width >= _ROOMY
        table = Table(show_lines=True, caption=None if roomy else _legend(answer), caption_justify="left")
        table.add_column("#", justify="right", no_wrap=True)
        table.add_column("tool", overflow="fold", ratio=2)
        table.add_column("score", justify="right", no_wrap=True)
        table.add_column("signals", no_wrap=True)
        table.add_column("why", overflow="fold", ratio=3)
        for candidate in answer.candidates:
            table.add_row(
                str(candidate.rank),
                _tool_cell(candidate),
                f"{candidate.score:.3f}",
                _bars(candidate) if roomy else _spark(candidate),
                _why_cell(candidate),
            )
        out.print(table)
    for line in _notes(answer):
        out.print(line, soft_wrap=True)


def _tool_cell(candidate: Candidate) -> Text:
    effect = candidate.side_effect.label
    cell = plain(candidate.ref, "bold")
    if candidate.title:
        cell.append("\n").append_text(plain(candidate.title))
    assumed = " (assumed)" if candidate.side_effect_inferred else ""
    cell.append(f"\n{effect}{assumed}", _STYLES.get(effect, ""))
    if candidate.already_loaded:
        cell.append("\nalready loaded", "dim")
    return cell


def _bars(candidate: Candidate) -> Text:
    """Return a line for each signal: name, bar, value, and what it added to the score."""
    lines = Text()
    width = max((len(name) for name in candidate.signals), default=0)
    for name, signal in candidate.signals.items():
        filled = round(signal.value * _BAR_CELLS)
        lines.append("\n" if lines else "")
        lines.append(f"{name:<{width}} ").append("█" * filled, "cyan").append("░" * (_BAR_CELLS - filled), "dim")
        lines.append(f" {signal.value:.2f} {signal.contribution:+.3f}")
    return lines


def _spark(candidate: Candidate) -> Text:
    """Return one block for each signal, its height the value."""
    top = len(_BLOCKS) - 1
    return Text("".join(_BLOCKS[round(signal.value * top)] for signal in candidate.signals.values()), "cyan")


def _legend(answer: CandidateSet) -> str:
    return f"signals: {', '.join(answer.candidates[0].signals)}"


def _why_cell(candidate: Candidate) -> Text:
    lines: list[Text] = [plain(reason.text) for reason in candidate.reasons[:_REASONS]]
    lines += [plain(f"! {caution.text}", "yellow") for caution in candidate.cautions]
    lines += [plain(f"has {name} = {value}", "green") for name, value in candidate.inputs.ready.items()]
    for missing in candidate.inputs.missing:
        source = f"from {', '.join(missing.obtain_from)}" if missing.obtain_from else "ask the user"
        lines.append(plain(f"needs {missing.field}: {source}", "magenta"))
    if candidate.approval:
        lines.append(plain(f"approval: {candidate.approval}", "yellow"))
    lines += [plain(f"like it: {other.ref}", "dim") for other in candidate.alternatives]
    return Text("\n").join(lines)


def _notes(answer: CandidateSet) -> list[Text]:
    lines = [plain(answer.message, "bold")]
    if answer.clarify is not None:
        lines.append(plain(answer.clarify.question))
    lines += [plain(f"always on: {tool.ref}", "dim") for tool in answer.always_on]
    lines += [plain(f"withheld: {tool.ref}: {tool.reason.text}; {tool.unlock}", "yellow") for tool in answer.withheld]
    lines += [plain(f"near miss: {miss.ref} {miss.score:.3f}", "dim") for miss in answer.near_misses]
    if answer.session is not None:
        lines.append(_session_note(answer.session))
    tokens, total = answer.token_metrics, answer.timings_ms.get("total")
    took = f", {total:.1f} ms" if total is not None else ""
    lines.append(
        plain(
            f"{answer.outcome.value}: {len(answer.candidates)} of {answer.visible_tools} visible tools, "
            f"{tokens.returned} of {tokens.baseline} tokens{took}, trace {answer.trace_id}",
            "dim",
        )
    )
    return lines


def _session_note(update: SessionUpdate) -> Text:
    parts = [counted(len(update.refs), "tool"), f"{len(update.appended)} appended"]
    parts += [f"left: {tool.ref} ({tool.reason})" for tool in update.left]
    parts += [f"newer: {ref}" for ref in update.newer_available]
    return plain(f"session {update.id}: {', '.join(parts)}, tools_hash {update.tools_hash}", "dim")


def print_explanation(answer: ScoreExplanation) -> None:
    """Print how one tool scored, as an indented tree."""
    out = console()
    rank = "not recalled" if answer.rank is None else f"rank {answer.rank}"
    out.print(plain(f"{answer.ref}: {rank}, {'returned' if answer.returned else 'not returned'}", "bold"))
    _print_tree(answer.score)
    for reason in answer.reasons:
        out.print(plain(reason.text), soft_wrap=True)
    for caution in answer.cautions:
        out.print(plain(f"! {caution.text}", "yellow"), soft_wrap=True)
    if answer.confidence is not None:
        _print_tree(answer.confidence)


def _print_tree(tree: Explanation) -> None:
    for line in tree.render().splitlines():
        indent = len(line) - len(line.lstrip(" "))
        console().print(Text(" " * indent).append_text(plain(line)))


def print_visibility(answer: VisibilityReport) -> None:
    """Print the decision about one tool."""
    verdict = "visible" if answer.allowed else "hidden"
    console().print(plain(f"{answer.ref}: {verdict} by {answer.rule}: {answer.reason}"), soft_wrap=True)


def print_tools(found: tuple[ToolSummary, ...]) -> None:
    """Print the visible tools."""
    out = console()
    tool_width = min(max((cell_len(tool.ref) for tool in found), default=0), _TOOL_CELLS)
    title_width = min(max((cell_len(tool.title) for tool in found), default=0), _TITLE_CELLS)
    table = Table()
    table.add_column("tool", overflow="fold", width=tool_width)
    table.add_column("title", overflow="fold", width=title_width)
    table.add_column("side effect", no_wrap=True, width=_EFFECT_CELLS)
    rest = out.width - tool_width - title_width - _EFFECT_CELLS - _BORDER_CELLS
    if rest >= _TITLE_CELLS:
        table.add_column("does", overflow="ellipsis", no_wrap=True, max_width=rest)
    for tool in found:
        effect = tool.side_effect.label
        cells = (plain(tool.ref), plain(tool.title), Text(effect, _STYLES.get(effect, "")), plain(tool.does))
        table.add_row(*cells[: len(table.columns)])
    out.print(table)
    out.print(plain(counted(len(found), "tool"), "dim"))
