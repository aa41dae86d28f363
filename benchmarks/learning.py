"""What `toolsearch train` is worth: the same requests before and after, with past requests voting and without.

python -m benchmarks.learning --data DIR [--encoder NAME] [--limit 400] [--only NAME] [--sizes 3 10 30]
    -> benchmarks/learning.json, a table on standard output

metatool has a log of its own (`queries_unsampled.jsonl`, none of whose requests is asked). acebench_zh is train data:
half of its requests, by chance, are the log, the other half is asked. `train` sees the log alone and holds a part of it
out by itself; what is asked here is neither fitted to, nor chosen by, nor held out. Each past request comes from a
subject of its own, all of one tenant, and who asks is none of them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.experience import ASKING, HERE, LOGS, RULES, Trial, past_requests, read_trial
from toolsearch import SearchRequest, ToolIndex, read_path
from toolsearch.eval import metrics
from toolsearch.eval.bench import SharedDocumentVectors
from toolsearch.eval.qrels import TOOLS_FILE, read_qrels
from toolsearch.eval.rates import difference, mean_of
from toolsearch.eval.results import environment
from toolsearch.learn.train import train
from toolsearch.model.answer import OutcomeKind
from toolsearch.model.limits import DEFAULT_ENCODER
from toolsearch.model.request import MAX_QUERY_CHARS, PastRequest
from toolsearch.text.embed.catalog import load_encoder

FOLDERS = ("metatool", "acebench_zh")
SIZES = (3, 10, 30)
"""Past requests of each tool."""

NO_TOOL_ASKED = 200


def main(arguments: list[str] | None = None) -> int:
    options = parsed(arguments)
    encoder = SharedDocumentVectors(load_encoder(options.encoder))
    rows: list[dict[str, Any]] = []
    print("| data set | past requests a tool | they vote | recall@5 before | after | gain | MRR | refused `none` | s |")
    print("| :-- | --: | :-- | --: | --: | --: | --: | --: | --: |")
    for name in FOLDERS:
        if options.only and name not in options.only:
            continue
        trial = read_trial(options.data / name, limit=options.limit, seed=options.seed)
        tools = read_path(trial.folder / TOOLS_FILE)
        refs = {identifier: str(ref) for ref, identifier in tools.ids.items()}
        for size in options.sizes if name in LOGS else (max(options.sizes),):
            log = past_requests(trial.log, names=refs, size=size)
            for votes in (False, True):
                with ToolIndex.create(None, rules=RULES, encoder=encoder) as index:
                    index.add(tools.contracts)
                    row = measured(index, trial, log, refs=refs, votes=votes, seed=options.seed)
                rows.append({"dataset": name, "past_requests_a_tool": size, "votes": votes, **row})
                print(shown(rows[-1]), flush=True)
    settings = {"encoder": encoder.info.id, "seed": options.seed, "limit": options.limit}
    text = json.dumps(
        {"settings": settings, "environment": environment().model_dump(mode="json"), "rows": rows}, indent=1
    )
    (options.out / "learning.json").write_text(text + "\n", encoding="utf-8")
    return 0


def measured(
    index: ToolIndex, trial: Trial, log: list[PastRequest], *, refs: dict[str, str], votes: bool, seed: int
) -> dict[str, Any]:
    """Return what the asked requests say before and after training."""
    if votes:
        index.learn(log)
    before = asked(index, trial, refs)
    trained = train(index, () if votes else log, tenant=ASKING.tenant, seed=seed)
    if trained.report.won:
        index.models.install(trained.model)
    after = asked(index, trial, refs)
    recall = difference(after["recall"], before["recall"], seed=seed)
    return {
        "recall@5": [mean_of(values["recall"]).model_dump() for values in (before, after)],
        "gain": [recall.delta, recall.low, recall.high, recall.p_value],
        "mrr@10": [float(np.mean(values["mrr"])) for values in (before, after)],
        "refused_none": [float(np.mean(v["none"])) if v["none"] else None for v in (before, after)],
        "report": trained.report.model_dump(mode="json"),
    }


def asked(index: ToolIndex, trial: Trial, refs: dict[str, str]) -> dict[str, list[float]]:
    """Return recall@5 and MRR of each asked request, and whether each of those that need no tool is refused."""
    found: dict[str, list[float]] = {"recall": [], "mrr": [], "none": []}
    for query in trial.asked.queries:
        golds = [[refs.get(tool, tool) for tool in group] for group in query.golds]
        request = SearchRequest(text=query.text[:MAX_QUERY_CHARS])
        ranked = [ref for ref, _ in index.rank(request, principal=ASKING, depth=10)]
        ranks = metrics.gold_ranks(ranked, golds)
        found["recall"].append(metrics.recall(ranks, 5))
        found["mrr"].append(metrics.reciprocal_rank(ranks, 10))
    needless = [query for query in read_qrels(trial.folder).queries if not query.golds][:NO_TOOL_ASKED]
    for query in needless:
        answer = index.search(SearchRequest(text=query.text[:MAX_QUERY_CHARS]), principal=ASKING)
        found["none"].append(float(answer.outcome is OutcomeKind.NO_TOOL))
    return found


def shown(row: dict[str, Any]) -> str:
    """Return one line of the table."""
    before, after = row["recall@5"]
    delta, low, high, _ = row["gain"]
    none = " -> ".join("" if share is None else f"{share:.2f}" for share in row["refused_none"])
    cells = (
        row["dataset"],
        str(row["past_requests_a_tool"]),
        "yes" if row["votes"] else "no",
        f"{before['mean']:.3f}",
        f"{after['mean']:.3f} [{after['low']:.3f}, {after['high']:.3f}]",
        f"{delta:+.3f} [{low:+.3f}, {high:+.3f}]" if row["report"]["won"] else "refused",
        " -> ".join(f"{value:.3f}" for value in row["mrr@10"]),
        none,
        f"{row['report']['seconds']:.0f}",
    )
    return f"| {' | '.join(cells)} |"


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("TOOLSEARCH_DATA", str(HERE.parents[1] / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=Path(default), help="data root; default TOOLSEARCH_DATA")
    parser.add_argument("--out", type=Path, default=HERE, help="folder for learning.json")
    parser.add_argument("--only", action="append", metavar="NAME", help="only this set; repeat")
    parser.add_argument("--limit", type=int, default=None, help="requests of each data set; default all")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="past requests of each tool")
    parser.add_argument("--encoder", default=DEFAULT_ENCODER)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
