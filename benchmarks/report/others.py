"""The sections of RESULTS.md beside the plain quality figures: guarantees, ablation, experience, cost, latency."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.report.instruments import BUDGET, EXPERIENCE, LATENCY, SCALE, datasets, past_requests
from benchmarks.report.markdown import bold, number, p_value, signed, table, with_interval
from toolsearch.eval.results import Measure, SystemResult

DUTIES = (
    "leaks",
    "leak_rate",
    "interference_rate",
    "authorised_recall_moved",
    "probes_told_apart",
    "order_sensitivity",
)
"""Figures of guarantees that must be 0."""

WITHOUT = "_without"
GAIN = " gain"
ABLATION_METRICS = ("ndcg@10", "reciprocal rank")
"""The metric an ablation is shown by: of ranked lists, and of cases."""

EXPERIENCE_METRICS = ("recall@1", "recall@5", "mrr@10", "complete@5")
LEFT_OUT, ALONE = "no ", "only "


def guarantee_sections(results: Sequence[SystemResult]) -> str:
    """Return the figures of each catalogue, and what each piece of contract knowledge is worth there."""
    parts = []
    for result in results:
        measures = result.metrics.get("all", {})
        pairs = [name for name in measures if f"{name}{WITHOUT}" in measures]
        single = {name: m for name, m in measures.items() if name not in pairs and not name.endswith(WITHOUT)}
        rows = [[_words(name), *_figure(name, measure)] for name, measure in single.items()]
        parts += [
            f"### {result.dataset.removesuffix(' guarantees')}\n",
            f"{result.queries} requests over {result.tools} tools, {result.settings.get('encoder', '')}.\n",
            table(["figure", "value [95 %]", "n", "must be", "holds"], rows),
            table(["accuracy", "with", "without", "gain", "p", "n"], list(_effects(result, pairs))),
            f"Faults: {result.note}\n" if result.note else "",
        ]
    return "\n".join(part for part in parts if part)


def ablation_section(results: Sequence[SystemResult]) -> str:
    """Return what is lost without each part, what the whole adds to each, and the parts that earn no place."""
    parts = []
    for start, head in (
        (LEFT_OUT, "Left out: gain of the whole over what is left"),
        (ALONE, "Alone: gain of the whole"),
    ):
        names = list(dict.fromkeys(n for result in results for n in result.metrics if n.startswith(start)))
        rows = [[name.removeprefix(start), *(_gain_cell(result, name) for result in results)] for name in names]
        heads = ["part", *(f"{result.dataset.removesuffix(' ablation')} [{result.role}]" for result in results)]
        parts += [f"{head}.\n", table(heads, rows)] if rows else []
    idle, harmful = standing_of(results)
    parts.append(f"Earn their place on no set: {', '.join(idle) or 'none'}.\n")
    if harmful:
        parts.append("Stand in the way somewhere: " + "; ".join(f"{n} on {', '.join(s)}" for n, s in harmful) + ".\n")
    return "\n".join(parts)


def experience_section(results: Sequence[SystemResult]) -> str:
    """Return the figures of each data set by the number of past requests of each tool."""
    rows = []
    for result in results:
        measures = result.metrics.get("all", {})
        name = f"{result.dataset.removesuffix(EXPERIENCE)} [{result.role}]"
        cells = [with_interval(measures.get(metric)) for metric in EXPERIENCE_METRICS]
        rows.append([name, str(past_requests(result)), str(result.settings.get("encoder", "")), *cells])
    return table(["data set", "past requests a tool", "encoder", *EXPERIENCE_METRICS], rows)


def standing_of(results: Sequence[SystemResult]) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Return the parts whose absence costs nowhere by any metric, and those whose absence gains, with where.

    A part costs or gains where the whole 95 % interval is on one side of 0.
    """
    idle: list[str] = []
    harmful: list[tuple[str, list[str]]] = []
    for name in dict.fromkeys(n for result in results for n in result.metrics if n.startswith(LEFT_OUT)):
        gains = [(result, m) for result in results for n, m in result.metrics.get(name, {}).items() if n.endswith(GAIN)]
        part = name.removeprefix(LEFT_OUT)
        if not any(measure.low is not None and measure.low > 0 for _, measure in gains):
            idle.append(part)
        sets = [r.dataset.removesuffix(" ablation") for r, m in gains if m.high is not None and m.high < 0]
        if sets:
            harmful.append((part, list(dict.fromkeys(sets))))
    return idle, harmful


