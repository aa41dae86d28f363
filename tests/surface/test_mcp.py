"""The MCP server and the official client: in memory and over HTTP, with and without credentials."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

import httpx2
import uvicorn
from fastapi import FastAPI
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client, ClientSession, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.server import MCPServer, Server
from mcp.server.mcpserver import Context
from mcp_types import ElicitResult, InputRequiredResult, Tool, ToolAnnotations
from surface_catalogue import CATALOGUE, GUEST, RULES, SUPPORT

from toolsearch import Principal, RuleBook, ToolContract, ToolIndex
from toolsearch.calls.gateway.gateway import Gateway
from toolsearch.calls.importing import import_readings
from toolsearch.calls.importing.reading import reading_of
from toolsearch.calls.upstream import UpstreamServer
from toolsearch.calls.upstream.connect import Connection, connect_to
from toolsearch.calls.upstream.listing import list_tools
from toolsearch.cli.app import main
from toolsearch.model.contract import Approval
from toolsearch.serve.http.app import create_app
from toolsearch.serve.mcp.definitions import DescribedTool, FoundTools
from toolsearch.serve.mcp.server import listed_tools, make_server
from toolsearch.serve.mcp.verbs import Caller, Verb
from toolsearch.serve.settings import Settings, load_settings

pytestmark = pytest.mark.extras

GOLDEN = Path(__file__).parents[1] / "golden" / "mcp_tools.json"
WHO = Principal(subject="ann")


def wire() -> str:
    """Return `tools/list` as it goes over the wire, one line for each key."""
    tools = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed_tools()]
    return json.dumps({"tools": tools}, ensure_ascii=False, indent=1) + "\n"


def test_the_list_is_the_golden_one() -> None:
    # After a wanted change: python -c "import test_mcp; test_mcp.GOLDEN.write_text(test_mcp.wire())" in this folder.
    assert wire() == GOLDEN.read_text(encoding="utf-8")


def test_a_write_can_be_told_by_name_and_hints() -> None:
    hints = {tool.name: tool.annotations for tool in listed_tools()}
    assert {name for name, hint in hints.items() if hint and not hint.read_only_hint} == {"call_write_tool"}
    assert hints["call_write_tool"] is not None
    assert hints["call_write_tool"].destructive_hint


class GardenDesk:
    """Answers from an index of this process, with one upstream server in memory."""

    def __init__(self, index: ToolIndex, gateway: Gateway) -> None:
        self.index, self.forwards = index, gateway

    async def read(self, verb: Verb[Any]) -> Any:
        return verb(self.index)

    async def gateway(self) -> Gateway:
        return self.forwards


class Garden(MCPServer):
    """A server with a tool that reads, one that writes, one that takes long, and one that breaks."""

    def __init__(self) -> None:
        super().__init__("garden", version="1")
        self.planted: list[str] = []
        self.door: Server[Any]
        self.waiting, self.cancelled = asyncio.Event(), asyncio.Event()
        reads = ToolAnnotations(read_only_hint=True)

        @self.tool(description="List the plants of the garden.", annotations=reads)
        async def list_plants(context: Context[Any, Any]) -> str:
            await context.report_progress(1, 2, "looking")
            return ", ".join(self.planted)

        @self.tool(description="Plant a tree or flower in the garden.")
        def plant(name: str) -> str:
            self.planted.append(name)
            return f"planted {name}"

        @self.tool(description="Watch the plants of the garden grow for a long time.", annotations=reads)
        async def watch_plants() -> str:
            self.waiting.set()
            try:
                await asyncio.sleep(60)
            except BaseException:
                self.cancelled.set()
                raise
            return "grown"


@asynccontextmanager
async def garden() -> AsyncIterator[tuple[Client, Garden, ToolIndex]]:
    there = Garden()

    @asynccontextmanager
    async def connector(server: UpstreamServer) -> AsyncIterator[Connection]:
        async with connect_to(there, name=server.name, timeout_s=10) as connection:
            yield connection

    server = UpstreamServer(name="garden", transport="stdio", command="never-started")
    async with connector(server) as connection:
        reading = reading_of(await list_tools(connection), origin="memory", trusted=True)
    with ToolIndex.create(None, rules=RuleBook.public(), encoder="hashed") as index:
        import_readings(index, [reading])
        async with Gateway(index, {"garden": server}, connector=connector) as gateway:
            made = make_server(GardenDesk(index, gateway), caller_of=lambda _: Caller(principal=WHO))
            there.door = made
            async with Client(made) as client:
                yield client, there, index


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(scenario(), 60))  # type: ignore[arg-type]


async def data(client: Client, tool: str, /, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert result.structured_content is not None
    assert json.loads(result.content[0].text) == result.structured_content
    assert result.is_error is not result.structured_content["ok"]
    return dict(result.structured_content)


def test_search_describe_and_read() -> None:
    async def scenario() -> None:
        async with garden() as (client, there, _):
            there.planted.append("oak")
            found = FoundTools.model_validate(await data(client, "search_tools", query="list the plants"))
            card = found.tools[0]
            assert (card.ref, card.name, card.call_with) == ("garden/list_plants@1", "list_plants", "call_tool")
            described = DescribedTool.model_validate(await data(client, "describe_tool", name=card.name))
            assert described.tool is not None
            assert described.tool.ready
            for name in (card.ref, card.name, "garden/list_plants"):
                called = await data(client, "call_tool", name=name, trace_id=found.trace_id)
                assert called["data"] == "oak"

    run(scenario)


def test_a_write_needs_its_own_door_and_a_confirmation() -> None:
    async def scenario() -> None:
        async with garden() as (client, there, _):
            call = {"name": "garden/plant", "arguments": {"name": "rose"}}
            wrong_door = await data(client, "call_tool", **call)
            assert "call_write_tool" in wrong_door["error"]["hint"]
            asked = await data(client, "call_write_tool", **call)
            assert there.planted == []
            other = {"name": "garden/plant", "arguments": {"name": "nettle"}}
            stolen = await data(client, "call_write_tool", **other, confirmation=asked["error"]["confirmation"])
            assert not stolen["ok"]
            assert there.planted == []
            done = await data(client, "call_write_tool", **call, confirmation=asked["error"]["confirmation"])
            assert done["ok"]
            assert there.planted == ["rose"]

    run(scenario)


def test_nothing_fits_is_an_answer() -> None:
    async def scenario() -> None:
        async with garden() as (client, _, _):
            found = FoundTools.model_validate(await data(client, "search_tools", query="translate a poem into Latin"))
            assert (found.ok, found.outcome, found.tools) == (True, "no_tool", ())
            assert "answer without a tool" in found.message

    run(scenario)


@pytest.mark.parametrize(
    ("name", "arguments", "code", "retryable"),
    [
        ("search_tools", {}, "request_invalid", True),
        ("search_tools", {"query": "plants", "limit": 1_000}, "request_invalid", True),
        ("search_tools", {"query": "plants", "colour": 1}, "request_invalid", True),
        ("search_tools", {"query": "plants", "session": "no spaces"}, "request_invalid", True),
        ("describe_tool", {"name": "garden/unknown"}, "tool_unknown", True),
        ("call_tool", {"name": "garden/unknown"}, "tool_unknown", False),
        ("call_tool", {"name": "x", "cursor": "none"}, "cursor_unknown", False),
        ("call_tool", {"name": "garden/list_plants", "arguments": [1]}, "request_invalid", True),
    ],
)
def test_errors_say_what_to_do(name: str, arguments: dict[str, Any], code: str, retryable: bool) -> None:
    async def scenario() -> None:
        async with garden() as (client, _, _):
            error = (await data(client, name, **arguments))["error"]
            assert (error["code"], error.get("retryable", False)) == (code, retryable)
            assert error["message"]
            assert error["hint"]

    run(scenario)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("agrees", [True, False])
def test_a_person_approves_through_the_client(mode: Any, agrees: bool) -> None:
    async def scenario() -> None:
        async with garden() as (_, there, index):
            plant = index.tool("garden/plant", principal=WHO)
            execution = plant.execution.model_copy(update={"approval": Approval(required_when="always")})
            index.add([plant.model_copy(update={"execution": execution})])
            questions: list[str] = []

            async def person(context: Any, params: Any) -> ElicitResult:
                questions.append(params.message)
                return ElicitResult(action="accept", content={"approve": agrees})

            call = {"name": "garden/plant", "arguments": {"name": "rose"}}
            async with Client(there.door, mode=mode, elicitation_callback=person) as client:
                done = await data(client, "call_write_tool", **call)
            assert questions == ['Approve a call of garden/plant@1 with {"name": "rose"}?']
            assert there.planted == (["rose"] if agrees else [])
            assert done["ok"] is agrees
            if not agrees:
                assert done["error"]["code"] == "approval_declined"
            async with Client(there.door, mode=mode) as client:  # nobody to ask: the model cannot approve it itself
                asked = await data(client, "call_write_tool", name="garden/plant", arguments={"name": "ivy"})
                word = asked["error"]["confirmation"]
                again = await data(
                    client, "call_write_tool", name="garden/plant", arguments={"name": "ivy"}, confirmation=word
                )
                assert again["error"]["code"] == "approval_needed"
                assert "ivy" not in there.planted

    run(scenario)


def test_what_models_write_differently_is_understood() -> None:
    async def scenario() -> None:
        async with garden() as (client, _, _):
            assert (await data(client, "call_tool", tool_name="list_plants", arguments="{}"))["ok"]
            assert (await data(client, "describe_tool", ref="garden/plant@1"))["ok"]

    run(scenario)


def test_an_unlisted_tool_is_told_where_to_go() -> None:
    async def scenario() -> None:
        async with garden() as (client, _, _):
            with pytest.raises(MCPError, match="pass its ref to call_tool"):
                await client.call_tool("list_plants", {})

    run(scenario)


def test_progress_and_cancellation_pass_through() -> None:
    async def scenario() -> None:
        async with garden() as (client, there, _):
            heard: list[tuple[float, float | None, str | None]] = []

            async def hear(done: float, whole: float | None, message: str | None) -> None:
                heard.append((done, whole, message))

            await client.call_tool("call_tool", {"name": "list_plants"}, progress_callback=hear)
            assert heard == [(1, 2, "looking")]
            waiting = asyncio.create_task(client.call_tool("call_tool", {"name": "watch_plants"}))
            await asyncio.wait_for(there.waiting.wait(), 10)
            waiting.cancel()
            await asyncio.wait_for(there.cancelled.wait(), 10)

    run(scenario)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
FIELDS = ["query", "name", "arguments", "inputs", "session", "cursor", "limit", "text", "confirmation", "x"]


def test_any_arguments_have_an_answer_of_the_right_form() -> None:
    # The client refuses answers that do not fit the output schema of their tool.
    @settings(max_examples=60, deadline=None)
    @given(tool=st.sampled_from(listed_tools()), arguments=st.dictionaries(st.sampled_from(FIELDS), VALUES))
    def check(tool: Tool, arguments: dict[str, Any]) -> None:
        asyncio.run(asyncio.wait_for(answer_of(tool.name, arguments), 30))

    async def answer_of(tool: str, arguments: dict[str, Any]) -> None:
        async with Client(make_server(GardenDesk(index, gateway), caller_of=lambda _: Caller(principal=WHO))) as client:
            result = await client.call_tool(tool, json.loads(json.dumps(arguments, default=str).replace("NaN", "0")))
            assert result.structured_content is not None
            assert result.structured_content.get("error", {}).get("code") != "internal"

    with ToolIndex.create(None, rules=RuleBook.public(), encoder="hashed") as index:
        index.add([ToolContract.model_validate({"identity": {"name": "get", "server": "mail"}})])
        gateway = Gateway(index, {})
        check()


def test_the_command_refuses_what_it_cannot_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, told in ((["-i", tmp_path], "no index in"), (["--port", 1], "--host and --port are for --http")):
        with pytest.raises(SystemExit) as ended:
            main(["mcp", *map(str, words)])
        assert ended.value.code == 3
        assert told in capsys.readouterr().err


def test_a_session_is_remembered_by_its_argument() -> None:
    async def scenario() -> None:
        async with garden() as (client, _, _):
            first = FoundTools.model_validate(await data(client, "search_tools", query="list plants", session="talk"))
            again = FoundTools.model_validate(await data(client, "search_tools", query="list plants", session="talk"))
            assert not any(card.already_loaded for card in first.tools)
            assert all(card.already_loaded for card in again.tools)
            assert (await data(client, "call_tool", name=first.tools[0].name, session="talk"))["ok"]

    run(scenario)


def test_names_mean_the_same_tool_in_every_search() -> None:
    def tool(server: str, does: str) -> ToolContract:
        return ToolContract.model_validate(
            {
                "identity": {"name": "get", "server": server},
                "capability": {"does": does},
                "execution": {"side_effect": "none"},
            }
        )

    async def scenario() -> None:
        with ToolIndex.create(None, rules=RuleBook.public(), encoder="hashed") as index:
            index.add([tool("mail", "Reads a letter."), tool("zoo", "Feeds an elephant.")])
            async with Gateway(index, {}) as gateway:
                made = make_server(GardenDesk(index, gateway), caller_of=lambda _: Caller(principal=WHO))
                async with Client(made) as client:
                    for query, name in (("reads a letter", "mail__get"), ("feeds an elephant", "zoo__get")):
                        found = FoundTools.model_validate(await data(client, "search_tools", query=query, limit=1))
                        assert found.tools[0].name == name
                        described = await data(client, "describe_tool", name=name)
                        assert described["tool"]["ref"] == found.tools[0].ref

    run(scenario)


@contextmanager
def served(app: FastAPI) -> Iterator[str]:
    """Serve an application on loopback and yield the URL of its MCP endpoint."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{bound.getsockname()[1]}/mcp"
        finally:
            server.should_exit = True
            thread.join()


