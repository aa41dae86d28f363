"""The sections of RESULTS.md on labelled requests: quality by set, slices, refusals and cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.report.instruments import (
    MAIN_METRIC,
    MODES,
    OURS,
    PASSED,
    datasets,
    main_value,
    same_requests,
)
from benchmarks.report.markdown import bold, number, p_value, signed, table, with_interval
from toolsearch.eval.results import SystemResult

QUALITY = (
    ("recall@1", "R@1"),
    ("recall@3", "R@3"),
    (MAIN_METRIC, "R@5 [95 %]"),
    ("recall@10", "R@10"),
    ("mrr@10", "MRR"),
    ("ndcg@10", "nDCG@10"),
    ("complete@5", "C@5"),
    ("complete@10", "C@10"),
)
ANSWERS = (
    ("set_coverage", "covered"),
    ("set_precision", "needed"),
    ("set_repeats", "repeats"),
    ("set_size", "size"),
)


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of a table: its head, the cell of a result, and the number it is compared by (None: not compared)."""

    head: str
    cell: Callable[[SystemResult], str]
    value: Callable[[SystemResult], float | None] = lambda result: None


def overview(results: Sequence[SystemResult]) -> str:
    """Return one line a data set: Recall@5 of each mode, and hybrid against the better of the two others."""
    rows = []
    for name, group in datasets(results).items():
        modes = {mode: found for mode in MODES if (found := _mode(group, mode)) is not None}
        if modes:
            top = max(map(main_value, modes.values()))
            cells = [_main_cell(modes.get(mode), top=top) for mode in MODES]
            first = next(iter(modes.values()))
            rows.append([name, str(first.tools), str(first.queries), *cells, *_hybrid_gain(modes)])
    heads = ["data set", "tools", "requests", *(f"R@5 {mode}" for mode in MODES)]
    return table([*heads, "hybrid - better single", "p", "ms p50"], rows)


def dataset_sections(results: Sequence[SystemResult]) -> str:
    """Return a section for each data set: every system, answers as sets, slices and paired differences."""
    parts = []
    for name, group in datasets(results).items():
        found = same_requests(group)
        if found:
            parts.append(f"### {name}\n")
            # Only systems that answered the same requests stand in one table.
            for systems in found:
                parts += _same_requests(systems)
    return "\n".join(part for part in parts if part)


def case_sections(results: Sequence[SystemResult]) -> str:
    """Return a section for each group of case files: what passed by kind, language and risk, and leaks."""
    parts = []
    for name, group in datasets(results).items():
        leaks = [(result.system, result.mean("leaked", part="kind=permission")) for result in group]
        told = ", ".join(f"{system} {number(share)}" for system, share in leaks if share is not None)
        parts += [
            f"### {name}\n",
            _described(group[0]),
            f"Permission cases whose answer names a forbidden tool (must be 0): {told}.\n" if told else "",
            _slices(group, PASSED, "passed", whole=True),
        ]
    return "\n".join(part for part in parts if part)


def refusals(results: Sequence[SystemResult]) -> str:
    """Return one line for each system and data set with requests that no tool fits."""
    rows = []
    for result in results:
        figures = result.refusal
        # Where every request needs a tool and none was refused there is nothing to tell.
        if figures is None or not (figures.none or figures.false_refusal_rate):
            continue
        numbers = (
            figures.refusal_rate,
            figures.false_refusal_rate,
            figures.refusal_at_limit,
            figures.false_refusal_at_limit,
            figures.separation,
        )
        rows.append([result.dataset, result.system, str(figures.none), str(figures.answerable), *map(number, numbers)])
    heads = ["data set", "system", "no tool fits", "a tool fits", "refused", "refused falsely"]
    return table([*heads, "refused at <= 2 % false", "false there", "separation"], rows)


def _mode(group: Sequence[SystemResult], mode: str) -> SystemResult | None:
    return next((r for r in group if r.system == f"{OURS} {mode}" and r.mean(MAIN_METRIC) is not None), None)


