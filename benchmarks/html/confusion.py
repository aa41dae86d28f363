"""Which tools are taken for which: a matrix of the worst ones, and the cases behind every cell."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.html.elements import escaped, slug
from benchmarks.measures.outcomes import CaseOutcome
from toolsearch.eval.judge import names

WORST = 14
"""Expected tools in the matrix."""

NOTHING = "(nothing)"
RIGHT = "(right)"

Pair = tuple[str, str]


def confusion_body(outcomes: Sequence[CaseOutcome]) -> str:
    """Return the matrix and, below it, the cases of each cell."""
    single = [outcome for outcome in outcomes if outcome.accepted]
    cells: dict[Pair, list[CaseOutcome]] = {}
    right: dict[str, int] = {}
    for outcome in single:
        wanted, got = outcome.accepted[0], first_offered(outcome)
        if got == RIGHT:
            right[wanted] = right.get(wanted, 0) + 1
        else:
            cells.setdefault((wanted, got), []).append(outcome)
    if not cells:
        return f"<p>All {len(single)} cases with one expected tool have it where it must stand.</p>"
    rows = worst_tools(cells)
    shown = {pair: found for pair, found in cells.items() if pair[0] in rows}
    columns = _columns(shown)
    wrong = sum(map(len, cells.values()))
    about = f"{wrong} of {len(single)} cases with one expected tool failed with another one first, or none."
    return f"<p>{about}</p>{_matrix(rows, columns, shown, right)}{_cases(rows, columns, shown)}"


def first_offered(outcome: CaseOutcome) -> str:
    """Return the name of the first tool offered, `(right)` if it was expected, `(nothing)` if there is none.

    A case that passed is right whatever stood first: a tool that only reads may come before one that needs approval.
    """
    if not outcome.failures:
        return RIGHT
    if not outcome.offered:
        return NOTHING
    ref = outcome.offered[0]
    if any(names(wanted, ref) for wanted in outcome.accepted):
        return RIGHT
    return short_name(ref)


def short_name(ref: str) -> str:
    """Return the name in a ref, without server and version."""
    return ref.partition("@")[0].rpartition("/")[2]


def worst_tools(cells: dict[Pair, list[CaseOutcome]]) -> list[str]:
    """Return the expected tools with the most wrong cases, most first, names deciding ties."""
    wrong: dict[str, int] = {}
    for (wanted, _), found in cells.items():
        wrong[wanted] = wrong.get(wanted, 0) + len(found)
    return sorted(wrong, key=lambda tool: (-wrong[tool], tool))[:WORST]


def _columns(cells: dict[Pair, list[CaseOutcome]]) -> list[str]:
    counts: dict[str, int] = {}
    for (_, got), found in cells.items():
        counts[got] = counts.get(got, 0) + len(found)
    return sorted(counts, key=lambda tool: (tool == NOTHING, -counts[tool], tool))


def _matrix(
    rows: Sequence[str], columns: Sequence[str], cells: dict[Pair, list[CaseOutcome]], right: dict[str, int]
) -> str:
    most = max(map(len, cells.values()))
    head = "".join(f'<th scope="col" class="turned"><span>{escaped(name)}</span></th>' for name in columns)
    lines = []
    for wanted in rows:
        body = []
        for got in columns:
            found = cells.get((wanted, got), [])
            share = len(found) / most
            link = f'<a href="#{_anchor(wanted, got)}">{len(found)}</a>' if found else ""
            body.append(f'<td style="--share:{share:.2f}">{link}</td>' if found else "<td></td>")
        lines.append(f'<tr><th scope="row">{escaped(wanted)}</th><td>{right.get(wanted, 0)}</td>{"".join(body)}</tr>')
    return (
        '<div class="scroll"><table class="matrix"><caption>Expected tool by row, first tool offered by column; each '
        "number leads to its cases</caption>"
        f'<thead><tr><th scope="col">expected</th><th scope="col">right</th>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _cases(rows: Sequence[str], columns: Sequence[str], cells: dict[Pair, list[CaseOutcome]]) -> str:
    parts = []
    for wanted in rows:
        for got in columns:
            found = cells.get((wanted, got))
            if found:
                title = f"{escaped(wanted)} expected, {escaped(got)} first"
                cases = "".join(map(_case, found))
                parts.append(f'<div class="cell" id="{_anchor(wanted, got)}"><h4>{title}</h4>{cases}</div>')
    return f'<div class="cases">{"".join(parts)}</div>'


def _case(outcome: CaseOutcome) -> str:
    offered = ", ".join(map(short_name, outcome.offered)) or NOTHING
    about = f"{outcome.kind}, {outcome.lang}, {outcome.risk} risk, {outcome.split}"
    return (
        f'<dl class="case" id="case-{slug(outcome.id)}"><dt>{escaped(outcome.id)} <small>{escaped(about)}</small></dt>'
        f"<dd><q>{escaped(outcome.request)}</q></dd>"
        f"<dd>expected: {escaped(outcome.expected)}</dd><dd>offered: {escaped(offered)}</dd></dl>"
    )


def _anchor(wanted: str, got: str) -> str:
    return f"taken-{slug(wanted)}-for-{slug(got)}"
