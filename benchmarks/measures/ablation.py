"""What each recall lane, signal and mechanism is worth: alone and left out, on the same requests.

The unit is the request, the measure its nDCG@10, Recall@5 or whether its case passes, the comparison paired. A part
earns its place on a data set when leaving it out costs something there, with the whole 95 % interval on that side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measures.variants import USUAL, Variant, variants
from toolsearch import Principal, RuleBook, SearchRequest, ToolIndex, read_path
from toolsearch.eval import metrics
from toolsearch.eval.cases import CaseSuite
from toolsearch.eval.judge import judge, names
from toolsearch.eval.qrels import QUERIES_FILE, TOOLS_FILE, read_qrels
from toolsearch.eval.rates import Difference, difference
from toolsearch.eval.roles import role_of
from toolsearch.eval.scenes import Scene
from toolsearch.model.limits import DEFAULT_ENCODER
from toolsearch.model.request import MAX_QUERY_CHARS
from toolsearch.text.embed.protocol import Encoder

DEPTH = 10
PRINCIPAL = Principal(subject="benchmark")

Progress = Callable[[str, int, int], None]
"""Called with (what is done, done, in all)."""

Values = dict[str, dict[str, list[float]]]
"""Variant name -> metric -> value of each request, all in the same order."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One variant on one data set by one metric.

    Attributes:
        variant: What was left out or stood alone.
        metric: Name of the metric.
        value: Mean of the variant.
        gain: Mean of `usual - variant`, paired: what the usual way gains over it.
    """

    variant: Variant
    metric: str
    value: float
    gain: Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class Ablation:
    """Every variant on one data set.

    Attributes:
        dataset: Name of the data.
        role: Role of the data; nothing may be chosen by the figures of test data.
        encoder: Id of the encoder.
        requests: Requests asked in each variant.
        usual: Metric -> mean of the usual way.
        cells: In the order of `variants`, metrics in order.
    """

    dataset: str
    role: str
    encoder: str
    requests: int
    usual: Mapping[str, float]
    cells: tuple[Cell, ...]

    def cell(self, name: str, metric: str) -> Cell:
        """Return the cell of a variant by its name, such as `no freshness`.

        Raises:
            KeyError: If it was not measured.
        """
        for cell in self.cells:
            if (cell.variant.name, cell.metric) == (name, metric):
                return cell
        raise KeyError(f"{name} by {metric} was not measured")


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a part earns its place and where it stands in the way.

    Attributes:
        part: The lane, signal or mechanism.
        earns: `data set (metric)` where leaving it out costs.
        harms: The same where leaving it out gains.
    """

    part: str
    earns: tuple[str, ...]
    harms: tuple[str, ...]


