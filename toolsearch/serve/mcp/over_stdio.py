"""`toolsearch mcp` as a process of its own: MCP over standard input and output.

It owns the index while it runs, and keeps it at what the servers of its configuration have. Where a server owns the
index already, it hands messages on to that server's `/mcp` instead.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import mcp_types as types
from mcp.server import Server
from mcp.server.stdio import stdio_server
from pydantic import SecretStr

from toolsearch import Principal, ToolIndex, __version__
from toolsearch.calls.gateway.gateway import Gateway
from toolsearch.calls.importing import import_readings
from toolsearch.calls.importing.following import Followed, follow_servers
from toolsearch.calls.upstream import UpstreamServer
from toolsearch.calls.upstream.connect import Connection, connect
from toolsearch.model.errors import IndexLocked, UpstreamError
from toolsearch.serve.gateways import LateGateway
from toolsearch.serve.mcp.definitions import INSTRUCTIONS
from toolsearch.serve.mcp.server import Context, listed_tools, make_server
from toolsearch.serve.mcp.verbs import Caller, Verb
from toolsearch.serve.settings import Settings

AUTHOR = "mcp"
FIRST_ROUND_S = 20.0
"""Seconds that the first calls wait until every configured server was read once."""
LONGEST_S = 3_600.0
"""Seconds to wait for an answer that is handed on."""

T = TypeVar("T")
_LOG = logging.getLogger("toolsearch.serve")


@dataclass(slots=True, kw_only=True)
class LocalDesk:
    """Answers from an index of this process.

    Attributes:
        index: The index.
        late: Its gateway.
        read_once: Set when the configured servers were read.
    """

    index: ToolIndex
    late: LateGateway
    read_once: asyncio.Event = field(default_factory=asyncio.Event)

    async def read(self, verb: Verb[T]) -> T:
        """Run a verb of the index in a thread."""
        if not self.read_once.is_set():
            await asyncio.wait([asyncio.ensure_future(self.read_once.wait())], timeout=FIRST_ROUND_S)
            self.read_once.set()
        return await asyncio.to_thread(verb, self.index)

    async def gateway(self) -> Gateway:
        """Return what calls are forwarded through."""
        return await self.late.get()


async def serve_stdio(
    index: ToolIndex,
    *,
    principal: Principal,
    servers: Sequence[UpstreamServer],
    timeout_s: float,
    settings: Settings | None = None,
) -> None:
    """Answer on standard input and output until the input ends.

    Args:
        index: An open index; the caller closes it.
        principal: On whose behalf everything is done: the owner of this process.
        servers: MCP servers that tools come from, and that calls are forwarded to.
        timeout_s: Seconds to reach one of them.
        settings: Of the gateway; None = the defaults.
    """
    late = LateGateway(lambda: index, servers=servers, settings=settings)
    desk = LocalDesk(index=index, late=late)
    following = asyncio.create_task(_follow(desk, servers=servers, timeout_s=timeout_s))
    try:
        await _run(make_server(desk, caller_of=lambda _: Caller(principal=principal)))
    finally:
        following.cancel()
        await asyncio.wait([following])
        await late.close()
        await asyncio.to_thread(index.flush)


async def hand_on(url: str, *, api_key: str | None) -> None:
    """Answer on standard input and output by what the server at a URL answers.

    Raises:
        IndexLocked: If that server does not answer MCP.
    """
    headers = {"Authorization": SecretStr(f"Bearer {api_key}")} if api_key else {}
    there = UpstreamServer(name="toolsearch", transport="streamable-http", url=SecretStr(f"{url}/mcp"), headers=headers)
    try:
        async with connect(there) as connection:
            await _run(_relay(connection))
    except UpstreamError as error:
        raise IndexLocked(
            f"the server at {url} owns the index, but does not answer MCP ({error}): start it with the extra [mcp] "
            "and serve_mcp on, or stop it"
        ) from None


def _relay(connection: Connection) -> Server[Any]:
    """Return a server whose calls another one answers; the list is the same there and here."""

    async def list_tools(context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=list(listed_tools()))

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await connection.client.session.call_tool(
            params.name,
            params.arguments,
            read_timeout_seconds=LONGEST_S,  # the gateway over there says how long
            progress_callback=context.session.report_progress,
        )

    return Server(
        "toolsearch",
        version=__version__,
        title="toolsearch",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def _run(server: Server[Any]) -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


async def _follow(desk: LocalDesk, *, servers: Sequence[UpstreamServer], timeout_s: float) -> None:
    """Keep the index at what the servers have, until cancelled."""
    awaited = {server.name for server in servers}
    if not awaited:
        desk.read_once.set()
        return

    def noted(followed: Followed) -> None:
        report = followed.report
        if report.error and not followed.repeated:
            _LOG.warning("%s; its last known tools stay, stale", report.error)
        awaited.discard(report.server)
        if not awaited:
            desk.read_once.set()

    try:
        await follow_servers(
            partial(import_readings, desk.index, author=AUTHOR),
            servers,
            connector=partial(connect, timeout_s=timeout_s),
            on_round=noted,
        )
    except Exception:  # noqa: BLE001 - searches go on; the log has the cause
        _LOG.exception("the configured servers are no longer followed")
        desk.read_once.set()
