"""Labelled requests as tasks of tuning, and which of them may be learned from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

from toolsearch import Principal, RuleBook, SearchRequest, ToolIndex, read_path
from toolsearch.eval import metrics
from toolsearch.eval.cases import Case, CaseSuite
from toolsearch.eval.judge import judge, names
from toolsearch.eval.qrels import TOOLS_FILE, read_qrels
from toolsearch.eval.roles import Purpose, require_fit_allowed
from toolsearch.eval.scenes import Scene
from toolsearch.eval.tune import Task
from toolsearch.model.answer import OutcomeKind
from toolsearch.model.errors import DataRoleError
from toolsearch.model.limits import DEFAULT_ENCODER
from toolsearch.model.request import MAX_QUERY_CHARS, SignalName
from toolsearch.text.embed.protocol import Encoder

DEPTH = 10
PRINCIPAL = Principal(subject="tuning")


@dataclass(frozen=True, slots=True)
class Halves:
    """What is searched over, and what is only measured.

    Attributes:
        fit: Tasks that may be learned from.
        hold_out: Tasks that decide nothing.
        shown: How the halves came about, for people.
    """

    fit: tuple[Task, ...]
    hold_out: tuple[Task, ...]
    shown: str


def case_halves(suites: Sequence[CaseSuite], *, seed: int = 0) -> Halves:
    """Return the halves of case files: `train` and `dev` cases are fitted to, all others held out.

    Args:
        suites: The cases.
        seed: Of the half that is held out where every case may be learned from.

    Raises:
        DataRoleError: If no case may be learned from.
    """
    tagged = [
        (f"{suite.name or 'cases'}", case.split, partial(_ask_case, suite, case))
        for suite in suites
        for case in suite.cases
    ]
    return _halves(tagged, seed=seed)


def folder_halves(
    folder: Path, *, encoder: str | Encoder = DEFAULT_ENCODER, limit: int | None = None, seed: int = 0
) -> tuple[Scene, Halves]:
    """Return the catalogue and the halves of a data folder, roles by the table of public data sets.

    Args:
        folder: In the form that `read_qrels` reads.
        encoder: Name or object.
        limit: At most so many requests, spread over the file.
        seed: Of the half that is held out where every request may be learned from.

    Raises:
        DataError: If the folder is wrong.
        DataRoleError: If nothing in it may be learned from.
    """
    qrels = read_qrels(folder).sample(limit)
    report = read_path(folder / TOOLS_FILE)
    refs = {identifier: str(ref) for ref, identifier in report.ids.items()}
    tagged: list[tuple[str, str, Task]] = []
    for query in qrels.queries:
        golds = tuple(tuple(refs.get(tool, tool) for tool in group) for group in query.golds)
        request = SearchRequest(text=query.text[:MAX_QUERY_CHARS], k=DEPTH)
        if golds or not query.candidates:
            tagged.append((qrels.name, query.split, partial(_ask_query, request, golds)))
    scene = Scene.of(qrels.name, report.contracts, rules=RuleBook.public(reason="tuning data"), encoder=encoder)
    return scene, _halves(tagged, seed=seed)


def _halves(tagged: Sequence[tuple[str, str, Task]], *, seed: int) -> Halves:
    allowed, other = list[Task](), list[Task]()
    refusal: DataRoleError | None = None
    for dataset, split, task in tagged:
        try:
            require_fit_allowed(dataset, split, purpose=Purpose.CHOOSE)
            allowed.append(task)
        except DataRoleError as error:
            refusal = error
            other.append(task)
    if not allowed and refusal is not None:
        raise refusal
    if other:
        return Halves(tuple(allowed), tuple(other), "fitted to train and dev, held out the rest")
    Random(seed).shuffle(allowed)
    half = (len(allowed) + 1) // 2
    return Halves(tuple(allowed[:half]), tuple(allowed[half:]), f"fitted to a random half (seed {seed})")


def _ask_case(suite: CaseSuite, case: Case, index: ToolIndex, weights: Mapping[SignalName, float]) -> float:
    """Return the mean of whether the case passes and 1 / rank of its tool: passing alone is too coarse to climb."""
    request = case.request(tools=suite.tools).model_copy(update={"weights": dict(weights)})
    answer = index.search(request, principal=suite.principal(case))
    passed = float(judge(case, answer).passed)
    wanted = case.expect.accepted or case.expect.tools
    if not wanted:
        return passed
    refs = [candidate.ref for candidate in answer.candidates]
    place = next((at for at, ref in enumerate(refs) if any(names(tool, ref) for tool in wanted)), None)
    return (passed + (0.0 if place is None else 1.0 / (place + 1))) / 2


def _ask_query(
    request: SearchRequest, golds: Sequence[Sequence[str]], index: ToolIndex, weights: Mapping[SignalName, float]
) -> float:
    """Return nDCG@10 of what is offered; of a request that needs no tool, whether none is."""
    answer = index.search(request.model_copy(update={"weights": dict(weights)}), principal=PRINCIPAL)
    if not golds:
        return float(answer.outcome is OutcomeKind.NO_TOOL)
    return metrics.ndcg(metrics.gold_ranks([candidate.ref for candidate in answer.candidates], golds), DEPTH)
