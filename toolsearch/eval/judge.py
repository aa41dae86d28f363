"""Does an answer meet a case? One small check for each key of `expect`, and counts over many cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from toolsearch.eval.cases import Case, CaseSuite, Expectation
from toolsearch.model.answer import Candidate, CandidateSet, MissingInput, OutcomeKind
from toolsearch.model.contract import SideEffect
from toolsearch.model.request import Principal, SearchRequest

SLICES = ("kind", "split", "lang", "risk")
"""Properties of a case that results are counted by."""


class Searcher(Protocol):
    """What answers requests: a ToolIndex, or anything with its `search`."""

    def search(self, request: SearchRequest, /, *, principal: Principal) -> CandidateSet:
        """Return the candidates for a request."""
        ...


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether one answer meets its case.

    Attributes:
        case: Id of the case.
        passed: True when there is no failure.
        failures: One sentence for each key of `expect` that does not hold.
    """

    case: str
    passed: bool
    failures: tuple[str, ...]

    @property
    def leaked(self) -> bool:
        """Tell whether a tool is in the answer that must not be."""
        return any(failure.startswith("not: ") for failure in self.failures)


@dataclass(frozen=True, slots=True)
class CaseResult:
    """A case, its verdict, and the refs that were offered, best first."""

    case: Case
    verdict: Verdict
    offered: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JudgeTally:
    """How many of a group of cases passed."""

    passed: int
    total: int

    @property
    def share(self) -> float:
        """Return passed / total, in [0, 1]."""
        return self.passed / self.total


def run_cases(suite: CaseSuite, searcher: Searcher, *, k: int | None = None) -> tuple[CaseResult, ...]:
    """Ask every case of a suite and judge the answers, in order.

    Args:
        suite: The cases.
        searcher: Over the suite's catalogue.
        k: Most candidates for each request; None = by situation, as in production.
    """
    results = []
    for case in suite.cases:
        answer = searcher.search(case.request(k=k, tools=suite.tools), principal=suite.principal(case))
        offered = tuple(candidate.ref for candidate in answer.candidates)
        results.append(CaseResult(case, judge(case, answer), offered))
    return tuple(results)


def judge(case: Case, answer: CandidateSet) -> Verdict:
    """Check every key of the case's `expect` against the answer.

    For cases of kind `permission`, `not` means not named anywhere in the answer; for others, not offered.
    """
    failures = [failure for check in _CHECKS for failure in check(case, answer)]
    return Verdict(case.id, not failures, tuple(failures))


def tallies(results: Iterable[CaseResult]) -> dict[str, JudgeTally]:
    """Return passed and total for `all` and for every `kind=`, `split=`, `lang=` and `risk=` that occurs, by name."""
    counts: dict[str, list[int]] = {}
    for result in results:
        for key in ("all", *(f"{name}={getattr(result.case, name)}" for name in SLICES)):
            count = counts.setdefault(key, [0, 0])
            count[0] += result.verdict.passed
            count[1] += 1
    return {key: JudgeTally(*counts[key]) for key in sorted(counts)}


def shortfalls(counts: Mapping[str, JudgeTally], floors: Mapping[str, float]) -> tuple[str, ...]:
    """Return one sentence for each slice whose share is below its floor.

    Args:
        counts: From `tallies`.
        floors: Slice, such as `all` or `risk=high`, -> least share in [0, 1]. A slice without a case falls short of
            nothing.
    """
    return tuple(
        f"{name}: {counts[name].passed} of {counts[name].total} passed, the floor is {floor:.1%}"
        for name, floor in floors.items()
        if name in counts and counts[name].share < floor
    )


def names(name: str, ref: str) -> bool:
    """Tell whether `name`, `server/name` or `server/name@version` names the tool of a ref."""
    unversioned = ref.partition("@")[0]
    return name in (ref, unversioned, unversioned.rpartition("/")[2])


def _any_names(wanted: Sequence[str], ref: str) -> bool:
    return any(names(name, ref) for name in wanted)


def _place(answer: CandidateSet, wanted: Sequence[str]) -> int | None:
    """Return the index of the first candidate that one of the names names."""
    found = (index for index, candidate in enumerate(answer.candidates) if _any_names(wanted, candidate.ref))
    return next(found, None)


def _offered(answer: CandidateSet) -> list[str]:
    """Return every ref the model could call or load after this answer."""
    refs = [tool.ref for tool in answer.always_on]
    for candidate in answer.candidates:
        refs += [candidate.ref, *(other.ref for other in candidate.alternatives)]
    return refs


def _named(answer: CandidateSet) -> list[str]:
    """Return every ref that stands anywhere in the answer."""
    refs = _offered(answer)
    refs += [tool.ref for tool in answer.withheld]
    refs += [tool.ref for tool in answer.near_misses]
    if answer.clarify is not None:
        refs.append(answer.clarify.ref)
    for candidate in answer.candidates:
        refs += [ref for missing in candidate.inputs.missing for ref in missing.obtain_from]
    return refs


def _shown(answer: CandidateSet) -> str:
    return ", ".join(candidate.ref for candidate in answer.candidates) or "none"


