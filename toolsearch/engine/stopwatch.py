"""Time by stage, in milliseconds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter


class Stopwatch:
    """Adds up the time of named stages; `stop` adds `total`, since it was made."""

    def __init__(self) -> None:
        self._started = perf_counter()
        self._stages: dict[str, float] = {}

    @contextmanager
    def time(self, stage: str) -> Iterator[None]:
        """Time a block."""
        started = perf_counter()
        try:
            yield
        finally:
            self._stages[stage] = self._stages.get(stage, 0.0) + (perf_counter() - started) * 1e3

    def stop(self) -> dict[str, float]:
        """Return milliseconds by stage, and in all."""
        return {**self._stages, "total": (perf_counter() - self._started) * 1e3}