@asynccontextmanager
async def with_headers(url: str, **headers: str) -> AsyncIterator[Any]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with (
        httpx2.AsyncClient(headers=named, timeout=30) as plain,
        streamable_http_client(url, http_client=plain) as streams,
    ):
        yield streams


def test_over_http_in_both_eras(open_app: FastAPI) -> None:
    async def scenario() -> None:
        async with Client(url) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == [tool.name for tool in listed_tools()]
            found = await data(client, "search_tools", query="where is my order ORD-20260917")
            assert found["tools"][0]["ref"] == "orders/orders.get@1"
            async with httpx2.AsyncClient() as plain:
                metrics = (await plain.get(url.replace("/mcp", "/metrics"))).text
            assert 'endpoint="/mcp"' in metrics
        async with streamable_http_client(url) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            once = await session.call_tool("search_tools", {"query": "order"})
            again = await session.call_tool("search_tools", {"query": "order"})
            # The session of the transport is the conversation, where nothing else names one.
            loaded = [[card.get("already_loaded") for card in one.structured_content["tools"]] for one in (once, again)]
            assert loaded == [[None, None], [True, True]]

    with served(open_app) as url:
        run(scenario)


def test_a_header_names_the_conversation(open_app: FastAPI) -> None:
    async def scenario() -> None:
        for loaded in (False, True):
            async with Client(with_headers(url, Toolsearch_Session="talk")) as client:
                found = FoundTools.model_validate(await data(client, "search_tools", query="order"))
                assert all(card.already_loaded is loaded for card in found.tools)

    with served(open_app) as url:
        run(scenario)


