"""What all adapters stand on: a list that only grows, names that mean one tool, calls that never raise."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from changing_source import CLERK, ChangingSource, starter_source
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolsearch.adapters.anthropic import GONE, AnthropicTools
from toolsearch.adapters.calling import ToolSetResult, by_ref
from toolsearch.adapters.openai_chat import ChatTools
from toolsearch.adapters.openai_responses import ResponsesTools
from toolsearch.adapters.request_text import request_text
from toolsearch.adapters.toolset import ToolSet
from toolsearch.model.errors import RequestError, ServerUnreachable, UnknownTool
from toolsearch.model.request import MAX_QUERY_CHARS, DefinitionFormat, OutcomeStatus

TRACK = "Where is the parcel of order ORD-20260917?"
WEATHER = "杭州现在天气怎么样？"
CUSTOMER = "Show me the customer record of C-204817"
SAID = (TRACK, WEATHER, CUSTOMER, "thanks", "translate 'good morning' into German", TRACK)


@pytest.fixture(scope="module")
def opened() -> Iterator[ChangingSource]:
    with starter_source() as made:
        yield made


@pytest.fixture
def source(opened: ChangingSource) -> ChangingSource:
    return ChangingSource(opened.index)


def echo(ref: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"ran": ref, **arguments}


def chat_set(source: ChangingSource, **options: Any) -> ToolSet:
    return ToolSet(source, format=DefinitionFormat.OPENAI, **({"run": echo} | options))


def grows(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> bool:
    """Tell whether the bytes of a tool block are those of the one before, with more at the end."""
    return json.dumps(after, ensure_ascii=False)[:-1].startswith(json.dumps(before, ensure_ascii=False)[:-1])


def anthropic_blocks(source: ChangingSource) -> Iterator[list[dict[str, Any]]]:
    tools = AnthropicTools(source, run=echo)
    for number, text in enumerate(SAID):
        call = {"type": "tool_use", "id": f"c{number}", "name": "search_tools", "input": {"query": text}}
        tools.results({"role": "assistant", "content": [call]})
        yield tools.tool_block()


def plain_anthropic_blocks(source: ChangingSource) -> Iterator[list[dict[str, Any]]]:
    tools = AnthropicTools(source, deferred=False)
    for text in SAID:
        tools.turn([{"role": "user", "content": [{"type": "text", "text": text}]}])
        yield tools.tool_block()


def chat_blocks(source: ChangingSource) -> Iterator[list[dict[str, Any]]]:
    tools = ChatTools(source)
    for text in SAID:
        tools.turn([{"role": "user", "content": text}])
        yield tools.tool_block()


def plain_responses_blocks(source: ChangingSource) -> Iterator[list[dict[str, Any]]]:
    tools = ResponsesTools(source, deferred=False)
    for text in SAID:
        tools.turn([{"role": "user", "content": [{"type": "input_text", "text": text}]}])
        yield tools.tool_block()


@pytest.mark.parametrize("blocks", [anthropic_blocks, plain_anthropic_blocks, chat_blocks, plain_responses_blocks])
def test_a_block_grows_at_its_end_alone(blocks: Any, source: ChangingSource) -> None:
    turns = list(blocks(source))
    assert all(grows(before, after) for before, after in pairwise(turns))
    assert len(turns[2]) > len(turns[1]) > len(turns[0]) > 2
    assert turns[-1] == turns[-2], "a question that was asked before brings nothing new"
    assert [len(turn) for turn in blocks(source)] == [len(turn) for turn in turns], "the same in another session"


def test_the_block_of_deferred_responses_never_changes(source: ChangingSource) -> None:
    tools, blocks, loaded = ResponsesTools(source, namespaces=True), [], []
    for number, text in enumerate(SAID):
        call = {
            "type": "tool_search_call",
            "call_id": f"c{number}",
            "execution": "client",
            "arguments": {"query": text},
        }
        (item,) = tools.results({"output": [call]})
        loaded.append(item)
        blocks.append(tools.tool_block())
    assert all(block == blocks[0] for block in blocks)
    assert blocks[0][0]["execution"] == "client"
    first = loaded[0]
    assert (first["type"], first["call_id"], first["status"]) == ("tool_search_output", "c0", "completed")
    inner = [tool for group in first["tools"] for tool in group["tools"]]
    assert {group["type"] for group in first["tools"]} == {"namespace"}
    assert all(tool["defer_loading"] is True and tool["type"] == "function" for tool in inner)
    assert "orders_track_shipment" in {tool["name"] for tool in inner}


def test_a_search_that_the_server_runs_is_not_answered(source: ChangingSource) -> None:
    call = {"type": "tool_search_call", "call_id": None, "execution": "server", "arguments": {"paths": ["crm"]}}
    assert ResponsesTools(source).results({"output": [call, {"type": "message", "content": []}]}) == []


def test_references_and_the_tools_they_name(source: ChangingSource) -> None:
    tools = AnthropicTools(source, run=echo)
    search = {"type": "tool_use", "id": "s1", "name": "search_tools", "input": {"query": TRACK, "limit": 2}}
    message = {"role": "assistant", "content": [{"type": "text", "text": "Let me look."}, search]}
    answers = tools.results(message)
    assert answers is not None
    (result,) = answers["content"]
    assert (result["type"], result["tool_use_id"]) == ("tool_result", "s1")
    names = [reference["tool_name"] for reference in result["content"]]
    block = {definition["name"]: definition for definition in tools.tool_block()}
    assert set(names) <= set(block)
    assert all(block[name]["defer_loading"] for name in names)
    assert "defer_loading" not in block["search_tools"]
    assert not any("input_examples" in definition for definition in block.values())
    assert tools.results({"role": "assistant", "content": [{"type": "text", "text": "Hello."}]}) is None


def test_a_reference_to_a_tool_that_left_still_names_one(source: ChangingSource) -> None:
    tools = AnthropicTools(source, run=echo)
    call = {"type": "tool_use", "id": "s1", "name": "search_tools", "input": {"query": CUSTOMER}}
    messages = [{"role": "assistant", "content": [call]}]
    messages.append(tools.results(messages[0]))
    held = tools.tool_block(messages)
    assert "crm_get_customer" in {tool["name"] for tool in held}
    source.principal = CLERK
    used = {"type": "tool_use", "id": "c1", "name": "crm_get_customer", "input": {"customer_id": "C-204817"}}
    answers = tools.results({"role": "assistant", "content": [used]})
    assert answers is not None
    assert answers["content"][0]["is_error"] is True
    (gone,) = [tool for tool in tools.tool_block(messages) if tool["name"] == "crm_get_customer"]
    assert gone == {
        "name": "crm_get_customer",
        "description": GONE,
        "input_schema": {"type": "object"},
        "defer_loading": True,
    }
    assert "crm_get_customer" not in {tool["name"] for tool in tools.tool_block()}


def test_a_call_is_run_and_reported_under_its_search(source: ChangingSource) -> None:
    tools = chat_set(source)
    answer = tools.search(TRACK)
    result = tools.call("orders_track_shipment", '{"order_id": "ORD-20260917"}')
    assert result.ok
    assert json.loads(result.text) == {"ran": "orders/orders.track_shipment@1", "order_id": "ORD-20260917"}
    (outcome,) = source.outcomes
    assert outcome.trace_id == answer.trace_id
    assert outcome.status is OutcomeStatus.SUCCESS
    assert outcome.latency_ms is not None


def raising(error: Exception) -> Any:
    def run(ref: str, arguments: dict[str, Any]) -> None:
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "status", "told"),
    [
        (ValueError("no such order"), OutcomeStatus.TOOL_ERROR, "ValueError: no such order"),
        (TimeoutError(), OutcomeStatus.TIMEOUT, "did not answer in time"),
        (RequestError("quantity is 0; order at least 1"), OutcomeStatus.REJECTED, "quantity is 0"),
        (RuntimeError("x" * 5_000), OutcomeStatus.TOOL_ERROR, "RuntimeError: xxx"),
    ],
)
def test_a_tool_that_fails(error: Exception, status: OutcomeStatus, told: str, source: ChangingSource) -> None:
    tools = chat_set(source, run=raising(error))
    tools.search(TRACK)
    for result in (
        tools.call("orders_track_shipment", {}),
        asyncio.run(tools.acall("orders_track_shipment", {})),
    ):
        assert result.status is status
        assert told in result.text
        assert len(result.text) < 600
    assert [outcome.status for outcome in source.outcomes] == [status, status]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.one_of(st.sampled_from(["search_tools", "orders_track_shipment", "crm_get_customer"]), st.text()),
    arguments=st.one_of(st.none(), st.text(), st.dictionaries(st.text(), st.text() | st.integers() | st.none())),
)
def test_nothing_that_a_model_sends_raises(name: str, arguments: Any, opened: ChangingSource) -> None:
    tools = chat_set(ChangingSource(opened.index), session="anything")
    result = tools.call(name, arguments)
    assert isinstance(result, ToolSetResult)
    assert result.text
    if result.ref is None and name != "search_tools":
        assert result.status is OutcomeStatus.REJECTED


@pytest.mark.parametrize("arguments", ['{"order_id": ', "[1]", '"text"'])
def test_arguments_that_are_none(arguments: str, source: ChangingSource) -> None:
    tools = chat_set(source)
    tools.search(TRACK)
    result = tools.call("orders_track_shipment", arguments)
    assert result.status is OutcomeStatus.REJECTED
    assert "send one JSON object" in result.text
    assert source.outcomes == [], "a call that was not made says nothing of the tool"


def test_a_hidden_tool_is_as_unknown_as_one_that_is_not_there(source: ChangingSource) -> None:
    ran: list[str] = []
    tools = chat_set(source, run=lambda ref, arguments: ran.append(ref))
    tools.search(CUSTOMER)
    assert tools.tool("crm_get_customer").ref == "crm/crm.get_customer@1"
    source.principal = CLERK
    hidden, absent = tools.call("crm_get_customer", {}), tools.call("crm_get_gustomer", {})
    assert hidden.text.replace("crm_get_customer", "X") == absent.text.replace("crm_get_gustomer", "X")
    assert ran == []
    with pytest.raises(UnknownTool, match="search_tools"):
        tools.tool("crm_get_customer")


def test_what_the_search_tool_answers(source: ChangingSource) -> None:
    tools = chat_set(source)
    told = json.loads(tools.call("search_tools", {"query": TRACK, "limit": 3}).text)
    assert set(told) == {"outcome", "message", "tools"}
    assert told["tools"][0]["name"] == "orders_track_shipment"
    assert told["tools"][0]["side_effect"] == "read_only"
    assert all(tools.tool(card["name"]) for card in told["tools"])
    for wrong in ({}, {"query": 3}, {"query": TRACK, "limit": 0}, {"query": TRACK, "limit": True}, {"query": "  "}):
        result = tools.call("search_tools", wrong)
        assert result.status is OutcomeStatus.REJECTED
        assert result.text.startswith("the search failed: ")


def test_nothing_fits(source: ChangingSource) -> None:
    tools = chat_set(source)
    told = json.loads(tools.call("search_tools", {"query": "xylophone zebra quilting"}).text)
    assert told["outcome"] == "no_tool"
    assert told["tools"] == []
    assert "Do not search again" in told["message"]


def test_a_conversation_goes_on_elsewhere(source: ChangingSource) -> None:
    first = chat_set(source, session="conversation-7")
    first.search(TRACK)
    assert chat_set(source, session="conversation-7").definitions == first.definitions
    with pytest.raises(RequestError, match="begun in format openai, not mcp"):
        ToolSet(source, format=DefinitionFormat.MCP, session="conversation-7")
    with pytest.raises(RequestError, match="choose another search_name"):
        chat_set(source, session="conversation-7", search_name="orders_get")


def test_definitions_are_the_callers_own(source: ChangingSource) -> None:
    tools = chat_set(source)
    tools.search(TRACK)
    before = tools.definitions
    tools.definitions[0]["function"]["name"] = "changed"
    assert tools.definitions == before


def test_calls_at_the_same_time(source: ChangingSource) -> None:
    begun = asyncio.Event()

    async def run(ref: str, arguments: dict[str, Any]) -> str:
        if ref.startswith("orders"):
            await asyncio.wait_for(begun.wait(), 5)  # only the other call sets it
        else:
            begun.set()
        return ref

    async def both() -> list[dict[str, Any]]:
        tools = ChatTools(source, run=run)
        tools.turn([{"role": "user", "content": TRACK}])
        tools.turn([{"role": "user", "content": TRACK}, {"role": "user", "content": WEATHER}])
        calls = [
            {"id": f"c{number}", "function": {"name": name, "arguments": "{}"}}
            for number, name in enumerate(("orders_track_shipment", "weather_current"))
        ]
        return await tools.aresults({"role": "assistant", "tool_calls": calls})

    answers = asyncio.run(both())
    assert [(answer["role"], answer["tool_call_id"]) for answer in answers] == [("tool", "c0"), ("tool", "c1")]
    assert [answer["content"] for answer in answers] == ["orders/orders.track_shipment@1", "weather/weather.current@1"]


def test_searches_at_the_same_time(source: ChangingSource) -> None:
    tools = AnthropicTools(source, run=echo)
    calls = [
        {"type": "tool_use", "id": f"s{number}", "name": "search_tools", "input": {"query": text}}
        for number, text in enumerate(SAID)
    ]
    answers = asyncio.run(tools.aresults({"role": "assistant", "content": calls}))
    assert answers is not None
    assert [answer["tool_use_id"] for answer in answers["content"]] == [call["id"] for call in calls]
    named = {
        block["tool_name"]
        for answer in answers["content"]
        if isinstance(answer["content"], list)
        for block in answer["content"]
    }
    assert named == {tool["name"] for tool in tools.tool_block()} - {"search_tools"}


def test_a_session_that_ended_begins_again(source: ChangingSource) -> None:
    tools = chat_set(source)
    tools.search(TRACK)
    source.index.sessions.end(tools.session, principal=source.principal)
    assert "there is no tool 'orders_track_shipment'" in tools.call("orders_track_shipment", {}).text
    assert tools.definitions == []
    tools.search(TRACK)
    assert tools.call("orders_track_shipment", {}).ok


def test_a_source_that_fails_is_told_without_its_address(
    source: ChangingSource, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*args: Any, **options: Any) -> Any:
        raise ServerUnreachable("does not answer", url="http://10.0.0.7:8765")

    tools = chat_set(source)
    tools.search(TRACK)
    monkeypatch.setattr(ChangingSource, "search", fails)
    monkeypatch.setattr(ChangingSource, "sessions", property(fails))
    for name, arguments in (("search_tools", {"query": TRACK}), ("orders_track_shipment", {})):
        caplog.clear()
        result = tools.call(name, arguments)
        assert result.status is OutcomeStatus.REJECTED
        assert "10.0.0.7" not in result.text
        assert "10.0.0.7" in caplog.text, "the log is for whoever runs it"
    with pytest.raises(ServerUnreachable):
        tools.turn([TRACK])


def test_functions_by_reference() -> None:
    run = by_ref(
        {"orders/orders.get": lambda order_id: f"any {order_id}", "orders/orders.get@2": lambda order_id: "two"}
    )
    assert run("orders/orders.get@1", {"order_id": "A"}) == "any A"
    assert run("orders/orders.get@2", {"order_id": "A"}) == "two"
    with pytest.raises(UnknownTool, match=r"orders\.cancel"):
        run("orders/orders.cancel@1", {})


def test_a_tool_without_a_function(source: ChangingSource) -> None:
    tools = ToolSet(source, format=DefinitionFormat.OPENAI)
    tools.search(TRACK)
    result = tools.call("orders_track_shipment", {})
    assert "run=" in result.text
    assert result.status is OutcomeStatus.REJECTED


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ([], ""),
        (["  ", "\u200b"], ""),
        ([TRACK], TRACK),
        ([TRACK, "yes, please"], f"{TRACK}\nyes, please"),
        ([TRACK, WEATHER], WEATHER),
        ([TRACK, "取消"], f"{TRACK}\n取消"),
        (["a" * 10_000 + " cancel the order of yesterday please"], None),
    ],
)
def test_the_text_to_search_for(said: list[str], text: str | None) -> None:
    found = request_text(said)
    if text is None:
        assert len(found) == MAX_QUERY_CHARS
        assert found.endswith("cancel the order of yesterday please")
    else:
        assert found == text


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("toolsearch.client", "client"),
        ("toolsearch.adapters.openai_agents", "openai-agents"),
        ("toolsearch.adapters.pydantic_ai", "pydantic-ai"),
    ],
)
def test_a_missing_extra_is_named(module: str, extra: str) -> None:
    code = (
        "import importlib, importlib.util, pydantic, toolsearch.model.errors\n"
        "importlib.util.find_spec = lambda name: None\n"
        f"try: importlib.import_module({module!r})\n"
        "except toolsearch.model.errors.MissingExtraError as error: print(error.extra)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == extra


def test_a_user_who_said_nothing(source: ChangingSource) -> None:
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "find the weather"}]}
    tools = AnthropicTools(source, deferred=False)
    assert tools.turn([result]) is None
    assert source.searches == [], "what a tool says is never searched for"
