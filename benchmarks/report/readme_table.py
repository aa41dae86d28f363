"""The table in the README: our modes and the best other systems on a few data sets, with what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from textwrap import fill

from benchmarks.report.instruments import (
    MODES,
    OURS,
    RANKED,
    datasets,
    is_ours,
    main_value,
    same_requests,
    side_by_side,
    sorted_out,
)
from benchmarks.report.markdown import bold, number, table
from toolsearch.eval.results import SystemResult
from toolsearch.model.errors import DataError

BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"

SHOWN = (
    "azure_mcp_2025",
    "gtc_k8s",
    "gtc_github_full",
    "metatool",
    "livemcpbench",
    "ultratool_zh",
    "ultratool_zh_over_ultratool_en",
    "hammerbench_en",
)
"""Data sets of the table, chosen for their variety before anything was measured on them."""

BEST = 5
"""Other systems that are shown beside those that are the best on some data set."""

LINE = 120

Columns = dict[str, dict[str, SystemResult]]
"""Data set -> system -> its result; all of one data set answered the same requests."""


def readme_table(results: Sequence[SystemResult]) -> str:
    """Return the table: Recall@5 by data set, mean MRR@10, median time of a request, memory."""
    columns = _columns(results)
    systems = [*(f"{OURS} {mode}" for mode in MODES), RANKED, *_best_others(columns)]
    rows = [_row(system, columns) for system in systems if any(system in column for column in columns.values())]
    sizes = ["tools / requests", *map(_size, columns.values()), "", "", ""]
    heads = ["R@5", *columns, "MRR", "ms p50", "MB"]
    return table(heads, [sizes, *rows]) + _note(columns) if rows else ""


def with_table(text: str, body: str) -> str:
    """Return the text with what stands between the bench markers replaced.

    Raises:
        DataError: If the text has not exactly one pair of markers, in order.
    """
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise DataError(f"needs one {BEGIN} and one {END} after it")
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{body}{END}{rest.partition(END)[2]}"


def _columns(results: Sequence[SystemResult]) -> Columns:
    groups = datasets(sorted_out(results).quality)
    names = [name for name in SHOWN if name in groups] or list(groups)[: len(SHOWN)]
    columns: Columns = {}
    for name in names:
        found = {result.system: result for result in side_by_side(groups[name])}
        if found:
            # Memory and time of the whole engine are those of a process of its own, as for the other systems.
            alone = {r.system: r for one in same_requests(groups[name]) for r in one}.get(RANKED)
            hybrid = found.get(f"{OURS} hybrid")
            if hybrid is not None and alone is not None:
                measured = {"memory_mb": alone.memory_mb, "latency_ms": alone.latency_ms}
                found[hybrid.system] = hybrid.model_copy(update=measured)
            columns[name] = found
    # A data set that no other system was asked tells nothing beside those that one was.
    shared = {name: column for name, column in columns.items() if not all(map(is_ours, column.values()))}
    return shared or columns


def _best_others(columns: Columns) -> list[str]:
    """Return the systems that are the best other on some data set, and the best on the whole, best first."""
    means: dict[str, float] = {}
    best: list[str] = []
    for column in columns.values():
        others = [result for result in column.values() if not is_ours(result)]
        for result in others:
            means[result.system] = means.get(result.system, 0.0) + main_value(result) / len(columns)
        if others:
            best.append(max(others, key=lambda result: (main_value(result), result.system)).system)
    ordered = sorted(means, key=lambda system: (-means[system], system))
    return [system for place, system in enumerate(ordered) if place < BEST or system in best]


def _row(system: str, columns: Columns) -> list[str]:
    mine = {name: column[system] for name, column in columns.items() if system in column}
    cells = []
    for name, column in columns.items():
        top = max(map(main_value, column.values()))
        value = main_value(mine[name]) if name in mine else None
        cells.append(bold(number(value), when=value == top))
    # A mean over some of the data sets cannot be compared with one over all of them.
    ranks = [value for found in mine.values() if (value := found.mean("mrr@10")) is not None]
    mean = sum(ranks) / len(ranks) if len(ranks) == len(columns) else None
    times = [found.latency_ms["total"].p50 for found in mine.values() if "total" in found.latency_ms]
    memory = [found.memory_mb for found in mine.values() if found.memory_mb is not None]
    tail = [number(median(times) if times else None, 1), number(max(memory) if memory else None, 0)]
    return [system, *cells, number(mean), *tail]


def _size(column: dict[str, SystemResult]) -> str:
    first = next(iter(column.values()))
    return f"{first.tools} / {first.queries}"


def _note(columns: Columns) -> str:
    others = {system for column in columns.values() for system, result in column.items() if not is_ours(result)}
    about = (
        "Recall@5, the best of a column bold; MRR@10 is the mean over these data sets, ms and MB the median and the "
        "largest. Nothing was tuned on them."
    )
    about += f" {len(others)} other systems were run; shown are the best." if others else ""
    return "\n" + fill(about, width=LINE) + "\n"
