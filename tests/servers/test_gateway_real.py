"""The gateway before real servers: read, refused and confirmed write, a killed process, a list that changes."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from real_servers import growing_config

from toolsearch import Principal, RuleBook, ToolIndex
from toolsearch.calls.gateway import CallResult, Gateway, GatewayLimits, ToolCall
from toolsearch.calls.importing import ServerSource, import_sources
from toolsearch.calls.upstream import UpstreamServer, read_config_data

pytestmark = [pytest.mark.extras, pytest.mark.slow]

ANN = Principal(subject="ann")


def play(servers: dict[str, UpstreamServer], scene: Callable[[Gateway, ToolIndex], Awaitable[None]]) -> None:
    async def played(index: ToolIndex) -> None:
        async with Gateway(index, servers, limits=GatewayLimits(first_pause_s=0.05), seed=1) as gateway:
            await asyncio.wait_for(scene(gateway, index), 120)

    before = set(children())  # other tests of this process may have left some
    with ToolIndex.create(None, rules=RuleBook.public(), encoder="hashed") as index:
        report = import_sources(index, [ServerSource(server=server) for server in servers.values()])
        assert report.whole
        asyncio.run(played(index))
    assert set(children()) <= before


def children() -> list[int]:
    """Return the processes that this one started and that still run."""
    task = Path(f"/proc/{os.getpid()}/task")
    if not task.exists():
        return []
    return [int(child) for file in task.glob("*/children") for child in file.read_text(encoding="utf-8").split()]


async def call(gateway: Gateway, tool: str, write: bool = False, **arguments: Any) -> CallResult:
    return await gateway.call(ToolCall(name_or_ref=tool, arguments=arguments, write_allowed=write), principal=ANN)


async def confirmed(gateway: Gateway, tool: str, **arguments: Any) -> CallResult:
    asked = ToolCall(name_or_ref=tool, arguments=arguments, write_allowed=True)
    refused = await gateway.call(asked, principal=ANN)
    assert refused.error is not None
    assert refused.error.code == "confirmation_needed"
    return await gateway.call(asked.model_copy(update={"confirmation": refused.error.confirmation}), principal=ANN)


def code(result: CallResult) -> str | None:
    return None if result.error is None else result.error.code


def test_files_are_read_and_written_with_evidence_only(real_servers: dict[str, UpstreamServer], tmp_path: Path) -> None:
    hello, new = str(tmp_path / "files" / "hello.txt"), tmp_path / "files" / "new.txt"

    async def scene(gateway: Gateway, index: ToolIndex) -> None:
        read = await call(gateway, "filesystem/read_text_file", path=hello)
        assert read.ok
        assert "hello" in str(read.data)
        arguments = {"path": str(new), "content": "  written  "}
        assert code(await call(gateway, "filesystem/write_file", **arguments)) == "write_refused"
        assert code(await call(gateway, "filesystem/write_file", write=True, **arguments)) == "confirmation_needed"
        assert not new.exists()
        written = await confirmed(gateway, "filesystem/write_file", **arguments)
        assert written.ok
        assert written.meta.status.side_effect == "committed"
        assert new.read_text(encoding="utf-8") == "  written  "
        outside = await call(gateway, "filesystem/read_text_file", path="/etc/hostname")
        assert code(outside) == "tool_error"
        assert outside.meta.status.transport == "ok"

    play({"filesystem": real_servers["filesystem"]}, scene)


def test_git_time_and_everything_at_the_same_time(real_servers: dict[str, UpstreamServer], tmp_path: Path) -> None:
    told: list[float] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        told.append(done)

    async def scene(gateway: Gateway, index: ToolIndex) -> None:
        git, clock, sums = await asyncio.gather(
            call(gateway, "git/git_status", repo_path=str(tmp_path / "repo")),
            call(gateway, "time/convert_time", source_timezone="UTC", time="12:00", target_timezone="Asia/Tokyo"),
            call(gateway, "everything/get-sum", write=True, a=2, b=3),
        )
        assert git.ok
        assert "branch" in str(git.data)
        assert clock.ok
        assert "21:00" in str(clock.data)
        assert sums.ok or code(sums) == "confirmation_needed"
        slow = ToolCall(
            name_or_ref="everything/trigger-long-running-operation",
            arguments={"duration": 1, "steps": 4},
            write_allowed=True,
        )
        result = await gateway.call(slow, principal=ANN, progress=progress)
        if code(result) == "confirmation_needed":
            slow = slow.model_copy(update={"confirmation": result.error.confirmation})
            result = await gateway.call(slow, principal=ANN, progress=progress)
        assert result.ok
        assert told == sorted(told)
        assert len(told) >= 2

    play({name: real_servers[name] for name in ("git", "time", "everything")}, scene)


def test_a_killed_server_is_started_again(real_servers: dict[str, UpstreamServer]) -> None:
    async def scene(gateway: Gateway, index: ToolIndex) -> None:
        before = set(children())
        assert (await call(gateway, "time/get_current_time", timezone="UTC")).ok
        (started,) = set(children()) - before
        os.kill(started, signal.SIGKILL)
        result = await call(gateway, "time/get_current_time", timezone="UTC")
        assert result.ok
        (again,) = set(children()) - before
        assert again != started

    play({"time": real_servers["time"]}, scene)


def test_a_crash_in_a_write_is_unknown_and_the_next_call_finds_a_new_process() -> None:
    server = read_config_data({"mcpServers": {"growing": growing_config("apples")}}).servers[0]

    async def scene(gateway: Gateway, index: ToolIndex) -> None:
        crashed = await confirmed(gateway, "growing/crash")
        assert code(crashed) == "outcome_unknown"
        assert crashed.meta.status.transport == "lost"
        assert crashed.meta.attempts == 1
        assert (await call(gateway, "growing/apples")).data == "apples"

    play({"growing": server}, scene)


def test_the_list_changes_mid_session() -> None:
    server = read_config_data({"mcpServers": {"growing": growing_config("apples", "pears")}}).servers[0]

    async def scene(gateway: Gateway, index: ToolIndex) -> None:
        assert (await call(gateway, "growing/pears")).data == "pears"
        assert (await confirmed(gateway, "growing/shrink", name="pears")).ok
        for _ in range(50):  # the announcement comes on its own way
            result = await call(gateway, "growing/pears")
            if code(result) == "tool_gone":
                break
            await asyncio.sleep(0.05)
        assert code(result) == "tool_gone"
        assert code(await call(gateway, "growing/plums")) == "tool_unknown"
        assert (await call(gateway, "growing/apples")).ok

    play({"growing": server}, scene)


def test_cancelling_reaches_the_server_and_the_connection_lives_on(real_servers: dict[str, UpstreamServer]) -> None:
    async def scene(gateway: Gateway, index: ToolIndex) -> None:
        slow = ToolCall(
            name_or_ref="everything/trigger-long-running-operation",
            arguments={"duration": 60, "steps": 60},
            write_allowed=True,
        )
        refused = await gateway.call(slow, principal=ANN)
        if refused.error is not None:
            slow = slow.model_copy(update={"confirmation": refused.error.confirmation})
        running = asyncio.create_task(gateway.call(slow, principal=ANN))
        await asyncio.sleep(2)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        before = set(children())
        echoed = await call(gateway, "everything/echo", write=True, message="still here")
        if code(echoed) == "confirmation_needed":
            echoed = await confirmed(gateway, "everything/echo", message="still here")
        assert "still here" in str(echoed.data)
        assert set(children()) == before

    play({"everything": real_servers["everything"]}, scene)
