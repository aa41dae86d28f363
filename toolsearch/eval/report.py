"""Results -> tables for people: benchmarks/RESULTS.md, and the table in the README.

Both are made from the result files and nothing else, so a test can tell when they are stale. Systems stand side by side
whatever ran them: a record of another library in the same folder is one more row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from toolsearch.errors import DataError
from toolsearch.eval.results import Measure, SystemResult

BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"

OURS = "toolsearch"
"""Our own system; the recall modes are named `toolsearch lexical` and so on."""

MODES = ("lexical", "vector", "hybrid")

MAIN_METRIC = "recall@5"

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
PASSED = "passed"

_HEAD = """\
# Results

Made by `make bench` from `benchmarks/results/`; do not edit.

R@K is the share of needed tools among the first K, MRR and nDCG look at the first 10, C@K is the share of requests
whose needed tools are all among the first K. In brackets the 95 % bootstrap interval over requests. The best value of a
column is bold. Nothing was fitted or tuned on data marked test.
"""


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of a table: its head, the cell of a result, and the number it is compared by (None: not compared)."""

    head: str
    cell: Callable[[SystemResult], str]
    value: Callable[[SystemResult], float | None] = lambda result: None


def results_markdown(results: Sequence[SystemResult]) -> str:
    """Return the whole of RESULTS.md.

    Args:
        results: In any order; tables come by data set, rows by system, ours first.
    """
    ordered = sorted(results, key=lambda result: (result.dataset, not _is_ours(result), result.system))
    groups = [list(group) for _, group in groupby(ordered, key=lambda result: result.dataset)]
    quality = [group for group in groups if any(_measured(result, MAIN_METRIC) for result in group)]
    passed = [group for group in groups if any(_measured(result, PASSED) for result in group)]
    parts = [_HEAD, _environments(ordered), "## Overview\n\n" + readme_table(results)]
    parts += [_dataset(group) for group in quality]
    parts += [_cases(group) for group in passed]
    parts += [_refusals(groups), _failures(ordered)]
    return "\n".join(part for part in parts if part)


def readme_table(results: Sequence[SystemResult]) -> str:
    """Return the tables of the README: Recall@5 of our modes by data set, and ours against the best other system.

    The second is there where another system answered the same requests as one of ours.
    """
    measured = [result for result in results if _measured(result, MAIN_METRIC)]
    datasets = sorted({result.dataset for result in measured})
    by_key = {(result.dataset, result.system): result for result in measured}
    modes = [mode for mode in MODES if any((dataset, f"{OURS} {mode}") in by_key for dataset in datasets)]
    rows = []
    for dataset in datasets:
        mine = [by_key.get((dataset, f"{OURS} {mode}")) for mode in modes]
        there = [result for result in mine if result is not None]
        if there:
            top = max(map(_main_value, there))
            speed = there[-1].latency_ms.get("total")
            cells = [_main_cell(result, top=top) for result in mine]
            size = [str(there[0].tools), str(there[0].queries)]
            rows.append([dataset, *size, *cells, "" if speed is None else f"{speed.p50:.1f}"])
    heads = ["data set", "tools", "requests", *(f"R@5 {mode}" for mode in modes), "ms p50"]
    rivals = [row for dataset in datasets if (row := _against_others([r for r in measured if r.dataset == dataset]))]
    tables = [_table(heads, rows)] if rows or not rivals else []
    if rivals:
        tables.append(_table(["data set", "requests", "R@5 toolsearch", "R@5 best other", "which"], rivals))
    return "\n".join(tables)


def _against_others(group: Sequence[SystemResult]) -> list[str]:
    """Return the row of one data set against the best other system on the most requests both answered, [] if none."""
    for count in sorted({result.queries for result in group}, reverse=True):
        mine = [result for result in group if _is_ours(result) and result.queries == count]
        others = [result for result in group if not _is_ours(result) and result.queries == count]
        if mine and others:
            # The product as it is used: without a mode in its name, else hybrid.
            own = min(
                mine, key=lambda result: (result.system != OURS, result.system != f"{OURS} hybrid", result.system)
            )
            best = max(others, key=_main_value)
            top = max(_main_value(own), _main_value(best))
            return [own.dataset, str(count), _main_cell(own, top=top), _main_cell(best, top=top), best.system]
    return []


def with_table(text: str, table: str) -> str:
    """Return the text with what stands between the bench markers replaced.

    Raises:
        DataError: If the text has not exactly one pair of markers, in order.
    """
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise DataError(f"needs one {BEGIN} and one {END} after it")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n{table}{END}{after}"


def _dataset(group: Sequence[SystemResult]) -> str:
    parts = [f"## {group[0].dataset}\n"]
    # Only systems that answered the same requests stand in one table.
    for count in sorted({result.queries for result in group if _measured(result, MAIN_METRIC)}, reverse=True):
        parts += _same_requests([r for r in group if r.queries == count and _measured(r, MAIN_METRIC)])
    return "\n".join(part for part in parts if part)


def _same_requests(figures: Sequence[SystemResult]) -> list[str]:
    columns = [_metric_column(metric, head) for metric, head in QUALITY]
    if any(result.latency_ms for result in figures):
        columns += [_latency_column("p50"), _latency_column("p99")]
    parts = [_described(figures[0]), _comparison(figures, columns)]
    answering = [result for result in figures if _measured(result, "set_size")]
    if answering:
        parts.append("The answer as a set (needs covered, tools needed, tools that repeat another, size):\n")
        parts.append(_comparison(answering, [_metric_column(*pair) for pair in ANSWERS]))
    return [*parts, _slices(figures, MAIN_METRIC, "R@5"), _differences(figures)]


