"""List again whenever a server says that its tools changed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass

from mcp import MCPError
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

from toolsearch.calls.upstream.connect import Connection
from toolsearch.calls.upstream.faults import upstream_error
from toolsearch.calls.upstream.listing import Listing, list_tools
from toolsearch.model.errors import UpstreamError

RELIST_S = 300.0
"""Seconds after which a server is listed again though it said nothing: a message may have been lost."""

SETTLE_S = 0.05
"""Seconds between two listings: a server that adds tools one by one announces each of them."""


@dataclass(frozen=True, slots=True)
class Relisted:
    """A listing, and since when it was due.

    Attributes:
        listing: What the server offers now.
        noticed: `time.perf_counter()` of the announcement, or of the start where there was none.
        announced: Whether the server said that its list changed.
    """

    listing: Listing
    noticed: float
    announced: bool


async def watch(
    connection: Connection, *, relist_s: float = RELIST_S, settle_s: float = SETTLE_S
) -> AsyncGenerator[Relisted, None]:
    """Yield the list of tools now, and again after every change, until the server is gone.

    Changes that come while a listing is read or used are one change. Close the iterator (`aclosing`) to stop.

    Args:
        connection: An open connection.
        relist_s: Seconds until a silent server is listed again.
        settle_s: Seconds between two listings.

    Raises:
        UpstreamError: If the server is gone or its list cannot be read.
    """
    listening = asyncio.create_task(listen(connection))
    try:
        # Listening first: a change between the first listing and the subscription would be lost.
        await _started(listening, connection)
        noticed, announced = time.perf_counter(), False
        while True:
            connection.changed.clear()
            yield Relisted(await list_tools(connection), noticed, announced)
            await asyncio.sleep(settle_s)
            announced = await _change(connection, listening, relist_s=relist_s)
            noticed = time.perf_counter()
    finally:
        listening.cancel()
        with suppress(asyncio.CancelledError, UpstreamError):
            await listening


async def _change(connection: Connection, listening: asyncio.Task[None], *, relist_s: float) -> bool:
    """Wait for an announcement, or for the time to list again all the same; return whether there was one."""
    waits = [asyncio.create_task(connection.changed.wait()), asyncio.create_task(connection.ended.wait())]
    subscription = [] if listening.done() else [listening]
    try:
        await asyncio.wait([*waits, *subscription], timeout=relist_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
    if connection.changed.is_set():
        return True
    if connection.ended.is_set():
        raise UpstreamError("is gone: it ended the connection", server=connection.name)
    if subscription and listening.done():
        listening.result()
    return False


async def _started(listening: asyncio.Task[None], connection: Connection) -> None:
    """Let the subscription be made, or turn out to be of a revision that needs none."""
    acknowledged = asyncio.create_task(connection.changed.wait())
    await asyncio.wait([listening, acknowledged], timeout=connection.timeout_s, return_when=asyncio.FIRST_COMPLETED)
    acknowledged.cancel()
    if listening.done():
        listening.result()


async def listen(connection: Connection) -> None:
    """Turn the events of a subscription into `changed`; before the revision 2026-07-28 they come as messages.

    It also sets `changed` once it listens, as sign that a listing read from now on misses nothing.
    """
    try:
        async with connection.client.listen(tools_list_changed=True) as events:
            connection.changed.set()
            async for _ in events:
                connection.changed.set()
    except (ListenNotSupportedError, MCPError):
        return  # older, or offers no subscriptions: messages and the regular listing remain
    except SubscriptionLost:
        raise UpstreamError("lost the subscription to its changes", server=connection.name) from None
    except Exception as error:  # noqa: BLE001 - whatever a server provokes is the server's fault
        raise upstream_error(
            error, name=connection.name, timeout_s=connection.timeout_s, redacted=connection.redacted
        ) from None
