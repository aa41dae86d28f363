"""What was measured for one size of catalogue, against the budgets, as a table and as a result record."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rich.table import Table

from benchmarks.latency.fresh import Fresh
from benchmarks.latency.measure import Built, Limit
from benchmarks.latency.over_http import Load
from benchmarks.report.instruments import BUDGET, LATENCY
from toolsearch.eval.results import Latency, Measure, SystemResult, environment, latencies

BUDGET_TOOLS = 10_000
"""The size of catalogue that the budgets speak of."""


@dataclass(slots=True)
class Measured:
    """Everything about one size of catalogue.

    Attributes:
        load_average: Of the machine, when its measurements began.
        stages: Milliseconds by stage, one mapping a request.
        by_share: Visible tools -> the same, for principals that see only some.
        adding: Milliseconds until an added tool is searchable, and written, one mapping a tool.
    """

    tools: int
    encoder: str
    seed: int
    sha256: Mapping[str, str]
    load_average: float
    built: Built
    stages: list[dict[str, float]]
    by_share: dict[int, list[dict[str, float]]]
    adding: list[dict[str, float]]
    fresh: Fresh
    limit: Limit
    loads: list[Load] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Line:
    """One measured number; `budget` is its greatest good value, None where there is none."""

    name: str
    value: float
    unit: str
    budget: float | None = None

    @property
    def met(self) -> bool | None:
        """Tell whether the budget is kept."""
        return None if self.budget is None else self.value <= self.budget


def lines(measured: Measured) -> list[Line]:
    """Return the numbers that there are budgets for, and those beside them."""
    stages, adding = latencies(measured.stages), latencies(measured.adding)
    search, busy = stages["search"], stages["cpu"]
    found = [
        Line("search p50", search.p50, "ms", 6),
        Line("search p99", search.p99, "ms", 15),
        Line("search p50, processor time", busy.p50, "ms"),
        Line("search p99, processor time", busy.p99, "ms"),
        Line("cold start to first answer", measured.fresh.cold_start_s, "s", 1.5),
        Line("cold start, processor time", measured.fresh.cold_cpu_s, "s"),
        Line("lexical index", measured.built.lexical, "s", 5),
        Line("adding one tool: searchable", adding["searchable"].p50, "ms", 200),
        Line("adding one tool: written", adding["written"].p50, "ms"),
        Line("resident memory", measured.fresh.memory_mb, "MB", 600),
        Line("whole build", measured.built.whole, "s"),
        Line("of which encoding", measured.built.encoding, "s"),
        *_growth(measured),
        Line("least possible: one pass over the data", measured.limit.milliseconds, "ms"),
        Line("recall p50 / least possible", stages["recall"].p50 / max(measured.limit.milliseconds, 1e-9), "times"),
    ]
    for load in measured.loads:
        one = _load_latency(load.milliseconds)
        found.append(Line(f"HTTP, {load.clients} clients: p50", one.p50, "ms"))
        found.append(Line(f"HTTP, {load.clients} clients: p99", one.p99, "ms"))
        found.append(Line(f"HTTP, {load.clients} clients: answers", load.throughput, "/s"))
        if load.refused:
            found.append(Line(f"HTTP, {load.clients} clients: turned away", load.refused, "requests"))
        if load.clients == 1:
            found.append(Line("HTTP adds (p50)", _load_latency(load.overhead).p50, "ms", 3))
    if measured.tools != BUDGET_TOOLS:
        return [Line(line.name, line.value, line.unit) for line in found]
    return found


def _growth(measured: Measured) -> Iterator[Line]:
    """Yield the processor time by visible tools, and how much steeper than linear the largest step is."""
    costs = {count: latencies(rows)["cpu"].p50 for count, rows in sorted(measured.by_share.items())}
    for count, cost in costs.items():
        yield Line(f"search p50, processor time, {count} visible", cost, "ms")
    steps = list(costs.items())
    if len(steps) > 1:
        (fewer, less), (more, cost) = steps[0], steps[-1]
        yield Line("growth of cost / growth of visible tools", (cost / less) / (more / fewer), "times", 1)


def _load_latency(values: Sequence[float]) -> Latency:
    return latencies([{"time": value} for value in values] or [{"time": float("nan")}])["time"]


def budget_table(measured: Measured) -> Table:
    """Return the table to print."""
    title = f"{measured.tools} tools, {measured.encoder}, load average {measured.load_average:.1f}"
    table = Table("", "measured", "budget", "met", title=title, title_justify="left")
    for line in lines(measured):
        budget = "" if line.budget is None else f"<= {line.budget:g} {line.unit}"
        met = {None: "", True: "yes", False: "NO"}[line.met]
        table.add_row(line.name, f"{line.value:.4g} {line.unit}", budget, met)
    return table


def stage_table(measured: Measured) -> Table:
    """Return the percentiles of each stage."""
    table = Table(
        "stage", "p50", "p95", "p99", title="milliseconds in process, encoding included", title_justify="left"
    )
    for stage, figures in latencies(measured.stages).items():
        table.add_row(stage, *(f"{value:.2f}" for value in (figures.p50, figures.p95, figures.p99)))
    return table


def result(measured: Measured) -> SystemResult:
    """Return the record of one size."""
    stages = {
        **latencies(measured.stages),
        **latencies([{f"adding: {name}": value for name, value in row.items()} for row in measured.adding]),
    }
    for load in measured.loads:
        stages[f"http, {load.clients} clients"] = _load_latency(load.milliseconds)
    measures = {f"{line.name} [{line.unit}]": line for line in lines(measured)}
    figures = {name: Measure(mean=line.value, n=1) for name, line in measures.items()}
    budgets = {name: Measure(mean=line.budget, n=1) for name, line in measures.items() if line.budget is not None}
    return SystemResult(
        system="toolsearch hybrid",
        dataset=f"{measured.tools} pooled tools",
        role="catalogue",
        settings={
            "encoder": measured.encoder,
            "load_average": round(measured.load_average, 2),
            "processors": os.cpu_count(),
        },
        seed=measured.seed,
        data_sha256=dict(measured.sha256),
        environment=environment(),
        tools=measured.tools,
        queries=len(measured.stages),
        metrics={LATENCY: figures, **({BUDGET: budgets} if budgets else {})},
        latency_ms=stages,
        build_seconds=measured.built.whole,
        memory_mb=measured.fresh.memory_mb,
    )
