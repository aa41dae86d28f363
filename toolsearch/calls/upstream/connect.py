"""A connection to one MCP server, alive as long as its context: `async with connect(server) as connection`.

It must be left in the task that entered it; calls may come from any task of the same loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import mcp_types
from mcp import Client
from mcp.server import MCPServer, Server

from toolsearch import __version__
from toolsearch.calls.upstream.faults import refused_with, upstream_error
from toolsearch.calls.upstream.server import UpstreamServer
from toolsearch.calls.upstream.stderr_tail import StderrTail
from toolsearch.calls.upstream.transport import Streams, noting_end, transport_to

TIMEOUT_S = 30.0
"""Seconds to start or reach a server and shake hands, and for one answer after that."""

_LISTING = "notifications/tools/list_changed"

# Their lines hold whole URLs, with keys in the query, and whatever a server prints where a message should be.
for _talkative in ("httpx2", "httpcore2", "mcp", "client"):
    if logging.getLogger(_talkative).level == logging.NOTSET:
        logging.getLogger(_talkative).setLevel(logging.CRITICAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """An open connection.

    Attributes:
        name: Name of the server.
        client: The client of the package mcp, for calls.
        changed: Set when the server says that its list of tools changed; cleared by whoever lists again.
        ended: Set when the server is gone; of HTTP servers only calls find that out.
        timeout_s: Seconds for one answer.
        redacted: Returns a text without the secrets of the server's configuration.
    """

    name: str
    client: Client
    changed: asyncio.Event
    ended: asyncio.Event
    timeout_s: float
    redacted: Callable[[str], str] = field(repr=False)


Connector = Callable[[UpstreamServer], AbstractAsyncContextManager[Connection]]
"""What opens a connection: `connect`, with its options bound, or a test's own."""


@asynccontextmanager
async def connect(
    server: UpstreamServer, *, timeout_s: float = TIMEOUT_S, **client_options: Any
) -> AsyncIterator[Connection]:
    """Start or reach a server and yield the connection; a child process is stopped at the end.

    Args:
        server: Which.
        timeout_s: Seconds for the start with the handshake, and for one answer.
        **client_options: Callbacks and other fields of `mcp.Client`, but for `message_handler`, which is taken.

    Raises:
        UpstreamError: If it cannot be started or reached, or does not speak MCP.
        UpstreamTimeout: If that takes too long.
    """
    statuses: deque[int] = deque(maxlen=1)
    with StderrTail() as words:

        def reason() -> str:
            if statuses:
                return f"it {refused_with(statuses[-1])}"
            return f"its last words: {server.redacted(words.text())}" if words.text() else ""

        async with connect_to(
            transport_to(server, errlog=words.errlog, statuses=statuses, timeout_s=timeout_s),
            name=server.name,
            timeout_s=timeout_s,
            redacted=server.redacted,
            reason=reason,
            **client_options,
        ) as connection:
            yield connection


@asynccontextmanager
async def connect_to(
    target: Streams | MCPServer | Server[Any],
    *,
    name: str,
    timeout_s: float = TIMEOUT_S,
    redacted: Callable[[str], str] = str,
    reason: Callable[[], str] = str,
    **client_options: Any,
) -> AsyncIterator[Connection]:
    """Connect to a transport, or to a server in this process; see `connect`."""
    changed, ended = asyncio.Event(), asyncio.Event()

    async def on_message(message: Any) -> None:
        if getattr(message, "method", None) == _LISTING:
            changed.set()

    client = Client(
        target if isinstance(target, MCPServer | Server) else noting_end(target, ended),
        read_timeout_seconds=timeout_s,
        message_handler=on_message,
        client_info=mcp_types.Implementation(name="toolsearch", version=__version__),
        cache=None,  # what is listed must be what the server has now
        **client_options,
    )
    fault: Exception | None = None
    try:
        # Not anyio's scopes: the client keeps task groups open beyond this block.
        async with asyncio.timeout(timeout_s) as patience, client:
            patience.reschedule(None)
            try:
                yield Connection(
                    name=name, client=client, changed=changed, ended=ended, timeout_s=timeout_s, redacted=redacted
                )
            except Exception as error:  # noqa: BLE001 - carried around the task groups, which would wrap it
                fault = error
    except Exception as error:  # noqa: BLE001 - whatever the client raises, be it at the end, is the server's doing
        if fault is None:
            fault = upstream_error(error, name=name, timeout_s=timeout_s, redacted=redacted, reason=reason)
    if fault is not None:
        raise fault
