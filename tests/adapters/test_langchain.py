"""LangChain agents, langgraph-bigtool and retrievers over the starter catalogue, with a model that follows a script."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from changing_source import CLERK, ChangingSource, starter_source

pytest.importorskip("langchain")
bigtool = pytest.importorskip("langgraph_bigtool")

from langchain.agents import create_agent  # noqa: E402
from langchain_core.language_models import BaseChatModel  # noqa: E402
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage  # noqa: E402
from langchain_core.outputs import ChatGeneration, ChatResult  # noqa: E402
from langchain_core.tools import StructuredTool, tool  # noqa: E402
from langchain_core.utils.function_calling import convert_to_openai_tool  # noqa: E402
from langgraph.checkpoint.memory import InMemorySaver  # noqa: E402
from pydantic import Field  # noqa: E402

from toolsearch import ToolContract  # noqa: E402
from toolsearch.adapters.langchain import (  # noqa: E402
    LangChainRetriever,
    ToolSearchMiddleware,
    retrieve_tools_function,
)
from toolsearch.model.request import OutcomeStatus, Restriction  # noqa: E402

pytestmark = pytest.mark.extras

CUSTOMER = "查一下客户 C-204817 的资料 get customer profile"
TRACK = "Where is the parcel of order ORD-20260917?"
WEATHER = "杭州现在天气怎么样？"


class ScriptedModel(BaseChatModel):
    """Makes the next call of the script for each message of the user, and answers once it has a result."""

    calls: list[tuple[str, dict[str, Any]]]
    sent: list[list[str]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools])

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **options: Any) -> Any:
        self.sent.append([json.dumps(definition, ensure_ascii=False) for definition in options.get("tools", [])])
        if self.calls and not (isinstance(messages[-1], ToolMessage) and self.calls[0][0] == "answer"):
            name, arguments = self.calls.pop(0)
            reply = AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call_{len(self.sent)}"}])
        else:
            self.calls[:1] = []
            reply = AIMessage("done")
        return ChatResult(generations=[ChatGeneration(message=reply)])

    def names(self, at: int = -1) -> list[str]:
        return [json.loads(definition)["function"]["name"] for definition in self.sent[at]]


ANSWER: tuple[str, dict[str, Any]] = ("answer", {})


def scripted(*calls: tuple[str, dict[str, Any]]) -> ScriptedModel:
    return ScriptedModel(calls=[one for call in calls for one in (call, ANSWER)])


@pytest.fixture
def source() -> Iterator[ChangingSource]:
    with starter_source() as made:
        yield made


def echo(ref: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"ran": ref, **arguments}


def asking(
    source: ChangingSource, model: ScriptedModel, *, run: Callable[..., Any] = echo, tools: Any = (), **options: Any
) -> Callable[..., list[BaseMessage]]:
    """Return a function that says something in a thread of an agent, and returns the thread's messages."""
    middleware = ToolSearchMiddleware(source, run=run, **options)
    agent = create_agent(model, tools=list(tools), middleware=[middleware], checkpointer=InMemorySaver())

    def say(text: str, thread: str = "one") -> list[BaseMessage]:
        state = agent.invoke({"messages": [("user", text)]}, {"configurable": {"thread_id": thread}})
        return list(state["messages"])

    return say


def result_of(messages: list[BaseMessage]) -> ToolMessage:
    return next(message for message in reversed(messages) if isinstance(message, ToolMessage))


def test_blocks_only_grow(source: ChangingSource) -> None:
    model = scripted(
        ("orders_track_shipment", {"order_id": "ORD-20260917"}),
        ("weather_current", {"location": "杭州"}),
        ("crm_get_customer", {"customer_id": "C-204817"}),
    )
    say = asking(source, model)
    for text in (TRACK, WEATHER, CUSTOMER):
        answer = result_of(say(text))
        assert answer.status == "success"
    assert json.loads(str(answer.content)) == {"ran": "crm/crm.get_customer@1", "customer_id": "C-204817"}
    assert answer.artifact == json.loads(str(answer.content))
    assert model.names()[0] == "search_tools"
    assert len(model.sent) == 6
    assert len(model.sent[-1]) > len(model.sent[0])
    for before, after in pairwise(model.sent):
        assert after[: len(before)] == before


