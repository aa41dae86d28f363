"""May a catalogue ship? Floors by slice, an earlier run to hold, and no leak, ever."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from toolsearch.eval.baseline import CaseChange
from toolsearch.eval.judge import CaseResult, shortfalls, tallies
from toolsearch.model.errors import DataError, RequestError

ALL, HIGH_RISK = "all", "risk=high"


@dataclass(frozen=True, slots=True)
class EvalGate:
    """The decision.

    Attributes:
        reasons: One sentence for each reason to refuse; () = pass.
    """

    reasons: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Tell whether there is no reason to refuse."""
        return not self.reasons


def read_floors(texts: Sequence[str]) -> dict[str, float]:
    """Read floors as they are typed: `0.9`, or a slice and a number such as `risk=high=1.0` or `kind=none=0.8`.

    A bare number is the floor of all cases and, apart, of the high-risk ones, so that the mean cannot hide them; a
    floor for `risk=high` of its own replaces that.

    Raises:
        RequestError: If one is not a share from 0 to 1.
    """
    floors: dict[str, float] = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        try:
            share = float(number)
        except ValueError:
            share = -1.0
        if not 0.0 <= share <= 1.0:
            raise RequestError(f"--fail-below {text!r}: write a share from 0 to 1, such as 0.9 or risk=high=1.0")
        floors[name or ALL] = share
    if ALL in floors:
        floors.setdefault(HIGH_RISK, floors[ALL])
    return floors


def decide_gate(
    results: Sequence[CaseResult], *, floors: Mapping[str, float], change: CaseChange | None = None
) -> EvalGate:
    """Decide by results.

    A leak always refuses. Without a floor and without an earlier run every case must pass.

    Args:
        results: Of all cases.
        floors: Slice -> least share that passes.
        change: Against an earlier run; what passed then must pass now, and be there.

    Raises:
        DataError: If there is a floor for a slice that no case is in: a typing error would pass silently.
    """
    counts = tallies(results)
    unknown = [name for name in floors if name not in counts and name != HIGH_RISK]
    if unknown:
        raise DataError(f"no case is in {unknown[0]!r}, which has a floor; there are {', '.join(counts)}")
    reasons = [f"leak: {result.case.id}: {_first_leak(result)}" for result in results if _leaked(result)]
    reasons += shortfalls(counts, dict(floors) if floors or change else {ALL: 1.0})
    if change is not None:
        reasons += [f"passed in the earlier run, fails now: {case}" for case in change.broken]
        reasons += [f"was in the earlier run, is gone: {case}" for case in change.gone]
    return EvalGate(tuple(reasons))


def _leaked(result: CaseResult) -> bool:
    return result.case.kind == "permission" and result.verdict.leaked


def _first_leak(result: CaseResult) -> str:
    return next(failure for failure in result.verdict.failures if failure.startswith("not: "))