def _hybrid_gain(modes: dict[str, SystemResult]) -> list[str]:
    """Return what hybrid gains over the better of the other modes, the p-value, and its median time."""
    hybrid, others = modes.get("hybrid"), [found for mode, found in modes.items() if mode != "hybrid"]
    if hybrid is None:
        return ["", "", ""]
    speed = hybrid.latency_ms.get("total")
    time = "" if speed is None else number(speed.p50, 1)
    better = max(others, key=main_value, default=None)
    for found in hybrid.comparisons:
        if better is not None and (found.other, found.metric) == (better.system, MAIN_METRIC):
            return [f"{signed(found.delta)} ({better.system.removeprefix(OURS + ' ')})", p_value(found.p_value), time]
    return ["", "", time]


def _same_requests(figures: Sequence[SystemResult]) -> list[str]:
    columns = [_metric_column(metric, head) for metric, head in QUALITY]
    if any(result.latency_ms for result in figures):
        columns += [_latency_column("p50"), _latency_column("p99")]
    parts = [_described(figures[0]), _comparison(figures, columns)]
    answering = [result for result in figures if result.mean("set_size") is not None]
    if answering:
        parts.append("The answer as a set (needs covered, tools needed, tools that repeat another, size):\n")
        parts.append(_comparison(answering, [_metric_column(*pair) for pair in ANSWERS]))
    own = [result for result in figures if result.system.removeprefix(f"{OURS} ") in MODES] or figures
    return [*parts, _slices(own, MAIN_METRIC, "R@5"), _differences(figures)]


def _described(result: SystemResult) -> str:
    about = f"{result.queries} requests over {result.tools} tools; {result.role or 'no'} data; seed {result.seed}."
    hashes = ", ".join(f"`{name}` {digest[:12]}" for name, digest in result.data_sha256.items())
    return f"{about} sha256: {hashes}.\n" if hashes else f"{about}\n"


def _slices(group: Sequence[SystemResult], metric: str, label: str, *, whole: bool = False) -> str:
    names = list(dict.fromkeys(name for result in group for name in result.metrics if whole or name != "all"))
    rows = []
    for name in names:
        found = [result.metrics.get(name, {}).get(metric) for result in group]
        count = max((measure.n for measure in found if measure is not None), default=0)
        rows.append([name, str(count), *map(with_interval, found)])
    return table(["slice", "n", *(f"{label} {result.system}" for result in group)], rows)


def _differences(group: Sequence[SystemResult]) -> str:
    rows = [
        [result.system, found.other, found.metric, signed(found.delta), p_value(found.p_value), str(found.n)]
        for result in sorted(group, key=lambda result: result.system != f"{OURS} hybrid")
        for found in result.comparisons
    ]
    # Each pair is tested in both directions with the same outcome: show it once.
    kept = [row for at, row in enumerate(rows) if not any(r[:3] == [row[1], row[0], row[2]] for r in rows[:at])]
    return table(["system", "against", "metric", "difference", "p", "n"], kept)


def _comparison(group: Sequence[SystemResult], columns: Sequence[_Column]) -> str:
    """Return a table with a row for each system, the best value of each compared column bold."""
    best = [max((v for v in map(column.value, group) if v is not None), default=None) for column in columns]
    rows = []
    for result in group:
        cells = [
            bold(column.cell(result), when=top is not None and column.value(result) == top)
            for column, top in zip(columns, best, strict=True)
        ]
        rows.append([result.system + (f" ({result.note})" if result.note else ""), *cells])
    return table(["system", *(column.head for column in columns)], rows)


def _metric_column(metric: str, head: str) -> _Column:
    def cell(result: SystemResult) -> str:
        measure = result.metrics.get("all", {}).get(metric)
        return with_interval(measure) if metric == MAIN_METRIC else number(None if measure is None else measure.mean)

    if metric in ("set_size", "set_repeats"):
        return _Column(head, lambda result: number(result.mean(metric), 2))
    return _Column(head, cell, lambda result: result.mean(metric))


def _latency_column(percentile: str) -> _Column:
    def cell(result: SystemResult) -> str:
        total = result.latency_ms.get("total")
        return "" if total is None else number(getattr(total, percentile), 1)

    return _Column(f"ms {percentile}", cell)


def _main_cell(result: SystemResult | None, *, top: float) -> str:
    return "" if result is None else bold(number(main_value(result)), when=main_value(result) == top)
