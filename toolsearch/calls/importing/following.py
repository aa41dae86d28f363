"""Keep the index at what live servers have: connect, import, import again on `tools/list_changed`, start over."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from toolsearch.calls.importing.job import Take
from toolsearch.calls.importing.reading import Reading, reading_of
from toolsearch.calls.importing.report import ServerReport
from toolsearch.calls.upstream.connect import Connector
from toolsearch.calls.upstream.server import UpstreamServer
from toolsearch.calls.upstream.watch import RELIST_S, watch
from toolsearch.model.errors import ToolSearchError, UpstreamError

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0
"""Seconds before a server that failed is tried again: doubled with each failure, up to this."""

_LOG = logging.getLogger("toolsearch.importing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """One round of following a server.

    Attributes:
        report: What changed, or why nothing could be read.
        announced: Whether the server had said that its list changed.
        repeated: Whether it failed as in the round before.
        seconds: From the announcement, or the start, until the change was searchable and on disk.
    """

    report: ServerReport
    announced: bool
    repeated: bool
    seconds: float


T = TypeVar("T")
OnRound = Callable[[Followed], None]


async def follow_servers(
    take: Take,
    servers: Sequence[UpstreamServer],
    *,
    connector: Connector,
    trusted: bool = False,
    on_round: OnRound | None = None,
    relist_s: float = RELIST_S,
    first_pause_s: float = FIRST_PAUSE_S,
) -> None:
    """Follow servers until cancelled; a change that is being made then is finished first.

    Args:
        take: Brings the index to what was read; runs in a thread.
        servers: Which; each gets a connection that stays open.
        connector: How to connect.
        trusted: Whether hints of their definitions may lower an assumed risk.
        on_round: Called after each import; None = write what happened to the log.
        relist_s: Seconds after which a silent server is listed again.
        first_pause_s: Seconds before a server that failed is tried again.
    """
    told = on_round or _log
    failures: dict[str, str] = {}

    async def taken(reading: Reading, announced: bool, noticed: float) -> None:
        report = (await _finished(partial(take, [reading]))).servers[0]
        repeated = bool(report.error) and report.error == failures.get(report.server)
        failures[report.server] = report.error
        told(Followed(report=report, announced=announced, repeated=repeated, seconds=time.perf_counter() - noticed))

    async with asyncio.TaskGroup() as tasks:
        for server in servers:
            tasks.create_task(
                _follow(
                    server,
                    connector=connector,
                    trusted=trusted,
                    take=taken,
                    relist_s=relist_s,
                    first_pause_s=first_pause_s,
                )
            )


async def _follow(
    server: UpstreamServer,
    *,
    connector: Connector,
    trusted: bool,
    take: Callable[[Reading, bool, float], Awaitable[None]],
    relist_s: float,
    first_pause_s: float,
) -> None:
    pause_s = first_pause_s
    while True:
        started = time.perf_counter()
        try:
            async with connector(server) as connection, aclosing(watch(connection, relist_s=relist_s)) as lists:
                async for listed in lists:
                    reading = await asyncio.to_thread(
                        reading_of, listed.listing, origin=server.place[:1024], trusted=trusted
                    )
                    await take(reading, listed.announced, listed.noticed)
                    pause_s = first_pause_s
        except UpstreamError as error:
            await _note_failure(server, error, take=take, started=started)
        except ToolSearchError as error:
            # Of the index, not of the server: it is not stale, and the next round may work.
            _LOG.error("tools of server %s could not be imported: %s", server.name, error)
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


async def _note_failure(
    server: UpstreamServer,
    error: UpstreamError,
    *,
    take: Callable[[Reading, bool, float], Awaitable[None]],
    started: float,
) -> None:
    try:
        await take(Reading(server=server.name, origin=server.place[:1024], error=str(error)[:2048]), False, started)
    except ToolSearchError as failure:
        _LOG.error("server %s failed, which could not be noted: %s", server.name, failure)


async def _finished(call: Callable[[], T]) -> T:
    """Run a call in a thread; when cancelled, wait for its end, as the index may be closed after that."""
    running = asyncio.ensure_future(asyncio.to_thread(call))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise


def _log(followed: Followed) -> None:
    report = followed.report
    if followed.repeated:
        return
    if report.error:
        _LOG.warning("%s; its last known tools stay, stale", report.error)
    elif report.changed or report.refused:
        _LOG.info(
            "server %s: %d added, %d replaced, %d removed, %d refused, searchable after %.0f ms",
            report.server,
            len(report.added),
            len(report.replaced),
            len(report.removed),
            len(report.refused),
            followed.seconds * 1000,
        )
