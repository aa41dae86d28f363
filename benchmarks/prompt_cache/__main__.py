"""What an append-only block of tools saves, and whether every adapter has one.

    python -m benchmarks.prompt_cache [--data DIR] [--seed 0] [--cached 0.1] [--fresh 1.25] [--out FILE]

One conversation by way of every adapter, over the starter catalogue and, with DIR/real_servers/tools.jsonl, over that
and the tools of real servers. Writes benchmarks/results/PROMPT_CACHE.md. Fails if a block changes otherwise than by
appending, except in the call after the right to some of its tools was revoked.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from benchmarks.prompt_cache.conversation import CLERK, spoken
from benchmarks.prompt_cache.conversing import converse
from benchmarks.prompt_cache.cost import Prices
from benchmarks.prompt_cache.harnesses import ADAPTERS, BASELINES
from benchmarks.prompt_cache.report import Table, report
from benchmarks.prompt_cache.world import opened
from toolsearch.model.limits import DEFAULT_ENCODER

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "benchmarks" / "results" / "PROMPT_CACHE.md"


def main(arguments: list[str] | None = None) -> int:
    options = parsed(arguments)
    prices = Prices(cached=options.cached, fresh=options.fresh, least=options.least)
    said = spoken(seed=options.seed)
    catalogues: dict[str, Path | None] = {"starter": None}
    if (options.data / "real_servers" / "tools.jsonl").is_file():
        catalogues["starter and real_servers"] = options.data
    tables = [table(name, data=data, encoder=options.encoder, said=said) for name, data in catalogues.items()]
    page = report(tables, prices=prices, seed=options.seed, turns=len(said), encoder=options.encoder)
    options.out.write_text(page, encoding="utf-8")
    print(page)
    return int(any(len(made.transcripts[name].broken) > 1 for made in tables for name in ADAPTERS))


def table(name: str, *, data: Path | None, encoder: str, said: tuple[str, ...]) -> Table:
    """Return what every harness sent over one catalogue."""
    with opened(data, encoder=encoder) as index:
        visible = len(index.tools(principal=CLERK))
        sent = {}
        for harness, begin in {**BASELINES, **ADAPTERS}.items():
            sent[harness] = converse(index, begin, said=said)
            print(f"{name}: {harness}", file=sys.stderr)
        return Table(catalogue=name, visible=visible, transcripts=sent)


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    default = os.environ.get("TOOLSEARCH_DATA", str(ROOT.parent / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=Path(default), help="folder with real_servers/tools.jsonl")
    parser.add_argument("--seed", type=int, default=0, help="order of the topics; 0 = as written")
    parser.add_argument("--encoder", default=DEFAULT_ENCODER)
    parser.add_argument("--cached", type=float, default=Prices().cached, help="price of a token read from the cache")
    parser.add_argument("--fresh", type=float, default=Prices().fresh, help="price of a token that is not in it")
    parser.add_argument("--least", type=int, default=Prices().least, help="tokens of the shortest prefix kept")
    parser.add_argument("--out", type=Path, default=OUT)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