def test_the_principal_is_that_of_the_credentials(index: ToolIndex, secured: Settings, keys: dict[str, str]) -> None:
    async def refs(who: Principal) -> set[str]:
        async with Client(with_headers(url, Authorization=f"Bearer {keys[who.subject]}")) as client:
            found = FoundTools.model_validate(await data(client, "search_tools", query="order and weather today"))
            hidden = await data(client, "describe_tool", name="vault.open")
            assert hidden["error"]["code"] == "tool_unknown"
            return {card.ref for card in found.tools}

    async def scenario() -> None:
        assert "orders/orders.get@1" in await refs(SUPPORT)
        assert await refs(GUEST) <= {"weather/weather.today@1"}
        async with httpx2.AsyncClient() as plain:
            assert (await plain.post(url, json={})).status_code == 401

    with served(create_app(index, settings=secured)) as url:
        run(scenario)


def test_a_session_of_the_transport_is_nobody_elses(index: ToolIndex, secured: Settings, keys: dict[str, str]) -> None:
    def headers(who: Principal, **more: str) -> dict[str, str]:
        return {
            "Authorization": f"Bearer {keys[who.subject]}",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2025-11-25",
            **more,
        }

    begin = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}

    async def scenario() -> None:
        async with httpx2.AsyncClient(timeout=30) as plain:
            begun = await plain.post(url, json=begin, headers=headers(SUPPORT))
            session = {"Mcp-Session-Id": begun.headers["mcp-session-id"]}
            assert (await plain.post(url, json=ping, headers=headers(GUEST, **session))).status_code == 404
            assert (await plain.post(url, json=ping, headers=headers(SUPPORT, **session))).status_code == 200

    with served(create_app(index, settings=secured)) as url:
        run(scenario)


