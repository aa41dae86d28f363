"""How Chinese is best cut into tokens: overlapping bigrams, characters, the words of a segmenter, and mixtures.

python -m benchmarks.segmenters --data DIR [--encoder NAME] [--only NAME] -> benchmarks/results/SEGMENTERS.md

Only data that may be chosen on is asked: acebench_zh (train), the Chinese dev cases of the starter catalogue, and the
held-out rows of our own Chinese requests, over Chinese descriptions and over English tools. Everything but the cutting
of CJK runs stays as it is. The segmenters are optional packages; the rows of one that is not installed are skipped.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from unittest.mock import patch

import numpy as np

from benchmarks.encoder.crosslingual import chinese_requests, parallel_rows
from toolsearch import Principal, RuleBook, SearchRequest, ToolContract, read_path
from toolsearch.eval.cases import load_cases
from toolsearch.eval.metrics import gold_ranks, recall, reciprocal_rank
from toolsearch.eval.qrels import TOOLS_FILE, read_qrels
from toolsearch.eval.roles import Purpose, require_fit_allowed
from toolsearch.eval.scenes import Scene
from toolsearch.eval.significance import bootstrap_interval, paired_randomisation
from toolsearch.model.contract import Capability, Identity
from toolsearch.model.limits import DEFAULT_ENCODER
from toolsearch.model.request import MAX_QUERY_CHARS, Mode
from toolsearch.text.analysis import analyzer
from toolsearch.text.embed.catalog import load_encoder
from toolsearch.text.embed.protocol import Encoder

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent
RULES = RuleBook.public(reason="every tool of a benchmark catalogue is visible")
NOW = "bigrams + characters (now)"
METRICS = ("R@1", "R@5", "MRR@10")
MODES = ("lexical", "hybrid")
DEPTH = 20
CHINESE = 0.3
"""Share of Han letters from which a request counts as Chinese."""

Cut = Callable[[str], list[str]]
"""One run of Han, Kana and Hangul without stop words -> its tokens."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One labelled request.

    Attributes:
        golds: For each needed tool, the refs that are right.
    """

    text: str
    principal: Principal
    golds: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Task:
    """A catalogue and what is asked of it."""

    name: str
    scene: Scene
    asked: tuple[Asked, ...]


def main(arguments: list[str] | None = None) -> int:
    options = parsed(arguments)
    cuts, missing = variants()
    for package in missing:
        print(f"{package}: skipped, not installed; pip install {package}", file=sys.stderr)
    tables = []
    for task in tasks(options.data, encoder=load_encoder(options.encoder)):
        if options.only and task.name not in options.only:
            continue
        for mode in MODES:
            values = {}
            for name, cut in cuts.items():
                values[name] = measured(task, cut=cut, mode=Mode(mode))
                print(f"{task.name} {mode} {name}: {values[name].mean(axis=0).round(4)}", file=sys.stderr, flush=True)
            tables.append(table(f"{task.name}, {mode}", values, seed=options.seed))
    path = options.out / "results" / "SEGMENTERS.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(report(tables, encoder=options.encoder, missing=missing), encoding="utf-8")
    return 0


def variants() -> tuple[dict[str, Cut], list[str]]:
    """Return the ways to cut by name, and the packages that are not installed."""
    cuts: dict[str, Cut] = {
        NOW: lambda run: [*_bigrams(run), *run],
        "bigrams": lambda run: _bigrams(run) or [run],
        "characters": list,
    }
    missing = []
    for package, load in {"jieba": _jieba, "rjieba": _rjieba}.items():
        try:
            words, search = load()
        except ImportError:
            missing.append(package)
            continue
        cuts |= {
            f"{package} words": words,
            f"{package} words + characters": _and_characters(words),
            f"{package} search words + characters": _and_characters(search),
            f"{package} search words + bigrams + characters": _and_bigrams(search),
        }
    return cuts, missing


def tasks(data: Path, *, encoder: Encoder) -> Iterator[Task]:
    """Yield what can be asked with the data at hand; of a folder that is not there, a message says so."""
    yield starter(encoder)
    yield own_tools(encoder)
    for read in (acebench, english_tools):
        try:
            yield read(data, encoder)
        except FileNotFoundError as error:
            print(f"{read.__name__}: skipped, no {error.filename}", file=sys.stderr)


def starter(encoder: Encoder) -> Task:
    """Return the dev cases of the starter catalogue that ask in Chinese for a tool."""
    scene = Scene.read(PROJECT / "indexes" / "starter", encoder=encoder)
    asked = []
    for suite in load_cases(PROJECT / "tests" / "cases"):
        for case in suite.cases:
            if case.split != "dev" or analyzer.han_share(case.input) < CHINESE:
                continue
            needed = [case.expect.accepted] if case.expect.accepted else [(name,) for name in case.expect.tools]
            golds = tuple(tuple(str(one.ref) for name in group for one in scene.named(name)) for group in needed)
            if golds and all(golds):
                asked.append(Asked(case.input, suite.principal(case), golds))
    return Task("starter cases (dev)", scene, tuple(asked))


def own_tools(encoder: Encoder) -> Task:
    """Return the held-out Chinese requests of our own parallel tools, over their Chinese descriptions."""
    contracts = [_contract(row.name, row.does[1]) for row in parallel_rows()]
    asked = tuple(
        Asked(row.asks[1], Principal(), ((str(contract.ref),),))
        for row, contract in zip(parallel_rows(), contracts, strict=True)
        if row.held_out
    )
    return Task("parallel.tsv (held out)", Scene.of("parallel", contracts, rules=RULES, encoder=encoder), asked)


def acebench(data: Path, encoder: Encoder) -> Task:
    """Return the requests of acebench_zh: train data, Chinese over Chinese."""
    folder = data / "acebench_zh"
    _there(folder / TOOLS_FILE)
    qrels, tools = read_qrels(folder), read_path(folder / TOOLS_FILE)
    for split in {query.split for query in qrels.queries}:
        require_fit_allowed(folder.name, split, purpose=Purpose.CHOOSE)
    refs = {identifier: str(ref) for ref, identifier in tools.ids.items()}
    asked = tuple(
        Asked(query.text, Principal(), tuple(tuple(refs[one] for one in gold if one in refs) for gold in query.golds))
        for query in qrels.queries
        if query.golds and all(gold[0] in refs for gold in query.golds)
    )
    return Task("acebench_zh (train)", Scene.of(folder.name, tools.contracts, rules=RULES, encoder=encoder), asked)


def english_tools(data: Path, encoder: Encoder) -> Task:
    """Return our own held-out Chinese requests over the English tools of public sets they were written for."""
    wanted = {request.key for request in chinese_requests()}
    contracts, refs = [], {}
    for name in sorted({key.partition("/")[0] for key in wanted}):
        _there(data / name / TOOLS_FILE)
        tools = read_path(data / name / TOOLS_FILE)
        keys = {ref: f"{name}/{identifier}" for ref, identifier in tools.ids.items()}
        for contract in tools.contracts:
            key = keys.get(contract.ref)
            if key in wanted:
                own = contract.identity.model_copy(update={"server": f"{name}-{contract.identity.server}"[:64]})
                contracts.append(contract.model_copy(update={"identity": own}))
                refs[key] = str(contracts[-1].ref)
    asked = tuple(
        Asked(request.text, Principal(), ((refs[request.key],),))
        for request in chinese_requests()
        if request.held_out and request.key in refs
    )
    return Task("chinese.tsv (held out)", Scene.of("english", contracts, rules=RULES, encoder=encoder), asked)


def measured(task: Task, *, cut: Cut, mode: Mode) -> np.ndarray:
    """Return float64[asked, metrics] with CJK runs cut in one way, in documents and requests alike."""
    rows = []
    with patch.object(analyzer, "_run_tokens", cut), task.scene.index() as index:
        for one in task.asked:
            request = SearchRequest(text=one.text[:MAX_QUERY_CHARS], mode=mode)
            ranked = [ref for ref, _ in index.rank(request, principal=one.principal, depth=DEPTH)]
            ranks = gold_ranks(ranked, one.golds)
            rows.append((recall(ranks, 1), recall(ranks, 5), reciprocal_rank(ranks, 10)))
    return np.array(rows)


def table(title: str, values: Mapping[str, np.ndarray], *, seed: int) -> str:
    """Return one table: means with intervals, and the difference to what the analyzer does now with its p-value."""
    asked = len(values[NOW])
    heads = " | ".join(f"{metric} | difference (p)" for metric in METRICS)
    lines = [f"## {title} ({asked} requests)", "", f"| tokens | {heads} |", "| :-- |" + " --: | --: |" * len(METRICS)]
    if all(np.array_equal(other, values[NOW]) for other in values.values()):
        values, alike = {NOW: values[NOW]}, "\n\nEvery other way gives the same for each request."
    else:
        alike = ""
    for name, table_of in values.items():
        cells = []
        for column in range(len(METRICS)):
            found = bootstrap_interval(table_of[:, column], seed=seed)
            cells.append(f"{found.mean:.3f} [{found.low:.3f}, {found.high:.3f}]")
            test = paired_randomisation(table_of[:, column], values[NOW][:, column], seed=seed)
            cells.append("" if name == NOW else f"{test.delta:+.3f} ({test.p_value:.3f})")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + alike


def report(tables: Sequence[str], *, encoder: str, missing: Sequence[str]) -> str:
    """Return the text of SEGMENTERS.md."""
    used = [f"{package} {version(package)}" for package in ("jieba", "rjieba") if package not in missing]
    lines = [
        "# Chinese: how runs are cut",
        "",
        "Written by `python -m benchmarks.segmenters`. Everything but the cutting of CJK runs is as the package does",
        "it. Differences are to the first row, with the p-value of a paired randomisation test; many are tested, so",
        "one p just under .05 says little. Search words: long words and the words inside them. acebench_zh is train",
        "data of the bundled encoder: its hybrid figures are high for every row and only compare the rows.",
        "",
        f"Encoder: {encoder}. Segmenters: {', '.join(used) or 'none'}."
        + (f" Not installed: {', '.join(missing)}." if missing else ""),
    ]
    return "\n".join(lines) + "\n\n" + "\n\n".join(tables) + "\n"


def _bigrams(run: str) -> list[str]:
    return [run[start : start + 2] for start in range(len(run) - 1)]


def _and_characters(words: Cut) -> Cut:
    return lambda run: [*(word for word in words(run) if len(word) > 1), *run]


def _and_bigrams(words: Cut) -> Cut:
    return lambda run: [*(word for word in words(run) if len(word) > 2), *_bigrams(run), *run]


def _jieba() -> tuple[Cut, Cut]:
    import jieba

    jieba.setLogLevel(logging.WARNING)
    return jieba.lcut, jieba.lcut_for_search


def _rjieba() -> tuple[Cut, Cut]:
    import rjieba

    return rjieba.cut, rjieba.cut_for_search


def _contract(name: str, does: str) -> ToolContract:
    return ToolContract(identity=Identity(name=name.replace(" ", "_")), capability=Capability(does=does))


def _there(path: Path) -> None:
    if not path.is_file():
        raise FileNotFoundError(2, "is not there", str(path))


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("TOOLSEARCH_DATA", str(HERE.parents[1] / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=Path(default), help="data root; default TOOLSEARCH_DATA")
    parser.add_argument("--out", type=Path, default=HERE, help="folder for results/")
    parser.add_argument("--only", action="append", metavar="NAME", help="only this task, by its name; repeat")
    parser.add_argument("--encoder", default=DEFAULT_ENCODER)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
