"""Importing and following live servers in this process: what is searchable when, and what survives a failure."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

pytest.importorskip("mcp")

from mcp.server import MCPServer
from mcp.server.mcpserver import Context

from toolsearch import Principal, RuleBook, SearchRequest, ToolIndex
from toolsearch.calls.importing import ImportReport, Reading, ServerSource, import_readings, import_sources
from toolsearch.calls.importing.following import Followed, follow_servers
from toolsearch.calls.upstream import UpstreamServer
from toolsearch.calls.upstream.connect import Connection, connect_to
from toolsearch.model.errors import IndexStateError, UpstreamError

pytestmark = pytest.mark.extras

ANYONE = Principal(subject="anyone")


def server_with(*names: str) -> MCPServer:
    server = MCPServer("garden")
    for name in names:
        server.add_tool(lambda: None, name=name, description=f"Count the {name}.")

    @server.tool(description="Announce the harvest.")
    async def announce(context: Context[Any, Any]) -> None:
        await context.notify_tools_changed()

    return server


class Garden:
    """Servers by name in this process, some of them down, and the connections that are open."""

    def __init__(self, **servers: MCPServer | None) -> None:
        self.servers = servers
        self.connections: dict[str, Connection] = {}

    @asynccontextmanager
    async def connect(self, wanted: UpstreamServer) -> AsyncIterator[Connection]:
        server = self.servers[wanted.name]
        if server is None:
            raise UpstreamError("is down", server=wanted.name)
        async with connect_to(server, name=wanted.name, timeout_s=5) as connection:
            self.connections[wanted.name] = connection
            yield connection

    def sources(self) -> list[UpstreamServer]:
        return [UpstreamServer(name=name, transport="stdio", command="none") for name in self.servers]


@pytest.fixture
def index() -> Any:
    with ToolIndex.create(None, rules=RuleBook.public(), encoder="hashed") as made:
        yield made


def refs(index: ToolIndex) -> list[str]:
    return [summary.ref for summary in index.tools(principal=ANYONE) if "announce" not in summary.ref]


def test_servers_are_imported_and_one_that_is_down_is_reported(index: ToolIndex) -> None:
    garden = Garden(a=server_with("apples"), b=None)
    sources = [ServerSource(server=server) for server in garden.sources()]
    report = import_sources(index, sources, connector=garden.connect)
    assert refs(index) == ["a/apples@1"]
    assert [(one.server, one.error) for one in report.servers] == [("a", ""), ("b", "server 'b' is down")]


def test_importing_works_inside_a_running_loop(index: ToolIndex) -> None:
    garden = Garden(a=server_with("apples"))

    async def main() -> None:
        import_sources(index, [ServerSource(server=server) for server in garden.sources()], connector=garden.connect)

    asyncio.run(main())
    assert refs(index) == ["a/apples@1"]


def following(
    garden: Garden, take: Callable[[list[Reading]], ImportReport], scenario: Callable[[asyncio.Queue[Followed]], Any]
) -> None:
    async def main() -> None:
        rounds: asyncio.Queue[Followed] = asyncio.Queue()
        task = asyncio.create_task(
            follow_servers(
                take,  # type: ignore[arg-type]
                garden.sources(),
                connector=garden.connect,
                on_round=rounds.put_nowait,
                first_pause_s=0.01,
            )
        )
        try:
            await asyncio.wait_for(scenario(rounds), 10)
        finally:
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())


def test_a_change_is_searchable_after_it_was_announced(index: ToolIndex) -> None:
    server = server_with("apples")
    garden = Garden(a=server)

    async def scenario(rounds: asyncio.Queue[Followed]) -> None:
        assert not (await rounds.get()).announced
        server.add_tool(lambda: None, name="pears", description="Count the pears.")
        server.remove_tool("apples")
        await garden.connections["a"].client.call_tool("announce", {})
        followed = await rounds.get()
        assert followed.announced
        assert (followed.report.added, followed.report.removed) == (("a/pears@1",), ("a/apples@1",))
        assert index.search(SearchRequest(text="count the pears"), principal=ANYONE).candidates[0].ref == "a/pears@1"
        assert 0 < followed.seconds < 5

    following(garden, partial(import_readings, index), scenario)
    assert refs(index) == ["a/pears@1"]


def test_a_server_that_comes_back_is_found_again(index: ToolIndex) -> None:
    garden = Garden(a=None, b=server_with("pears"))

    async def scenario(rounds: asyncio.Queue[Followed]) -> None:
        while not index.sources() or not index.sources()[0].stale:
            await rounds.get()
        garden.servers["a"] = server_with("apples")
        while (followed := await rounds.get()).report.server != "a" or followed.report.error:
            pass
        assert followed.report.added == ("a/announce@1", "a/apples@1")
        assert not index.sources()[0].stale

    following(garden, partial(import_readings, index), scenario)
    assert refs(index) == ["a/apples@1", "b/pears@1"]


def test_a_failing_index_makes_no_server_stale(index: ToolIndex) -> None:
    garden = Garden(a=server_with("apples"))
    failures = [IndexStateError("full"), IndexStateError("full")]

    def take(readings: list[Reading]) -> ImportReport:
        if failures:
            raise failures.pop()
        return import_readings(index, readings)

    async def scenario(rounds: asyncio.Queue[Followed]) -> None:
        assert not (await rounds.get()).report.error

    following(garden, take, scenario)
    assert refs(index) == ["a/apples@1"]
    assert not index.sources()[0].stale


def test_a_failure_is_told_once(index: ToolIndex) -> None:
    garden = Garden(a=None)

    async def scenario(rounds: asyncio.Queue[Followed]) -> None:
        assert [(await rounds.get()).repeated for _ in range(3)] == [False, True, True]

    following(garden, partial(import_readings, index), scenario)
