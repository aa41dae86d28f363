"""What only we measure: permission, isolation, order, and what each piece of contract knowledge is worth.

Retrieval benchmarks ask whether the right tool is found. A harness also needs to know whether a hidden tool ever shows,
whether a request to look brings a tool that deletes, whether "what this is not for" is obeyed, and whether the list
holds still from turn to turn. One function for each; every rate has its number of cases and a 95 % interval.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from benchmarks.measures.case_figures import (
    ask,
    boundary_accuracy,
    clarify_accuracy,
    destructive_above_read,
    effect_of_intent,
    is_in,
    paired,
    parts_of,
    permission_cases,
)
from benchmarks.measures.figures import Effect, Figure, GuaranteeReport
from benchmarks.measures.isolation import measure_isolation
from benchmarks.measures.stability import measure_churn, measure_order
from benchmarks.measures.worlds import World
from toolsearch import SearchRequest, ToolIndex
from toolsearch.eval.cases import CaseSuite
from toolsearch.eval.rates import mean_of, rate
from toolsearch.eval.scenes import Question, Scene, case_questions, without_boundaries
from toolsearch.model.contract import SideEffect
from toolsearch.model.request import SignalName

Progress = Callable[[str], None]
"""Called with what is measured next."""

SESSIONS = 24
"""Requests that the churn of sessions is measured on, spread over the cases."""

TURNS = 30

_SIGNALS: tuple[tuple[str, SignalName, tuple[str, ...]], ...] = (
    ("freshness_conflict_accuracy", "freshness", ("freshness",)),
    ("input_readiness_accuracy", "input_readiness", ("missing_input", "confirm")),
)
"""Figure, signal left out, and the kinds of cases it should help."""


def starter_guarantees(
    scene: Scene, suites: Sequence[CaseSuite], *, seed: int = 0, progress: Progress = lambda what: None
) -> GuaranteeReport:
    """Measure everything on labelled cases.

    Args:
        scene: The catalogue of the cases.
        suites: The cases.
        seed: Of orders, versions and intervals.
        progress: Told what is measured next.
    """
    questions = case_questions(suites)
    figures: list[Figure] = []
    effects: list[Effect] = []
    faults: list[str] = []
    progress("permission and non-interference")
    _add(figures, faults, permission(scene, questions, seed=seed))
    progress("order of the catalogue")
    figures += order_invariance(scene, questions, seed=seed)
    with scene.index() as index:
        progress("cases, with and without single signals")
        usual = ask(index, suites)
        figures += permission_cases(usual)
        figures += destructive_above_read(usual, scene=scene)
        figures += clarify_accuracy(usual)
        for name, signal, kinds in _SIGNALS:
            without = ask(index, suites, weights={signal: 0.0}, kinds=kinds)
            effects += paired(name, f"the signal {signal}", usual, without, kinds=kinds, seed=seed)
        calm = index.with_limits(replace(index.limits, effect_penalty=0.0))
        effects += effect_of_intent(usual, ask(calm, suites), scene=scene, seed=seed)
        progress("sessions")
        figures += session_churn(index, _spread(questions, SESSIONS), seed=seed)
    progress("negative boundaries, with and without them in the contracts")
    with scene.index([without_boundaries(contract) for contract in scene.contracts]) as bare:
        effects += boundary_accuracy(usual, ask(bare, suites, kinds=("boundary", "confusable")), seed=seed)
        encoder = bare.status().encoder
    return GuaranteeReport(
        dataset=f"{scene.name} guarantees",
        encoder=encoder,
        tools=len(scene.contracts),
        questions=len(questions),
        seed=seed,
        figures=tuple(figures),
        effects=tuple(effects),
        faults=tuple(faults),
    )


def world_guarantees(
    scene: Scene, world: World, *, seed: int = 0, progress: Progress = lambda what: None
) -> GuaranteeReport:
    """Measure what needs no hand-written label, on a generated world.

    Args:
        scene: Of the world's contracts and rules.
        world: Principals and requests.
        seed: Of orders, versions and intervals.
        progress: Told what is measured next.
    """
    questions = world_questions(world)
    figures: list[Figure] = []
    faults: list[str] = []
    progress("permission and non-interference")
    _add(figures, faults, permission(scene, questions, seed=seed))
    progress("order of the catalogue")
    figures += order_invariance(scene, _spread(questions, 60), permutations=1, seed=seed)
    progress("requests that only read, and sessions")
    with scene.index() as index:
        reads = {asked.ref for asked in world.requests if asked.reads}
        figures += [_writes_first(index, scene, [q for q in questions if q.golds[0] in reads])]
        figures += session_churn(index, _spread(questions, 8), seed=seed)
        encoder = index.status().encoder
    return GuaranteeReport(
        dataset=f"{scene.name} guarantees",
        encoder=encoder,
        tools=len(scene.contracts),
        questions=len(questions),
        seed=seed,
        figures=tuple(figures),
        effects=(),
        faults=tuple(faults),
    )


def world_questions(world: World) -> tuple[Question, ...]:
    """Return every request of a world on behalf of every principal of it."""
    return tuple(
        Question(
            id=f"{principal.subject}/{asked.ref}",
            split="",
            request=SearchRequest(text=asked.text),
            principal=principal,
            golds=(asked.ref,),
        )
        for principal in world.principals
        for asked in world.requests
    )


def permission(scene: Scene, questions: Sequence[Question], *, seed: int = 0) -> tuple[list[Figure], list[str]]:
    """Return leaks, non-interference violations and authorised recall, and every fault in words.

    Authorised recall counts only questions a right tool of which the principal may see.
    """
    records, probes = measure_isolation(scene, questions)
    seen = {
        principal: {str(contract.ref) for contract in scene.visible(principal)}
        for principal in dict.fromkeys(question.principal for question in questions)
    }
    refs = {gold: {str(contract.ref) for contract in scene.named(gold)} for q in questions for gold in q.golds}
    figures = []
    for part in parts_of(record.question.split for record in records):
        group = [record for record in records if is_in(part, record.question.split)]
        figures.append(Figure.count("leaks", part, [len(record.leaked) for record in group], must=0.0))
        figures.append(Figure("leak_rate", part, rate([bool(record.leaked) for record in group]), must=0.0))
        figures.append(Figure("interference_rate", part, rate([record.interfered for record in group]), must=0.0))
        granted = [
            record
            for record in group
            if any(refs[gold] & seen[record.question.principal] for gold in record.question.golds)
        ]
        recalls = [rate([bool(r.found) for r in granted]), rate([bool(r.found_alone) for r in granted])]
        figures.append(Figure("authorised_recall", part, recalls[0]))
        figures.append(Figure("authorised_recall_without_hidden", part, recalls[1]))
        moved = mean_of([float(r.found is not r.found_alone) for r in granted], seed=seed)
        figures.append(Figure("authorised_recall_moved", part, moved, must=0.0))
        figures.append(
            Figure("hidden_share", part, mean_of([r.hidden / len(scene.contracts) for r in group], seed=seed))
        )
    differing = [fault for probe in probes for fault in probe.differing]
    compared = sum(probe.probes for probe in probes)
    figures.append(Figure("probes_told_apart", "all", rate([at < len(differing) for at in range(compared)]), must=0.0))
    faults = [f"{r.question.id}: {', '.join(r.leaked)} leaked" for r in records if r.leaked]
    faults += [f"{r.question.id}: hidden tools changed the answer" for r in records if r.interfered]
    faults += [f"{fault}: a hidden tool is told from an absent one" for fault in differing]
    return figures, faults


def order_invariance(
    scene: Scene, questions: Sequence[Question], *, permutations: int = 3, seed: int = 0
) -> list[Figure]:
    """Return the share of questions whose answer changes with the order in which tools were added."""
    same = measure_order(scene, questions, permutations=permutations, seed=seed)
    pairs = list(zip(questions, same, strict=True))
    return [
        Figure("order_sensitivity", part, rate([not held for q, held in pairs if is_in(part, q.split)]), must=0.0)
        for part in parts_of(question.split for question in questions)
    ]


def session_churn(index: ToolIndex, questions: Sequence[Question], *, seed: int = 0) -> list[Figure]:
    """Return the mean share of candidates that change between near-identical consecutive requests."""
    sessions = measure_churn(index, questions, turns=TURNS, seed=seed)
    figures = []
    for part in parts_of(question.split for question in questions):
        group = [session for session in sessions if is_in(part, session.question.split)]
        figures.append(Figure("session_churn", part, mean_of([session.mean for session in group], seed=seed)))
        flips = [session.outcomes / len(session.changes) for session in group]
        figures.append(Figure("session_outcome_flips", part, mean_of(flips, seed=seed)))
    return figures


def _add(figures: list[Figure], faults: list[str], found: tuple[list[Figure], list[str]]) -> None:
    figures += found[0]
    faults += found[1]


def _writes_first(index: ToolIndex, scene: Scene, questions: Sequence[Question]) -> Figure:
    """Return the figure for questions with a known reading tool; tools whose effect nobody stated do not count."""
    known = {str(contract.ref) for contract in scene.contracts if contract.execution.side_effect is not None}
    hits = []
    for question in questions:
        answer = index.search(question.request, principal=question.principal)
        stated = [candidate for candidate in answer.candidates if candidate.ref in known]
        if stated:
            hits.append(stated[0].side_effect >= SideEffect.REVERSIBLE)
    return Figure("destructive_above_read", "all", rate(hits))


def _spread(questions: Sequence[Question], count: int) -> list[Question]:
    """Return at most `count` questions, evenly spread."""
    n = len(questions)
    return list(questions) if n <= count else [questions[place * n // count] for place in range(count)]
