"""Plots and tables of labelled requests: every system with its interval, recall by depth, refusals."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.html.elements import details, table
from benchmarks.html.plotting import GRID, INK, LINES, MARKERS, OTHER, OURS, STYLES, captioned, drawn
from benchmarks.report.instruments import MAIN_METRIC, is_ours, main_value
from benchmarks.report.instruments import OURS as OUR_NAME
from benchmarks.report.markdown import number, with_interval
from toolsearch.eval.results import SystemResult

DEPTHS = (1, 3, 5, 10)
OTHERS_DRAWN = 2
"""Other systems in the plot of recall by depth; the table beside the bars has all."""

ANSWER = f"{OUR_NAME} answer"
LIMIT = 0.02


def set_card(group: Sequence[SystemResult]) -> str:
    """Return the plots and the table of one data set, all systems on the same requests."""
    first = group[0]
    about = f"{first.queries} requests over {first.tools} tools, {first.role or 'no role'} data"
    return (
        f'<article class="card"><h3>{first.dataset}</h3><p>{about}</p>'
        f'<div class="pair">{recall_bars(group)}{recall_by_depth(group)}</div>'
        f"{details('Numbers', quality_table(group))}</article>"
    )


def ordered(group: Sequence[SystemResult]) -> list[SystemResult]:
    """Return the systems by Recall@5, best first, names deciding ties."""
    return sorted(group, key=lambda result: (-main_value(result), result.system))


def recall_bars(group: Sequence[SystemResult]) -> str:
    """Return bars of Recall@5 with 95 % intervals, best on top; our modes are hatched and bold."""
    rows = ordered(group)
    best = rows[0]
    with drawn(5.6, 0.7 + 0.21 * len(rows)) as (figure, axes):
        for place, result in enumerate(rows):
            measure = result.metrics["all"][MAIN_METRIC]
            mine = is_ours(result)
            fill = OURS if mine else OTHER
            axes.barh(place, measure.mean, height=0.72, color=fill, hatch="///" if mine else None)
            low, high = measure.low, measure.high
            if low is not None and high is not None:
                axes.plot([low, high], [place, place], color=INK, linewidth=1.2, marker="|", markersize=4)
            axes.text(max(measure.mean, high or 0.0) + 0.012, place, number(measure.mean), va="center", fontsize=7.5)
        axes.set_yticks(range(len(rows)), [result.system for result in rows])
        for label, result in zip(axes.get_yticklabels(), rows, strict=True):
            label.set_fontweight("bold" if is_ours(result) else "normal")
        axes.set(xlim=(0, 1.13), ylim=(len(rows) - 0.4, -0.6), xlabel="Recall@5 with 95 % interval")
        axes.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1.0])
        axes.grid(axis="x")
        about = f"{len(rows)} systems; the best is {best.system} with {number(main_value(best))}. The table has all."
        return captioned(figure, title=f"Recall@5 on {best.dataset}", about=about)


def recall_by_depth(group: Sequence[SystemResult]) -> str:
    """Return curves of Recall@K for our modes and the best others."""
    others = [result for result in ordered(group) if not is_ours(result)][:OTHERS_DRAWN]
    # An answer is cut to what the prompt needs; its curve would say nothing of the ranking.
    ours = [result for result in group if is_ours(result) and result.system != ANSWER]
    lines = (ours + others)[: len(LINES)]
    with drawn(4.9, 3.5) as (figure, axes):
        for place, result in enumerate(lines):
            values = [result.mean(f"recall@{depth}") for depth in DEPTHS]
            points = [(depth, value) for depth, value in zip(DEPTHS, values, strict=True) if value is not None]
            axes.plot(
                [depth for depth, _ in points],
                [value for _, value in points],
                color=LINES[place],
                linestyle=STYLES[place],
                marker=MARKERS[place],
                markersize=4,
                label=result.system,
            )
        axes.set(ylim=(0, 1.03), xlabel="K", ylabel="Recall@K")
        axes.set_xticks(DEPTHS)
        axes.grid()
        figure.legend(loc="outside lower center", ncols=2, fontsize=7.5)
        names = ", ".join(f"{result.system} {number(result.mean('recall@10'))}" for result in lines)
        return captioned(figure, title=f"Recall by depth on {group[0].dataset}", about=f"At K = 10: {names}.")


def quality_table(group: Sequence[SystemResult]) -> str:
    """Return every ranking figure of every system."""
    rows = ordered(group)
    metrics = (*(f"recall@{depth}" for depth in DEPTHS), "mrr@10", "ndcg@10", "complete@5", "complete@10")
    body = []
    for result in rows:
        cells = [with_interval(result.metrics["all"].get(metric)) for metric in metrics]
        speed = result.latency_ms.get("total")
        body.append([result.system, *cells, "" if speed is None else number(speed.p50, 1), number(result.memory_mb, 0)])
    marked = frozenset(place for place, result in enumerate(rows) if is_ours(result))
    heads = ["system", "R@1", "R@3", "R@5", "R@10", "MRR", "nDCG@10", "C@5", "C@10", "ms p50", "MB"]
    return table(f"{rows[0].dataset}: means with 95 % intervals", heads, body, marked=marked)


def refusal_card(group: Sequence[SystemResult]) -> str:
    """Return the refusal curves of one data set and its figures; "" without a request that no tool fits."""
    told = [result for result in group if result.refusal is not None and result.refusal.none]
    if not told:
        return ""
    curves = [result for result in told if result.refusal is not None and result.refusal.curve]
    plot = refusal_curves(curves[: len(LINES)]) if curves else ""
    rows = []
    for result in told:
        figures = result.refusal
        assert figures is not None
        values = (figures.refusal_rate, figures.false_refusal_rate, figures.refusal_at_limit, figures.separation)
        rows.append([result.system, str(figures.none), str(figures.answerable), *map(number, values)])
    heads = ["system", "no tool fits", "a tool fits", "refused", "refused falsely", "refused at <= 2 % false"]
    marked = frozenset(place for place, result in enumerate(told) if is_ours(result))
    body = table(f"{told[0].dataset}: shares of requests", [*heads, "separation"], rows, marked=marked)
    return (
        f'<article class="card"><h3>{told[0].dataset}</h3>{plot}{details("Numbers", body, is_open=not plot)}</article>'
    )


def refusal_curves(curves: Sequence[SystemResult]) -> str:
    """Return refusals against false refusals for every floor, and where each mode stands by itself."""
    notes = []
    with drawn(5.2, 3.9) as (figure, axes):
        axes.axvline(LIMIT, color=GRID, linewidth=1.2)
        axes.text(LIMIT + 0.01, 0.01, "2 % false refusals", fontsize=7.5)
        for place, result in enumerate(curves):
            figures = result.refusal
            assert figures is not None
            false, right = zip(*figures.curve, strict=True)
            axes.plot(false, right, color=LINES[place], linestyle=STYLES[place], label=f"{result.system}: any floor")
            if figures.refusal_rate is not None and figures.false_refusal_rate is not None:
                point = (figures.false_refusal_rate, figures.refusal_rate)
                label = f"{result.system}: as it answers"
                axes.plot(*point, color=LINES[place], marker=MARKERS[place], linestyle="", markersize=7, label=label)
                notes.append(f"{result.system} refuses {number(point[1])}, falsely {number(point[0])}")
        axes.set(xlim=(-0.01, 1.01), ylim=(-0.02, 1.02))
        axes.set(xlabel="refused although a tool fits", ylabel="refused where no tool fits")
        axes.grid()
        figure.legend(loc="outside lower center", ncols=2, fontsize=7.5)
        return captioned(figure, title=f"Refusals on {curves[0].dataset}", about="; ".join(notes) + ".")
