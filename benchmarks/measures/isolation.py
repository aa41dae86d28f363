"""Do hidden tools stay hidden? Leaks, non-interference and authorised recall, measured from outside.

Every question is asked of two indexes: one of the whole catalogue, and one that holds only what the principal may see.
What must be told apart is told apart by the rules one by one (`Scene.visible`), not by the engine that is measured.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from toolsearch import Principal, ToolContract, ToolIndex, ToolSearchError
from toolsearch.eval.judge import names
from toolsearch.eval.scenes import Question, Scene, comparable
from toolsearch.model.answer import CandidateSet

PROBED_REFS = 20
"""Hidden tools each principal asks for by ref; the refusals must not tell them from absent ones."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./@:-]*[A-Za-z0-9_]|[A-Za-z0-9_]")


@dataclass(frozen=True, slots=True)
class Isolation:
    """What one question showed.

    Attributes:
        question: The question.
        hidden: Tools of the catalogue that its principal may not see.
        leaked: Names and refs of hidden tools in the answer.
        interfered: Whether hidden tools changed a byte of the answer or of the ranking.
        found: Whether a right tool is in the answer, with hidden tools in the catalogue; None where none is known.
        found_alone: The same in the catalogue without hidden tools.
    """

    question: Question
    hidden: int
    leaked: tuple[str, ...]
    interfered: bool
    found: bool | None
    found_alone: bool | None


@dataclass(frozen=True, slots=True)
class Probed:
    """What asking for hidden tools by ref, and listing all tools, showed for one principal.

    Attributes:
        probes: Comparisons made.
        differing: What was not the same with and without hidden tools.
    """

    probes: int
    differing: tuple[str, ...]


def measure_isolation(scene: Scene, questions: Sequence[Question]) -> tuple[tuple[Isolation, ...], tuple[Probed, ...]]:
    """Ask every question with and without hidden tools in the catalogue.

    Args:
        scene: The whole catalogue.
        questions: Of any principals; their `now` should be set, or be irrelevant to the answer.

    Returns:
        One record for each question, in order, and one for each principal.
    """
    records: dict[str, Isolation] = {}
    probes = []
    with scene.index() as whole:
        for principal in dict.fromkeys(question.principal for question in questions):
            own = [question for question in questions if question.principal == principal]
            visible = scene.visible(principal)
            seen = {contract.ref for contract in visible}
            hidden = [contract for contract in scene.contracts if contract.ref not in seen]
            telling = _telling_names(hidden, visible=visible)
            with scene.index(visible) as alone:
                for question in own:
                    records[question.id] = _isolation(
                        question, whole=whole, alone=alone, telling=telling, hidden=len(hidden)
                    )
                probes.append(_probed(principal, hidden[:PROBED_REFS], whole=whole, alone=alone))
    return tuple(records[question.id] for question in questions), tuple(probes)


def leaked_names(answer: CandidateSet, *, telling: frozenset[str], request: str = "") -> tuple[str, ...]:
    """Return the telling names that stand as whole words anywhere in an answer, sorted.

    Args:
        answer: The answer; every string of it is looked at, definitions and reasons included.
        telling: Names and refs that must not be there.
        request: Words of the request itself are no leak.
    """
    said = set(_words(request))
    return tuple(sorted((set(_words(answer.model_dump_json())) & telling) - said))


def _telling_names(hidden: Sequence[ToolContract], *, visible: Sequence[ToolContract]) -> frozenset[str]:
    """Return what can only be known from hidden tools: their refs, and names no visible contract has in its text."""
    known = {word for contract in visible for word in _words(contract.canonical_json)}
    found: set[str] = set()
    for contract in hidden:
        ref, name = str(contract.ref), contract.identity.name
        found.update((ref, ref.partition("@")[0]))
        if name not in known:
            found.add(name)
    return frozenset(found - known)


def _words(text: str) -> list[str]:
    return _NAME.findall(text)


def _isolation(
    question: Question, *, whole: ToolIndex, alone: ToolIndex, telling: frozenset[str], hidden: int
) -> Isolation:
    request, principal = question.request, question.principal
    answer, other = whole.search(request, principal=principal), alone.search(request, principal=principal)
    same = comparable(answer) == comparable(other)
    same = same and whole.rank(request, principal=principal) == alone.rank(request, principal=principal)
    return Isolation(
        question=question,
        hidden=hidden,
        leaked=leaked_names(answer, telling=telling, request=question.request.text),
        interfered=not same,
        found=_found(answer, question.golds),
        found_alone=_found(other, question.golds),
    )


def _found(answer: CandidateSet, golds: Sequence[str]) -> bool | None:
    if not golds:
        return None
    return any(names(gold, candidate.ref) for gold in golds for candidate in answer.candidates)


def _probed(principal: Principal, hidden: Sequence[ToolContract], *, whole: ToolIndex, alone: ToolIndex) -> Probed:
    differing = [] if whole.tools(principal=principal) == alone.tools(principal=principal) else ["list of tools"]
    for contract in hidden:
        ref = str(contract.ref)
        if _refusal(whole, ref, principal) != _refusal(alone, ref, principal):
            differing.append(ref)
    return Probed(1 + len(hidden), tuple(differing))


def _refusal(index: ToolIndex, ref: str, principal: Principal) -> str:
    """Return what asking for a tool by ref says: an error, or that it was shown."""
    try:
        index.tool(ref, principal=principal)
    except ToolSearchError as error:
        return f"{type(error).__name__}: {error}"
    return "shown"
