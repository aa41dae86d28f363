"""`toolsearch bench`: how well labelled requests find their tools, and how fast."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolsearch.cli import options as o
from toolsearch.cli.progress import progress_bar

if TYPE_CHECKING:
    from toolsearch.eval.results import SystemResult

_METRICS = ("recall@1", "recall@3", "recall@5", "recall@10", "mrr@10", "ndcg@10", "set_coverage")
_MODES = ("lexical", "vector", "hybrid")


def bench(
    folder: Annotated[Path, typer.Argument(help="Folder with tools.jsonl and queries.jsonl.", show_default=False)],
    mode: Annotated[
        list[str] | None,
        typer.Option("--mode", help="lexical, vector or hybrid; repeat; default all.", show_default=False),
    ] = None,
    encoder: Annotated[str, typer.Option(help="bundled, minilm, hashed or st:NAME.")] = "bundled",
    k: Annotated[int, typer.Option("-k", min=1, max=100, help="Candidates asked for.")] = 10,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only the first so many requests.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the confidence intervals.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Folder for results and per-request rankings.", show_default=False)
    ] = None,
    as_json: o.JsonOption = False,
) -> None:
    """Run the labelled requests of a folder: recall, MRR, nDCG, coverage, refusals, latency by stage."""
    from pydantic_core import to_json

    from toolsearch.eval.bench import bench_dataset
    from toolsearch.model.errors import RequestError

    modes = tuple(mode or _MODES)
    unknown = sorted(set(modes) - set(_MODES))
    if unknown:
        raise RequestError(f"--mode {unknown[0]!r} is not one of {', '.join(_MODES)}", field="mode")
    with progress_bar() as progress:
        report = bench_dataset(
            folder, encoder=encoder, modes=modes, k=k, limit=limit, seed=seed, out=out, progress=progress
        )
    results = {name: of_mode.result for name, of_mode in report.modes.items()}
    if as_json:
        print(to_json({name: result.model_dump(mode="json") for name, result in results.items()}).decode("utf-8"))
        return
    _print_tables(report.dataset, results)
    if report.refused_tools:
        print(f"{len(report.refused_tools)} tools could not be read: {report.refused_tools[0]}", file=sys.stderr)


def _print_tables(dataset: str, results: Mapping[str, SystemResult]) -> None:
    from rich.table import Table

    from toolsearch.cli.render import console

    first = next(iter(results.values()))
    quality = Table(title=f"{dataset}: {first.queries} requests over {first.tools} tools", title_justify="left")
    speed = Table(title="milliseconds by stage, p50 / p99", title_justify="left")
    for table, head in ((quality, "metric"), (speed, "stage")):
        table.add_column(head)
        for name in results:
            table.add_column(name, justify="right")
    for metric in _METRICS:
        quality.add_row(metric, *(_number(result.mean(metric)) for result in results.values()))
    for label, field in (("refusal rate", "refusal_rate"), ("false refusal rate", "false_refusal_rate")):
        rates = [getattr(result.refusal, field, None) for result in results.values()]
        if any(rate is not None for rate in rates):
            quality.add_row(label, *map(_number, rates))
    for stage in dict.fromkeys(stage for result in results.values() for stage in result.latency_ms):
        found = [result.latency_ms.get(stage) for result in results.values()]
        speed.add_row(stage, *("" if at is None else f"{at.p50:.2f} / {at.p99:.2f}" for at in found))
    console().print(quality)
    console().print(speed)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
