"""What a measurement leaves behind: one record for each system and data set, whoever ran it.

Our engine, another retrieval library and a published figure all have this form, so that they stand in the same tables.
A record says how it came about: versions, processor, seed and the hash of the data.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field, ValidationError

from toolsearch.eval.significance import Interval
from toolsearch.model.contract import Frozen
from toolsearch.model.errors import DataError

RESULT_FORMAT = 1


class Measure(Frozen):
    """A mean over queries with its 95 % interval; the ends are None for figures published without one."""

    mean: float
    low: float | None = None
    high: float | None = None
    n: int = Field(ge=0)

    @classmethod
    def of(cls, interval: Interval) -> Measure:
        """Return the record of an interval, to six digits: what is beyond is the noise of the summation order."""
        return cls(mean=round(interval.mean, 6), low=round(interval.low, 6), high=round(interval.high, 6), n=interval.n)


class Latency(Frozen):
    """Milliseconds of one stage over the measured requests."""

    p50: float
    p95: float
    p99: float
    mean: float
    n: int


class RefusalFigures(Frozen):
    """How well requests that need no tool are told from those that do. Rates are shares in [0, 1]."""

    none: int
    answerable: int
    refusal_rate: float | None = Field(
        default=None, description="Of the requests without a tool, by the system itself."
    )
    false_refusal_rate: float | None = Field(default=None, description="Of the requests that need one.")
    refusal_at_limit: float | None = Field(
        default=None, description="Refusals a floor on the best score reaches with at most 2 % false ones."
    )
    false_refusal_at_limit: float | None = None
    floor_at_limit: float | None = None
    separation: float | None = Field(default=None, description="Area under the refusal curve.")
    curve: tuple[tuple[float, float], ...] = Field(default=(), description="(false refusals, refusals), rising.")


class PairedComparison(Frozen):
    """This system against another one on the same queries: mean difference, and the paired two-sided p-value."""

    other: str
    metric: str
    delta: float
    p_value: float
    n: int


class Environment(Frozen):
    """Where and with what a result was measured."""

    python: str
    platform: str
    cpu: str
    cores: int
    packages: dict[str, str]


class SystemResult(Frozen):
    """The result of one system on one data set."""

    format: int = RESULT_FORMAT
    system: str = Field(min_length=1, description="What was run, such as `toolsearch hybrid`.")
    dataset: str
    role: str = Field(default="", description="Role of the data: test, dev, train.")
    settings: dict[str, str | int | float | bool | None] = Field(default_factory=dict)
    seed: int = 0
    data_sha256: dict[str, str] = Field(default_factory=dict)
    environment: Environment | None = None
    tools: int = 0
    queries: int = 0
    metrics: dict[str, dict[str, Measure]] = Field(default_factory=dict, description="Slice -> metric -> measure.")
    refusal: RefusalFigures | None = None
    comparisons: tuple[PairedComparison, ...] = ()
    latency_ms: dict[str, Latency] = Field(default_factory=dict)
    build_seconds: float | None = None
    memory_mb: float | None = None
    failure: str = Field(default="", description="Why there is no figure; a system that fails is shown, not dropped.")
    note: str = ""

    def mean(self, metric: str, *, part: str = "all") -> float | None:
        """Return the mean of a metric on a slice, None where it was not measured."""
        measure = self.metrics.get(part, {}).get(metric)
        return None if measure is None else measure.mean


def environment(packages: Iterable[str] = ("toolsearch", "numpy", "faiss-cpu", "onnxruntime")) -> Environment:
    """Return the environment of this process; a package that is not installed is left out."""
    versions = {}
    for package in packages:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return Environment(
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        cpu=_cpu(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        packages=versions,
    )


def latencies(timings: Iterable[Mapping[str, float]]) -> dict[str, Latency]:
    """Return p50, p95, p99 and mean of each stage, stages in the order they first occur.

    Args:
        timings: Stage -> milliseconds, one mapping a request. A stage that a request skipped took 0 ms.
    """
    rows = list(timings)
    stages = dict.fromkeys(stage for row in rows for stage in row)
    table: dict[str, Latency] = {}
    for stage in stages:
        values = np.array([row.get(stage, 0.0) for row in rows])
        p50, p95, p99 = np.percentile(values, [50, 95, 99]).round(4).tolist()
        table[stage] = Latency(p50=p50, p95=p95, p99=p99, mean=round(float(values.mean()), 4), n=len(rows))
    return table


def write_result(result: SystemResult, path: Path) -> None:
    """Write one result as indented JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # The version always stands in the file; other defaults do not.
    body = {"format": result.format, **result.model_dump(mode="json", exclude_defaults=True)}
    path.write_text(json.dumps(body, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def read_result(path: Path) -> SystemResult:
    """Read one result.

    Raises:
        DataError: If the file is missing or of another form.
    """
    try:
        return SystemResult.model_validate_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", source=str(path)) from None
    except (ValidationError, UnicodeDecodeError) as error:
        reason = error.errors(include_url=False)[0]["msg"] if isinstance(error, ValidationError) else "not UTF-8"
        raise DataError(f"is not a benchmark result: {reason}", source=str(path)) from None


def read_results(folder: Path) -> tuple[SystemResult, ...]:
    """Read every `*.json` of a folder and its sub-folders, ordered by data set and system.

    Raises:
        DataError: If a file is no result, or two files hold the same system on the same data.
    """
    found: dict[tuple[str, str], tuple[SystemResult, Path]] = {}
    for path in sorted(folder.rglob("*.json")):
        result = read_result(path)
        key = (result.dataset, result.system)
        if key in found:
            message = f"holds {result.system} on {result.dataset}, as {found[key][1]} does; remove one"
            raise DataError(message, source=str(path))
        found[key] = (result, path)
    return tuple(found[key][0] for key in sorted(found))


def write_rows(rows: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write one JSON object a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _cpu() -> str:
    """Return the processor's name as the system gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
