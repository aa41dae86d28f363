"""Figures of guarantees as records, as benchmark results and as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toolsearch.eval.rates import Difference
from toolsearch.eval.results import Measure, PairedComparison, SystemResult, environment

SYSTEM = "toolsearch hybrid"


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number.

    Attributes:
        name: What was measured.
        part: `all`, or `split=` and the split.
        measure: Mean or rate with its interval and number of cases.
        must: The value it has to have, None where there is no such duty.
    """

    name: str
    part: str
    measure: Measure
    must: float | None = None

    @classmethod
    def count(cls, name: str, part: str, counts: Sequence[int], *, must: float | None = None) -> Figure:
        """Return a figure that is a plain sum, with no interval; n is how many cases were looked at."""
        return cls(name, part, Measure(mean=float(sum(counts)), n=len(counts)), must)

    @property
    def holds(self) -> bool:
        """Tell whether a figure with a duty has the value it must have."""
        return self.must is None or self.measure.n == 0 or self.measure.mean == self.must


@dataclass(frozen=True, slots=True)
class Effect:
    """Accuracy with something and without it, on the same cases.

    Attributes:
        name: What was measured.
        part: `all`, or `split=` and the split.
        about: What is there on one side only.
        with_it: Accuracy with it.
        without: Accuracy without it.
        gain: The paired difference.
    """

    name: str
    part: str
    about: str
    with_it: Measure
    without: Measure
    gain: Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class GuaranteeReport:
    """Everything measured on one catalogue.

    Attributes:
        dataset: Name of the measurement.
        encoder: Id of the encoder.
        tools: Tools in the catalogue.
        questions: Requests asked of it, not counting versions and variants.
        seed: Of everything random.
        figures: In the order they were measured.
        effects: Paired comparisons.
        faults: One sentence for every leak and every violation.
    """

    dataset: str
    encoder: str
    tools: int
    questions: int
    seed: int
    figures: tuple[Figure, ...]
    effects: tuple[Effect, ...]
    faults: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Tell whether every figure with a duty has the value it must have."""
        return all(figure.holds for figure in self.figures)

    def figure(self, name: str, *, part: str = "all") -> Figure:
        """Return one figure.

        Raises:
            KeyError: If it was not measured.
        """
        for figure in self.figures:
            if (figure.name, figure.part) == (name, part):
                return figure
        raise KeyError(f"{name} ({part}) was not measured")

    def result(self) -> SystemResult:
        """Return the report in the form of all benchmark results."""
        table: dict[str, dict[str, Measure]] = {}
        for figure in self.figures:
            table.setdefault(figure.part, {})[figure.name] = figure.measure
        for effect in self.effects:
            part = table.setdefault(effect.part, {})
            part[effect.name], part[f"{effect.name}_without"] = effect.with_it, effect.without
        return SystemResult(
            system=SYSTEM,
            dataset=self.dataset,
            settings={"encoder": self.encoder},
            seed=self.seed,
            environment=environment(),
            tools=self.tools,
            queries=self.questions,
            metrics=table,
            comparisons=tuple(_comparison(effect) for effect in self.effects if effect.part == "all"),
            note="; ".join(self.faults[:20]),
        )


def guarantees_markdown(reports: Sequence[GuaranteeReport]) -> str:
    """Return all reports as one Markdown page."""
    parts = [_HEAD]
    for report in reports:
        parts.append(f"## {report.dataset}\n\n{report.tools} tools, {report.questions} requests, {report.encoder}.\n")
        parts.append(_figures_table(report))
        if report.effects:
            parts.append(_effects_table(report))
        if report.faults:
            parts.append("Faults:\n\n" + "".join(f"- {fault}\n" for fault in report.faults))
    return "\n".join(parts)


_HEAD = """\
# Guarantees

Made by `python -m benchmarks.guarantees`; do not edit.

Rates are shares of cases with 95 % Wilson intervals, gains are paired differences with 95 % bootstrap intervals. A
figure with a duty must have exactly that value; `holds` says whether it does.
"""


def _figures_table(report: GuaranteeReport) -> str:
    lines = ["| figure | part | value | 95 % | n | must | holds |", "|:--|:--|--:|:--|--:|--:|:--|"]
    for figure in report.figures:
        must = "" if figure.must is None else f"{figure.must:g}"
        holds = "" if figure.must is None else ("yes" if figure.holds else "**no**")
        value = f"{figure.measure.mean:.0f}" if figure.name == "leaks" else f"{figure.measure.mean:.3f}"
        cells = (figure.name, figure.part, value, _interval(figure.measure), str(figure.measure.n), must, holds)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _effects_table(report: GuaranteeReport) -> str:
    lines = [
        "| accuracy | part | with | without | what | gain | 95 % | p | n |",
        "|:--|:--|--:|--:|:--|--:|:--|--:|--:|",
    ]
    for effect in report.effects:
        gain = effect.gain
        cells = (
            effect.name,
            effect.part,
            f"{effect.with_it.mean:.3f}",
            f"{effect.without.mean:.3f}",
            effect.about,
            f"{gain.delta:+.3f}",
            f"[{gain.low:+.3f}, {gain.high:+.3f}]",
            f"{gain.p_value:.3f}",
            str(gain.n),
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _interval(measure: Measure) -> str:
    return "" if measure.low is None or measure.high is None else f"[{measure.low:.3f}, {measure.high:.3f}]"


def _comparison(effect: Effect) -> PairedComparison:
    return PairedComparison(
        other=f"without {effect.about}",
        metric=effect.name,
        delta=effect.gain.delta,
        p_value=effect.gain.p_value,
        n=effect.gain.n,
    )
