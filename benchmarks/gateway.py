"""What a call costs through the gateway, against the same call to the same server directly.

python -m benchmarks.gateway [--calls 500] [--seed 7] [--tools 1000] [--stdio] -> benchmarks/gateway.json, a table

Both ways take turns, in an order drawn by the seed, so that a slow moment of the machine meets both. The server is a
small one: in this process, which leaves only the gateway's own work, or (`--stdio`) a child process. The direct call is
that of the package mcp alone. The catalogue has many tools more, as visibility is decided over all of them. Beside the
clock stands the time of the processor, which says more where the machine has other things to do.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import random
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from mcp.server import MCPServer

from toolsearch import Principal, RuleBook, ToolIndex
from toolsearch.calls.gateway import Gateway, ToolCall
from toolsearch.calls.importing import ServerSource, import_sources
from toolsearch.calls.upstream import UpstreamServer
from toolsearch.calls.upstream.calling import call_tool
from toolsearch.calls.upstream.connect import Connection, connect, connect_to
from toolsearch.eval.results import environment
from toolsearch.model.contract import ToolContract

HERE = Path(__file__).parent
ANN = Principal(subject="ann")
MAX_CALLS, WARM_UP = 20_000, 20


def shop() -> MCPServer:
    server = MCPServer("shop")

    @server.tool(description="Get an order by its number. Read-only.")
    def get_order(order_id: str, lines: int = 1) -> dict[str, Any]:
        return {"order_id": order_id, "rows": [{"line": line, "title": "a thing"} for line in range(lines)]}

    return server


async def measured(index: ToolIndex, server: UpstreamServer, *, options: argparse.Namespace) -> dict[str, list[float]]:
    """Return the milliseconds of each call, by way: on the clock, and of the processor in this process."""
    local = shop()

    @asynccontextmanager
    async def connector(wanted: UpstreamServer) -> AsyncIterator[Connection]:
        opening = connect(wanted) if options.stdio else connect_to(local, name=wanted.name)
        async with opening as connection:
            yield connection

    await asyncio.to_thread(import_sources, index, [ServerSource(server=server)], connector=connector)
    drawn = random.Random(options.seed)
    ways = ("direct", "gateway")
    ms: dict[str, list[float]] = {f"{way}{kind}": [] for kind in ("", " cpu") for way in ways}
    async with connector(server) as direct, Gateway(index, {"shop": server}, connector=connector, seed=1) as gateway:
        for number in range(options.calls + WARM_UP):
            arguments = {"order_id": f"O{number}", "lines": drawn.randint(1, 20)}
            for way in drawn.sample(ways, 2):
                started, worked = perf_counter(), process_time()
                if way == "direct":
                    await call_tool(direct, "get_order", arguments, timeout_s=30)
                else:
                    result = await gateway.call(
                        ToolCall(name_or_ref="shop/get_order", arguments=arguments), principal=ANN
                    )
                    assert result.ok, result.error
                if number >= WARM_UP:
                    ms[way].append(1000 * (perf_counter() - started))
                    ms[f"{way} cpu"].append(1000 * (process_time() - worked))
                await gateway.settled()  # what is recorded after a call must not be counted to the next one
    return ms


def main(arguments: list[str] | None = None) -> int:
    options = parsed(arguments)
    logging.disable(logging.INFO)  # the package mcp paints each line of a log, which takes longer than the call
    command = {"command": sys.executable, "args": ["-m", "benchmarks.gateway", "--serve"]}
    server = UpstreamServer.model_validate({"name": "shop", "transport": "stdio", **command})
    others = [
        ToolContract.model_validate({"identity": {"name": f"tool_{number}", "server": "other"}})
        for number in range(options.tools)
    ]
    with ToolIndex.create(None, rules=RuleBook.public(), encoder="hashed") as index:
        index.add(others)
        ms = asyncio.run(measured(index, server, options=options))
    rows = {way: spread(values) for way, values in ms.items()}
    for kind in ("", " cpu"):
        pairs = zip(ms[f"gateway{kind}"], ms[f"direct{kind}"], strict=True)
        rows[f"added{kind}"] = spread([with_it - without for with_it, without in pairs])
    print("| way | p50 ms | p90 ms | p99 ms | longest ms |\n| :-- | --: | --: | --: | --: |")
    for way, row in rows.items():
        print(f"| {way} | " + " | ".join(f"{row[name]:.2f}" for name in ("p50", "p90", "p99", "max")) + " |")
    settings = {name: getattr(options, name) for name in ("calls", "seed", "tools", "stdio")}
    found = {"settings": settings, "environment": environment().model_dump(mode="json"), "ms": rows}
    (options.out / "gateway.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


def spread(values: list[float]) -> dict[str, float]:
    p50, p90, p99 = np.percentile(values, [50, 90, 99])
    return {"p50": float(p50), "p90": float(p90), "p99": float(p99), "max": max(values)}


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The cost of a call through the gateway.")
    parser.add_argument("--calls", type=int, default=500, choices=range(1, MAX_CALLS + 1), metavar=f"1..{MAX_CALLS}")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--tools", type=int, default=1_000, help="other tools in the catalogue")
    parser.add_argument("--stdio", action="store_true", help="the server is a child process")
    parser.add_argument("--out", type=Path, default=HERE, help="folder of the JSON")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        shop().run("stdio")
    else:
        raise SystemExit(main())
