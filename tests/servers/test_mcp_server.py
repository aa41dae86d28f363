"""One `toolsearch mcp` before real servers: the official client over stdio, the inspector's command line, a relay."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

import uvicorn
from growing_server import growing
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from real_servers import SERVERS, growing_config, real_config, require_servers, write_config

from toolsearch import RuleBook, ToolIndex
from toolsearch.calls.importing import import_sources, sources_from
from toolsearch.serve.address import read_address
from toolsearch.serve.mcp.definitions import DescribedTool, FoundTools

pytestmark = [pytest.mark.extras, pytest.mark.slow]

RUN = "from toolsearch.cli.app import main; main()"
BEHIND = ("filesystem", "git", "time", "everything", "memory")
PATIENCE_S = 90


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Return a configuration of real servers, and of one whose list changes and that can crash."""
    require_servers()
    whole = real_config(tmp_path)["mcpServers"]
    servers = {name: whole[name] for name in BEHIND} | {"growing": growing_config("tomatoes")}
    return write_config(tmp_path, {"mcpServers": servers})


def command(*words: object) -> StdioServerParameters:
    return StdioServerParameters(command=sys.executable, args=["-c", RUN, "mcp", *map(str, words)])


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(scenario(), PATIENCE_S))  # type: ignore[arg-type]


async def data(client: Client, tool: str, /, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert result.structured_content is not None
    return dict(result.structured_content)


async def write(client: Client, **call: Any) -> dict[str, Any]:
    asked = await data(client, "call_write_tool", **call)
    assert asked["error"]["code"] == "confirmation_needed"
    return await data(client, "call_write_tool", **call, confirmation=asked["error"]["confirmation"])


async def refs(client: Client, query: str) -> list[str]:
    return [card.ref for card in FoundTools.model_validate(await data(client, "search_tools", query=query)).tools]


async def until(true: Callable[[], Awaitable[bool]]) -> None:
    deadline = time.monotonic() + 30
    while not await true():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.2)


def test_real_servers_behind_one(config: Path, tmp_path: Path) -> None:
    hello, new = tmp_path / "files" / "hello.txt", tmp_path / "files" / "new.txt"

    async def scenario() -> None:
        async with Client(command("-i", tmp_path / "none", "--mcp-config", config)) as client:
            assert len((await client.list_tools()).tools) == 4
            found = FoundTools.model_validate(await data(client, "search_tools", query="read a text file"))
            card = next(card for card in found.tools if card.ref == "filesystem/read_text_file@1")
            assert card.call_with == "call_tool"
            text = f'read "{hello}"'
            described = DescribedTool.model_validate(await data(client, "describe_tool", name=card.ref, text=text))
            assert described.tool is not None
            assert described.tool.definition["input"]["schema"]["required"] == ["path"]

            read = await data(
                client, "call_tool", name=card.ref, arguments={"path": str(hello)}, trace_id=found.trace_id
            )
            assert read["data"]["content"] == "hello"
            outside = await data(client, "call_tool", name=card.ref, arguments={"path": "/etc/passwd"})
            assert not outside["ok"]
            log = await data(
                client, "call_tool", name="git/git_status", arguments={"repo_path": str(tmp_path / "repo")}
            )
            assert log["ok"]
            now = await data(client, "call_tool", name="get_current_time", arguments={"timezone": "UTC"})
            assert now["ok"]

            call = {"name": "filesystem/write_file", "arguments": {"path": str(new), "content": "x"}}
            refused = await data(client, "call_tool", **call)
            assert refused["error"]["code"] == "write_refused"
            assert not new.exists()
            assert (await write(client, **call))["ok"]
            assert new.read_text() == "x"

    run(scenario)


