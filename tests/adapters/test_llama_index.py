"""LlamaIndex agents over the starter catalogue, with the SDK's mock model and a script."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import pytest
from changing_source import CLERK, ChangingSource, starter_source

pytest.importorskip("llama_index.core")

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.schema import QueryBundle
from llama_index.core.tools.calling import call_tool
from llama_index.core.workflow import Context

from toolsearch.adapters.llama_index import FORMAT, LlamaIndexRetriever, llama_index_tools
from toolsearch.adapters.toolset import ToolSet
from toolsearch.model.request import OutcomeStatus

pytestmark = [
    pytest.mark.extras,
    # LlamaIndex looks at every attribute of its own models, and says itself that it cannot store its memory.
    pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Skipping serialization of known unserializable key"),
]

CUSTOMER = "查一下客户 C-204817 的资料 get customer profile"
TRACK = "Where is the parcel of order ORD-20260917?"
WEATHER = "杭州现在天气怎么样？"


@pytest.fixture
def source() -> Iterator[ChangingSource]:
    with starter_source() as made:
        yield made


def echo(ref: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"ran": ref, **arguments}


class Script:
    """Makes the next call for each message of the user, and answers once it has a result. Keeps what it was sent."""

    def __init__(self, *calls: tuple[str, dict[str, Any]]) -> None:
        self.calls = list(calls)
        self.sent: list[list[str]] = []

    def __call__(self, messages: Sequence[ChatMessage], **options: Any) -> ChatMessage:
        sent = [tool.metadata.to_openai_tool(skip_length_check=True) for tool in options["tools"]]
        self.sent.append([json.dumps(definition, ensure_ascii=False) for definition in sent])
        if messages[-1].role == MessageRole.TOOL:
            return ChatMessage(role="assistant", content=f"got {messages[-1].content}")
        name, arguments = self.calls.pop(0)
        return ChatMessage(
            role="assistant",
            blocks=[ToolCallBlock(tool_call_id=f"call_{len(self.sent)}", tool_name=name, tool_kwargs=arguments)],
        )

    def names(self, at: int = -1) -> list[str]:
        return [json.loads(definition)["function"]["name"] for definition in self.sent[at]]


def conversation(source: ChangingSource, script: Script, *said: str, run: Callable[..., Any] = echo) -> list[str]:
    """Say things to an agent one after another, and return its answers."""

    async def talk() -> list[str]:
        agent = FunctionAgent(
            llm=MockFunctionCallingLLM(response_generator=script, is_chat_model=True),
            tool_retriever=LlamaIndexRetriever(ToolSet(source, format=FORMAT, run=run)),
            streaming=False,
        )
        memory = Context(agent)
        return [str(await agent.run(text, ctx=memory)) for text in said]

    return asyncio.run(talk())


def test_blocks_only_grow(source: ChangingSource) -> None:
    script = Script(
        ("orders_track_shipment", {"order_id": "ORD-20260917"}),
        ("weather_current", {"location": "杭州"}),
        ("crm_get_customer", {"customer_id": "C-204817"}),
    )
    answers = conversation(source, script, TRACK, WEATHER, CUSTOMER)
    refs = ["orders/orders.track_shipment@1", "weather/weather.current@1", "crm/crm.get_customer@1"]
    assert [json.loads(answer.removeprefix("got "))["ran"] for answer in answers] == refs
    assert [outcome.ref for outcome in source.outcomes] == refs
    assert all(outcome.trace_id for outcome in source.outcomes)
    assert script.names()[0] == "search_tools"
    assert len(script.sent) == 6
    assert len(script.sent[-1]) > len(script.sent[0])
    for before, after in pairwise(script.sent):
        assert after[: len(before)] == before


def test_each_message_is_searched_once(source: ChangingSource) -> None:
    """LlamaIndex retrieves for the message before each step, and for the name of a tool before its call."""
    conversation(source, Script(("weather_current", {"location": "杭州"})), WEATHER)
    assert source.searches == [WEATHER]


def test_the_model_reads_what_the_session_holds(source: ChangingSource) -> None:
    tools = ToolSet(source, format=FORMAT)
    for text in (TRACK, WEATHER, CUSTOMER):
        tools.search(text)
    shown = [tool.metadata.to_openai_tool(skip_length_check=True) for tool in llama_index_tools(tools)]
    assert shown[1:] == tools.definitions
    for tool in llama_index_tools(tools):
        model = tool.metadata.fn_schema
        assert model is not None
        assert model.model_json_schema() == tool.metadata.get_parameters_dict()


def test_a_revoked_tool_leaves_and_is_not_run(source: ChangingSource) -> None:
    ran = []

    def run(ref: str, arguments: dict[str, Any]) -> str:
        ran.append(ref)
        source.principal = CLERK  # the right goes while the conversation runs
        return "ok"

    call = ("crm_get_customer", {"customer_id": "C-204817"})
    script = Script(call, call)
    answers = conversation(source, script, CUSTOMER, TRACK, run=run)
    assert answers[0] == "got ok"
    assert "not found" in answers[1]
    assert ran == ["crm/crm.get_customer@1"]
    before, after = script.sent[0], script.sent[-1]
    kept = [definition for definition in before if '"crm_get_customer"' not in definition[:80]]
    assert len(kept) == len(before) - 1
    assert after[: len(kept)] == kept


def test_the_model_can_search_for_itself(source: ChangingSource) -> None:
    script = Script(("search_tools", {"query": TRACK}), ("orders_track_shipment", {"order_id": "ORD-20260917"}))
    answers = conversation(source, script, WEATHER, "go on, and thank you for the weather")
    assert "orders_track_shipment" not in script.names(0)
    assert "orders_track_shipment" in script.names(1)
    assert "orders/orders.track_shipment@1" in answers[1]


def test_a_failure_is_told_and_reported(source: ChangingSource) -> None:
    def run(ref: str, arguments: dict[str, Any]) -> str:
        raise ValueError("no such place")

    (answer,) = conversation(source, Script(("weather_current", {"location": "?"})), WEATHER, run=run)
    assert "no such place" in answer
    assert [outcome.status for outcome in source.outcomes] == [OutcomeStatus.TOOL_ERROR]


def test_without_an_agent(source: ChangingSource) -> None:
    retriever = LlamaIndexRetriever(ToolSet(source, format=FORMAT, run=echo))
    tools = {tool.metadata.name: tool for tool in retriever.retrieve(QueryBundle(WEATHER))}
    output = call_tool(tools["weather_current"], {"place": "杭州"})
    assert not output.is_error
    assert output.raw_output == {"ran": "weather/weather.current@1", "place": "杭州"}
    assert [tool.metadata.name for tool in retriever.retrieve("")] == list(tools)
    assert source.searches == [WEATHER]


def test_a_tool_may_take_an_argument_named_self(source: ChangingSource) -> None:
    retriever = LlamaIndexRetriever(ToolSet(source, format=FORMAT, run=echo))
    tools = {tool.metadata.name: tool for tool in retriever.retrieve(WEATHER)}
    output = call_tool(tools["weather_current"], {"self": "x", "input": "y"})
    assert output.raw_output == {"ran": "weather/weather.current@1", "self": "x", "input": "y"}
