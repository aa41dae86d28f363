"""Connections, lists and changes, against servers in this process and scripts that misbehave."""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

import mcp_types as types
from mcp import MCPError
from mcp.server import MCPServer, Server
from mcp.server.mcpserver import Context

from toolsearch.calls.upstream import UpstreamServer, http_server
from toolsearch.calls.upstream.connect import connect, connect_to
from toolsearch.calls.upstream.listing import Listing, list_tools
from toolsearch.calls.upstream.stderr_tail import StderrTail
from toolsearch.calls.upstream.watch import watch
from toolsearch.model.errors import UpstreamError, UpstreamTimeout

pytestmark = pytest.mark.extras

Pages = Callable[[str | None], Awaitable[types.ListToolsResult]]


def tool(name: str) -> types.Tool:
    return types.Tool(name=name, description=f"Does {name}.", input_schema={"type": "object"})


def paged(pages: Pages) -> Server[Any]:
    async def on_list(_: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return await pages(params.cursor if params is not None else None)

    return Server("paged", version="7", on_list_tools=on_list)


def listed(server: Server[Any] | MCPServer, *, timeout_s: float = 5.0, **options: Any) -> Listing:
    async def main() -> Listing:
        async with connect_to(server, name="it", timeout_s=timeout_s, **options) as connection:
            return await list_tools(connection)

    return asyncio.run(main())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_all_pages_are_read_in_order(mode: str) -> None:
    async def pages(cursor: str | None) -> types.ListToolsResult:
        at = int(cursor or 0)
        return types.ListToolsResult(
            tools=[tool(f"t{number}") for number in range(at, at + 3)], next_cursor=str(at + 3) if at < 27 else None
        )

    listing = listed(paged(pages), mode=mode)
    assert [one["name"] for one in listing.tools] == [f"t{number}" for number in range(30)]
    assert listing.server == "it"
    assert listing.title == "paged 7"


def test_a_cursor_that_comes_again_is_refused() -> None:
    async def pages(cursor: str | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[], next_cursor="b" if cursor == "a" else "a")

    with pytest.raises(UpstreamError, match="server 'it' gives the same cursor twice"):
        listed(paged(pages))


def test_pages_without_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolsearch.calls.upstream.listing.MAX_PAGES", 20)

    async def pages(cursor: str | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[], next_cursor=str(int(cursor or 0) + 1))

    with pytest.raises(UpstreamError, match="more than 20 pages"):
        listed(paged(pages))


def test_too_many_tools_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolsearch.calls.upstream.listing.MAX_TOOLS", 10)

    async def pages(cursor: str | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool(f"{cursor}{number}") for number in range(4)], next_cursor=f"{cursor}x")

    with pytest.raises(UpstreamError, match="more than 10 tools"):
        listed(paged(pages))


def test_a_slow_list_is_given_up_on() -> None:
    async def pages(cursor: str | None) -> types.ListToolsResult:
        await asyncio.sleep(0.2)
        return types.ListToolsResult(tools=[], next_cursor=f"{cursor}x")

    started = time.perf_counter()
    with pytest.raises(UpstreamTimeout, match=r"within 0\.5 s"):
        listed(paged(pages), timeout_s=0.5)
    assert time.perf_counter() - started < 3


def test_an_error_while_listing_is_the_servers() -> None:
    async def pages(cursor: str | None) -> types.ListToolsResult:
        if cursor is None:
            return types.ListToolsResult(tools=[tool("a")], next_cursor="b")
        raise MCPError(-31999, "out of paper")

    with pytest.raises(UpstreamError, match="answers with error -31999: out of paper"):
        listed(paged(pages))


def test_a_server_without_tools_has_an_empty_list() -> None:
    assert listed(Server("bare")).tools == ()


def test_only_what_mcp_defines_is_read() -> None:
    async def pages(_: str | None) -> types.ListToolsResult:
        one = {"name": "a", "inputSchema": {"type": "object"}, "access": {}, "identity": {"server": "other"}}
        return types.ListToolsResult(tools=[types.Tool.model_validate(one)])

    assert listed(paged(pages)).tools == ({"name": "a", "inputSchema": {"type": "object"}},)


def test_errors_of_the_body_come_out_as_they_are() -> None:
    async def main() -> None:
        async with connect_to(Server("bare"), name="it"):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        asyncio.run(main())


def test_cancelling_closes_the_connection(tmp_path: Path) -> None:
    async def main() -> None:
        server = script(tmp_path, "import time, sys; [None for line in sys.stdin]")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3), connect(server, timeout_s=30):
                pass

    started = time.perf_counter()
    asyncio.run(main())
    assert time.perf_counter() - started < 10


def script(folder: Path, text: str, **env: str) -> UpstreamServer:
    (folder / "server.py").write_text(text, encoding="utf-8")
    return UpstreamServer(
        name="odd", transport="stdio", command=sys.executable, args=(str(folder / "server.py"),), env=env
    )


def refusal(server: UpstreamServer, *, timeout_s: float = 10.0) -> str:
    async def main() -> None:
        async with connect(server, timeout_s=timeout_s) as connection:
            await list_tools(connection)

    with pytest.raises(UpstreamError) as raised:
        asyncio.run(main())
    assert raised.value.server == server.name
    return str(raised.value)


