"""What a worker left behind -> a result like every other benchmark's, scored by the same functions."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from benchmarks.peers.jobs import Job
from toolsearch.eval.results import RefusalFigures, SystemResult, environment, latencies
from toolsearch.eval.roles import role_of
from toolsearch.eval.run import Run
from toolsearch.eval.score import comparison, measures, score_queries

Setting = str | int | float | bool | None

COMPARED = ("recall@5", "mrr@10")
"""Metrics of the paired test against our own ranking."""


def scored_result(
    system: str, job: Job, outcome: Mapping[str, Any], *, settings: Mapping[str, Setting]
) -> tuple[SystemResult, Run]:
    """Return the result of one system on one job, and its rankings.

    Peers return an order without scores, so a rank counts as the score 1/rank, and the only refusals that can be told
    are empty answers.

    Args:
        system: Name in the table of adapters.
        job: What was asked.
        outcome: What the worker wrote, or `{"error": why}`.
        settings: What to record beside the figures.
    """
    run = Run(system, MappingProxyType(_ranked(outcome.get("rankings", {}))))
    failed = outcome.get("failed", {})
    error = str(outcome.get("error", ""))
    if failed and len(failed) == len(job.qrels.queries):
        error = f"failed on every request: {next(iter(failed.values()))}"
    recorded = {
        **settings,
        "version": outcome.get("version", ""),
        "requests_available": job.available,
        "failed_requests": len(failed),
        "build_cpu_seconds": _rounded(outcome.get("build_cpu_seconds")),
        "encode_seconds": _rounded(outcome.get("encode_seconds")),
        "memory_before_mb": _rounded(outcome.get("memory_before_mb")),
    }
    base = SystemResult(
        system=system,
        dataset=job.name,
        role=", ".join(sorted({role_of(job.name, query.split) for query in job.qrels.queries})),
        settings={name: value for name, value in recorded.items() if value not in (None, "")},
        data_sha256=dict(job.qrels.sha256),
        environment=environment(()),
        tools=len(job.qrels.tool_ids),
        queries=len(job.qrels.queries),
        failure=error,
    )
    if error:
        return base, run
    measured: dict[str, object] = {
        "latency_ms": latencies(outcome["timings"]) if outcome["timings"] else {},
        "build_seconds": outcome["build_seconds"],
        "memory_mb": outcome["memory_mb"],
        "note": f"{len(failed)} requests failed, the first with {next(iter(failed.values()))}" if failed else "",
    }
    if job.scored:
        measured |= {"metrics": measures(score_queries(job.qrels, run)), "refusal": _refusals(job, run)}
    return base.model_copy(update=measured), run


def against(result: SystemResult, run: Run, reference: Run, job: Job) -> SystemResult:
    """Return the result with a paired test against another system's ranking of the same requests.

    Unchanged where nothing was scored: the system failed, or no request needs a tool.
    """
    if not result.metrics:
        return result
    mine, theirs = score_queries(job.qrels, run), score_queries(job.qrels, reference)
    found = tuple(comparison(mine, theirs, other=reference.system, metric=metric) for metric in COMPARED)
    return result.model_copy(update={"comparisons": found})


def _ranked(rankings: Mapping[str, list[str]]) -> dict[str, tuple[tuple[str, float], ...]]:
    return {
        query: tuple((tool, 1.0 / place) for place, tool in enumerate(tools, start=1))
        for query, tools in rankings.items()
    }


def _refusals(job: Job, run: Run) -> RefusalFigures | None:
    """Return the shares of empty answers; None where the data set has no request without a tool."""
    none = [query.id for query in job.qrels.queries if query.kind == "none"]
    needing = [query.id for query in job.qrels.queries if query.kind != "none"]
    if not none:
        return None
    return RefusalFigures(
        none=len(none),
        answerable=len(needing),
        refusal_rate=_empty(none, run),
        false_refusal_rate=_empty(needing, run) if needing else None,
    )


def _empty(queries: list[str], run: Run) -> float:
    return sum(not run.ranked(query) for query in queries) / len(queries)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
