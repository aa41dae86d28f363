"""Fit signal weights and floors to labelled requests: coordinate search over a small grid, hold-out beside it.

Only requests that may be learned from are searched over (`roles`); the others are the hold-out: they are measured
before and after, and decide nothing. Where all may be learned from, a seeded half is held out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Any

import yaml

from toolsearch import ToolIndex
from toolsearch.eval.rates import Difference, difference
from toolsearch.model.limits import PROFILES, SearchLimits
from toolsearch.model.request import SIGNAL_NAMES, SignalName

GRID: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {
        "semantic": (0.3, 0.4, 0.5, 0.6, 0.8),
        "lexical": (0.2, 0.3, 0.45, 0.6, 0.8),
        "experience": (0.0, 0.1, 0.2, 0.4),
        "input_readiness": (0.0, 0.05, 0.1, 0.2, 0.4),
        "reliability": (0.0, 0.08, 0.2),
        "freshness": (0.0, 0.15, 0.3, 0.6),
        "cost": (0.0, 0.03, 0.1),
        "relevance_floor": (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4),
        "words_floor": (0.1, 0.14, 0.18, 0.22, 0.28),
        "min_confidence": (0.0, 0.05, 0.1, 0.15, 0.2, 0.3),
        "boundary_strength": (0.0, 0.3, 0.6, 0.8),
        "effect_penalty": (0.0, 0.1, 0.2, 0.4),
    }
)
"""Signal weight or limit -> values tried."""

ROUNDS = 2

MIN_GAIN = 1e-9
"""A value replaces another only if the mean rises by more: ties keep what is there."""

KEPT_SHARE = 0.5
"""Below this share of the gain on the fitted requests, the gain on the hold-out speaks of overfitting."""

Task = Callable[[ToolIndex, Mapping[SignalName, float]], float]
"""Asks one request of an index with some weights -> how good the answer is, in [0, 1]."""

Progress = Callable[[str, int, int], None]
"""Called with (what is done, done, in all)."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """Weights and limits that differ from the defaults.

    Attributes:
        weights: Overrides of the default profile, as a request takes them.
        limits: Fields of SearchLimits.
    """

    weights: Mapping[SignalName, float] = field(default_factory=lambda: MappingProxyType({}))
    limits: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))

    def value(self, name: str) -> float:
        """Return the value in force of a weight or limit."""
        if name in SIGNAL_NAMES:
            return self.weights.get(name, PROFILES["default"].weights.get(name, 0.0))
        return self.limits.get(name, float(getattr(SearchLimits(), name)))

    def with_value(self, name: str, value: float) -> Tuning:
        """Return the tuning with one weight or limit set."""
        if name in SIGNAL_NAMES:
            return replace(self, weights={**self.weights, name: value})
        return replace(self, limits={**self.limits, name: value})

    def search_limits(self, base: SearchLimits | None = None) -> SearchLimits:
        """Return the limits to open an index with."""
        return replace(base or SearchLimits(), **self.limits)  # type: ignore[arg-type]

    def yaml(self) -> str:
        """Return the tuning as YAML text, names in a fixed order."""
        body = {
            "weights": {name: float(self.weights[name]) for name in SIGNAL_NAMES if name in self.weights},
            "limits": {name: float(self.limits[name]) for name in sorted(self.limits)},
        }
        return yaml.safe_dump(body, sort_keys=False)


@dataclass(frozen=True, slots=True)
class TuneStep:
    """One accepted change and the mean on the fitted requests after it."""

    name: str
    before: float
    after: float
    mean: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneReport:
    """What the search found.

    Attributes:
        chosen: The best weights and limits on the fitted requests.
        steps: How it came there.
        fitted: Gain over the defaults on the fitted requests.
        held_out: Gain on the hold-out; None where there is none.
        start: Mean of the defaults on (fitted, hold-out) requests.
        tried: Settings that were measured.
    """

    chosen: Tuning
    steps: tuple[TuneStep, ...]
    fitted: Difference
    held_out: Difference | None
    start: tuple[float, float | None]
    tried: int

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what speaks against taking the result over."""
        held, gain = self.held_out, self.fitted.delta
        if held is None:
            return ("there is no hold-out: nothing says that this holds for other requests",)
        if gain <= 0:
            return ()
        found = []
        if held.delta < KEPT_SHARE * gain:
            found.append(
                f"overfitting: the fitted requests gain {gain:+.3f}, the hold-out {held.delta:+.3f} "
                f"[{held.low:+.3f}, {held.high:+.3f}]"
            )
        elif held.low <= 0:
            found.append(f"the gain on the hold-out may be chance: [{held.low:+.3f}, {held.high:+.3f}]")
        return tuple(found)


