"""The ablation as a chart: a row for each part, a column for each set, in each cell what the part is worth."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from benchmarks.html.elements import details, escaped, table
from benchmarks.html.plotting import GAIN, LOSS, captioned, drawn
from benchmarks.report.instruments import ABLATION
from benchmarks.report.markdown import signed
from benchmarks.report.others import ALONE, LEFT_OUT, gain_of, standing_of
from toolsearch.eval.results import Measure, SystemResult

STRONGEST = 0.2
"""Gain from which a cell has its full colour."""


def ablation_body(results: Sequence[SystemResult]) -> str:
    """Return the charts of parts left out and parts alone, their numbers, and the parts that earn no place."""
    idle, harmful = standing_of(results)
    pieces = [f"<p>Parts that earn their place on no set: {escaped(', '.join(idle) or 'none')}.</p>"]
    if harmful:
        told = "; ".join(f"{part} on {', '.join(sets)}" for part, sets in harmful)
        pieces.append(f"<p>Parts that stand in the way: {escaped(told)}.</p>")
    for start, title in ((LEFT_OUT, "Gain over leaving the part out"), (ALONE, "Gain over the part alone")):
        names = [n for n in dict.fromkeys(n for result in results for n in result.metrics) if n.startswith(start)]
        if names:
            pieces.append(f"{_chart(results, names, start=start, title=title)}")
            pieces.append(details("Numbers", _numbers(results, names, start=start, title=title)))
    return "\n".join(pieces)


def is_sure(gain: Measure) -> bool:
    """Tell whether the whole interval is on one side of 0."""
    return gain.low is not None and gain.high is not None and (gain.low > 0 or gain.high < 0)


def _chart(results: Sequence[SystemResult], names: Sequence[str], *, start: str, title: str) -> str:
    with drawn(2.2 + 0.78 * len(results), 1.3 + 0.26 * len(names)) as (figure, axes):
        for column, result in enumerate(results):
            for row, name in enumerate(names):
                gain = gain_of(result, name)
                if gain is not None:
                    _cell(axes, column, row, gain)
        axes.set(xlim=(-0.5, len(results) - 0.5), ylim=(len(names) - 0.5, -0.5))
        axes.set_yticks(range(len(names)), [name.removeprefix(start) for name in names])
        labels = [_label(result) for result in results]
        axes.set_xticks(range(len(results)), labels, rotation=40, ha="left", rotation_mode="anchor")
        axes.xaxis.tick_top()
        axes.spines[:].set_visible(False)
        sure = sum(is_sure(gain) for r in results for n in names if (gain := gain_of(r, n)) is not None)
        about = f"{len(names)} parts on {len(results)} sets; {sure} cells, in bold, differ from 0 with their interval."
        return captioned(figure, title=title, about=about)


def _cell(axes: Axes, column: int, row: int, gain: Measure) -> None:
    strength = min(1.0, abs(gain.mean) / STRONGEST)
    colour = GAIN if gain.mean >= 0 else LOSS
    axes.add_patch(Rectangle((column - 0.48, row - 0.46), 0.96, 0.92, facecolor=colour, alpha=round(0.6 * strength, 3)))
    weight = "bold" if is_sure(gain) else "normal"
    axes.text(column, row, signed(gain.mean), ha="center", va="center", fontsize=7.5, fontweight=weight)


def _numbers(results: Sequence[SystemResult], names: Sequence[str], *, start: str, title: str) -> str:
    rows = [
        [name.removeprefix(start), *("" if (g := gain_of(result, name)) is None else _told(g) for result in results)]
        for name in names
    ]
    return table(f"{title}, with 95 % intervals", ["part", *map(_label, results)], rows)


def _told(gain: Measure) -> str:
    if gain.low is None or gain.high is None:
        return signed(gain.mean)
    return f"{signed(gain.mean)} [{signed(gain.low)}, {signed(gain.high)}]"


def _label(result: SystemResult) -> str:
    name = result.dataset.removesuffix(ABLATION)
    return name if not result.role or f"({result.role})" in name else f"{name} ({result.role})"
