"""Seven real servers from PyPI and npm, over stdio and streamable HTTP: connected, listed, imported, followed."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, suppress
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("mcp")

from mcp import MCPError
from real_servers import SERVERS, growing_config

from toolsearch import Principal, RuleBook, SearchRequest, ToolIndex
from toolsearch.calls.importing import ServerSource, import_readings, import_sources, sources_from
from toolsearch.calls.importing.following import Followed, follow_servers
from toolsearch.calls.upstream import UpstreamServer, read_config_data
from toolsearch.calls.upstream.connect import Connection, connect
from toolsearch.calls.upstream.listing import Listing, list_tools
from toolsearch.model.errors import UpstreamError

pytestmark = [pytest.mark.extras, pytest.mark.slow]

ANYONE = Principal(subject="anyone")

# What each is known for. Servers add tools, so more may be there.
KNOWN = {
    "git": {"git_status", "git_log", "git_commit"},
    "time": {"get_current_time", "convert_time"},
    "fetch": {"fetch"},
    "filesystem": {"read_text_file", "write_file", "list_directory"},
    "everything": {"echo", "get-sum"},
    "memory": {"create_entities", "search_nodes"},
    "sequential-thinking": {"sequentialthinking"},
}


async def listed(server: UpstreamServer) -> Listing:
    async with connect(server) as connection:
        return await list_tools(connection)


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_each_is_listed(name: str, real_servers: dict[str, UpstreamServer]) -> None:
    listing = asyncio.run(listed(real_servers[name]))
    assert {tool["name"] for tool in listing.tools} >= KNOWN[name]
    assert all(tool["inputSchema"]["type"] == "object" for tool in listing.tools)
    assert listing.title
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", listing.protocol)


def test_all_are_imported_found_and_left_unchanged(real_file: Path) -> None:
    named = sources_from([str(real_file)])
    with ToolIndex.create(None, rules=RuleBook.public()) as index:
        first = import_sources(index, named.sources)
        assert first.whole
        assert {report.server for report in first.servers} == set(KNOWN)
        assert first.contracts >= 40
        assert all(report.added for report in first.servers)
        found = index.search(SearchRequest(text="show the commit history"), principal=ANYONE)
        assert any(candidate.ref.startswith("git/") for candidate in found.candidates)
        again = import_sources(index, named.sources)
        assert again.generation == first.generation
        assert not any(report.changed for report in again.servers)
        assert {row.server for row in index.sources() if not row.stale} == set(KNOWN)


def test_hints_of_a_server_are_used_only_when_trusted(real_servers: dict[str, UpstreamServer]) -> None:
    source = [ServerSource(server=real_servers["filesystem"])]
    with ToolIndex.create(None, rules=RuleBook.public(), encoder="hashed") as index:
        import_sources(index, source)
        wary = index.tool("filesystem/read_text_file", principal=ANYONE)
        report = import_sources(index, source, trusted=True)
        trusting = index.tool("filesystem/read_text_file", principal=ANYONE)
    assert not wary.provenance.trusted
    assert trusting.provenance.trusted
    assert "filesystem/read_text_file@1" in report.servers[0].replaced


def test_a_server_that_no_longer_starts_keeps_its_tools(real_servers: dict[str, UpstreamServer]) -> None:
    with ToolIndex.create(None, rules=RuleBook.public(), encoder="hashed") as index:
        import_sources(index, [ServerSource(server=real_servers["time"])])
        broken = real_servers["time"].model_copy(update={"command": "no-such-program"})
        report = import_sources(index, [ServerSource(server=broken), ServerSource(server=real_servers["git"])])
        assert not report.whole
        assert index.tool("time/convert_time", principal=ANYONE)
        assert index.tool("git/git_log", principal=ANYONE)
        rows = {row.server: row for row in index.sources()}
        assert rows["time"].stale
        assert rows["time"].tools == 2
        assert "cannot be started" in rows["time"].error
        assert not rows["git"].stale


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize(("kind", "path"), [("streamableHttp", "/mcp"), ("sse", "/sse")])
def test_a_real_server_over_http(kind: str, path: str, real_file: Path) -> None:
    port = free_port()
    command = [str(SERVERS / "node_modules" / ".bin" / "mcp-server-everything"), kind]
    running = subprocess.Popen(
        command, env={**os.environ, "PORT": str(port)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        entry = {"type": "sse" if kind == "sse" else "http", "url": f"http://localhost:{port}{path}"}
        server = read_config_data({"mcpServers": {"everything": entry}}).servers[0]
        listing = asyncio.run(retried(server))
    finally:
        running.terminate()
        running.wait(timeout=10)
    assert {tool["name"] for tool in listing.tools} >= KNOWN["everything"]


async def retried(server: UpstreamServer) -> Listing:
    for _ in range(100):
        try:
            return await listed(server)
        except UpstreamError:
            await asyncio.sleep(0.1)
    return await listed(server)


def test_a_changed_list_is_searchable_soon_and_a_crash_is_survived(tmp_path: Path) -> None:
    """The growing server is a process of its own: it announces, it dies, it is started again."""
    config = {"mcpServers": {"growing": growing_config("apples", "pears")}}
    server = read_config_data(config).servers[0]
    rounds: asyncio.Queue[Followed] = asyncio.Queue()
    connections: list[Connection] = []

    @asynccontextmanager
    async def watched(wanted: UpstreamServer) -> AsyncIterator[Connection]:
        async with connect(wanted) as connection:
            connections.append(connection)
            yield connection

    async def scenario(index: ToolIndex) -> list[float]:
        following = asyncio.create_task(
            follow_servers(
                partial(import_readings, index),
                [server],
                connector=watched,
                on_round=rounds.put_nowait,
                first_pause_s=0.05,
            )
        )
        assert "growing/apples@1" in (await asyncio.wait_for(rounds.get(), 20)).report.added
        seconds = []
        for number in range(5):
            await connections[-1].client.call_tool("grow", {"name": f"plums{number}"})
            followed = await asyncio.wait_for(rounds.get(), 20)
            assert followed.report.added == (f"growing/plums{number}@1",)
            seconds.append(followed.seconds)
        await connections[-1].client.call_tool("shrink", {"name": "pears"})
        assert (await asyncio.wait_for(rounds.get(), 20)).report.removed == ("growing/pears@1",)
        with pytest.raises(MCPError):
            await connections[-1].client.call_tool("crash", {})
        assert (await asyncio.wait_for(rounds.get(), 20)).report.error
        assert index.sources()[0].stale
        assert index.tool("growing/plums0", principal=ANYONE)
        # It starts with what it has, which is what counts: the plums are gone.
        back = (await asyncio.wait_for(rounds.get(), 20)).report
        assert not back.error
        assert back.added == ("growing/pears@1",)
        assert len(back.removed) == 5
        assert not index.sources()[0].stale
        following.cancel()
        with pytest.raises(asyncio.CancelledError):
            await following
        return seconds

    with ToolIndex.create(tmp_path / "index", rules=RuleBook.public(), encoder="hashed") as index:
        assert max(asyncio.run(scenario(index))) < 5


def test_serve_follows_and_stops_cleanly(tmp_path: Path, real_file: Path) -> None:
    """`toolsearch serve` with `mcp_config`: tools of real servers are found, and no process is left behind."""

    toolsearch = str(Path(sys.executable).with_name("toolsearch"))
    folder = tmp_path / "index"
    subprocess.run([toolsearch, "index", str(folder), "--public", "--encoder", "hashed"], check=True)
    environment = {
        **os.environ,
        "TOOLSEARCH_MCP_CONFIG": str(real_file),
        "TOOLSEARCH_IMPORT_SERVERS": '["time"]',
    }
    running = subprocess.Popen(
        [toolsearch, "serve", str(folder), "--port", "0"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert running.stdout is not None
        url = re.search(r"http://127\.0\.0\.1:\d+", running.stdout.readline())[0]
        for _ in range(300):
            with urllib.request.urlopen(f"{url}/v1/sources") as answer:
                rows = json.load(answer)
            if {row["server"] for row in rows} == set(KNOWN):
                break
            time.sleep(0.1)
        assert [row["server"] for row in rows if row["stale"]] == []
        assert {row["server"] for row in rows} == set(KNOWN)
        request = urllib.request.Request(
            f"{url}/v1/tools:import",
            data=json.dumps({"live": ["time"]}).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:
            report = json.load(answer)
        assert len(report["servers"][0]["unchanged"]) == 2
    finally:
        running.send_signal(signal.SIGTERM)
        _, errors = running.communicate(timeout=30)
    assert running.returncode == 0
    assert "Traceback" not in errors
    assert [command for command in commands() if str(real_file.parent / "files") in command] == []


def commands() -> Iterator[str]:
    """Yield the command lines of the processes that run, where the system tells."""
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            yield file.read_text(encoding="utf-8", errors="replace").replace("\0", " ")
