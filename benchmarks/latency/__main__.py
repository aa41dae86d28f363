"""Measure latency, memory and building over catalogues of several sizes, and compare with the budgets.

python -m benchmarks.latency --data DIR                              1,000 and 10,000 tools, the default encoder
python -m benchmarks.latency --data DIR --encoder hashed             the same in seconds: no model is run
python -m benchmarks.latency --data DIR --tools 50000 --http         a large one, over HTTP too

Document vectors are computed once and kept in TOOLSEARCH_CACHE (or the cache folder of the platform).
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from benchmarks.latency.catalogue import pooled_catalogue, pooled_requests
from benchmarks.latency.fresh import fresh_process
from benchmarks.latency.measure import EVERYTHING, SHARES, adding_times, build_index, physical_limit, search_times
from benchmarks.latency.over_http import load, sidecar
from benchmarks.latency.report import BUDGET_TOOLS, Measured, budget_table, lines, result, stage_table
from toolsearch import Principal, ToolIndex
from toolsearch.eval.results import write_result
from toolsearch.model.errors import ToolSearchError
from toolsearch.model.limits import DEFAULT_ENCODER

CLIENTS = (1, 8, 32)
WARM_UP, SHARE_REQUESTS, ADDED, FRESH_REQUESTS = 20, 60, 7, 30


def main(arguments: list[str] | None = None) -> int:
    options = parsed(arguments)
    console = Console(soft_wrap=True)
    missed = 0
    for tools in options.tools:
        try:
            measured = measure(tools, options=options)
        except ToolSearchError as error:
            print(f"{tools} tools: {error}", file=sys.stderr)
            return 2
        console.print(stage_table(measured), budget_table(measured))
        missed += sum(line.met is False for line in lines(measured))
        if options.out is not None:
            several = len(options.tools) > 1
            path = options.out.with_suffix(f".{tools}.json") if several else options.out
            write_result(result(measured), path)
    checked = BUDGET_TOOLS in options.tools
    print(
        f"{missed} budgets missed" if missed else "all budgets kept" if checked else "no budget is set for these sizes"
    )
    return 0


def measure(tools: int, *, options: argparse.Namespace) -> Measured:
    """Build and measure one size of catalogue. Every request is asked once in a process, so nothing is remembered."""
    catalogue = pooled_catalogue(options.data, tools=tools, spare=ADDED, seed=options.seed)
    needed = WARM_UP + options.requests + len(SHARES) * SHARE_REQUESTS
    asked = iter(pooled_requests(options.data, count=needed, seed=options.seed))
    load_average = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index"
        built = build_index(path, catalogue, encoder=options.encoder)
        main_requests = taken(asked, options.requests)
        with ToolIndex.open(path) as index:
            index.warm()
            search_times(index, taken(asked, WARM_UP), principal=EVERYTHING)
            gc.collect()
            gc.freeze()  # as the sidecar does
            stages = search_times(index, main_requests, principal=EVERYTHING)
            by_share = {}
            for role in SHARES:
                principal = Principal(subject="benchmark", roles=(role,))
                visible = index.search("warm up", principal=principal).visible_tools
                by_share[visible] = search_times(index, taken(asked, SHARE_REQUESTS), principal=principal)
            adding = adding_times(index, catalogue.spare)[1:]  # the first one warms up
            gc.unfreeze()
        measured = Measured(
            tools=tools,
            encoder=options.encoder,
            seed=options.seed,
            sha256=catalogue.sha256,
            load_average=load_average,
            built=built,
            stages=stages,
            by_share=by_share,
            adding=adding,
            fresh=fresh_process(path, main_requests[:FRESH_REQUESTS]),
            limit=physical_limit(path, main_requests, encoder=options.encoder),
        )
        if options.http:
            # A server of its own for each number of clients: the one before has seen the requests.
            for clients in CLIENTS:
                with sidecar(path) as url:
                    load(url, ["warm up the sidecar"] * clients, clients=clients, seconds=30)
                    measured.loads.append(load(url, main_requests, clients=clients, seconds=30))
    return measured


def taken(requests: Iterator[str], count: int) -> list[str]:
    return [next(requests) for _ in range(count)]


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.latency", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = os.environ.get("TOOLSEARCH_DATA", "../shared/data")
    parser.add_argument("--data", type=Path, default=Path(default), help="data root; default TOOLSEARCH_DATA")
    parser.add_argument("--tools", type=int, nargs="+", default=[1_000, 10_000], help="sizes of catalogue")
    parser.add_argument("--encoder", default=DEFAULT_ENCODER, help="bundled, minilm, hashed or st:NAME")
    parser.add_argument("--requests", type=int, default=300, help="requests timed")
    parser.add_argument("--http", action="store_true", help="also over HTTP with 1, 8 and 32 clients")
    parser.add_argument("--seed", type=int, default=0, help="of the samples")
    parser.add_argument("--out", type=Path, help="JSON file; with several sizes, one for each")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
