"""Which instrument made a result, and which results may stand side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from toolsearch.eval.results import SystemResult

OURS = "toolsearch"
"""Our own system; its recall modes are named `toolsearch lexical` and so on."""

MODES = ("lexical", "vector", "hybrid")
RANKED = f"{OURS} ranked"
"""Our hybrid ranking as the comparison with other systems runs it, in a process of its own."""

MAIN_METRIC = "recall@5"
PASSED = "passed"

GUARANTEES = " guarantees"
ABLATION = " ablation"
EXPERIENCE = " experience"
SCALE = "scale-"
LATENCY = "latency"
"""The slice that measurements of speed keep their figures in."""

BUDGET = "budget"
"""The slice that holds, by the same names, the greatest good value of some of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruments:
    """Results by the instrument that made them, each group by data set, ours first.

    Attributes:
        quality: Labelled requests over public catalogues, also those where a system failed.
        cases: Case files over a catalogue of our own.
        guarantees: Permission, isolation, order, and what contract knowledge is worth.
        ablations: Parts left out and alone.
        experience: The same requests with more and more past requests to learn from, fewest first.
        costs: Build time, time and memory of every system over catalogues of several sizes.
        latency: Time by stage over large catalogues, in process and over HTTP.
    """

    quality: tuple[SystemResult, ...]
    cases: tuple[SystemResult, ...]
    guarantees: tuple[SystemResult, ...]
    ablations: tuple[SystemResult, ...]
    experience: tuple[SystemResult, ...]
    costs: tuple[SystemResult, ...]
    latency: tuple[SystemResult, ...]


def sorted_out(results: Iterable[SystemResult]) -> Instruments:
    """Return the results by instrument; their order does not depend on that of the input."""
    groups: dict[str, list[SystemResult]] = {}
    for result in sorted(results, key=_order):
        groups.setdefault(_instrument(result), []).append(result)
    return Instruments(
        quality=tuple(groups.get("quality", ())),
        cases=tuple(groups.get("cases", ())),
        guarantees=tuple(groups.get("guarantees", ())),
        ablations=tuple(groups.get("ablations", ())),
        experience=tuple(sorted(groups.get("experience", ()), key=lambda one: (one.dataset, past_requests(one)))),
        costs=tuple(groups.get("costs", ())),
        latency=tuple(groups.get("latency", ())),
    )


def is_ours(result: SystemResult) -> bool:
    """Tell whether a result is of our own engine, in whatever mode."""
    return result.system.split(" ")[0] == OURS


def past_requests(result: SystemResult) -> int:
    """Return how many past requests of each tool there were to learn from."""
    return int(result.settings.get("past_requests_a_tool") or 0)


def main_value(result: SystemResult) -> float:
    """Return Recall@5, 0 where it was not measured."""
    return result.mean(MAIN_METRIC) or 0.0


def has_ranking(result: SystemResult) -> bool:
    """Tell whether rankings were scored; there are none where no request needs a tool, or a system failed."""
    return result.mean(MAIN_METRIC) is not None


def datasets(results: Sequence[SystemResult]) -> dict[str, tuple[SystemResult, ...]]:
    """Return data set -> its results, in the order of the results."""
    table: dict[str, list[SystemResult]] = {}
    for result in results:
        table.setdefault(result.dataset, []).append(result)
    return {name: tuple(group) for name, group in table.items()}


def same_requests(group: Sequence[SystemResult]) -> tuple[tuple[SystemResult, ...], ...]:
    """Return the ranked results of one data set in groups that answered the same requests, most requests first.

    Samples are evenly spaced over the file, so that the same number of requests is the same requests.
    """
    ranked = [result for result in group if has_ranking(result)]
    counts = sorted({result.queries for result in ranked}, reverse=True)
    return tuple(tuple(result for result in ranked if result.queries == count) for count in counts)


def side_by_side(group: Sequence[SystemResult]) -> tuple[SystemResult, ...]:
    """Return the group of `same_requests` that has the most systems, ours among them; () if there is none.

    Our ranking as the comparison ran it is left out where the hybrid mode answered the same requests.
    """
    groups = [found for found in same_requests(group) if any(is_ours(result) for result in found)]
    if not groups:
        return ()
    largest = max(groups, key=lambda found: (len(found), found[0].queries))
    twice = any(result.system == f"{OURS} hybrid" for result in largest)
    return tuple(result for result in largest if not (twice and result.system == RANKED))


def _instrument(result: SystemResult) -> str:
    for ending, name in ((GUARANTEES, "guarantees"), (ABLATION, "ablations"), (EXPERIENCE, "experience")):
        if result.dataset.endswith(ending):
            return name
    if result.dataset.startswith(SCALE):
        return "costs"
    if LATENCY in result.metrics:
        return "latency"
    return "cases" if result.mean(PASSED) is not None else "quality"


def _order(result: SystemResult) -> tuple[str, bool, int, str]:
    mode = result.system.removeprefix(f"{OURS} ")
    return result.dataset, not is_ours(result), MODES.index(mode) if mode in MODES else len(MODES), result.system
