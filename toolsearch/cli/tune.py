"""`toolsearch tune`: fit signal weights and floors to one's own labelled requests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolsearch.cli.progress import progress_bar

if TYPE_CHECKING:
    from toolsearch.eval.scenes import Scene
    from toolsearch.eval.tune import TuneReport
    from toolsearch.eval.tune_tasks import Halves

_DATA = typer.Argument(help="Case file or folder of case files, or a folder with tools.jsonl.", show_default=False)
_CATALOG = typer.Option(help="Catalogue of the cases; by default what they name.", show_default=False)
_WRITE = typer.Option(help="Write the weights and limits to this YAML file.", show_default=False)


def tune(
    data: Annotated[Path, _DATA],
    catalog: Annotated[Path | None, _CATALOG] = None,
    write: Annotated[Path | None, _WRITE] = None,
    limit: Annotated[
        int | None, typer.Option(min=2, help="At most so many requests of a data folder.", show_default=False)
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, max=10, help="Most passes over all weights.")] = 2,
    seed: Annotated[int, typer.Option(help="Seed of the search.")] = 0,
    encoder: Annotated[str, typer.Option(help="Encoder to tune for.")] = "bundled",
) -> None:
    """Fit weights and floors on train and dev requests, and show the hold-out beside it. Writes nothing by itself."""
    from toolsearch.eval import tune as tuning

    scene, halves = _read(data, catalog=catalog, encoder=encoder, limit=limit, seed=seed)
    with progress_bar() as progress, scene.index() as index:
        report = tuning.tune(index, halves.fit, halves.hold_out, seed=seed, rounds=rounds, progress=progress)
    _print(report, halves=halves)
    if write is not None:
        write.write_text(report.chosen.yaml(), encoding="utf-8")
        print(f"written: {write}")


def _read(data: Path, *, catalog: Path | None, encoder: str, limit: int | None, seed: int) -> tuple[Scene, Halves]:
    from toolsearch.eval.cases import load_cases
    from toolsearch.eval.qrels import TOOLS_FILE
    from toolsearch.eval.selection import scene_of
    from toolsearch.eval.tune_tasks import case_halves, folder_halves
    from toolsearch.model.errors import DataError

    if not data.exists():
        raise DataError(
            "is not there; name case files, or a folder with tools.jsonl and queries.jsonl", source=str(data)
        )
    if (data / TOOLS_FILE).is_file():
        return folder_halves(data, encoder=encoder, limit=limit, seed=seed)
    suites = load_cases(data)
    halves = case_halves(suites, seed=seed)
    return scene_of(suites, catalog=catalog, encoder=encoder), halves


def _print(report: TuneReport, *, halves: Halves) -> None:
    print(f"{len(halves.fit)} requests fitted to, {len(halves.hold_out)} held out: {halves.shown}")
    print(f"{report.tried} settings tried")
    for step in report.steps:
        print(f"  {step.name}: {step.before:g} -> {step.after:g} (fitted mean {step.mean:.4f})")
    gains = [("fitted", report.start[0], report.fitted)]
    if report.held_out is not None and report.start[1] is not None:
        gains.append(("hold-out", report.start[1], report.held_out))
    for name, start, gain in gains:
        interval = f"[{gain.low:+.4f}, {gain.high:+.4f}], p {gain.p_value:.3f}"
        print(f"{name}: {start:.4f} -> {start + gain.delta:.4f} ({gain.delta:+.4f} {interval}, {gain.n} requests)")
    for warning in report.warnings:
        print(f"warning: {warning}")
    print(report.chosen.yaml(), end="")
