"""What each recall lane, signal and mechanism is worth, alone and left out, on the cases and on the public data.

python -m benchmarks.ablation --data DIR [--limit 200] [--only NAME]
    -> benchmarks/results/ablation.*.json, benchmarks/ABLATION.md
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.measures.ablation import Ablation, ablate_cases, ablate_folder
from benchmarks.measures.ablation_report import ablation_markdown, ablation_result
from benchmarks.own import NAME, write_own
from toolsearch.eval.cases import load_cases
from toolsearch.eval.results import write_result
from toolsearch.eval.scenes import Scene
from toolsearch.model.limits import DEFAULT_ENCODER

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

FOLDERS = (
    "tooltalk",
    "bfcl_multiturn",
    "nestful",
    "metatool",
    "azure_mcp_2025",
    "gtc_k8s",
    "gtc_github",
    "gtc_ecommerce",
    "restbench",
    "livemcpbench",
    "ultratool_zh",
    "hammerbench_en",
)
"""Data sets small enough for about 25 variants; the first three are dev data."""


def main(arguments: list[str] | None = None) -> int:
    options = parsed(arguments)
    found: list[Ablation] = []
    if not options.only or "starter" in options.only:
        scene = Scene.read(ROOT / "indexes" / "starter", encoder=options.encoder)
        suites = load_cases(ROOT / "tests" / "cases")
        found += [
            ablate_cases(scene, suites, split=split, seed=options.seed, progress=shown) for split in ("dev", "test")
        ]
    for name in FOLDERS:
        folder = options.data / name
        if options.only and name not in options.only:
            continue
        if not (folder / "queries.jsonl").is_file():
            print(f"{name}: skipped, no queries.jsonl in {folder}")
            continue
        found.append(
            ablate_folder(folder, encoder=options.encoder, limit=options.limit, seed=options.seed, progress=shown)
        )
    if (not options.only or NAME in options.only) and (options.data / "real_servers").is_dir():
        with tempfile.TemporaryDirectory() as place:
            folder = write_own(options.data, Path(place), seed=options.seed)
            found.append(ablate_folder(folder, encoder=options.encoder, seed=options.seed, progress=shown))
    for one in found:
        stem = "".join(char if char.isalnum() or char in "-_" else "." for char in one.dataset)
        write_result(
            ablation_result(one, seed=options.seed), options.out / "results" / f"ablation.{stem.strip('.')}.json"
        )
    page = options.out / "ABLATION.md"
    page.write_text(ablation_markdown(found), encoding="utf-8")
    print(f"written: {page}")
    return 0


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("TOOLSEARCH_DATA", str(ROOT.parent / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=Path(default), help="data root; default TOOLSEARCH_DATA")
    parser.add_argument("--out", type=Path, default=HERE, help="folder for ABLATION.md and results/")
    parser.add_argument("--only", action="append", metavar="NAME", help="only this set (or `starter`); repeat")
    parser.add_argument("--limit", type=int, default=150, help="requests of each data set")
    parser.add_argument("--encoder", default=DEFAULT_ENCODER)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(arguments)


def shown(what: str, done: int, total: int) -> None:
    if done % 20 == 0 or done == total:
        print(f"{what}: {done}/{total}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