def ablate_folder(
    folder: Path,
    *,
    encoder: str | Encoder = DEFAULT_ENCODER,
    queries: str = QUERIES_FILE,
    limit: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Ablation:
    """Ask the requests of a data folder in every variant.

    Args:
        folder: In the form that `read_qrels` reads; requests that need no tool are passed over.
        encoder: Name or object.
        queries: Name of the queries file.
        limit: At most so many requests, spread over the file.
        seed: Of the intervals.
        progress: Called after each request.

    Raises:
        DataError: If the folder is wrong.
    """
    qrels = read_qrels(folder, queries=queries).sample(limit)
    report = read_path(folder / TOOLS_FILE)
    refs = {identifier: str(ref) for ref, identifier in report.ids.items()}
    scene = Scene.of(qrels.name, report.contracts, rules=RuleBook.public(reason="benchmark"), encoder=encoder)
    needing = [query for query in qrels.queries if query.golds]
    values: Values = {}
    with scene.index() as index:
        for number, query in enumerate(needing, start=1):
            golds = [[refs.get(tool, tool) for tool in group] for group in query.golds]
            request = SearchRequest(text=query.text[:MAX_QUERY_CHARS])
            # All variants of a request in a row: its vector is encoded once.
            for name, variant in _all():
                ranked = _ranked(index, variant, request)
                ranks = metrics.gold_ranks(ranked, golds)
                _note(values, name, {"recall@5": metrics.recall(ranks, 5), "ndcg@10": metrics.ndcg(ranks, DEPTH)})
            if progress is not None:
                progress(qrels.name, number, len(needing))
        roles = sorted({role_of(qrels.name, query.split) for query in needing})
        return _ablation(qrels.name, values, role=", ".join(roles), encoder=index.status().encoder, seed=seed)


def ablate_cases(
    scene: Scene,
    suites: Sequence[CaseSuite],
    *,
    split: str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Ablation:
    """Ask labelled cases in every variant: whether they pass, and how high the right tool stands.

    Args:
        scene: The catalogue of the cases.
        suites: The cases.
        split: Only the cases of this split; None = all.
        seed: Of the intervals.
        progress: Called after each case.
    """
    asked = [(s, case) for s in suites for case in s.cases if split in (None, case.split)]
    values: Values = {}
    with scene.index() as index:
        for number, (suite, case) in enumerate(asked, start=1):
            principal, request = suite.principal(case), case.request(tools=suite.tools)
            for name, variant in _all():
                searcher = index if variant is None else variant.index(index)
                answer = searcher.search(request if variant is None else variant.request(request), principal=principal)
                found = [candidate.ref for candidate in answer.candidates]
                wanted = case.expect.accepted or case.expect.tools
                place = next((at for at, ref in enumerate(found) if any(names(tool, ref) for tool in wanted)), None)
                # A case without a right tool is judged, not ranked: it counts the same in both metrics.
                passed = float(judge(case, answer).passed)
                high = passed if not wanted else 0.0 if place is None else 1.0 / (place + 1)
                _note(values, name, {"passed": passed, "reciprocal rank": high})
            if progress is not None:
                progress(scene.name, number, len(asked))
        label = f"{scene.name} cases" + (f" ({split})" if split else "")
        return _ablation(label, values, role=split or "", encoder=index.status().encoder, seed=seed)


def standings(ablations: Sequence[Ablation]) -> tuple[Standing, ...]:
    """Return where each part earns its place, parts in the order of `variants`."""
    found = []
    for part in dict.fromkeys(variant.part for variant in variants() if not variant.alone):
        cells = [(one, cell) for one in ablations for cell in one.cells if cell.variant.name == f"no {part}"]
        earns = tuple(f"{one.dataset} ({cell.metric} {cell.gain.delta:+.3f})" for one, cell in cells if cell.gain.gains)
        harms = tuple(f"{one.dataset} ({cell.metric} {cell.gain.delta:+.3f})" for one, cell in cells if cell.gain.costs)
        found.append(Standing(part, earns, harms))
    return tuple(found)


def _all() -> list[tuple[str, Variant | None]]:
    return [(USUAL, None), *((variant.name, variant) for variant in variants())]


def _ranked(index: ToolIndex, variant: Variant | None, request: SearchRequest) -> list[str]:
    if variant is not None:
        index, request = variant.index(index), variant.request(request)
    return [ref for ref, _ in index.rank(request, principal=PRINCIPAL, depth=DEPTH)]


def _note(values: Values, name: str, measured: Mapping[str, float]) -> None:
    for metric, value in measured.items():
        values.setdefault(name, {}).setdefault(metric, []).append(value)


def _ablation(dataset: str, values: Values, *, role: str, encoder: str, seed: int) -> Ablation:
    usual = values[USUAL]
    cells = [
        Cell(
            variant,
            metric,
            sum(values[variant.name][metric]) / len(usual[metric]),
            difference(usual[metric], values[variant.name][metric], seed=seed),
        )
        for variant in variants()
        for metric in usual
    ]
    first = next(iter(usual.values()))
    means = {metric: sum(column) / len(column) for metric, column in usual.items()}
    return Ablation(dataset=dataset, role=role, encoder=encoder, requests=len(first), usual=means, cells=tuple(cells))