HANDSHAKE = """
import json, sys
def answer(id, **result):
    print(json.dumps({"jsonrpc": "2.0", "id": id, **result}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        answer(message["id"], result={"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
               "serverInfo": {"name": "odd", "version": "1"}})
    elif message.get("method") == "tools/list":
        LISTED
    elif "id" in message:
        answer(message["id"], error={"code": -32601, "message": "no such method"})
"""


def odd(folder: Path, answer: str) -> UpstreamServer:
    return script(folder, HANDSHAKE.replace("LISTED", answer))


def test_a_crash_while_listing(tmp_path: Path) -> None:
    assert "ended the connection" in refusal(odd(tmp_path, "sys.exit(1)"))


def test_a_list_that_is_none(tmp_path: Path) -> None:
    assert "answers what MCP does not allow" in refusal(odd(tmp_path, 'answer(message["id"], result={"tools": "all"})'))


def test_a_tool_without_a_schema_is_named_by_its_place(tmp_path: Path) -> None:
    listed_ = '{"tools": [{"name": "a", "inputSchema": {"type": "object"}}, {"name": "b"}]}'
    said = refusal(odd(tmp_path, f'answer(message["id"], result={listed_})'))
    assert "tools/1/inputSchema" in said


def test_garbage_between_messages_is_passed_over(tmp_path: Path) -> None:
    async def main() -> Listing:
        answer = 'print("hello world"); print("{"); answer(message["id"], result={"tools": []})'
        async with connect(odd(tmp_path, answer), timeout_s=10) as connection:
            return await list_tools(connection)

    assert asyncio.run(main()).tools == ()


def test_garbage_alone_is_given_up_on(tmp_path: Path) -> None:
    said = refusal(script(tmp_path, "while True: print('x' * 1000)"), timeout_s=1.0)
    assert "did not answer within 1 s" in said


def test_the_last_words_are_told_without_secrets(tmp_path: Path) -> None:
    said = refusal(script(tmp_path, "import sys, os; sys.exit('bad key ' + os.environ['KEY'])", KEY="hunter2hunter2"))
    assert "its last words: bad key ***" in said


def test_a_program_that_is_not_there() -> None:
    assert "does not exist" in refusal(UpstreamServer(name="odd", transport="stdio", command="no-such-program"))


def test_a_port_where_nobody_listens() -> None:
    said = refusal(http_server("http://127.0.0.1:1/mcp?key=hunter2hunter2", name="down"))
    assert "cannot be reached" in said
    assert "hunter2" not in said


def test_a_public_name_of_loopback_is_not_connected_to() -> None:
    assert "loopback address" in refusal(http_server("http://2130706433:1/mcp", name="rebound"))


def test_last_words_are_bounded() -> None:
    with StderrTail() as words:
        for number in range(20_000):
            words.errlog.write(f"line {number}\n")
        words.errlog.flush()
        time.sleep(0.1)
        assert words.text() == "line 19997 | line 19998 | line 19999"


def growing() -> MCPServer:
    server = MCPServer("growing")

    @server.tool()
    async def grow(names: list[str], context: Context[Any, Any]) -> None:
        for name in names:
            server.add_tool(lambda: None, name=name)
            await context.notify_tools_changed()
            await context.session.send_tool_list_changed()

    return server


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_change_is_listed_again(mode: str) -> None:
    async def main() -> None:
        async with connect_to(growing(), name="it", mode=mode) as connection, aclosing(watch(connection)) as lists:
            first = await anext(lists)
            assert not first.announced
            assert [one["name"] for one in first.listing.tools] == ["grow"]
            await connection.client.call_tool("grow", {"names": ["a"]})
            second = await asyncio.wait_for(anext(lists), 5)
            assert second.announced
            assert [one["name"] for one in second.listing.tools] == ["grow", "a"]

    asyncio.run(main())


def test_many_changes_at_once_are_few_lists() -> None:
    async def main() -> int:
        async with connect_to(growing(), name="it") as connection, aclosing(watch(connection)) as lists:
            await anext(lists)
            await connection.client.call_tool("grow", {"names": [f"t{number}" for number in range(100)]})
            count = 0
            async for relisted in lists:
                count += 1
                if len(relisted.listing.tools) == 101:
                    return count
        return -1

    assert 1 <= asyncio.run(asyncio.wait_for(main(), 10)) <= 3


def test_a_silent_server_is_listed_again_in_time() -> None:
    server = growing()

    async def main() -> None:
        async with (
            connect_to(server, name="it", mode="legacy") as connection,
            aclosing(watch(connection, relist_s=0.1)) as lists,
        ):
            await anext(lists)
            server.add_tool(lambda: None, name="quiet")
            second = await asyncio.wait_for(anext(lists), 5)
            assert not second.announced
            assert len(second.listing.tools) == 2

    asyncio.run(main())


def test_the_end_of_a_process_ends_the_watch(tmp_path: Path) -> None:
    answer = 'answer(message["id"], result={"tools": []}); sys.exit(0)'

    async def main() -> None:
        async with connect(odd(tmp_path, answer), timeout_s=10) as connection, aclosing(watch(connection)) as lists:
            await anext(lists)
            with pytest.raises(UpstreamError, match="is gone"):
                await asyncio.wait_for(anext(lists), 5)

    asyncio.run(main())