def _check_tool(case: Case, answer: CandidateSet) -> list[str]:
    expect = case.expect
    if expect.expects_none:
        if answer.outcome is OutcomeKind.NO_TOOL and not answer.candidates:
            return []
        return [f"tool: expected no tool, the outcome is {answer.outcome} with {_shown(answer)}"]
    if not expect.accepted or expect.requires_confirmation:
        return []
    if _place(answer, expect.accepted) == 0:
        return []
    return [f"tool: expected {' or '.join(expect.accepted)} first, got {_shown(answer)}"]


def _check_tools(case: Case, answer: CandidateSet) -> list[str]:
    at_hand = [candidate.ref for candidate in answer.candidates] + [tool.ref for tool in answer.always_on]
    absent = [name for name in case.expect.tools if not any(names(name, ref) for ref in at_hand)]
    return [f"tools: {', '.join(absent)} not among {_shown(answer)}"] if absent else []


def _check_not(case: Case, answer: CandidateSet) -> list[str]:
    refs = _named(answer) if case.kind == "permission" else _offered(answer)
    return [f"not: {name} is in the answer" for name in case.expect.not_ if any(names(name, ref) for ref in refs)]


def _check_above(case: Case, answer: CandidateSet) -> list[str]:
    failures = []
    for upper, lower in case.expect.above.items():
        high, low = _place(answer, (upper,)), _place(answer, (lower,))
        if high is None or (low is not None and low < high):
            failures.append(f"above: {upper} is not above {lower} in {_shown(answer)}")
    return failures


def _check_outcome(case: Case, answer: CandidateSet) -> list[str]:
    wanted = case.expect.outcome
    return [] if wanted in (None, answer.outcome) else [f"outcome: expected {wanted}, got {answer.outcome}"]


def _judged_tools(expect: Expectation) -> tuple[str, ...]:
    """Return the names whose inputs the input checks look at; () = the first candidate."""
    return expect.accepted or expect.tools


def _judged_candidate(case: Case, answer: CandidateSet) -> Candidate | None:
    wanted = _judged_tools(case.expect)
    place = _place(answer, wanted) if wanted else (0 if answer.candidates else None)
    return None if place is None else answer.candidates[place]


def _missing_of(case: Case, answer: CandidateSet) -> dict[str, MissingInput]:
    candidate = _judged_candidate(case, answer)
    return {} if candidate is None else {missing.field: missing for missing in candidate.inputs.missing}


def _unlocks(case: Case, answer: CandidateSet) -> list[str]:
    """Return what would unlock the expected tool where it is withheld: a write tool that lacks an input may be."""
    wanted = _judged_tools(case.expect)
    return [tool.unlock for tool in answer.withheld if _any_names(wanted, tool.ref)]


def _check_missing(case: Case, answer: CandidateSet) -> list[str]:
    known = set(_missing_of(case, answer))
    wanted = _judged_tools(case.expect)
    if answer.clarify is not None and (not wanted or _any_names(wanted, answer.clarify.ref)):
        known |= set(answer.clarify.fields)
    unlocks = _unlocks(case, answer)
    absent = [field for field in case.expect.missing if field not in known and not any(field in u for u in unlocks)]
    named = ", ".join(sorted(known)) or "none"
    return [f"missing: {', '.join(absent)} not named as missing; named: {named}"] if absent else []


def _check_obtain_from(case: Case, answer: CandidateSet) -> list[str]:
    missing, unlocks = _missing_of(case, answer), _unlocks(case, answer)
    failures = []
    for field, producer in case.expect.obtain_from.items():
        sources = missing[field].obtain_from if field in missing else ()
        told = any(names(producer, ref) for ref in sources) or any(field in u and producer in u for u in unlocks)
        if not told:
            failures.append(f"obtain_from: {field} from {producer}; got {', '.join(sources) or 'no producer'}")
    return failures


def _check_confirmation(case: Case, answer: CandidateSet) -> list[str]:
    wanted, required = case.expect.accepted, case.expect.requires_confirmation
    if required is None or not wanted:
        return []
    place = _place(answer, wanted)
    label = " or ".join(wanted)
    if place is None:
        if required and any(_any_names(wanted, tool.ref) for tool in answer.withheld):
            return []
        return [f"requiresConfirmation: {label} is neither offered nor withheld; got {_shown(answer)}"]
    approval = answer.candidates[place].approval
    if not required:
        return [] if approval is None else [f"requiresConfirmation: {label} asks for approval: {approval}"]
    confirmed = any(tool.side_effect <= SideEffect.READ_ONLY for tool in answer.candidates[:place])
    if approval is not None or confirmed:
        return []
    return [f"requiresConfirmation: {label} is offered without approval and without a read-only tool before it"]


def _check_args(case: Case, answer: CandidateSet) -> list[str]:
    candidate = _judged_candidate(case, answer)
    found: dict[str, Any] = {} if candidate is None else candidate.inputs.ready
    # Filling arguments is the model's work: what was not found is no failure, a wrong find is.
    return [
        f"args: {field} was found as {found[field]!r}, expected {value!r}"
        for field, value in case.expect.args.items()
        if field in found and found[field] != value
    ]


_CHECKS: tuple[Callable[[Case, CandidateSet], list[str]], ...] = (
    _check_tool,
    _check_tools,
    _check_not,
    _check_above,
    _check_outcome,
    _check_missing,
    _check_obtain_from,
    _check_confirmation,
    _check_args,
)
