"""The Agents SDK and pydantic-ai ask for the tools of each turn; what their agents then do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from changing_source import CLERK, ChangingSource, starter_source

pytest.importorskip("agents")
pytest.importorskip("pydantic_ai")

from agents import Agent as OpenAIAgent
from agents import RunConfig, Runner
from agents.testing import ScriptedModel, assistant_message, function_call
from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, Tool, ToolCallPart, ToolReturnPart
from pydantic_ai.capabilities import ToolSearch
from pydantic_ai.messages import RetryPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from toolsearch.adapters.openai_agents import AgentTools
from toolsearch.adapters.pydantic_ai import ConversationToolset, search_strategy
from toolsearch.model.request import OutcomeStatus

pytestmark = pytest.mark.extras
TRACK = "Where is the parcel of order ORD-20260917?"
CUSTOMER = ("crm_get_customer", {"customer_id": "C-204817"})
SHOW = "Show me the customer record of C-204817"


@pytest.fixture(scope="module")
def opened() -> Iterator[ChangingSource]:
    with starter_source() as made:
        yield made


@pytest.fixture
def source(opened: ChangingSource) -> ChangingSource:
    return ChangingSource(opened.index)


async def echo(ref: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"ran": ref, **arguments}


def run_openai(tools: AgentTools, *steps: Any, said: str = TRACK) -> ScriptedModel:
    model = ScriptedModel([*([step] for step in steps), [assistant_message("done")]])
    agent = OpenAIAgent(name="support", model=model, mcp_servers=[tools])
    result = asyncio.run(Runner.run(agent, said, run_config=RunConfig(tracing_disabled=True)))
    assert result.final_output == "done"
    return model


def output_text(call: Any) -> str:
    """Return what the model read of its last call."""
    output = call.input[-1]["output"]
    return output if isinstance(output, str) else output[0]["text"]


def test_the_model_of_the_agents_sdk_searches_by_itself(source: ChangingSource) -> None:
    tools = AgentTools(source, run=echo, search_each_turn=False)
    model = run_openai(
        tools,
        function_call("search_tools", {"query": TRACK}, call_id="c1"),
        function_call("orders_track_shipment", {"order_id": "ORD-20260917"}, call_id="c2"),
    )
    names = [[tool.name for tool in call.tools] for call in model.calls]
    assert names[0] == ["search_tools"]
    assert names[1] == names[2] == [tool["name"] for tool in tools.tool_block()]
    assert json.loads(output_text(model.calls[2]))["ran"] == "orders/orders.track_shipment@1"
    assert [outcome.status for outcome in source.outcomes] == [OutcomeStatus.SUCCESS]


def test_a_message_is_searched_once_in_a_run(source: ChangingSource) -> None:
    run_openai(AgentTools(source, run=echo), function_call("orders_track_shipment", {"order_id": "A"}, call_id="c1"))
    assert source.searches == [TRACK]


def test_a_tool_that_is_revoked_in_a_run_of_the_agents_sdk(source: ChangingSource) -> None:
    ran: list[str] = []

    async def run(ref: str, arguments: dict[str, Any]) -> str:
        ran.append(ref)
        source.principal = CLERK
        return "ok"

    calls = [function_call(*CUSTOMER, call_id=f"c{number}") for number in range(2)]
    tools = AgentTools(source, run=run)
    model = ScriptedModel([calls[:1], [assistant_message("one")]])
    agent = OpenAIAgent(name="support", model=model, mcp_servers=[tools])
    asyncio.run(Runner.run(agent, SHOW, run_config=RunConfig(tracing_disabled=True)))
    assert ran == ["crm/crm.get_customer@1"]
    told = asyncio.run(tools.call_tool(*CUSTOMER))
    assert told.is_error
    assert "there is no tool" in told.content[0].text
    assert "crm_get_customer" not in {tool["name"] for tool in tools.tool_block()}
    assert ran == ["crm/crm.get_customer@1"]


def scripted(*steps: Any) -> tuple[FunctionModel, list[list[str]]]:
    """Return a model that takes the steps one after the other, and the names of the tools it was given."""
    given: list[list[str]] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        given.append([tool.name for tool in info.function_tools])
        step = steps[len(given) - 1] if len(given) <= len(steps) else TextPart("done")
        return ModelResponse(parts=[step])

    return FunctionModel(model), given


def returned(messages: list[ModelMessage]) -> list[Any]:
    return [
        part for message in messages for part in message.parts if isinstance(part, ToolReturnPart | RetryPromptPart)
    ]


def test_pydantic_ai_calls_what_it_found(source: ChangingSource) -> None:
    model, given = scripted(
        ToolCallPart("orders_track_shipment", {"order_id": "ORD-20260917"}),
        ToolCallPart("search_tools", {"query": SHOW}),
        ToolCallPart(*CUSTOMER),
    )
    agent = Agent(model, toolsets=[ConversationToolset(source, run=echo)])
    result = asyncio.run(agent.run(TRACK))
    parts = returned(result.all_messages())
    assert parts[0].content == {"ran": "orders/orders.track_shipment@1", "order_id": "ORD-20260917"}
    assert json.loads(parts[1].content)["tools"][0]["name"] == "crm_get_customer"
    assert parts[2].content == {"ran": "crm/crm.get_customer@1", "customer_id": "C-204817"}
    assert "crm_get_customer" not in given[1]
    assert given[2][: len(given[1])] == given[1]
    assert source.searches == [TRACK, SHOW]


def test_a_call_that_fails_is_told_to_the_model_of_pydantic_ai(source: ChangingSource) -> None:
    async def run(ref: str, arguments: dict[str, Any]) -> None:
        raise ValueError("no such order")

    model, _ = scripted(ToolCallPart("orders_track_shipment", {"order_id": "X"}))
    result = asyncio.run(Agent(model, toolsets=[ConversationToolset(source, run=run)]).run(TRACK))
    (part,) = returned(result.all_messages())
    assert "ValueError: no such order" in str(part.content)
    assert [outcome.status for outcome in source.outcomes] == [OutcomeStatus.TOOL_ERROR]


def test_the_test_model_of_pydantic_ai_calls_every_tool(source: ChangingSource) -> None:
    tools = ConversationToolset(source, run=echo, k=2)
    result = asyncio.run(Agent(TestModel(), toolsets=[tools]).run(TRACK))
    called = json.loads(result.output)
    assert "search_tools" in called
    assert called["orders_track_shipment"]["ran"] == "orders/orders.track_shipment@1"


def test_a_strategy_ranks_the_agents_own_tools(source: ChangingSource) -> None:
    def orders_track_shipment(order_id: str) -> str:
        return "in transit"

    def crm_get_customer(customer_id: str) -> str:
        return "Ann"

    def not_in_the_catalogue(order_id: str) -> str:
        return "parcel"

    model, given = scripted(
        ToolCallPart("search_tools", {"queries": [TRACK, "  "]}),
        ToolCallPart("search_tools", {"queries": [SHOW]}),
    )
    source.principal = CLERK
    agent = Agent(
        model,
        tools=[
            Tool(function, defer_loading=True)
            for function in (orders_track_shipment, crm_get_customer, not_in_the_catalogue)
        ],
        capabilities=[ToolSearch(strategy=search_strategy(source))],
    )
    asyncio.run(agent.run("hello"))
    assert given[0] == ["search_tools"]
    assert set(given[1]) == {"search_tools", "orders_track_shipment"}
    assert set(given[2]) == {"search_tools", "orders_track_shipment"}, "what is hidden from the principal is not found"
