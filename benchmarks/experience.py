"""What past requests are worth: the same requests with 0, 1, 3, 10 and 30 past requests of each tool.

python -m benchmarks.experience --data DIR [--encoder NAME] [--limit 400] [--only NAME]
    -> benchmarks/results/experience.*.json, a table on standard output

metatool has a log of its own (`queries_unsampled.jsonl`, none of whose requests is asked). The other sets are dev and
train data: half of their requests, by chance, are the log, the other half is asked. Each past request comes from a
subject of its own, all of one tenant, and who asks is none of them.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.report.instruments import EXPERIENCE
from toolsearch import Principal, RuleBook, SearchRequest, ToolIndex, read_path
from toolsearch.eval.bench import SharedDocumentVectors
from toolsearch.eval.qrels import TOOLS_FILE, Qrels, Query, read_qrels
from toolsearch.eval.results import SystemResult, environment, write_result
from toolsearch.eval.run import Run
from toolsearch.eval.score import Scores, comparison, system_result
from toolsearch.model.limits import DEFAULT_ENCODER
from toolsearch.model.request import MAX_QUERY_CHARS, PastRequest
from toolsearch.text.embed.catalog import load_encoder
from toolsearch.text.embed.protocol import Encoder

HERE = Path(__file__).resolve().parent
SIZES = (0, 1, 3, 10, 30)
"""Past requests of each tool."""

LOGS = {"metatool": "queries_unsampled.jsonl"}
"""Data set -> its log; other sets are halved."""

FOLDERS = ("tooltalk", "nestful", "bfcl_multiturn", "apibank", "toolalpaca", "acebench_en", "acebench_zh", "metatool")
"""The last is test data: nothing is chosen by it."""

METRICS = ("recall@1", "recall@5", "mrr@10", "complete@5")
RULES = RuleBook.public(reason="every tool of a benchmark catalogue is visible")
ASKING = Principal(subject="asking", tenant="benchmark")


@dataclass(frozen=True, slots=True)
class Trial:
    """A catalogue, what is asked, and the log to learn from, in the order in which it is learnt."""

    folder: Path
    asked: Qrels
    log: tuple[Query, ...]


def main(arguments: list[str] | None = None) -> int:
    options = parsed(arguments)
    encoder = load_encoder(options.encoder)
    print(f"| data set | past requests a tool | {' | '.join(METRICS)} | p of recall@5 |")
    print("| :-- | --: |" + " --: |" * (len(METRICS) + 1))
    for name in FOLDERS:
        if options.only and name not in options.only:
            continue
        if not (options.data / name / TOOLS_FILE).is_file():
            print(f"{name}: skipped, no {TOOLS_FILE} in {options.data / name}", file=sys.stderr)
            continue
        trial = read_trial(options.data / name, limit=options.limit, seed=options.seed)
        for size, result in zip(
            options.sizes, measured(trial, sizes=options.sizes, encoder=encoder, seed=options.seed), strict=True
        ):
            print(row(name, size, result), flush=True)
            write_result(result, options.out / "results" / f"experience.{name}.{size}.json")
    return 0


def read_trial(folder: Path, *, limit: int | None, seed: int) -> Trial:
    """Return what is asked of a data folder and its log; requests of kind `none` are left out."""
    qrels = read_qrels(folder)
    needing = [query for query in qrels.queries if query.golds]
    order = random.Random(seed)
    if folder.name in LOGS:
        log = list(read_qrels(folder, queries=LOGS[folder.name]).queries)
        order.shuffle(log)
    else:
        order.shuffle(needing)
        log, needing = needing[: len(needing) // 2], needing[len(needing) // 2 :]
    asked = replace(qrels, queries=tuple(sorted(needing, key=lambda query: query.id))).sample(limit)
    return Trial(folder, asked, tuple(log))


def measured(trial: Trial, *, sizes: Sequence[int], encoder: Encoder, seed: int) -> list[SystemResult]:
    """Return the result for each size of the log; the smaller logs are parts of the larger."""
    report = read_path(trial.folder / TOOLS_FILE)
    by_ref = {str(ref): identifier for ref, identifier in report.ids.items()}
    names = {identifier: ref for ref, identifier in by_ref.items()}
    shared = SharedDocumentVectors(encoder)
    found: list[tuple[SystemResult, Scores]] = []
    for size in sizes:
        with ToolIndex.create(None, rules=RULES, encoder=shared) as index:
            index.add(report.contracts)
            learnt = index.learn(past_requests(trial.log, names=names, size=size)).learnt
            ranked = {
                query.id: tuple((by_ref[ref], score) for ref, score in answer(index, query))
                for query in trial.asked.queries
            }
        run = Run(f"toolsearch with {size} past requests a tool", ranked)
        result, scores = system_result(trial.asked, run, seed=seed)
        settings = {"encoder": shared.info.id, "past_requests_a_tool": size, "past_requests": learnt, "seed": seed}
        compared = tuple(
            comparison(scores, found[0][1], other=found[0][0].system, metric=metric, seed=seed)
            for metric in METRICS
            if found
        )
        known = {"settings": settings, "environment": environment(), "comparisons": compared}
        result = result.model_copy(update={"dataset": f"{trial.asked.name}{EXPERIENCE}", **known})
        found.append((result, scores))
    return [result for result, _ in found]


def past_requests(log: Sequence[Query], *, names: dict[str, str], size: int) -> list[PastRequest]:
    """Return the first `size` requests of each tool, each of its own subject; one of several tools votes for all."""
    counts: dict[str, int] = {}
    chosen = []
    for query in log:
        for tool in query.relevant:
            if tool in names and counts.get(tool, 0) < size:
                counts[tool] = counts.get(tool, 0) + 1
                text = query.text[:MAX_QUERY_CHARS]
                chosen.append(PastRequest(text=text, ref=names[tool], subject=query.id, tenant=ASKING.tenant))
    return chosen


def answer(index: ToolIndex, query: Query) -> list[tuple[str, float]]:
    """Return refs and scores, best first."""
    return index.rank(SearchRequest(text=query.text[:MAX_QUERY_CHARS]), principal=ASKING, depth=20)


def row(name: str, size: int, result: SystemResult) -> str:
    """Return one line of the table."""
    cells = []
    for metric in METRICS:
        measure = result.metrics["all"][metric]
        cells.append(f"{measure.mean:.3f} [{measure.low:.3f}, {measure.high:.3f}]")
    tests = [test.p_value for test in result.comparisons if test.metric == "recall@5"]
    return f"| {name} | {size} | {' | '.join(cells)} | {f'{tests[0]:.4f}' if tests else ''} |"


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("TOOLSEARCH_DATA", str(HERE.parents[1] / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=Path(default), help="data root; default TOOLSEARCH_DATA")
    parser.add_argument("--out", type=Path, default=HERE, help="folder for results/")
    parser.add_argument("--only", action="append", metavar="NAME", help="only this set; repeat")
    parser.add_argument("--limit", type=int, default=None, help="requests of each data set; default all")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="past requests of each tool; 0 first")
    parser.add_argument("--encoder", default=DEFAULT_ENCODER)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
