"""The open connections to servers: one for each server and principal, started when first needed, closed when idle.

A connection is entered and left by a task of its own, as the package mcp demands, so any task may call over it. One
that ended is opened again by the next call; one that fails twice in a row is left alone for a while.
"""

from __future__ import annotations

import asyncio
import random
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from toolsearch.calls.gateway.limits import GatewayLimits
from toolsearch.calls.gateway.listed import ListedTools
from toolsearch.calls.upstream.server import UpstreamServer
from toolsearch.model.errors import ToolSearchError
from toolsearch.model.request import Principal

if TYPE_CHECKING:
    from toolsearch.calls.upstream.connect import Connection, Connector
    from toolsearch.calls.upstream.listing import Listing


RELIST_S = 300.0
"""Seconds after which a server is listed again though it said nothing: a message may have been lost."""


class Unavailable(Exception):
    """No connection to a server can be had now.

    Attributes:
        retry_s: Seconds after which another try makes sense.
    """

    def __init__(self, message: str, *, retry_s: float) -> None:
        super().__init__(message)
        self.retry_s = retry_s


class LineKey(NamedTuple):
    """Whose connection to which server: no two principals share one."""

    server: str
    subject: str
    tenant: str | None


@dataclass(slots=True, kw_only=True, eq=False)
class Line:
    """A connection to one server for one principal, over all its restarts.

    Attributes:
        key: Whose.
        calls: Calls that use it now.
        used: When a call last used it, on the pool's clock.
        connection: The open connection, or None.
        listing: What the server offered when it was last listed over this connection, or None.
        listed: When that was, on the pool's clock.
        seen: The same, ready to be asked.
        opened: How often it was opened.
    """

    key: LineKey
    calls: int = 0
    used: float = 0.0
    connection: Connection | None = None
    listing: Listing | None = None
    listed: float = 0.0
    seen: ListedTools | None = None
    opened: int = 0
    _holder: asyncio.Task[None] | None = None
    _leave: asyncio.Event = field(default_factory=asyncio.Event)
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    _listing_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _failures: int = 0
    _closed_until: float = 0.0
    _last_error: str = ""

    @property
    def open(self) -> bool:
        """Tell whether it can be called over."""
        return self.connection is not None and not self.connection.ended.is_set()


