"""`toolsearch train`: fit a model on one's own log, and install it if it wins on requests it has not seen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolsearch.cli import options as o
from toolsearch.cli.connect import connected
from toolsearch.cli.progress import progress_bar
from toolsearch.model.errors import RequestError

if TYPE_CHECKING:
    from toolsearch.learn.train import TrainReport

_LOG = typer.Option(help="More past requests, JSON Lines as `learn` takes them; - for stdin.", show_default=False)
_OUT = typer.Option(help="Write the model to this file instead of installing it.", show_default=False)


def train(
    index: o.IndexOption = None,
    log: Annotated[str | None, _LOG] = None,
    tenant: Annotated[
        str | None, typer.Option(help="Tenant whose requests to learn from, and whom to serve.", show_default=False)
    ] = None,
    all_tenants: Annotated[
        bool, typer.Option("--all-tenants", help="Let the model serve every tenant that has none of its own.")
    ] = False,
    out: Annotated[Path | None, _OUT] = None,
    max_share: Annotated[
        float, typer.Option(min=0.01, max=1, help="Most that one subject may have asked, where three or more asked.")
    ] = 0.33,
    seed: Annotated[int, typer.Option(help="Decides which requests are held out.")] = 0,
    as_json: o.JsonOption = False,
) -> None:
    """Fit a query adapter and weights on past requests; install them if they win on the hold-out."""
    from toolsearch import ToolIndex
    from toolsearch.cli.learn import read_log
    from toolsearch.learn.train import train as fit

    requests = list(read_log(log)) if log is not None else []
    with connected(index, principal=None) as (found, _):
        if not isinstance(found, ToolIndex):
            raise RequestError(
                "a server owns this index, and training would hold it up for minutes: train on a copy of the folder "
                "with --out FILE, then `toolsearch models --install FILE`",
                field="index",
            )
        with progress_bar() as progress:
            trained = fit(
                found,
                requests,
                tenant=tenant,
                all_tenants=all_tenants,
                seed=seed,
                max_share=max_share,
                progress=progress,
            )
        if as_json:
            print(trained.report.model_dump_json())
        else:
            _print(trained.report)
        model = trained.require_won()
        if out is not None:
            out.write_text(model.model_dump_json(), encoding="utf-8")
            place = f"written: {out}"
        else:
            entry = found.models.install(model)
            place = f"installed: model {entry.number} serves {entry.serves}; undo with `toolsearch models --rollback`"
    if not as_json:
        print(place)


def _print(report: TrainReport) -> None:
    made = report.manifest
    print(
        f"{report.requests} requests of {made.subjects} subjects for {made.tools} tools: "
        f"{made.requests} learnt from, {made.held_out} held out; {report.refused} lines beyond the bounds, "
        f"{report.unknown} of unknown tools"
    )
    weights = ", ".join(f"{name} {value:g}" for name, value in report.weights.items())
    print(f"map: {f'strength {made.strength:g}' if made.strength else 'none'}; weights: {weights or 'as they are'}")
    for name in ("mrr", "recall_1", "recall_5"):
        before, after = getattr(made.before, name), getattr(made.after, name)
        print(f"hold-out {name}: {before:.3f} -> {after:.3f} ({after - before:+.3f})")
    print(f"gain in MRR: [{made.gain_low:+.3f}, {made.gain_high:+.3f}], p {made.p_value:.4f}; {report.seconds:.0f} s")
