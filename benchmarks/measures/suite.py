"""Benchmark suites as files: what is run, on which data, and what must come out.

After pyserini's two-click reproductions: a suite is the command that measures it, the values that were measured last,
and how far a value may fall before it is a failure. Two kinds exist. `dataset` runs a folder of labelled requests
through `bench_dataset`; `cases` runs case files over a catalogue. Both leave `SystemResult` records.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError, model_validator

from benchmarks.measures.outcomes import CASES_SUFFIX, case_row
from toolsearch.eval.bench import Progress, bench_dataset
from toolsearch.eval.catalogue import bench_cases
from toolsearch.eval.positions import Location, read_with_positions
from toolsearch.eval.qrels import QUERIES_FILE, TOOLS_FILE
from toolsearch.eval.results import SystemResult, write_result, write_rows
from toolsearch.model.contract import Frozen
from toolsearch.model.errors import DataError
from toolsearch.model.limits import DEFAULT_ENCODER
from toolsearch.model.request import Mode

EXACT = 0.0005
"""Differences below this do not show in a table of three decimals."""

Expected = dict[Mode, dict[str, float]]
"""Mode -> metric -> value. A metric is `recall@5`, `lang=zh/recall@5`, `refusal_rate` or `false_refusal_rate`."""

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]


class DatasetSuite(Frozen):
    """A data folder, run in some recall modes."""

    kind: Literal["dataset"]
    name: Name
    about: str = ""
    quick: bool = Field(default=False, description="Belongs to the quick benchmark.")
    data: str = Field(min_length=1, description="Folder below the data root.")
    queries: str = QUERIES_FILE
    tools: str | None = Field(default=None, description="Folder whose tools are asked instead, below the data root.")
    limit: int | None = Field(default=None, ge=1)
    encoder: str = DEFAULT_ENCODER
    modes: tuple[Mode, ...] = (Mode.LEXICAL, Mode.VECTOR, Mode.HYBRID)
    k: int = Field(default=10, ge=1, le=100)
    seed: int = 0
    tolerance: float = Field(default=0.005, ge=0, description="How far below its expected value a metric may fall.")
    expected: Expected = Field(default_factory=dict)

    @model_validator(mode="after")
    def _expects_what_it_runs(self) -> DatasetSuite:
        idle = sorted(set(self.expected) - set(self.modes))
        if idle:
            raise ValueError(f"expects values of {', '.join(idle)}, which is not among its modes")
        return self

    @property
    def command(self) -> str:
        """Return the shell command that measures the suite."""
        if self.tools is not None:
            return f"python -m benchmarks.run --only {self.name}"
        parts = ["toolsearch", "bench", f"$DATA/{self.data}"]
        parts += [f"--mode {mode}" for mode in self.modes]
        parts += [f"--encoder {self.encoder}", f"-k {self.k}", f"--seed {self.seed}"]
        parts += [f"--limit {self.limit}"] if self.limit is not None else []
        parts += [f"--queries {self.queries}"] if self.queries != QUERIES_FILE else []
        return " ".join(parts)


class CasesSuite(Frozen):
    """Case files, asked of one catalogue as in production."""

    kind: Literal["cases"]
    name: Name
    about: str = ""
    quick: bool = False
    catalog: str = Field(min_length=1, description="Folder with contracts/ and rules.yaml, below the project root.")
    cases: str = Field(min_length=1, description="Case file or folder, below the project root.")
    split: str | None = Field(default=None, description="Only the cases of this split.")
    encoder: str = DEFAULT_ENCODER
    modes: tuple[Mode, ...] = (Mode.HYBRID,)
    seed: int = 0
    tolerance: float = Field(default=0.005, ge=0)
    expected: Expected = Field(default_factory=dict)

    @property
    def command(self) -> str:
        """Return the shell command that measures the suite."""
        return f"python -m benchmarks.run --only {self.name}"


Suite = Annotated[DatasetSuite | CasesSuite, Field(discriminator="kind")]


class SuiteFile(Frozen):
    """The content of one suite file."""

    suites: tuple[Suite, ...] = Field(min_length=1)


class Verdict(StrEnum):
    """How a measured value stands to the expected one."""

    EQUAL = "equal"
    NEAR = "near"
    ABOVE = "above"
    BELOW = "below"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Check:
    """One expected value and what was measured.

    Attributes:
        system: What was measured, such as `toolsearch hybrid`.
        metric: Name of the metric.
        expected: The value in the suite file.
        measured: The value now, None where there is no such metric.
        verdict: `below` and `absent` are failures; `above` asks for a new expected value.
    """

    system: str
    metric: str
    expected: float
    measured: float | None
    verdict: Verdict

    @property
    def passed(self) -> bool:
        """Tell whether the value is at least what was expected, within the tolerance."""
        return self.verdict not in (Verdict.BELOW, Verdict.ABSENT)


@dataclass(frozen=True, slots=True)
class SuiteOutcome:
    """What came of one suite.

    Attributes:
        suite: Its name.
        skipped: Why it was not run, "" if it was.
        checks: One for each expected value.
        results: One for each mode.
    """

    suite: str
    skipped: str
    checks: tuple[Check, ...]
    results: tuple[SystemResult, ...]

    @property
    def passed(self) -> bool:
        """Tell whether no check failed; a skipped suite has none."""
        return all(check.passed for check in self.checks)


def load_suites(path: Path) -> tuple[DatasetSuite | CasesSuite, ...]:
    """Read one suite file, or every `*.yaml` of a folder in name order.

    Raises:
        DataError: If a file is wrong, with the line, or a suite's name stands twice.
    """
    files = sorted(path.glob("*.yaml")) if path.is_dir() else [path]
    if not files:
        raise DataError("holds no suite file (*.yaml)", source=str(path))
    suites: dict[str, DatasetSuite | CasesSuite] = {}
    for file in files:
        for suite in _read(file).suites:
            if suite.name in suites:
                raise DataError(f"suite {suite.name!r} stands twice", source=str(file))
            suites[suite.name] = suite
    return tuple(suites.values())


def run_suite(
    suite: DatasetSuite | CasesSuite, *, root: Path, data: Path, out: Path, progress: Progress | None = None
) -> SuiteOutcome:
    """Run a suite, write its results and compare them with what it expects.

    Args:
        suite: What to run.
        root: The project folder, which `cases` suites are read from.
        data: The data root, which `dataset` suites are read from.
        out: Folder for results.
        progress: Called now and then.

    Raises:
        DataError: If data that are there are wrong.
    """
    if isinstance(suite, DatasetSuite):
        wanting = _lacking(suite, data)
        if wanting:
            return SuiteOutcome(suite.name, wanting, (), ())
        results = _run_dataset(suite, data=data, out=out, progress=progress)
    else:
        results = _run_cases(suite, root=root, out=out)
    checks = tuple(_checks(suite, results))
    return SuiteOutcome(suite.name, "", checks, tuple(results.values()))


def measured_value(result: SystemResult, metric: str) -> float | None:
    """Return a metric by the name it has in a suite file; None where it was not measured."""
    part, _, name = metric.rpartition("/")
    if name in ("refusal_rate", "false_refusal_rate", "refusal_at_limit", "separation") and not part:
        found: float | None = getattr(result.refusal, name, None)
        return found
    return result.mean(name, part=part or "all")


def check_value(system: str, metric: str, *, expected: float, measured: float | None, tolerance: float) -> Check:
    """Return how a measured value stands to the expected one."""
    if measured is None:
        verdict = Verdict.ABSENT
    elif abs(measured - expected) <= EXACT:
        verdict = Verdict.EQUAL
    elif abs(measured - expected) <= tolerance:
        verdict = Verdict.NEAR
    else:
        verdict = Verdict.ABOVE if measured > expected else Verdict.BELOW
    return Check(system, metric, expected, measured, verdict)


def _lacking(suite: DatasetSuite, data: Path) -> str:
    """Return what of the data of a suite is not there, "" if all is."""
    needed = [data / suite.data / suite.queries, data / suite.data / TOOLS_FILE]
    needed += [data / suite.tools / TOOLS_FILE] if suite.tools is not None else []
    absent = next((path for path in needed if not path.is_file()), None)
    return "" if absent is None else f"no {absent.name} in {absent.parent}"


def _run_dataset(suite: DatasetSuite, *, data: Path, out: Path, progress: Progress | None) -> dict[Mode, SystemResult]:
    report = bench_dataset(
        data / suite.data,
        encoder=suite.encoder,
        modes=suite.modes,
        queries=suite.queries,
        tools=None if suite.tools is None else data / suite.tools,
        k=suite.k,
        limit=suite.limit,
        seed=suite.seed,
        out=out,
        progress=progress,
    )
    return {Mode(name): mode.result for name, mode in report.modes.items()}


def _run_cases(suite: CasesSuite, *, root: Path, out: Path) -> dict[Mode, SystemResult]:
    reports = bench_cases(
        root / suite.catalog,
        cases=root / suite.cases,
        split=suite.split,
        encoder=suite.encoder,
        modes=suite.modes,
        seed=suite.seed,
    )
    for mode, report in reports.items():
        write_result(report.result, out / f"{suite.name}.{mode}.json")
        write_rows(map(case_row, report.cases), out / f"{suite.name}.{mode}{CASES_SUFFIX}")
    return {mode: report.result for mode, report in reports.items()}


def _checks(suite: DatasetSuite | CasesSuite, results: dict[Mode, SystemResult]) -> Iterable[Check]:
    for mode, values in suite.expected.items():
        for metric, expected in values.items():
            # A falling rate of false refusals is good news: compare its complement, so that below is worse.
            sign = -1.0 if metric == "false_refusal_rate" else 1.0
            value = measured_value(results[mode], metric)
            check = check_value(
                results[mode].system,
                metric,
                expected=sign * expected,
                measured=None if value is None else sign * value,
                tolerance=suite.tolerance,
            )
            yield Check(check.system, metric, expected, value, check.verdict)


def _read(file: Path) -> SuiteFile:
    data, positions = read_with_positions(file)
    try:
        return SuiteFile.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place: Location = tuple(part for part in first["loc"] if part not in ("dataset", "cases"))
        where = ".".join(map(str, place))
        message = f"{where}: {first['msg'].removeprefix('Value error, ')}"
        raise DataError(message, source=str(file), line=positions.line(place)) from None
