"""Plots of time: by size of the catalogue, by how much of it is visible, and beside other systems."""

from __future__ import annotations

import re
from collections.abc import Sequence

from matplotlib.ticker import LogLocator

from benchmarks.html.elements import details, table
from benchmarks.html.plotting import LINES, MARKERS, STYLES, captioned, drawn
from benchmarks.report.instruments import LATENCY, RANKED, SCALE, is_ours
from benchmarks.report.markdown import number
from toolsearch.eval.results import SystemResult

STAGES = ("search", "cpu", "encode", "recall", "rerank")
"""Stages drawn, those of them that were measured; the table has all."""

_VISIBLE = re.compile(r", (\d+) visible \[ms\]$")

Line = tuple[str, Sequence[tuple[float, float]]]
"""Label and points."""


def latency_body(results: Sequence[SystemResult]) -> str:
    """Return time by size and by visible tools, and every figure."""
    ordered = sorted(results, key=lambda result: result.tools)
    stages = [name for name in STAGES if any(name in result.latency_ms for result in ordered)]
    stages = stages or list(ordered[0].latency_ms)[: len(LINES)]
    by_size: list[Line] = [
        (f"{name} p50", [(r.tools, r.latency_ms[name].p50) for r in ordered if name in r.latency_ms]) for name in stages
    ]
    visible: list[Line] = [(f"of {r.tools} tools", points) for r in ordered if (points := visible_costs(r))]
    plots = curves(by_size[: len(LINES)], title="Time by size of the catalogue", x="tools in the catalogue")
    if visible:
        plots += curves(visible[: len(LINES)], title="Time by visible tools", x="tools the principal may see")
    names = list(dict.fromkeys(name for result in ordered for name in result.metrics[LATENCY]))
    rows = [[name, *(_figure(result, name) for result in ordered)] for name in names]
    numbers = table("Figures by size of the catalogue", ["figure", *(f"{r.tools} tools" for r in ordered)], rows)
    rows = [
        [str(result.tools), name, number(one.p50, 2), number(one.p95, 2), number(one.p99, 2), str(one.n)]
        for result in ordered
        for name, one in result.latency_ms.items()
    ]
    by_stage = table("Milliseconds by stage", ["tools", "stage", "p50", "p95", "p99", "n"], rows)
    return f'<div class="pair">{plots}</div>{details("Numbers", numbers + by_stage)}'


def visible_costs(result: SystemResult) -> list[tuple[float, float]]:
    """Return (visible tools, milliseconds) points, fewest tools first."""
    figures = result.metrics.get(LATENCY, {})
    found = [(int(match[1]), figures[name].mean) for name in figures if (match := _VISIBLE.search(name))]
    return sorted(found)


def cost_body(results: Sequence[SystemResult]) -> str:
    """Return time and memory of every system by size; drawn are ours and others from the quickest to the slowest."""
    systems: dict[str, list[SystemResult]] = {}
    for result in sorted(results, key=lambda result: _size(result)):
        systems.setdefault(result.system, []).append(result)
    times = {name: [(_size(r), value) for r in group if (value := _p50(r))] for name, group in systems.items()}
    memory = {name: [(_size(r), r.memory_mb) for r in group if r.memory_mb] for name, group in systems.items()}
    ours = [name for name, group in systems.items() if is_ours(group[0])]
    others = sorted((name for name in systems if name not in ours and times[name]), key=lambda n: (times[n][-1][1], n))
    drawn_systems = [RANKED] if RANKED in systems else ours[:1]
    drawn_systems += spread(others, len(LINES) - len(drawn_systems))
    plots = curves(
        [(name, times[name]) for name in drawn_systems],
        title="Time by size, ours and others",
        x="tools in the catalogue",
    )
    plots += curves(
        [(name, memory[name]) for name in drawn_systems],
        title="Memory by size, ours and others",
        x="tools in the catalogue",
        y="MB resident",
    )
    ordered = [*ours, *sorted(name for name in systems if name not in ours)]
    rows = [
        [
            name,
            f"{_size(r):.0f}",
            number(r.build_seconds, 2),
            number(_p50(r), 2),
            number(r.memory_mb, 0),
            r.failure[:80],
        ]
        for name in ordered
        for r in systems[name]
    ]
    marked = frozenset(place for place, row in enumerate(rows) if row[0] in ours)
    heads = ["system", "tools", "build s (no encoding)", "ms p50", "MB", "failure"]
    numbers = table("Cost by size", heads, rows, marked=marked)
    return f'<div class="pair">{plots}</div>{details("Numbers", numbers)}'


def curves(lines: Sequence[Line], *, title: str, x: str, y: str = "milliseconds") -> str:
    """Return curves over logarithmic axes, each with a stroke and a marker of its own."""
    with drawn(4.7, 3.7) as (figure, axes):
        for place, (label, points) in enumerate(lines):
            axes.plot(
                [tools for tools, _ in points],
                [value for _, value in points],
                color=LINES[place],
                linestyle=STYLES[place],
                marker=MARKERS[place],
                markersize=5,
                label=label,
            )
        axes.set(xscale="log", yscale="log", xlabel=x, ylabel=y)
        values = [value for _, points in lines for _, value in points]
        # Room below and above, so that a small difference does not look like a large one.
        axes.set_ylim(min(values, default=1.0) / 2, max(values, default=1.0) * 2)
        ticks = apart({tools for _, points in lines for tools, _ in points})
        axes.set_xticks(ticks, [f"{tick:,.0f}" for tick in ticks])
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.minorticks_off()
        axes.grid()
        figure.legend(loc="outside lower center", ncols=2, fontsize=7.5)
        told = "; ".join(f"{label} {points[-1][1]:.4g} at {points[-1][0]:g}" for label, points in lines if points)
        return captioned(figure, title=title, about=f"{y}: {told}.")


def spread(names: Sequence[str], count: int) -> list[str]:
    """Return at most `count` names, evenly spread from the first to the last."""
    if len(names) <= count or count < 2:
        return list(names[:count])
    return [names[place * (len(names) - 1) // (count - 1)] for place in range(count)]


def apart(values: set[float]) -> list[float]:
    """Return the values, smallest first, without those whose labels would meet on a logarithmic axis."""
    kept: list[float] = []
    for value in sorted(values):
        if not kept or value >= 2.5 * kept[-1]:
            kept.append(value)
    return kept


def _figure(result: SystemResult, name: str) -> str:
    measure = result.metrics[LATENCY].get(name)
    return "" if measure is None else f"{measure.mean:.4g}"


def _p50(result: SystemResult) -> float | None:
    total = result.latency_ms.get("total")
    return None if total is None else total.p50


def _size(result: SystemResult) -> float:
    return float(result.dataset.removeprefix(SCALE))