def test_outcomes_carry_the_trace_of_the_search(source: ChangingSource) -> None:
    say = asking(source, scripted(("weather_current", {"location": "杭州"})))
    say(WEATHER)
    (outcome,) = source.outcomes
    assert outcome.ref == "weather/weather.current@1"
    assert outcome.status is OutcomeStatus.SUCCESS
    assert outcome.trace_id is not None
    record = source.index.decision(outcome.trace_id, principal=source.principal)
    assert WEATHER in json.dumps(record, ensure_ascii=False, default=str)


def test_each_message_is_searched_once(source: ChangingSource) -> None:
    asking(source, scripted(("weather_current", {"location": "杭州"})))(WEATHER)
    assert source.searches == [WEATHER]


def test_a_revoked_tool_leaves_and_is_not_run(source: ChangingSource) -> None:
    ran = []

    def run(ref: str, arguments: dict[str, Any]) -> str:
        ran.append(ref)
        if ref.startswith("crm/crm.get_customer"):
            source.principal = CLERK  # the right goes while the conversation runs
        return "ok"

    customer = ("crm_get_customer", {"customer_id": "C-204817"})
    model = scripted(customer, customer)
    say = asking(source, model, run=run)
    say(CUSTOMER)
    answer = result_of(say(TRACK))
    assert answer.status == "error"
    assert "no tool 'crm_get_customer'" in str(answer.content)
    assert ran == ["crm/crm.get_customer@1"]
    before, after = model.sent[0], model.sent[-1]
    kept = [definition for definition in before if '"crm_get_customer"' not in definition[:80]]
    assert len(kept) == len(before) - 1
    assert after[: len(kept)] == kept


def test_threads_are_apart(source: ChangingSource) -> None:
    model = scripted(("weather_current", {"location": "杭州"}), ("orders_track_shipment", {"order_id": "ORD-20260917"}))
    say = asking(source, model)
    say(WEATHER, thread="one")
    assert "weather_current" in model.names()
    say(TRACK, thread="two")
    assert "weather_current" not in model.names()


def test_state_carries_the_session_where_there_is_no_checkpointer(source: ChangingSource) -> None:
    model = scripted(("weather_current", {"location": "杭州"}), ("orders_track_shipment", {"order_id": "ORD-20260917"}))
    agent = create_agent(model, middleware=[ToolSearchMiddleware(source, run=echo)])
    state = agent.invoke({"messages": [("user", WEATHER)]})
    first = model.sent[-1]
    agent.invoke({"messages": [("user", TRACK)], "toolsearch_session": state["toolsearch_session"]})
    assert model.sent[-1][: len(first)] == first


def test_own_tools_come_first_and_win(source: ChangingSource) -> None:
    @tool
    def weather_current(location: str) -> str:
        """Say the weather of the house."""
        return "always sunny"

    model = scripted(("weather_current", {"location": "杭州"}))
    answer = result_of(asking(source, model, tools=[weather_current])(WEATHER))
    assert answer.content == "always sunny"
    assert model.names()[:2] == ["weather_current", "search_tools"]
    assert model.names().count("weather_current") == 1


def test_the_model_can_search_for_itself(source: ChangingSource) -> None:
    model = ScriptedModel(
        calls=[
            ("search_tools", {"query": TRACK}),
            ("orders_track_shipment", {"order_id": "ORD-20260917"}),
            ANSWER,
        ]
    )
    messages = asking(source, model)(WEATHER)
    assert "orders_track_shipment" not in model.names(0)
    assert "orders_track_shipment" in model.names(1)
    assert json.loads(str(result_of(messages).content))["ran"] == "orders/orders.track_shipment@1"


