"""Prometheus metrics of one sidecar, in a registry of its own. No label has a tool name, query text or principal."""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_STAGE_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})


class SidecarMetrics:
    """Counts of requests, answers and outcomes, latencies by endpoint and stage, and the size of the catalogue."""

    def __init__(self) -> None:
        """Register everything in a fresh registry, so that several sidecars can live in one process."""
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "toolsearch_http_requests",
            "HTTP requests by endpoint, method and status.",
            ("endpoint", "method", "status"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "toolsearch_http_seconds",
            "Seconds from the first byte of a request to the last of its answer.",
            ("endpoint",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._searches = Counter(
            "toolsearch_searches",
            "Searches by the outcome answered: candidates, clarify, no_tool.",
            ("outcome",),
            registry=self.registry,
        )
        self._stages = Histogram(
            "toolsearch_stage_seconds",
            "Seconds spent in each stage of a search.",
            ("stage",),
            buckets=_STAGE_SECONDS,
            registry=self.registry,
        )
        self._outcomes = Counter(
            "toolsearch_outcomes",
            "Reported tool calls by how they ended.",
            ("status",),
            registry=self.registry,
        )
        self._tools = Gauge("toolsearch_tools", "Contracts in the catalogue.", registry=self.registry)
        self._generation = Gauge(
            "toolsearch_index_generation", "Generation of the snapshot in use.", registry=self.registry
        )

    def request(self, *, endpoint: str, method: str, status: int, seconds: float) -> None:
        """Count one HTTP request."""
        known = method if method in _METHODS else "other"
        self._requests.labels(endpoint=endpoint, method=known, status=str(status)).inc()
        self._seconds.labels(endpoint=endpoint).observe(seconds)

    def search(self, *, outcome: str, timings_ms: Mapping[str, float]) -> None:
        """Count one answered search."""
        self._searches.labels(outcome=outcome).inc()
        for stage, milliseconds in timings_ms.items():
            self._stages.labels(stage=stage).observe(milliseconds / 1000)

    def outcome(self, *, status: str) -> None:
        """Count one reported outcome."""
        self._outcomes.labels(status=status).inc()

    def catalogue(self, *, tools: int, generation: int) -> None:
        """Set the size of the catalogue."""
        self._tools.set(tools)
        self._generation.set(generation)

    def render(self) -> bytes:
        """Return the text that Prometheus scrapes."""
        return generate_latest(self.registry)
