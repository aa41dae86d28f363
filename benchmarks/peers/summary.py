"""SUMMARY.md: the tables of every result in the folder, written by the run and never by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks.peers.adapters import ADAPTERS
from toolsearch.eval.results import SystemResult, read_results

SCALE = "scale-"
LEVEL = 0.05

_HEAD = """# Other tool-retrieval libraries, side by side

Written by `python -m benchmarks.peers`. Every system gets the same tools and the same requests on the same machine, and
the same all-MiniLM vectors where it takes an encoder; requests are evenly spaced samples of the public test sets, and
nothing was tuned on them. Peers run with the defaults they ship; `benchmarks/peers/adapters/` says how for each.
`toolsearch ranked` is our ranked list, `toolsearch answer` the candidates of a whole answer, none where none fits.
+ and - mark figures above and below `toolsearch ranked` by a paired test on the same requests (p < 0.05).
"""


def write_summary(folder: Path) -> None:
    """Write SUMMARY.md over the results of a folder; nothing if it has none."""
    results = read_results(folder) if folder.is_dir() else ()
    if results:
        (folder / "SUMMARY.md").write_text(summary(results), encoding="utf-8")


def summary(results: Sequence[SystemResult]) -> str:
    """Return the tables as Markdown."""
    scored = [result for result in results if not result.dataset.startswith(SCALE)]
    scale = [result for result in results if result.dataset.startswith(SCALE)]
    parts = [
        _HEAD,
        _figures("Recall@5, in percent", scored, partial(_compared, metric="recall@5")),
        _figures("MRR@10, in percent", scored, partial(_compared, metric="mrr@10")),
        _figures(
            "Empty answers to requests that no tool fits, in percent",
            [result for result in scored if result.refusal],
            lambda result: _percent(result.refusal.refusal_rate if result.refusal else None),
        ),
        _figures("Index build without encoding, in seconds of processor time", scale, _build),
        _figures("Median processor time of a request without encoding, in milliseconds", scale, _median),
        _figures("Resident memory after the build, in MB", scale, lambda result: _number(result.memory_mb, digits=0)),
        _failures(results),
    ]
    return "\n".join(part for part in parts if part)


def _figures(title: str, results: Sequence[SystemResult], cell: Callable[[SystemResult], str]) -> str:
    """Return one table: a row a system, a column a data set."""
    datasets = sorted({result.dataset for result in results}, key=_column)
    cells = {(result.system, result.dataset): cell(result) or "failed" for result in results}
    rows = [system for system in ADAPTERS if any((system, dataset) in cells for dataset in datasets)]
    if not rows or all(value == "failed" for value in cells.values()):
        return ""
    counts = {result.dataset: result.queries for result in results}
    lines = [
        f"## {title}\n",
        "| system | " + " | ".join(datasets) + " |",
        "|---|" + "---:|" * len(datasets),
        "| requests | " + " | ".join(str(counts[dataset]) for dataset in datasets) + " |",
    ]
    for system in rows:
        values = (cells.get((system, dataset), "") for dataset in datasets)
        lines.append(f"| {system} | " + " | ".join(values) + " |")
    return "\n".join(lines) + "\n"


def _failures(results: Sequence[SystemResult]) -> str:
    lines = [
        f"- {result.system} on {result.dataset}: {(result.failure or result.note).splitlines()[0]}"
        for result in results
        if result.failure or result.note
    ]
    return "\n".join(["## What failed\n", *lines]) + "\n" if lines else ""


def _column(dataset: str) -> tuple[int, str]:
    size = dataset.removeprefix(SCALE)
    return (int(size), dataset) if dataset.startswith(SCALE) and size.isdigit() else (0, dataset)


def _compared(result: SystemResult, *, metric: str) -> str:
    """Return the mean in percent, with the sign of a difference from our own ranking that chance does not explain."""
    text = _percent(result.mean(metric))
    tests = [found for found in result.comparisons if found.metric == metric and found.p_value < LEVEL]
    return f"{text} {'+' if tests[0].delta > 0 else '-'}" if text and tests else text


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"


def _number(value: float | None, *, digits: int = 2) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _build(result: SystemResult) -> str:
    seconds = result.settings.get("build_cpu_seconds")
    return _number(seconds) if isinstance(seconds, float) else ""


def _median(result: SystemResult) -> str:
    found = result.latency_ms.get("cpu")
    return "" if found is None else _number(found.p50)
