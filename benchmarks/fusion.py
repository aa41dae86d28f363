"""Compare the fused ranking with reciprocal rank fusion of its own lanes, on the requests of the last benchmark.

python -m benchmarks.fusion --data DIR       after `make bench`: reads its run files, writes benchmarks/FUSION.md

RRF adds 1 / (60 + rank) over the lists of the lanes (Cormack, Clarke and Büttcher, SIGIR 2009): what most searches that
have several do.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from benchmarks.measures.suite import DatasetSuite, load_suites
from toolsearch.eval.qrels import Qrels, read_qrels
from toolsearch.eval.run import Run, read_trec_run
from toolsearch.eval.score import compare, score_queries
from toolsearch.model.errors import DataError

HERE = Path(__file__).resolve().parent
RRF_K = 60
METRIC = "recall@5"
LANES = ("lexical", "vector")


def rrf(runs: list[Run]) -> Run:
    """Return the fused run; equal sums in order of the tool's id."""
    rankings = {}
    for query in dict.fromkeys(query for run in runs for query in run.rankings):
        sums: dict[str, float] = {}
        for run in runs:
            for rank, tool in enumerate(run.ranked(query), start=1):
                sums[tool] = sums.get(tool, 0.0) + 1.0 / (RRF_K + rank)
        rankings[query] = tuple(sorted(sums.items(), key=lambda pair: (-pair[1], pair[0])))
    return Run("reciprocal rank fusion", rankings)


def row(suite: DatasetSuite, *, data: Path, results: Path, seed: int) -> str | None:
    """Return the line of one data set, or None where its runs or data are not there."""
    if suite.tools is not None:
        return None  # its run is one of ids of another catalogue
    stem = suite.data if suite.queries == "queries.jsonl" else f"{suite.data}.{Path(suite.queries).stem}"
    files = {mode: results / f"{stem}.{mode}.run.txt" for mode in (*LANES, "hybrid")}
    if not (data / suite.data).is_dir() or not all(file.is_file() for file in files.values()):
        return None
    qrels: Qrels = read_qrels(data / suite.data, queries=suite.queries).sample(suite.limit)
    runs = {mode: read_trec_run(file) for mode, file in files.items()}
    scores = {mode: score_queries(qrels, run) for mode, run in runs.items()}
    fused = score_queries(qrels, rrf([runs[lane] for lane in LANES]))
    if not fused.queries:
        return None
    test = compare(scores["hybrid"], fused, METRIC, seed=seed)
    means = {mode: one.column(METRIC).mean() for mode, one in {**scores, "rrf": fused}.items()}
    numbers = " | ".join(f"{means[mode]:.3f}" for mode in (*LANES, "rrf", "hybrid"))
    return f"| {stem} | {len(fused.queries)} | {numbers} | {test.delta:+.3f} | {test.p_value:.3f} |"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("TOOLSEARCH_DATA", str(HERE.parents[1] / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=Path(default), help="data root; default TOOLSEARCH_DATA")
    parser.add_argument("--out", type=Path, default=HERE, help="folder of results/ and FUSION.md")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    suites = [suite for suite in load_suites(HERE / "suites") if isinstance(suite, DatasetSuite)]
    try:
        rows = [row(one, data=options.data, results=options.out / "results", seed=options.seed) for one in suites]
    except DataError as error:
        print(error)
        return 1
    lines = [one for one in rows if one is not None]
    if not lines:
        print("no run files: run `make bench` first")
        return 1
    head = (
        "# Fusion\n\nRecall@5 of each lane alone, of reciprocal rank fusion of the two, and of our fusion, on the "
        "requests of the last\nbenchmark; difference to RRF with the p-value of a paired randomisation test. Made by "
        "`python -m benchmarks.fusion`.\n\n"
        "| data set | requests | lexical | vector | RRF | hybrid | hybrid - RRF | p |\n"
        "| :-- | --: | --: | --: | --: | --: | --: | --: |\n"
    )
    (options.out / "FUSION.md").write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
    print(*lines, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
