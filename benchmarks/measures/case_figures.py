"""Figures of labelled cases: what each piece of contract knowledge is worth, with and without it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.measures.figures import Effect, Figure
from toolsearch import ToolIndex
from toolsearch.eval.cases import Case, CaseSuite
from toolsearch.eval.judge import judge
from toolsearch.eval.rates import difference, rate
from toolsearch.eval.scenes import Scene
from toolsearch.model.answer import CandidateSet, OutcomeKind
from toolsearch.model.contract import SideEffect
from toolsearch.model.request import SignalName


@dataclass(frozen=True, slots=True)
class Judged:
    """A case, its answer and the verdict."""

    case: Case
    answer: CandidateSet
    passed: bool


def ask(
    index: ToolIndex,
    suites: Sequence[CaseSuite],
    *,
    weights: Mapping[SignalName, float] | None = None,
    kinds: Sequence[str] = (),
) -> tuple[Judged, ...]:
    """Ask and judge the cases of some kinds (() = all), with some weights overridden."""
    found = []
    for suite in suites:
        for case in suite.cases:
            if kinds and case.kind not in kinds:
                continue
            request = case.request(tools=suite.tools).model_copy(update={"weights": dict(weights or {})})
            answer = index.search(request, principal=suite.principal(case))
            found.append(Judged(case, answer, judge(case, answer).passed))
    return tuple(found)


def permission_cases(judged: Sequence[Judged]) -> list[Figure]:
    """Return the share of permission cases whose answer names nothing it must not, and of those wholly right."""
    cases = [item for item in judged if item.case.kind == "permission"]
    tight = {item.case.id: not judge(item.case, item.answer).leaked for item in cases}
    return [
        *_rates("permission_accuracy", cases, lambda item: tight[item.case.id], must=1.0),
        *_rates("permission_cases_passed", cases, lambda item: item.passed),
    ]


def destructive_above_read(judged: Sequence[Judged], *, scene: Scene) -> list[Figure]:
    """Return how often a writing tool stands above every read-only one although the right tool only reads."""
    return _rates("destructive_above_read", _reading(judged, scene=scene), _writes_on_top)


def effect_of_intent(usual: Sequence[Judged], calm: Sequence[Judged], *, scene: Scene, seed: int = 0) -> list[Effect]:
    """Return what marking down writing tools for requests to look is worth: by how often no write stands on top."""
    first, second = _reading(usual, scene=scene), _reading(calm, scene=scene)
    return _effects(
        "no_write_above_read",
        "the effect penalty",
        first,
        second,
        value=lambda item: not _writes_on_top(item),
        seed=seed,
    )


def boundary_accuracy(usual: Sequence[Judged], bare: Sequence[Judged], *, seed: int = 0) -> list[Effect]:
    """Return what negative boundaries are worth on boundary cases and on confusable pairs."""
    about = "does_not and do_not_use_when"
    return [
        *paired("negative_boundary_accuracy", about, usual, bare, kinds=("boundary",), seed=seed),
        *paired("confusable_pair_accuracy", about, usual, bare, kinds=("confusable",), seed=seed),
    ]


def clarify_accuracy(judged: Sequence[Judged]) -> list[Figure]:
    """Return how often a question is asked where one must be, and how often an asked question was called for."""
    must = [item for item in judged if item.case.expect.outcome is OutcomeKind.CLARIFY]
    asked = [item for item in judged if item.answer.outcome is OutcomeKind.CLARIFY and item.case.expect.accepted]
    missing = [item for item in judged if item.case.expect.missing]
    return [
        *_rates("clarify_accuracy", must, lambda item: item.answer.outcome is OutcomeKind.CLARIFY),
        *_rates("clarify_called_for", asked, lambda item: item.case.kind == "missing_input"),
        *_rates("missing_input_named", missing, _names_missing),
    ]


def paired(
    name: str, about: str, first: Sequence[Judged], second: Sequence[Judged], *, kinds: Sequence[str], seed: int = 0
) -> list[Effect]:
    """Return accuracy on cases of some kinds with something and without it, in all and by split.

    Args:
        name: Of the figure.
        about: What is there in the first answers and not in the second.
        first: Answers with it.
        second: Answers without it; only the cases of both count.
        kinds: Kinds of cases.
        seed: Of the intervals.
    """
    both = {item.case.id for item in second}
    kept = [item for item in first if item.case.kind in kinds and item.case.id in both]
    return _effects(name, about, kept, second, value=lambda item: item.passed, seed=seed)


def _effects(
    name: str,
    about: str,
    first: Sequence[Judged],
    second: Sequence[Judged],
    *,
    value: Callable[[Judged], bool],
    seed: int,
) -> list[Effect]:
    other = {item.case.id: item for item in second}
    effects = []
    for part in parts_of(item.case.split for item in first) if first else ():
        group = [item for item in first if is_in(part, item.case.split)]
        with_it, without = [value(item) for item in group], [value(other[item.case.id]) for item in group]
        gain = difference(with_it, without, seed=seed)
        effects.append(Effect(name, part, about, rate(with_it), rate(without), gain))
    return effects


def _rates(
    name: str, items: Sequence[Judged], value: Callable[[Judged], bool], *, must: float | None = None
) -> list[Figure]:
    return [
        Figure(name, part, rate([value(item) for item in items if is_in(part, item.case.split)]), must=must)
        for part in parts_of(item.case.split for item in items)
    ]


def _reading(judged: Sequence[Judged], *, scene: Scene) -> list[Judged]:
    """Return the cases every right tool of which only reads."""
    kept = []
    for item in judged:
        right = [contract for name in item.case.expect.accepted for contract in scene.named(name)]
        if right and all(contract.assumed_side_effect <= SideEffect.READ_ONLY for contract in right):
            kept.append(item)
    return kept


def _writes_on_top(item: Judged) -> bool:
    offered = item.answer.candidates
    return bool(offered) and offered[0].side_effect >= SideEffect.REVERSIBLE


def _names_missing(item: Judged) -> bool:
    return not any(failure.startswith("missing: ") for failure in judge(item.case, item.answer).failures)


def parts_of(splits: Iterable[str]) -> list[str]:
    """Return `all` and each split that occurs, as parts of a report."""
    named = sorted({split for split in splits if split})
    return ["all", *(f"split={split}" for split in named)]


def is_in(part: str, split: str) -> bool:
    """Tell whether a case of a split belongs to a part."""
    return part in ("all", f"split={split}")