def test_without_credentials_no_web_page_gets_an_answer(open_app: FastAPI) -> None:
    async def scenario() -> None:
        accept = {"Accept": "application/json, text/event-stream"}
        async with httpx2.AsyncClient() as plain:
            for headers, status in (({"Host": "evil.example"}, 421), ({"Origin": "http://evil.example"}, 403)):
                assert (await plain.post(url, json={}, headers={**accept, **headers})).status_code == status

    with served(open_app) as url:
        run(scenario)


def test_settings_turn_it_off() -> None:
    with ToolIndex.create(None, rules=RULES, encoder="hashed") as index:
        index.add(CATALOGUE)
        app = create_app(index, settings=load_settings(serve_mcp=False))
        assert app.state.mcp is None
        assert "/mcp" not in {getattr(route, "path", "") for route in app.routes}


async def _asked_for_approval(there: Garden, index: ToolIndex) -> None:
    plant = index.tool("garden/plant", principal=WHO)
    execution = plant.execution.model_copy(update={"approval": Approval(required_when="always")})
    index.add([plant.model_copy(update={"execution": execution})])


def _accepts() -> dict[str, Any]:
    return {"approval": ElicitResult(action="accept", content={"approve": True})}


async def _never(context: Any, params: Any) -> ElicitResult:
    raise AssertionError("the rounds are played by hand")


