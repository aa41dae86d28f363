"""Calls of a conversation through the gateway: what it is told, what the model reads, who confirms a write."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any, cast

import pytest
from changing_source import LEAD, ChangingSource, starter_source

from toolsearch.adapters.gateway import GatewayRun
from toolsearch.adapters.toolset import ToolSet
from toolsearch.calls.gateway import CallError, CallMeta, CallResult, CallStatus, Gateway, ToolCall
from toolsearch.model.request import DefinitionFormat, OutcomeStatus, Principal

TRACK = "Where is the parcel of order ORD-20260917?"


@pytest.fixture(scope="module")
def source() -> Iterator[ChangingSource]:
    with starter_source() as made:
        yield made


class ScriptedGateway:
    """Answers calls from a list."""

    def __init__(self, *answers: CallResult) -> None:
        self.answers, self.calls = list(answers), list[tuple[ToolCall, Principal]]()

    async def call(self, call: ToolCall, *, principal: Principal) -> CallResult:
        self.calls.append((call, principal))
        return self.answers.pop(0)

    def approve(self, confirmation: str) -> str:
        return f"approved {confirmation}"


def tools_of(source: ChangingSource, gateway: ScriptedGateway, **options: Any) -> tuple[ToolSet, str]:
    run = GatewayRun(cast(Gateway, gateway), principal=LEAD, **options)
    tools = ToolSet(source, format=DefinitionFormat.OPENAI, run=run)
    return tools, tools.search(TRACK).trace_id


DONE = CallStatus(transport="ok", protocol="ok", business="ok", data="present")
OK = CallResult(ok=True, data={"status": "in transit"}, meta=CallMeta(status=DONE))
ASKS = CallResult(
    ok=False,
    error=CallError(code="confirmation_needed", message="this writes", confirmation="c-1", approval="approve"),
)


def test_a_call_carries_session_and_trace_and_is_reported_once(source: ChangingSource) -> None:
    gateway = ScriptedGateway(OK)
    tools, trace_id = tools_of(source, gateway)
    result = asyncio.run(tools.acall("orders_track_shipment", {"order_id": "ORD-20260917"}))
    ((call, principal),) = gateway.calls
    assert (call.name_or_ref, call.session, call.trace_id) == (
        "orders/orders.track_shipment@1",
        tools.session,
        trace_id,
    )
    assert call.arguments == {"order_id": "ORD-20260917"}
    assert call.write_allowed is False
    assert principal == LEAD
    assert result.ok
    assert json.loads(result.text)["data"] == {"status": "in transit"}
    assert source.outcomes == [], "the gateway reports by itself"


def test_a_refused_write_shows_the_model_no_confirmation(source: ChangingSource) -> None:
    gateway = ScriptedGateway(ASKS)
    tools, _ = tools_of(source, gateway, writes=True)
    result = asyncio.run(tools.acall("orders_track_shipment", {}))
    assert result.status is OutcomeStatus.REJECTED
    assert "c-1" not in result.text
    assert "confirmation_needed" in result.text


@pytest.mark.parametrize("agreed", [True, False])
def test_a_write_is_confirmed_by_whoever_answers_for_it(agreed: bool, source: ChangingSource) -> None:
    asked: list[str] = []

    async def confirm(call: ToolCall, refusal: CallResult) -> bool:
        asked.append(call.name_or_ref)
        return agreed

    gateway = ScriptedGateway(ASKS, OK)
    tools, _ = tools_of(source, gateway, writes=True, confirm=confirm)
    result = asyncio.run(tools.acall("orders_track_shipment", {}))
    assert asked == ["orders/orders.track_shipment@1"]
    assert result.ok is agreed
    assert [call.confirmation for call, _ in gateway.calls] == ([None, "approved c-1"] if agreed else [None])


def test_arguments_that_are_not_forwarded(source: ChangingSource) -> None:
    gateway = ScriptedGateway()
    tools, _ = tools_of(source, gateway)
    deep: Any = {}
    for _ in range(40):
        deep = {"deeper": deep}
    result = asyncio.run(tools.acall("orders_track_shipment", deep))
    assert result.status is OutcomeStatus.REJECTED
    assert "nested deeper" in result.text
    assert gateway.calls == []


def test_a_gateway_needs_an_adapter_that_waits(source: ChangingSource) -> None:
    tools, _ = tools_of(source, ScriptedGateway(OK))
    assert "aresults" in tools.call("orders_track_shipment", {}).text
