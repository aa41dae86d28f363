"""One peer on one catalogue, in a process of its own: read a job, rank every request, write what came of it.

Runs in the peers' environment, so it may import nothing that is installed only beside toolsearch. A request on which
the peer fails counts as an empty answer and is told; a peer that cannot be imported or built ends the job.
"""

from __future__ import annotations

import json
import socket
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from benchmarks.peers.encoding import CachedEncoder, RandomEncoder, load_encoder
from benchmarks.peers.tools import PeerTool, read_tools

Search = Callable[[str], Sequence[str]]
"""Request -> names, best first."""


def main(argv: Sequence[str] = sys.argv[1:]) -> int:
    """Run `worker JOB.json OUTCOME.json`."""
    job_path, outcome_path = map(Path, argv)
    job = json.loads(job_path.read_text(encoding="utf-8"))
    _forbid_network()
    try:
        outcome = run_job(job)
    except Exception as error:  # noqa: BLE001 - whatever a peer raises is its result
        traceback.print_exc()
        outcome = {"error": f"{type(error).__name__}: {error}"}
    outcome_path.write_text(json.dumps(outcome, ensure_ascii=False), encoding="utf-8")
    return 0


def run_job(job: dict[str, Any]) -> dict[str, Any]:
    """Build the index and rank.

    Args:
        job: `module` and `function` of the adapter, `package` (its distribution), `encoder` (name or null), `cache`
            (file of vectors), `tools` (a tools.jsonl), `queries` ([{id, text, candidates: ids or null}]) and `k`.

    Returns:
        version, rankings (query id -> tool ids), timings ([{total, encode, cpu}] ms; cpu is processor time without
        encoding), build_seconds and build_cpu_seconds (without encoding), encode_seconds, memory_mb (resident after
        the build), memory_before_mb, failed (query id -> message).
    """
    tools = read_tools(Path(job["tools"]))
    before = resident_mb()
    embed = load_encoder(job["encoder"], cache=Path(job["cache"])) if job["encoder"] else None
    build = getattr(import_module(job["module"]), job["function"])
    # The first search is part of the build: several peers put their work off until then.
    watch = _Watch(embed)
    search = build(tools, k=job["k"], embed=embed)
    _first(search, job["queries"])
    spent = watch.read()
    outcome = {
        "version": _version(job["package"]),
        "build_seconds": spent.own,
        "build_cpu_seconds": spent.own_cpu,
        "encode_seconds": spent.encoding,
        "memory_mb": resident_mb(),
        "memory_before_mb": before,
        "rankings": {},
        "timings": [],
        "failed": {},
    }
    for query in job["queries"]:
        shown, finder = tools, search
        if query.get("candidates") is not None:
            wanted = frozenset(query["candidates"])
            shown = [tool for tool in tools if tool.id in wanted]
            finder = _lazy(build, shown, k=job["k"], embed=embed)
        _ask(query, finder, shown, embed=embed, k=job["k"], outcome=outcome)
    return outcome


def resident_mb() -> float:
    """Return the resident set of this process in MB."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("this system tells no resident set: /proc/self/status has no VmRSS")


@dataclass(frozen=True, slots=True)
class _Spent:
    """Seconds of a stretch of work.

    Attributes:
        own: Without encoding.
        own_cpu: Processor time of that; what to compare on a machine that others use too.
        encoding: What encoding its texts takes.
    """

    own: float
    own_cpu: float
    encoding: float


class _Watch:
    """Time of a stretch of work, the encoder's part apart and at its own price."""

    def __init__(self, embed: CachedEncoder | RandomEncoder | None) -> None:
        self._embed = embed
        self._started = self._now()

    def read(self) -> _Spent:
        """Return the time since the watch was made."""
        wall, cpu, encoding = (now - then for now, then in zip(self._now(), self._started, strict=True))
        return _Spent(max(0.0, wall), max(0.0, cpu), encoding)

    def _now(self) -> tuple[float, float, float]:
        wall, cpu = time.perf_counter(), time.process_time()
        if self._embed is None:
            return wall, cpu, 0.0
        return wall - self._embed.spent_s, cpu - self._embed.spent_cpu_s, self._embed.cost_s


def _ask(
    query: dict[str, Any],
    search: Search,
    tools: Sequence[PeerTool],
    *,
    embed: CachedEncoder | RandomEncoder | None,
    k: int,
    outcome: dict[str, Any],
) -> None:
    ids = {tool.name: tool.id for tool in tools}
    watch = _Watch(embed)
    try:
        names = list(search(query["text"]))
    except Exception as error:  # noqa: BLE001 - whatever a peer raises is its result
        names = []
        outcome["failed"][query["id"]] = f"{type(error).__name__}: {error}"[:300]
    spent = watch.read()
    if query.get("candidates") is None:  # the others build an index each
        parts = {"total": spent.own + spent.encoding, "encode": spent.encoding, "cpu": spent.own_cpu}
        outcome["timings"].append({stage: seconds * 1e3 for stage, seconds in parts.items()})
    outcome["rankings"][query["id"]] = list(dict.fromkeys(ids[name] for name in names if name in ids))[:k]


def _first(search: Search, queries: Sequence[dict[str, Any]]) -> None:
    """Search once, so that work put off until then is done; a failure shows again when the request is asked."""
    for query in queries[:1]:
        try:
            search(query["text"])
        except Exception:  # noqa: BLE001
            return


def _lazy(build: Callable[..., Search], tools: Sequence[PeerTool], **options: Any) -> Search:
    """Return a search that builds its index when asked, so that a failure to build counts for that request only."""
    return lambda text: build(tools, **options)(text)


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _forbid_network() -> None:
    """Make every attempt to reach another host fail at once: results must not depend on one."""

    def refuse(self: socket.socket, address: object) -> None:
        raise OSError(f"benchmark peers run offline; a connection to {address!r} was asked for")

    socket.socket.connect = refuse  # type: ignore[method-assign, assignment]
    socket.socket.connect_ex = refuse  # type: ignore[method-assign, assignment]


if __name__ == "__main__":
    sys.exit(main())
