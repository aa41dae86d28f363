"""Does the answer hold still? Order of the catalogue, and small changes of a request from one turn to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from random import Random

from toolsearch import ToolIndex
from toolsearch.eval.scenes import Question, Scene, comparable
from toolsearch.text.analysis.analyzer import han_share

PREFIXES_EN = ("", "please ", "ok, ", "can you ", "hi, ", "now ")
SUFFIXES_EN = ("", ".", "?", " please", ", thanks", " again")
PREFIXES_ZH = ("", "请", "麻烦", "帮我", "你好，", "那就")
SUFFIXES_ZH = ("", "。", "？", "，谢谢", "吧", "，再来一次")

HAN_FROM = 0.3
"""Share of Han letters from which a request is varied in Chinese."""


@dataclass(frozen=True, slots=True)
class Churn:
    """How much the candidates of one session changed.

    Attributes:
        question: The request that the turns are near-identical versions of.
        changes: For each pair of consecutive turns 1 - |A and B| / |A or B| of their candidates, in [0, 1].
        outcomes: Pairs of consecutive turns whose outcome differs.
    """

    question: Question
    changes: tuple[float, ...]
    outcomes: int

    @property
    def mean(self) -> float:
        """Return the mean change from one turn to the next."""
        return sum(self.changes) / len(self.changes)


def measure_order(
    scene: Scene, questions: Sequence[Question], *, permutations: int = 3, seed: int = 0
) -> tuple[bool, ...]:
    """Tell for each question whether its answer was the same bytes however the catalogue was ordered.

    Args:
        scene: The catalogue.
        questions: What is asked.
        permutations: Random orders tried beside the sorted one.
        seed: Of the orders.
    """
    random = Random(seed)
    with scene.index() as index:
        expected = [_told(index, question) for question in questions]
    same = [True] * len(questions)
    for _ in range(permutations):
        order = list(scene.contracts)
        random.shuffle(order)
        with scene.index(order) as index:
            found = [_told(index, question) for question in questions]
        same = [held and one == other for held, one, other in zip(same, expected, found, strict=True)]
    return tuple(same)


def measure_churn(
    index: ToolIndex, questions: Sequence[Question], *, turns: int = 30, seed: int = 0
) -> tuple[Churn, ...]:
    """Ask each question in `turns` near-identical ways, one after the other, as one session does.

    The versions differ in politeness, punctuation and case of the first letter: nothing that changes what is wanted.

    Args:
        index: What is asked.
        questions: One session each.
        turns: Requests in a session, at least 2.
        seed: Of the versions.
    """
    random = Random(seed)
    sessions = []
    for question in questions:
        versions = [question, *(_varied(question, random) for _ in range(turns - 1))]
        answers = [index.search(version.request, principal=version.principal) for version in versions]
        shown = [{candidate.ref for candidate in answer.candidates} for answer in answers]
        changes = tuple(_change(before, after) for before, after in pairwise(shown))
        outcomes = sum(one.outcome is not other.outcome for one, other in pairwise(answers))
        sessions.append(Churn(question, changes, outcomes))
    return tuple(sessions)


def _told(index: ToolIndex, question: Question) -> str:
    return comparable(index.search(question.request, principal=question.principal))


def _varied(question: Question, random: Random) -> Question:
    text = question.request.text.strip()
    chinese = han_share(text) >= HAN_FROM
    prefixes, suffixes = (PREFIXES_ZH, SUFFIXES_ZH) if chinese else (PREFIXES_EN, SUFFIXES_EN)
    prefix, suffix = random.choice(prefixes), random.choice(suffixes)
    core = text.rstrip(".?。？!！")
    if prefix:
        core = core[0].lower() + core[1:] if not core[:2].isupper() else core
    request = question.request.model_copy(update={"text": f"{prefix}{core}{suffix}"})
    return replace(question, request=request)


def _change(before: set[str], after: set[str]) -> float:
    union = before | after
    return 1.0 - len(before & after) / len(union) if union else 0.0