def tune(
    index: ToolIndex,
    fit: Sequence[Task],
    hold_out: Sequence[Task],
    *,
    grid: Mapping[str, Sequence[float]] = GRID,
    seed: int = 0,
    rounds: int = ROUNDS,
    progress: Progress | None = None,
) -> TuneReport:
    """Search for weights and limits, one at a time, each over its grid with the others held.

    Args:
        index: What is asked.
        fit: Requests the search may learn from, at least one.
        hold_out: Requests that are measured before and after only.
        grid: Weight or limit -> values to try.
        seed: Of the order in which weights and limits are tried, and of the intervals.
        rounds: Most passes over all of them; it ends early when one changes nothing.
        progress: Called after each weight or limit.

    Raises:
        ValueError: If `fit` is empty, or the grid names something that is neither a signal nor a limit.
    """
    if not fit:
        raise ValueError("there is no request to fit to")
    _check_names(grid)
    random = Random(seed)
    best, steps, known = Tuning(), list[TuneStep](), dict[str, list[float]]()

    def measured(setting: Tuning) -> list[float]:
        key = setting.yaml()
        if key not in known:
            known[key] = _values(index, fit, setting)
        return known[key]

    start = measured(best)
    for turn in range(rounds):
        changed = False
        order = list(grid)
        random.shuffle(order)
        for number, name in enumerate(order, start=1):
            for value in grid[name]:
                other = best.with_value(name, value)
                if value == best.value(name):
                    continue
                if _mean(measured(other)) > _mean(measured(best)) + MIN_GAIN:
                    steps.append(TuneStep(name, best.value(name), value, _mean(measured(other))))
                    best, changed = other, True
            if progress is not None:
                progress(f"round {turn + 1}", number, len(order))
        if not changed:
            break
    held = None
    if hold_out:
        before, after = (_values(index, hold_out, setting) for setting in (Tuning(), best))
        held = difference(after, before, seed=seed)
    return TuneReport(
        chosen=best,
        steps=tuple(steps),
        fitted=difference(measured(best), start, seed=seed),
        held_out=held,
        start=(_mean(start), _mean(before) if hold_out else None),
        tried=len(known),
    )


def read_tuning(path: Path) -> Tuning:
    """Read what `Tuning.yaml` wrote.

    Raises:
        DataError: If it is not such a file.
    """
    from toolsearch.model.errors import DataError

    try:
        body: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        tuning = Tuning({**body["weights"]}, {**body["limits"]})
        _check_names([*tuning.weights, *tuning.limits])
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", source=str(path)) from None
    except (yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"is not a file of tuned weights and limits: {error}", source=str(path)) from None
    return tuning


def _check_names(names: Any) -> None:
    known = {*SIGNAL_NAMES, *(name for name in SearchLimits.__slots__)}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is neither a signal nor a limit; there are {', '.join(sorted(known))}")


def _values(index: ToolIndex, tasks: Sequence[Task], setting: Tuning) -> list[float]:
    view = index.with_limits(setting.search_limits(index.limits))
    return [task(view, setting.weights) for task in tasks]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
