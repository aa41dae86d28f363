"""Ablations as benchmark results and as a page of tables."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.measures.ablation import Ablation, Cell, Standing, standings
from toolsearch.eval.results import Measure, PairedComparison, SystemResult, environment

MAIN = ("ndcg@10", "reciprocal rank")
"""The metric of the tables: of ranked lists, and of cases."""

_HEAD = """\
# Ablation

Made by `python -m benchmarks.ablation`; do not edit.

What the usual way of answering gains over one in which a part is left out, or stands alone: mean paired difference of
nDCG@10 (data sets) or of 1 / rank of the right tool (cases). Bold: the whole 95 % bootstrap interval is on one side of
0. A plus says the part earns its place, a minus that it stands in the way. Nothing is chosen by the columns marked
test.
"""

_LEFT_OUT = "## Left out: what is lost without it\n"
_ALONE = "## Alone: what the rest adds to it\n"
_CONTEXT = """\
Readiness, reliability, freshness and cost cannot find tools: alone, each stands beside all relevance signals. Without
recorded outcomes reliability is the same for every tool and can change nothing here.
"""


def ablation_result(ablation: Ablation, *, seed: int = 0) -> SystemResult:
    """Return an ablation as one benchmark result: a slice for each variant, a comparison for each cell."""
    table: dict[str, dict[str, Measure]] = {
        "usual": {name: Measure(mean=mean, n=ablation.requests) for name, mean in ablation.usual.items()}
    }
    comparisons = []
    for cell in ablation.cells:
        name, gain = cell.variant.name, cell.gain
        table.setdefault(name, {})[cell.metric] = Measure(mean=cell.value, n=gain.n)
        table[name][f"{cell.metric} gain"] = Measure(mean=gain.delta, low=gain.low, high=gain.high, n=gain.n)
        comparisons.append(
            PairedComparison(
                other=f"toolsearch {name}", metric=cell.metric, delta=gain.delta, p_value=gain.p_value, n=gain.n
            )
        )
    return SystemResult(
        system="toolsearch hybrid",
        dataset=f"{ablation.dataset} ablation",
        role=ablation.role,
        settings={"encoder": ablation.encoder},
        seed=seed,
        environment=environment(),
        queries=ablation.requests,
        metrics=table,
        comparisons=tuple(comparisons),
    )


def ablation_markdown(ablations: Sequence[Ablation]) -> str:
    """Return the page: parts left out, parts alone, and the parts that earn their place nowhere."""
    parts = [_HEAD, _LEFT_OUT, _table(ablations, alone=False), _ALONE, _table(ablations, alone=True), _CONTEXT]
    found = standings(ablations)
    idle = [standing.part for standing in found if not standing.earns]
    harmful = [standing for standing in found if standing.harms]
    parts.append("## Parts that earn their place nowhere\n")
    parts.append(", ".join(idle) + ".\n" if idle else "None.\n")
    if harmful:
        parts.append("## Parts that stand in the way somewhere\n")
        parts.append("".join(f"- {standing.part}: {', '.join(standing.harms)}\n" for standing in harmful))
    parts.append("## Where each part earns its place\n")
    parts.append("".join(_line(standing) for standing in found if standing.earns))
    return "\n".join(parts)


def _table(ablations: Sequence[Ablation], *, alone: bool) -> str:
    heads = ["part", *(f"{one.dataset} [{one.role or 'all'}]" for one in ablations)]
    lines = ["| " + " | ".join(heads) + " |", "|:--|" + "--:|" * len(ablations)]
    usual = [f"{_main(one)[1]:.3f}" for one in ablations]
    lines.append("| usual way | " + " | ".join(usual) + " |")
    parts = dict.fromkeys(cell.variant.part for one in ablations for cell in one.cells if cell.variant.alone is alone)
    for part in parts:
        name = f"{'only' if alone else 'no'} {part}"
        lines.append(f"| {part} | " + " | ".join(_shown(one.cell(name, _main(one)[0])) for one in ablations) + " |")
    return "\n".join(lines) + "\n"


def _main(ablation: Ablation) -> tuple[str, float]:
    """Return the metric of the tables and its usual value."""
    name = next(metric for metric in MAIN if metric in ablation.usual)
    return name, ablation.usual[name]


def _shown(cell: Cell) -> str:
    text = f"{cell.gain.delta:+.3f}"
    return f"**{text}**" if cell.gain.gains or cell.gain.costs else text


def _line(standing: Standing) -> str:
    return f"- {standing.part}: {', '.join(standing.earns)}\n"
