"""A process of its own: opens an index, answers requests, says how long the first took and how much memory it holds.

Run as `python -m benchmarks.latency.fresh INDEX REQUESTS.json`; prints one JSON object.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Fresh:
    """What a new process took.

    Attributes:
        cold_start_s: From starting the interpreter to the first answer.
        cold_cpu_s: Processor time of the same.
        memory_mb: Resident after all requests.
    """

    cold_start_s: float
    cold_cpu_s: float
    memory_mb: float


def fresh_process(index: Path, requests: Sequence[str], *, repeats: int = 3) -> Fresh:
    """Run the process some times and return the best start and the largest memory."""
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder) / "requests.json"
        asked.write_text(json.dumps(list(requests)), encoding="utf-8")
        for _ in range(repeats):
            command = [sys.executable, "-m", "benchmarks.latency.fresh", str(index), str(asked)]
            started = time.time()
            done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
            said = json.loads(done.stdout)
            runs.append((said["answered_at"] - started, said["cpu_s"], said["memory_mb"]))
    return Fresh(min(run[0] for run in runs), min(run[1] for run in runs), max(run[2] for run in runs))


def _resident_mb() -> float:
    status = Path("/proc/self/status")
    if status.is_file():
        line = next(line for line in status.read_text("ascii").splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def _main(index: str, requests: str) -> None:
    from toolsearch import Principal, ToolIndex

    principal = Principal(subject="benchmark", roles=("everything",))
    first, *others = json.loads(Path(requests).read_text(encoding="utf-8"))
    with ToolIndex.open(index) as opened:
        opened.search(first, principal=principal)
        answered_at, cpu_s = time.time(), time.process_time()
        for request in others:
            opened.search(request, principal=principal)
        print(json.dumps({"answered_at": answered_at, "cpu_s": cpu_s, "memory_mb": _resident_mb()}))


if __name__ == "__main__":
    _main(*sys.argv[1:])
