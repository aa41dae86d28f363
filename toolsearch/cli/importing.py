"""`toolsearch import`: tools of MCP servers, files and folders into an index, each server replaced as a whole."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolsearch.cli import options as o
from toolsearch.cli.progress import progress_bar
from toolsearch.model.errors import RequestError

if TYPE_CHECKING:
    from toolsearch.calls.importing import ImportReport, RefusedTool, ServerReport
    from toolsearch.calls.importing.following import Followed
    from toolsearch.calls.importing.job import Take
    from toolsearch.calls.upstream import UpstreamServer

_SHOWN = 20
_INCOMPLETE = 3


def import_command(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="MCP configuration files, URLs of MCP servers, files or folders of definitions.", show_default=False
        ),
    ],
    index: o.IndexOption = None,
    server: Annotated[
        str | None,
        typer.Option(
            help="Of a configuration file, the one server to take; else the server of what names none.",
            show_default=False,
        ),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Stay, and import a server again when its list of tools changes.")
    ] = False,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds to start or reach a server, and for its list.")
    ] = 30.0,
    trusted: Annotated[
        bool, typer.Option("--trusted", help="Let hints of foreign definitions lower the risk assumed of a tool.")
    ] = False,
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", help="Answer to an ${input:ID} of a VS Code file, ID=VALUE; repeat."),
    ] = None,
    allow_private: Annotated[
        bool, typer.Option("--allow-private", help="Let URLs lead into private networks.")
    ] = False,
    api_key: o.ApiKeyOption = None,
    as_json: o.JsonOption = False,
) -> None:
    """Import tools; of each server that is read, tools that are no longer there are removed. For administrators."""
    import os

    from toolsearch.calls.importing import ServerSource, run_import, sources_from

    named = sources_from(
        sources,
        server=server,
        environment=dict(os.environ),
        inputs={name: str(value) for name, value in o.pairs(inputs, option="--input").items()},
        allow_private=allow_private,
    )
    live = [source.server for source in named.sources if isinstance(source, ServerSource)]
    if watch and not live:
        raise RequestError("--watch needs a live server: name an MCP configuration file or a URL", field="sources")
    if not named.sources and not named.refused:
        raise RequestError("the sources list no server and no definition", field="sources")
    with _taking(index, api_key=api_key) as take:
        with progress_bar() as progress:
            report = run_import(
                partial(take, progress=progress),
                named.sources,
                trusted=trusted,
                timeout_s=timeout,
                progress=progress,
            )
        report = report.model_copy(update={"refused": (*named.refused, *report.refused)})
        if as_json:
            print(report.model_dump_json(), flush=True)
        else:
            _print_report(report)
        if watch:
            _follow(partial(take, progress=None), live, trusted=trusted, timeout_s=timeout, as_json=as_json)
    if not report.whole:
        raise typer.Exit(_INCOMPLETE)


@contextmanager
def _taking(index: Path | None, *, api_key: str | None) -> Iterator[Callable[..., ImportReport]]:
    """Yield what brings the index, or that of the server that owns it, to what was read."""
    from toolsearch import ToolIndex
    from toolsearch.calls.importing import import_readings
    from toolsearch.cli.connect import connected
    from toolsearch.cli.remote_importing import RemoteImporting

    with connected(index, principal=None, api_key=api_key) as (found, _):
        if isinstance(found, RemoteImporting):
            remote = found
            yield lambda readings, **_: remote.import_readings(readings)
        else:
            assert isinstance(found, ToolIndex)
            yield partial(import_readings, found)


def _follow(take: Take, servers: Sequence[UpstreamServer], *, trusted: bool, timeout_s: float, as_json: bool) -> None:
    """Follow live servers until interrupted."""
    import asyncio

    from toolsearch.calls.importing.following import follow_servers
    from toolsearch.calls.upstream.connect import connect

    def tell(round_: Followed) -> None:
        report = round_.report
        if round_.repeated:
            return
        if as_json:
            print(report.model_dump_json(), flush=True)
        elif report.changed or report.refused or report.error:
            _print_server(report, after_ms=round_.seconds * 1000 if round_.announced else None)

    print("watching; stop with Ctrl-C", file=sys.stderr, flush=True)
    asyncio.run(
        follow_servers(take, servers, connector=partial(connect, timeout_s=timeout_s), trusted=trusted, on_round=tell)
    )


def _print_report(report: ImportReport) -> None:
    for server in report.servers:
        _print_server(server)
    _print_refusals(report.refused)
    from toolsearch.cli.render import console, plain

    pace = f", {report.contracts / report.indexing_s:,.0f} a second" if report.contracts and report.indexing_s else ""
    told = f"{report.contracts} contracts; generation {report.generation}"
    times = f"read in {report.reading_s:.1f} s, indexed in {report.indexing_s:.1f} s{pace}"
    console().print(plain(f"{told}; {times}"), soft_wrap=True)


def _print_server(report: ServerReport, *, after_ms: float | None = None) -> None:
    from toolsearch.cli.render import console, plain

    if report.error:
        console(stderr=True).print(plain(f"{report.error}; its last known tools stay, stale", "red"), soft_wrap=True)
        return
    counts = {
        "added": report.added,
        "replaced": report.replaced,
        "unchanged": report.unchanged,
        "removed": report.removed,
    }
    told = ", ".join(f"{len(refs)} {word}" for word, refs in counts.items())
    if report.held:
        told += f", {len(report.held)} held (`toolsearch pending`)"
    if report.turned_down:
        told += f", {len(report.turned_down)} turned down earlier"
    later = "" if after_ms is None else f"; searchable {after_ms:.0f} ms after it said so"
    console().print(plain(f"{report.server}: {told}, {len(report.refused)} refused{later}"), soft_wrap=True)
    _print_refusals(report.refused)


def _print_refusals(refused: Sequence[RefusedTool]) -> None:
    from toolsearch.cli.render import console, plain

    errors = console(stderr=True)
    for refusal in refused[:_SHOWN]:
        place = ":".join(part for part in (refusal.source, refusal.path) if part)
        errors.print(plain(f"refused: {place}: {refusal.message}", "red"), soft_wrap=True)
    if len(refused) > _SHOWN:
        errors.print(plain(f"... and {len(refused) - _SHOWN} more; --json lists all", "red"), soft_wrap=True)
