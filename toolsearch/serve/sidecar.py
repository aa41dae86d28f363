"""What one running sidecar holds, and how a request reaches the engine."""

from __future__ import annotations

import asyncio
import gc
import logging
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, TypeVar

from fastapi import Depends, Request

from toolsearch import Principal, ToolIndex
from toolsearch.calls.upstream import UpstreamServer
from toolsearch.model.errors import ToolSearchError
from toolsearch.serve.http.guard import principal_of_state
from toolsearch.serve.http.limits import EngineThreads
from toolsearch.serve.http.metrics import SidecarMetrics
from toolsearch.serve.http.problems import HttpProblem
from toolsearch.serve.http.schemas import Health
from toolsearch.serve.settings import Settings

FLUSH_EVERY_S = 5.0
"""Seconds of decision records that a killed server may lose."""

T = TypeVar("T")
_LOG = logging.getLogger("toolsearch.serve")


@dataclass(slots=True, kw_only=True)
class Sidecar:
    """The state of one server.

    Attributes:
        opened: Opens the index; called once, in an engine thread, while `/healthz` answers 503.
        settings: The settings it was started with.
        metrics: Its counters.
        threads: Where the engine runs.
        when_ready: Called once, when requests are answered.
        servers: MCP servers of the operator's file, whose tools are kept up to date.
        instance: Random id, by which a client tells this server from another one on the same port.
        index: The index, once it is open.
        failure: Why it could not be opened.
        stopping: True from the beginning of the shutdown on.
    """

    opened: Callable[[], ToolIndex]
    settings: Settings
    metrics: SidecarMetrics
    threads: EngineThreads
    when_ready: Callable[[ToolIndex], None] = lambda _: None
    servers: tuple[UpstreamServer, ...] = ()
    instance: str = field(default_factory=lambda: secrets.token_hex(8))
    index: ToolIndex | None = None
    failure: ToolSearchError | None = None
    stopping: bool = False

    def open(self) -> None:
        """Open the index, or keep the reason why that failed."""
        try:
            index = self.opened()
            index.warm()
            # What is loaded stays: looking through it for garbage, again and again, held requests up for 0.1 s.
            gc.collect()
            gc.freeze()
            self.index = index
            self.when_ready(index)
        except ToolSearchError as error:
            _LOG.error("cannot open the index: %s", error)
            self.failure = error

    async def flush_regularly(self, *, every_s: float = FLUSH_EVERY_S) -> None:
        """Write decision records down every few seconds, until cancelled: so much at most is lost to a kill."""
        while True:
            await asyncio.sleep(every_s)
            if self.index is not None and not self.stopping:
                try:
                    await asyncio.to_thread(self.index.flush)
                except ToolSearchError as error:
                    _LOG.warning("decision records could not be written and are kept for later: %s", error)

    def close(self) -> None:
        """Finish what runs, then close the index."""
        self.stopping = True
        self.threads.close()
        if self.index is not None:
            self.index.close()

    def ready_index(self) -> ToolIndex:
        """Return the open index.

        Raises:
            HttpProblem: 503 while it is being opened, or after that failed.
        """
        if self.index is None or self.stopping:
            raise HttpProblem(
                f"the index is not ready: {self.health().status}; try again shortly",
                status=503,
                code="not_ready",
                headers={"Retry-After": "1"},
            )
        return self.index

    def health(self) -> Health:
        """Return whether requests are answered."""
        if self.stopping:
            return Health(status="stopping", vectors_ready=False, instance=self.instance)
        if self.failure is not None:
            return Health(status="failed", vectors_ready=False, instance=self.instance)
        if self.index is None:
            return Health(status="starting", vectors_ready=False, instance=self.instance)
        return Health(status="ready", vectors_ready=self.index.status().vectors_ready, instance=self.instance)

    def count_catalogue(self) -> None:
        """Bring the gauges up to date."""
        status = self.ready_index().status()
        self.metrics.catalogue(tools=status.tools, generation=status.generation)


@dataclass(frozen=True, slots=True, kw_only=True)
class SidecarCall:
    """One request on its way to the engine.

    Attributes:
        sidecar: The server it came to.
        principal: On whose behalf it runs.
    """

    sidecar: Sidecar
    principal: Principal

    async def read(self, verb: Callable[[ToolIndex], T]) -> T:
        """Run a verb that answers, within `request_timeout_s`."""
        index = self.sidecar.ready_index()
        return await self.sidecar.threads.run(partial(verb, index), timeout_s=self.sidecar.settings.request_timeout_s)

    async def write(self, verb: Callable[[ToolIndex], T]) -> T:
        """Run a verb that changes the catalogue, within `upload_timeout_s`."""
        index = self.sidecar.ready_index()
        return await self.sidecar.threads.run(partial(verb, index), timeout_s=self.sidecar.settings.upload_timeout_s)


def sidecar_of(request: Request) -> Sidecar:
    """Return the sidecar that a request came to."""
    sidecar: Sidecar = request.app.state.sidecar
    return sidecar


def _call(request: Request) -> SidecarCall:
    return SidecarCall(sidecar=sidecar_of(request), principal=principal_of_state(request.state))


InCall = Annotated[SidecarCall, Depends(_call)]
"""A route parameter: the call that this request is."""
