"""Measure what only toolsearch promises: on the starter cases, and on generated access over real tool definitions.

python -m benchmarks.guarantees --data DIR       -> benchmarks/results/guarantees.*.json, benchmarks/GUARANTEES.md
python -m benchmarks.guarantees --encoder hashed --out FOLDER
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.measures.figures import GuaranteeReport, guarantees_markdown
from benchmarks.measures.guarantees import starter_guarantees, world_guarantees
from benchmarks.measures.worlds import generate_world
from toolsearch import read_path
from toolsearch.eval.cases import load_cases
from toolsearch.eval.results import write_result
from toolsearch.eval.scenes import Scene
from toolsearch.model.limits import DEFAULT_ENCODER

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
REAL = "real_servers"


def main(arguments: list[str] | None = None) -> int:
    options = parsed(arguments)
    reports = [on_starter(options.encoder, seed=options.seed)]
    tools = options.data / REAL / "tools.jsonl"
    if tools.is_file():
        reports.append(on_real(tools, options=options))
    else:
        print(f"{REAL}: skipped, no {tools}")
    for report in reports:
        write_result(report.result(), options.out / "results" / f"guarantees.{report.dataset.split()[0]}.json")
        print(f"{report.dataset}: {'every duty holds' if report.passed else 'FAILED'}")
        for fault in report.faults[:20]:
            print(f"  {fault}")
    page = options.out / "GUARANTEES.md"
    page.write_text(guarantees_markdown(reports), encoding="utf-8")
    print(f"written: {page}")
    return 0 if all(report.passed for report in reports) else 1


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("TOOLSEARCH_DATA", str(ROOT.parent / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=Path(default), help="data root; default TOOLSEARCH_DATA")
    parser.add_argument("--out", type=Path, default=HERE, help="folder for GUARANTEES.md and results/")
    parser.add_argument("--encoder", default=DEFAULT_ENCODER)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--principals", type=int, default=6, help="generated principals")
    parser.add_argument("--requests", type=int, default=60, help="generated requests of each principal")
    return parser.parse_args(arguments)


def on_starter(encoder: str, *, seed: int) -> GuaranteeReport:
    scene = Scene.read(ROOT / "indexes" / "starter", encoder=encoder)
    return starter_guarantees(scene, load_cases(ROOT / "tests" / "cases"), seed=seed, progress=told("starter"))


def on_real(tools: Path, *, options: argparse.Namespace) -> GuaranteeReport:
    world = generate_world(
        read_path(tools).contracts, seed=options.seed, principals=options.principals, requests=options.requests
    )
    scene = Scene.of(REAL, world.contracts, rules=world.rules, encoder=options.encoder)
    return world_guarantees(scene, world, seed=options.seed, progress=told(REAL))


def told(name: str) -> Callable[[str], None]:
    return lambda what: print(f"{name}: {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