def test_a_server_that_crashes_comes_back(config: Path, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Client(command("-i", tmp_path / "none", "--mcp-config", config)) as client:
            assert "growing/tomatoes@1" in await refs(client, "count the tomatoes in the garden")
            broken = await write(client, name="growing/crash", arguments={})
            assert broken["error"]["code"] == "outcome_unknown"
            assert broken["meta"]["status"]["side_effect"] == "unknown"

            async def recovered() -> bool:
                return bool((await data(client, "call_tool", name="growing/tomatoes"))["ok"])

            await until(recovered)

    run(scenario)


@contextmanager
def growing_over_http() -> Iterator[str]:
    """Run the growing server where its callers share it, and yield its URL."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        server = uvicorn.Server(uvicorn.Config(growing("tomatoes").streamable_http_app(), log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{bound.getsockname()[1]}/mcp"
        finally:
            server.should_exit = server.force_exit = True
            thread.join()


def test_a_list_that_changes_is_followed_while_the_list_of_ours_stays(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Client(command("-i", tmp_path / "none", "--mcp-config", config)) as client:
            before = (await client.list_tools()).tools
            assert "growing/pears@1" not in await refs(client, "count the pears in the garden")
            assert (await write(client, name="growing/grow", arguments={"name": "pears"}))["ok"]

            async def followed() -> bool:
                return "growing/pears@1" in await refs(client, "count the pears in the garden")

            await until(followed)
            assert (await data(client, "call_tool", name="growing/pears"))["data"] == "pears"
            assert (await client.list_tools()).tools == before

    with growing_over_http() as url:
        config = write_config(tmp_path, {"mcpServers": {"growing": {"type": "http", "url": url}}})
        run(scenario)


@contextmanager
def owning(folder: Path, *words: object) -> Iterator[str]:
    """Run a server that owns an index and yield its URL."""
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, "mcp", "--http", "-i", str(folder), "--port", "0", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=dict(os.environ),
    )
    try:
        deadline = time.monotonic() + 60
        while (address := read_address(folder)) is None or address.pid != process.pid:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert process.stdout is not None
        assert f"{address.url}/mcp" in process.stdout.readline()
        yield address.url
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)


def test_where_a_server_owns_the_index_messages_are_handed_on(config: Path, tmp_path: Path) -> None:
    folder, hello = tmp_path / "index", tmp_path / "files" / "hello.txt"
    with ToolIndex.create(folder, rules=RuleBook.public(), encoder="hashed") as index:
        import_sources(index, sources_from([str(config)]).sources)

    async def scenario() -> None:
        heard: list[float] = []

        async def hear(done: float, whole: float | None, message: str | None) -> None:
            heard.append(done)

        over_http = Client(f"{url}/mcp")
        for target, steps in ((over_http, 4), (Client(command("-i", folder)), 5)):
            async with target as client:
                read = await data(client, "call_tool", name="filesystem/read_text_file", arguments={"path": str(hello)})
                assert read["data"]["content"] == "hello"
                call = {
                    "name": "everything/trigger-long-running-operation",
                    "arguments": {"duration": 1, "steps": steps},
                }
                asked = await data(client, "call_write_tool", **call)
                confirmed = {**call, "confirmation": asked["error"]["confirmation"]}
                heard.clear()
                done = await client.call_tool("call_write_tool", confirmed, progress_callback=hear)
                assert not done.is_error
                assert heard[-1] == steps

    with owning(folder, "--mcp-config", config) as url:
        run(scenario)


def test_the_inspector_lists_and_calls(config: Path, tmp_path: Path) -> None:
    inspector = SERVERS / "node_modules" / ".bin" / "mcp-inspector"
    if not inspector.exists():
        pytest.skip("the inspector is not installed; run `make servers`")
    script = tmp_path / "serve.py"
    script.write_text(RUN, encoding="utf-8")
    server = [sys.executable, str(script), "mcp", "-i", str(tmp_path / "none"), "--mcp-config", str(config)]

    def inspect(*words: str) -> Any:
        done = subprocess.run(
            [str(inspector), "--cli", *server, *words], capture_output=True, text=True, timeout=90, check=True
        )
        return json.loads(done.stdout[done.stdout.index("{") :])

    listed = inspect("--method", "tools/list")
    assert [tool["name"] for tool in listed["tools"]] == [
        "search_tools",
        "describe_tool",
        "call_tool",
        "call_write_tool",
    ]
    called = inspect("--method", "tools/call", "--tool-name", "search_tools", "--tool-arg", "query=read a text file")
    assert called["structuredContent"]["tools"][0]["call_with"] == "call_tool"