class Pool:
    """Keeps the lines. For one event loop."""

    def __init__(
        self,
        servers: Mapping[str, UpstreamServer],
        *,
        connector: Connector,
        limits: GatewayLimits,
        seed: int | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._servers, self._connector, self._limits, self._clock = dict(servers), connector, limits, clock
        self._random = random.Random(seed)
        self._lines: OrderedDict[LineKey, Line] = OrderedDict()  # longest unused first
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def servers(self) -> frozenset[str]:
        """Return the names of the servers that can be reached."""
        return frozenset(self._servers)

    @property
    def lines(self) -> tuple[Line, ...]:
        """Return the lines that are kept, longest unused first."""
        return tuple(self._lines.values())

    def line(self, server: str, *, principal: Principal) -> Line:
        """Return the line of a principal to a server; nothing is opened yet. Makes room by closing unused ones.

        Raises:
            Unavailable: If too many are in use.
        """
        key = LineKey(server, principal.subject, principal.tenant)
        line = self._lines.get(key)
        if line is None:
            self._make_room(key)
            line = self._lines[key] = Line(key=key)
        line.used = self._clock()
        self._lines.move_to_end(key)
        return line

    async def connection(self, line: Line) -> Connection:
        """Return the open connection of a line, opening it if need be.

        Raises:
            Unavailable: If it cannot be opened, or failed so recently that it is not tried.
        """
        async with line._opening:
            if line.open:
                assert line.connection is not None
                return line.connection
            await self._drop(line)
            wait_s = line._closed_until - self._clock()
            if wait_s > 0:
                raise Unavailable(line._last_error, retry_s=wait_s)
            return await self._open(line)

    async def listed(self, line: Line, connection: Connection) -> Listing:
        """Return what the server offers now: listed again if it said that its list changed, or after a while.

        Raises:
            UpstreamError: If its list cannot be read.
        """
        from toolsearch.calls.upstream.listing import list_tools

        async with line._listing_lock:
            old = self._clock() - line.listed > RELIST_S
            if line.listing is None or line.connection is not connection or connection.changed.is_set() or old:
                connection.changed.clear()
                line.listing = await list_tools(connection)
                line.listed = self._clock()
            return line.listing

    def touched(self, line: Line) -> None:
        """Take note that a call over a line ended."""
        line.used = self._clock()

    def worked(self, line: Line) -> None:
        """Take note of an answer: earlier failures count no more."""
        line._failures = 0

    async def broken(self, line: Line, connection: Connection, *, reason: str) -> None:
        """Take note that a connection cannot be used any more; the next call opens another one."""
        async with line._opening:
            if line.connection is connection:
                self._failed(line, reason)
                await self._drop(line)

    async def close_idle(self) -> None:
        """Close the lines that nobody used for long."""
        now = self._clock()
        for key, line in list(self._lines.items()):
            if not line.calls and now - line.used > self._limits.idle_s:
                del self._lines[key]
                await self._drop(line)

    async def close(self) -> None:
        """Close all lines."""
        lines = list(self._lines.values())
        self._lines.clear()
        await asyncio.gather(*self._tasks, *(self._drop(line) for line in lines))

    async def _open(self, line: Line) -> Connection:
        opened: asyncio.Future[Connection] = asyncio.get_running_loop().create_future()
        line._leave = asyncio.Event()
        line._holder = asyncio.create_task(self._hold(line, opened, line._leave), name=f"gateway {line.key.server}")
        try:
            connection = await asyncio.shield(opened)
        except asyncio.CancelledError:
            line._holder.cancel()
            raise
        except ToolSearchError as error:
            line._holder = None
            raise Unavailable(str(error), retry_s=self._failed(line, str(error))) from None
        line.connection = connection
        line.opened += 1
        return connection

    async def _hold(self, line: Line, opened: asyncio.Future[Connection], leave: asyncio.Event) -> None:
        """Enter a connection, keep it until told to leave or it ends, and leave it: all in this one task."""
        try:
            async with self._connector(self._servers[line.key.server]) as connection:
                opened.set_result(connection)
                listening = asyncio.create_task(_listening(connection))
                waits = [asyncio.create_task(leave.wait()), asyncio.create_task(connection.ended.wait())]
                try:
                    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for task in (*waits, listening):
                        task.cancel()
                    await asyncio.wait([listening])
        except Exception as error:
            if not opened.done():
                opened.set_exception(error)
            elif not isinstance(error, ToolSearchError):
                raise

    async def _drop(self, line: Line) -> None:
        line._leave.set()
        line.connection = line.listing = None
        holder, line._holder = line._holder, None
        if holder is not None:
            done, _ = await asyncio.wait([holder], timeout=5)
            if not done:
                holder.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await holder

    def _failed(self, line: Line, reason: str) -> float:
        """Count a failure and return the pause before the next try: none after the first, then doubled, with jitter."""
        line._failures += 1
        line._last_error = reason
        pause_s = 0.0
        if line._failures > 1:
            longest_s = self._limits.first_pause_s * 2.0 ** min(line._failures - 2, 32)
            pause_s = min(self._limits.longest_pause_s, longest_s) * (0.5 + 0.5 * self._random.random())
        line._closed_until = self._clock() + pause_s
        return pause_s

    def _make_room(self, key: LineKey) -> None:
        own = [line for line in self._lines.values() if line.key[1:] == key[1:]]
        for lines, most in ((own, self._limits.connections_per_principal), (self.lines, self._limits.connections)):
            if len(lines) < most:
                continue
            unused = next((line for line in lines if not line.calls), None)
            if unused is None:
                raise Unavailable(f"all {most} connections are in use", retry_s=1.0)
            del self._lines[unused.key]
            self._closing(unused)

    def _closing(self, line: Line) -> None:
        task = asyncio.create_task(self._drop(line))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _listening(connection: Connection) -> None:
    """Let the server tell when its list changes; where it cannot, the regular listing remains."""
    from toolsearch.calls.upstream.watch import listen

    try:
        await listen(connection)
    except ToolSearchError:
        connection.changed.set()