def _cases(group: Sequence[SystemResult]) -> str:
    figures = [result for result in group if _measured(result, PASSED)]
    leaks = [(result.system, result.mean("leaked", part="kind=permission")) for result in figures]
    told = ", ".join(f"{system} {_3(share)}" for system, share in leaks if share is not None)
    parts = [
        f"## {group[0].dataset}\n",
        _described(group[0]),
        f"Permission cases whose answer names a forbidden tool (must be 0): {told}.\n" if told else "",
        _slices(figures, PASSED, "passed", whole=True),
    ]
    return "\n".join(part for part in parts if part)


def _described(result: SystemResult) -> str:
    about = f"{result.queries} requests over {result.tools} tools; {result.role or 'no'} data."
    hashes = ", ".join(f"`{name}` {digest[:12]}" for name, digest in result.data_sha256.items())
    return f"{about} sha256: {hashes}.\n" if hashes else f"{about}\n"


def _slices(group: Sequence[SystemResult], metric: str, label: str, *, whole: bool = False) -> str:
    names = list(dict.fromkeys(name for result in group for name in result.metrics if whole or name != "all"))
    if not names:
        return ""
    rows = []
    for name in names:
        found = [result.metrics.get(name, {}).get(metric) for result in group]
        count = max((measure.n for measure in found if measure is not None), default=0)
        rows.append([name, str(count), *(_with_interval(measure) for measure in found)])
    return _table(["slice", "n", *(f"{label} {result.system}" for result in group)], rows)


def _differences(group: Sequence[SystemResult]) -> str:
    rows = [
        [result.system, found.other, found.metric, f"{found.delta:+.3f}", _p(found.p_value), str(found.n)]
        for result in group
        for found in result.comparisons
    ]
    # Each pair is tested in both directions with the same outcome: show it once.
    kept = [row for at, row in enumerate(rows) if not any(r[:3] == [row[1], row[0], row[2]] for r in rows[:at])]
    return _table(["system", "against", "metric", "difference", "p", "n"], kept) if kept else ""


def _refusals(groups: Sequence[Sequence[SystemResult]]) -> str:
    rows = []
    for group in groups:
        for result in group:
            figures = result.refusal
            if figures is not None:
                numbers = (
                    figures.refusal_rate,
                    figures.false_refusal_rate,
                    figures.refusal_at_limit,
                    figures.separation,
                )
                rows.append(
                    [result.dataset, result.system, str(figures.none), str(figures.answerable), *map(_3, numbers)]
                )
    heads = ["data set", "system", "no tool fits", "a tool fits", "refused", "refused falsely"]
    heads += ["refused at <= 2 % false", "separation"]
    return "## Requests that no tool fits\n\n" + _table(heads, rows) if rows else ""


def _failures(results: Sequence[SystemResult]) -> str:
    rows = [[result.dataset, result.system, result.failure] for result in results if result.failure]
    return "## What did not run\n\n" + _table(["data set", "system", "reason"], rows) if rows else ""


def _environments(results: Sequence[SystemResult]) -> str:
    lines = []
    for result in results:
        here = result.environment
        if here is not None:
            packages = ", ".join(f"{name} {version}" for name, version in sorted(here.packages.items()))
            lines.append(
                f"- {here.cpu}, {here.cores} cores, {here.platform}, Python {here.python}"
                + (f"; {packages}" if packages else "")
            )
    return "Measured on:\n\n" + "\n".join(dict.fromkeys(lines)) + "\n" if lines else ""


def _comparison(group: Sequence[SystemResult], columns: Sequence[_Column]) -> str:
    """Return a table with a row for each system, the best value of each compared column bold."""
    best = [max((v for v in map(column.value, group) if v is not None), default=None) for column in columns]
    rows = []
    for result in group:
        cells = [column.cell(result) for column in columns]
        bold = [top is not None and column.value(result) == top for column, top in zip(columns, best, strict=True)]
        name = result.system + (f" ({result.note})" if result.note else "")
        rows.append([name, *(f"**{cell}**" if is_best else cell for cell, is_best in zip(cells, bold, strict=True))])
    return _table(["system", *(column.head for column in columns)], rows)


def _metric_column(metric: str, head: str) -> _Column:
    def cell(result: SystemResult) -> str:
        measure = result.metrics.get("all", {}).get(metric)
        return _with_interval(measure) if metric == MAIN_METRIC else _3(None if measure is None else measure.mean)

    if metric in ("set_size", "set_repeats"):
        return _Column(head, lambda result: _number(result.mean(metric), 2))
    return _Column(head, cell, lambda result: result.mean(metric))


def _latency_column(percentile: str) -> _Column:
    def cell(result: SystemResult) -> str:
        total = result.latency_ms.get("total")
        return "" if total is None else f"{getattr(total, percentile):.1f}"

    return _Column(f"ms {percentile}", cell)


def _measured(result: SystemResult, metric: str) -> bool:
    return result.mean(metric) is not None


def _main_value(result: SystemResult) -> float:
    return result.mean(MAIN_METRIC) or 0.0


def _main_cell(result: SystemResult | None, *, top: float) -> str:
    if result is None:
        return ""
    text = _3(_main_value(result))
    return f"**{text}**" if _main_value(result) == top else text


def _is_ours(result: SystemResult) -> bool:
    return result.system.split(" ")[0] == OURS


def _with_interval(measure: Measure | None) -> str:
    if measure is None:
        return ""
    if measure.low is None or measure.high is None:
        return _3(measure.mean)
    return f"{_3(measure.mean)} [{_3(measure.low)}, {_3(measure.high)}]"


def _3(value: float | None) -> str:
    return _number(value, 3)


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; first column to the left, the others to the right."""
    lines = [heads, [":--", *["--:"] * (len(heads) - 1)], *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)