def gain_of(result: SystemResult, variant: str) -> Measure | None:
    """Return what the whole gains over a variant by the main metric of the ablation; None if not measured."""
    measures = result.metrics.get(variant, {})
    return next((measures[key] for metric in ABLATION_METRICS if (key := f"{metric}{GAIN}") in measures), None)


def cost_section(results: Sequence[SystemResult]) -> str:
    """Return build time, time a request and memory of every system, a column for each size of catalogue."""
    figures: tuple[tuple[str, Callable[[SystemResult], str]], ...] = (
        ("Index build without encoding, in seconds", lambda r: number(r.build_seconds, 2)),
        ("Median time of a request, in milliseconds", lambda r: _p50(r)),
        ("Resident memory after the build, in MB", lambda r: number(r.memory_mb, 0)),
    )
    sets = dict(sorted(datasets(results).items(), key=lambda item: int(item[0].removeprefix(SCALE))))
    systems = sorted({r.system for r in results}, key=lambda name: (not name.startswith("toolsearch"), name))
    parts = []
    for title, cell in figures:
        cells = {(r.system, r.dataset): "failed" if r.failure else cell(r) for r in results}
        rows = [[system, *(cells.get((system, name), "") for name in sets)] for system in systems]
        parts.append(f"{title}:\n\n" + table(["system", *(f"{n.removeprefix(SCALE)} tools" for n in sets)], rows))
    return "\n".join(parts)


def latency_section(results: Sequence[SystemResult]) -> str:
    """Return, for each size of catalogue, every figure with its budget and the time of every stage."""
    parts = []
    for result in sorted(results, key=lambda result: result.tools):
        budgets = result.metrics.get(BUDGET, {})
        rows = [
            [name, f"{measure.mean:.4g}", *_budget(measure, budgets.get(name))]
            for name, measure in result.metrics[LATENCY].items()
        ]
        stages = [
            [name, *(number(value, 2) for value in (one.p50, one.p95, one.p99)), str(one.n)]
            for name, one in result.latency_ms.items()
        ]
        parts += [
            f"### {result.dataset}\n",
            f"{result.queries} requests; {', '.join(f'{name} {value}' for name, value in result.settings.items())}.\n",
            table(["figure", "measured", "budget", "kept"], rows),
            table(["stage", "ms p50", "ms p95", "ms p99", "n"], stages),
        ]
    return "\n".join(part for part in parts if part)


def _budget(measure: Measure, budget: Measure | None) -> list[str]:
    if budget is None:
        return ["", ""]
    return [f"<= {budget.mean:g}", "yes" if measure.mean <= budget.mean else "**no**"]


def _figure(name: str, measure: Measure) -> list[str]:
    if name not in DUTIES:
        return [with_interval(measure), str(measure.n), "", ""]
    value = number(measure.mean, 0) if name == "leaks" else with_interval(measure)
    return [value, str(measure.n), "0", "yes" if measure.mean == 0 else "**no**"]


def _effects(result: SystemResult, pairs: Sequence[str]) -> list[list[str]]:
    measures = result.metrics["all"]
    rows = []
    for name in pairs:
        test = next((found for found in result.comparisons if found.metric == name), None)
        tail = ["", "", ""] if test is None else [signed(test.delta), p_value(test.p_value), str(test.n)]
        about = f" ({test.other})" if test is not None else ""
        sides = [with_interval(measures[name]), with_interval(measures[f"{name}{WITHOUT}"])]
        rows.append([_words(name) + about, *sides, *tail])
    return rows


def _gain_cell(result: SystemResult, variant: str) -> str:
    gain = gain_of(result, variant)
    if gain is None:
        return ""
    sure = gain.low is not None and gain.high is not None and (gain.low > 0 or gain.high < 0)
    return bold(signed(gain.mean), when=sure)


def _p50(result: SystemResult) -> str:
    total = result.latency_ms.get("total")
    return "" if total is None else number(total.p50, 2)


def _words(name: str) -> str:
    return name.replace("_", " ")