def test_async(source: ChangingSource) -> None:
    async def run(ref: str, arguments: dict[str, Any]) -> str:
        await asyncio.sleep(0)
        return f"awaited {ref}"

    model = scripted(("weather_current", {"location": "杭州"}))
    agent = create_agent(model, middleware=[ToolSearchMiddleware(source, run=run)])
    state = asyncio.run(agent.ainvoke({"messages": [("user", WEATHER)]}))
    assert result_of(state["messages"]).content == "awaited weather/weather.current@1"


def test_a_failure_is_told_and_reported(source: ChangingSource) -> None:
    def run(ref: str, arguments: dict[str, Any]) -> str:
        raise ValueError("no such place")

    answer = result_of(asking(source, scripted(("weather_current", {"location": "?"})), run=run)(WEATHER))
    assert answer.status == "error"
    assert "no such place" in str(answer.content)
    assert [outcome.status for outcome in source.outcomes] == [OutcomeStatus.TOOL_ERROR]


def test_parameters_may_be_named_like_those_of_langchain(source: ChangingSource) -> None:
    names = ["config", "run_manager", "callbacks", "self", "store", "runtime", "input"]
    contract = ToolContract.model_validate(
        {
            "identity": {"name": "zebra.count", "server": "zoo"},
            "capability": {"does": "Counts the zebras of a paddock."},
            "execution": {"side_effect": "read_only"},
            "input": {"schema": {"type": "object", "properties": {name: {"type": "string"} for name in names}}},
            "access": {"scopes_all": ["orders.read"]},
        }
    )
    source.index.add([contract])
    given = dict.fromkeys(names, "x")
    answer = result_of(asking(source, scripted(("zebra_count", given)))("count the zebras of paddock 3"))
    assert answer.artifact == {"ran": "zoo/zebra.count@1", **given}


def test_restrict_and_size(source: ChangingSource) -> None:
    model = ScriptedModel(calls=[])
    asking(source, model, k=1, restrict=Restriction(servers=("orders", "crm")))(TRACK)
    assert model.names(0) == ["search_tools", "orders_track_shipment"]


def test_retriever(source: ChangingSource) -> None:
    documents = LangChainRetriever(source=source, k=3).invoke(CUSTOMER)
    assert 1 <= len(documents) <= 3
    by_ref = {document.id: document for document in documents}
    customer = by_ref["crm/crm.get_customer@1"]
    assert customer.metadata["side_effect"] == "read_only"
    assert customer.metadata["definition"]["name"] in customer.page_content
    assert customer.metadata["trace_id"]
    source.principal = CLERK
    assert "crm/crm.get_customer@1" not in {found.id for found in LangChainRetriever(source=source).invoke(CUSTOMER)}


def test_retriever_in_a_chain(source: ChangingSource) -> None:
    documents = asyncio.run(LangChainRetriever(source=source, k=1).ainvoke(WEATHER))
    assert [document.id for document in documents] == ["weather/weather.current@1"]


def test_bigtool(source: ChangingSource) -> None:
    """Its graph finds tools and binds them. That of 0.0.3 runs none with a langgraph of today: ToolNode has changed."""

    def current(location: str) -> str:
        """Return the weather."""
        return f"sunny in {location}"

    registry = {"weather/weather.current": StructuredTool.from_function(current, name="weather_current")}
    model = scripted(("retrieve_tools", {"query": WEATHER}))
    function = retrieve_tools_function(source, registry=registry)
    agent = bigtool.create_agent(model, registry, retrieve_tools_function=function).compile()
    state = agent.invoke({"messages": [("user", "what is the weather?")]})
    assert state["selected_tool_ids"] == ["weather/weather.current"]
    assert model.names(0) == ["retrieve_tools"]
    assert model.names() == ["retrieve_tools", "weather_current"]
    assert "weather_current" in str(result_of(state["messages"]).content)


def test_bigtool_ids(source: ChangingSource) -> None:
    whole = retrieve_tools_function(source, registry={"weather/weather.current@1", "weather/weather.current"})
    assert whole(WEATHER) == ["weather/weather.current@1"]
    assert retrieve_tools_function(source, registry=set())(WEATHER) == []