@pytest.mark.parametrize("can_ask", [True, False])
def test_a_confirmation_from_a_result_approves_nothing(can_ask: bool) -> None:
    async def scenario() -> None:
        async with garden() as (_, there, index):
            await _asked_for_approval(there, index)
            call = {"name": "garden/plant", "arguments": {"name": "ivy"}}
            async with Client(there.door) as client:
                word = (await data(client, "call_write_tool", **call))["error"]["confirmation"]
            options: dict[str, Any] = {"elicitation_callback": _never} if can_ask else {}
            async with Client(there.door, **options) as client:
                for state in (word, f"q1.{word}", "q1.AAAA", ""):
                    forged = await client.session.call_tool(
                        "call_write_tool",
                        call,
                        input_responses=_accepts(),
                        request_state=state,
                        allow_input_required=True,
                    )
                    assert isinstance(forged, InputRequiredResult) or forged.is_error
            assert there.planted == []

    run(scenario)


def test_an_answer_counts_once_and_for_the_call_that_was_shown() -> None:
    async def scenario() -> None:
        async with garden() as (_, there, index):
            await _asked_for_approval(there, index)

            async def send(client: Client, name: str, state: str | None = None, **more: Any) -> Any:
                return await client.session.call_tool(
                    "call_write_tool",
                    {"name": "garden/plant", "arguments": {"name": name}, **more},
                    input_responses=None if state is None else _accepts(),
                    request_state=state,
                    allow_input_required=True,
                )

            async with Client(there.door, elicitation_callback=_never) as client:
                asked = await send(client, "rose")
                assert isinstance(asked, InputRequiredResult)
                state = asked.request_state
                async with Client(there.door) as without:  # who cannot ask cannot bring an answer
                    assert (await send(without, "rose", state)).is_error
                assert isinstance(await send(client, "oak", state), InputRequiredResult)
                assert isinstance(await send(client, "rose", state), InputRequiredResult), "a wrong use ends it"
                asked = await send(client, "rose", session="chat-1")
                assert isinstance(await send(client, "rose", asked.request_state), InputRequiredResult)
                asked = await send(client, "rose")
                assert there.planted == []
                done = await send(client, "rose", asked.request_state)
                assert not done.is_error
                assert isinstance(await send(client, "rose", asked.request_state), InputRequiredResult)
                assert there.planted == ["rose"]

    run(scenario)


def test_a_person_sees_what_is_called() -> None:
    async def scenario() -> None:
        async with garden() as (_, there, index):
            await _asked_for_approval(there, index)
            questions: list[str] = []

            async def person(context: Any, params: Any) -> ElicitResult:
                questions.append(params.message)
                return ElicitResult(action="decline")

            async with Client(there.door, elicitation_callback=person) as client:
                await data(client, "call_write_tool", name="garden/plant", arguments={"name": "ro\u202ees\u200b"})
            assert "\u202e" not in questions[0]
            assert "\u200b" not in questions[0]
            assert "u202e" in questions[0]

    run(scenario)
