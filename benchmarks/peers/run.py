"""The command: choose systems and data sets, start a process for each pair, score and write what came of it."""

from __future__ import annotations

import argparse
import gzip
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.peers.adapters import ADAPTERS, Adapter
from benchmarks.peers.environment import ready_environment
from benchmarks.peers.jobs import LIMIT, QUICK, SCALES, TEST_SETS, Job, dataset_job, scale_job
from benchmarks.peers.outcomes import against, scored_result
from benchmarks.peers.summary import write_summary
from toolsearch.eval.results import write_result
from toolsearch.eval.run import Run
from toolsearch.model.errors import ToolSearchError

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = ROOT / ".venv-peers"
RESULTS = ROOT / "benchmarks" / "results" / "peers"
DEPTH = 10
REFERENCE = "toolsearch ranked"
"""What the others are tested against, when it is run with them."""

TIMEOUT_S = 900.0

_KEPT_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
_OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "LANGSMITH_TRACING": "false",
    "OTEL_SDK_DISABLED": "true",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
}
"""No hub, no telemetry, one thread, the same order of hashed things in every run. Keys of services are not passed."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run what the arguments ask for. Returns 0 also when peers failed: that is a result."""
    options = _parser().parse_args(argv)
    unknown = sorted(set(options.systems) - set(ADAPTERS))
    if unknown:
        print(f"no such system: {', '.join(unknown)}; there are {', '.join(ADAPTERS)}", file=sys.stderr)
        return 2
    if options.python is None:
        options.python = ready_environment(ENVIRONMENT, say=partial(print, file=sys.stderr))
    with tempfile.TemporaryDirectory() as folder:
        for job in _jobs(options, folder=Path(folder)):
            reference: Run | None = None
            for system in sorted(options.systems or ADAPTERS, key=list(ADAPTERS).index):
                run = _measure(system, job, options, reference=reference)
                reference = run if system == REFERENCE else reference
    write_summary(options.out)
    return 0


def run_worker(
    job: Mapping[str, Any],
    *,
    python: Path,
    timeout_s: float,
    command: Sequence[str] = ("-m", "benchmarks.peers.worker"),
) -> dict[str, Any]:
    """Run a job in a process of its own and return its outcome; `{"error": why}` if it crashes or takes too long.

    Args:
        job: As `worker.run_job` takes it.
        python: Interpreter of the environment.
        timeout_s: Seconds after which the process and its children are ended.
        command: What the interpreter runs; the paths of job and outcome are appended.
    """
    if not python.exists():
        return {"error": f"there is no {python.name} in {python.parent.parent.name}: run `make bench-peers`"}
    with tempfile.TemporaryDirectory() as folder:
        job_path, outcome_path, log_path = (Path(folder) / name for name in ("job.json", "outcome.json", "log.txt"))
        job_path.write_text(json.dumps(job, ensure_ascii=False), encoding="utf-8")
        arguments = [str(python.absolute()), *command, str(job_path), str(outcome_path)]
        with log_path.open("wb") as log:
            process = subprocess.Popen(
                arguments, cwd=ROOT, env=_environment(), stdout=log, stderr=log, start_new_session=True
            )
            try:
                code = process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                return {"error": f"gave no result within {timeout_s:g} s"}
            finally:
                _end(process)
        if code == 0 and outcome_path.exists():
            outcome: dict[str, Any] = json.loads(outcome_path.read_text(encoding="utf-8"))
            return outcome
        return {"error": f"ended with code {code}: {_last_line(log_path)}"}


def _measure(system: str, job: Job, options: argparse.Namespace, *, reference: Run | None) -> Run | None:
    """Run one system on one job, write what came of it and return its rankings; None if it failed."""
    adapter = ADAPTERS[system]
    encoder = ("minilm" if job.scored else "random") if adapter.encodes else None
    outcome = run_worker(
        _worker_job(adapter, job, encoder=encoder, cache=options.cache),
        python=Path(sys.executable) if adapter.ours else options.python,
        timeout_s=options.timeout,
    )
    result, run = scored_result(system, job, outcome, settings={"k": DEPTH, "encoder": encoder})
    if reference is not None:
        result = against(result, run, reference, job)
    folder, stem = options.out / system.replace(" ", "-"), job.name.replace("/", ".")
    write_result(result, folder / f"{stem}.json")
    if job.scored and not result.failure:
        _write_run(run, folder / f"{stem}.run.txt.gz")
    recall, mrr = result.mean("recall@5"), result.mean("mrr@10")
    figures = "" if recall is None or mrr is None else f"R@5 {recall:.3f}  MRR {mrr:.3f}  "
    speed = f"build {result.build_seconds:.2f} s  {result.memory_mb:.0f} MB" if result.build_seconds is not None else ""
    print(f"{job.name:28} {system:28} {result.failure or figures + speed}", flush=True)
    return None if result.failure else run


def _worker_job(adapter: Adapter, job: Job, *, encoder: str | None, cache: Path) -> dict[str, Any]:
    return {
        "module": adapter.module,
        "function": adapter.function,
        "package": adapter.package,
        "encoder": encoder,
        "cache": str(cache),
        "tools": str(job.tools.resolve()),
        "queries": job.queries(),
        "k": DEPTH,
    }


def _jobs(options: argparse.Namespace, *, folder: Path) -> Iterator[Job]:
    """Yield the jobs in order; a data set that is not there is said and passed over."""
    wanted: dict[str, int | None] = dict.fromkeys(options.datasets, options.limit)
    if options.all:
        wanted |= dict.fromkeys(TEST_SETS, options.limit)
    if options.quick or not (wanted or options.scale is not None):
        wanted |= {name: min(count, options.limit) for name, count in QUICK.items()}
    for name, limit in wanted.items():
        yield from _job(name, partial(dataset_job, options.data, name, limit=limit))
    sizes = () if options.scale is None else options.scale or SCALES
    for size in sizes:
        yield from _job(f"scale {size}", partial(scale_job, options.data, size, folder=folder))


def _job(name: str, make: Callable[[], Job]) -> Iterator[Job]:
    """Yield the job, or nothing and a line that says why the data cannot be read."""
    try:
        yield make()
    except (ToolSearchError, ValueError) as error:
        print(f"{name}: skipped, {error}", file=sys.stderr)


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    return {**kept, **_OFFLINE, "PYTHONPATH": str(ROOT)}


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and whatever it started, if it still runs."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _last_line(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it said nothing"


def _write_run(run: Run, path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "run.txt"
        run.write_trec(plain)
        # No time and no name in the header: the same rankings give the same bytes.
        path.write_bytes(gzip.compress(plain.read_bytes(), compresslevel=9, mtime=0))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="six data sets with at most 300 requests (the default)")
    parser.add_argument("--all", action="store_true", help="every public test set")
    parser.add_argument("--datasets", nargs="+", default=[], metavar="SET", help="a, or a:b for a's requests over b")
    parser.add_argument("--systems", nargs="+", default=[], metavar="SYSTEM", help="default: all")
    parser.add_argument("--scale", nargs="*", type=int, metavar="TOOLS", help="time and memory at so many tools")
    parser.add_argument("--limit", type=int, default=LIMIT, help="most requests of a data set")
    parser.add_argument(
        "--data", type=Path, default=Path(os.environ.get("TOOLSEARCH_DATA", ROOT.parent / "shared/data"))
    )
    parser.add_argument("--python", type=Path, help="interpreter with the peers; default: .venv-peers, made if need be")
    parser.add_argument("--cache", type=Path, default=ENVIRONMENT / "vectors.sqlite", help="file of computed vectors")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--timeout", type=float, default=TIMEOUT_S, help="seconds for one system on one data set")
    return parser
