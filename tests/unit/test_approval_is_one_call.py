"""One approval is one execution: whatever session or key a model writes, after a restart, and by two gateways."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

pytest.importorskip("mcp")

from test_gateway_calls import ANN, BOB, SHOP, Shop, changed, code, confirmed, play
from test_gateway_calls import index as index
from test_gateway_calls import shop as shop

from toolsearch import ToolIndex
from toolsearch.calls.gateway import CallResult, Gateway, ToolCall
from toolsearch.calls.gateway.writes import WritesInMemory
from toolsearch.model.errors import UpstreamError

pytestmark = pytest.mark.extras

SECRET = b"s" * 32
PAY = ToolCall(name_or_ref="update_note", arguments={"order_id": "7", "note_text": "pay 150"}, write_allowed=True)


@pytest.fixture(autouse=True)
def _needs_a_person(index: ToolIndex) -> None:
    changed(index, "update_note", execution={"approval": {"required_when": "order_id == 7"}})


async def approved(gateway: Gateway, call: ToolCall = PAY) -> ToolCall:
    refused = await gateway.call(call, principal=ANN)
    assert refused.error is not None
    assert refused.error.confirmation is not None
    return call.model_copy(update={"confirmation": gateway.approve(refused.error.confirmation)})


@pytest.mark.parametrize(
    "other",
    [
        {"session": "s2"},
        {"idempotency_key": "k2"},
        {"session": "s3", "idempotency_key": "k3"},
        {"arguments": {"order_id": "7", "note_text": "pay 151"}},
    ],
)
def test_an_approval_is_for_one_session_and_key(index: ToolIndex, shop: Shop, other: dict[str, Any]) -> None:
    async def scene(gateway: Gateway) -> None:
        call = await approved(gateway)
        assert (await gateway.call(call, principal=ANN)).ok
        again = await gateway.call(call.model_copy(update=other), principal=ANN)
        assert code(again) == "approval_needed"
        repeated = await gateway.call(call, principal=ANN)
        assert repeated.meta.replayed
        assert shop.calls == [("update_note", "pay 150")]

    play(index, shop, scene)


def test_an_approval_is_used_up_after_a_restart_and_after_forgetting(index: ToolIndex, shop: Shop) -> None:
    calls: list[ToolCall] = []

    async def first(gateway: Gateway) -> None:
        calls.append(await approved(gateway))
        assert (await gateway.call(calls[0], principal=ANN)).ok

    async def second(gateway: Gateway) -> None:
        assert (await gateway.call(calls[0], principal=ANN)).meta.replayed
        index.forget(ANN.subject, tenant=ANN.tenant)  # the record of the write goes, that it was approved once stays
        assert code(await gateway.call(calls[0], principal=ANN)) == "confirmation_used"

    play(index, shop, first, secret=SECRET)
    play(index, shop, second, secret=SECRET)
    assert shop.calls == [("update_note", "pay 150")]


def test_two_gateways_execute_one_approval_once(index: ToolIndex, shop: Shop) -> None:
    async def scene(gateway: Gateway) -> None:
        other_shop = Shop()
        async with Gateway(index, {"shop": SHOP}, connector=other_shop.connect, secret=SECRET) as other:
            call = await approved(gateway)
            results = await asyncio.gather(
                *(each.call(call, principal=ANN) for each in (gateway, other, gateway, other) for _ in range(5))
            )
        assert len(shop.calls) + len(other_shop.calls) == 1
        assert sum(result.ok and not result.meta.replayed for result in results) == 1

    play(index, shop, scene, secret=SECRET)


def test_a_clock_set_back_revives_no_confirmation() -> None:
    log, now = WritesInMemory(), datetime(2026, 11, 30, tzinfo=UTC)
    assert log.spend("word", expires=now + timedelta(minutes=10), now=now)
    assert log.spend("other", expires=now, now=now + timedelta(hours=1))
    assert not log.spend("word", expires=now + timedelta(minutes=10), now=now - timedelta(hours=1))


def test_a_confirmation_of_a_write_that_never_went_out_can_be_used_again(index: ToolIndex, shop: Shop) -> None:
    async def scene(gateway: Gateway) -> None:
        call = await approved(gateway)
        shop.down = 50
        lost = await gateway.call(call, principal=ANN)
        assert lost.meta.status.side_effect == "not_started"
        shop.down = 0

    play(index, shop, scene, secret=SECRET)

    async def later(gateway: Gateway) -> None:
        assert (await gateway.call(await approved(gateway), principal=ANN)).ok

    play(index, shop, later, secret=SECRET)
    assert shop.calls == [("update_note", "pay 150")]


def test_a_write_that_the_tool_refused_uses_its_approval_up(index: ToolIndex, shop: Shop) -> None:
    async def scene(gateway: Gateway) -> None:
        call = await approved(gateway)
        shop.faults_after = [UpstreamError("lost", server="shop")]
        assert code(await gateway.call(call, principal=ANN)) == "outcome_unknown"
        assert code(await gateway.call(call, principal=ANN)) == "outcome_unknown"
        assert len(shop.calls) == 1

    play(index, shop, scene)


@pytest.mark.parametrize("arguments", [{"order_id": "8", "note_text": "b"}, {"order_id": "9", "note_text": "a"}])
def test_a_key_stands_for_one_call(index: ToolIndex, shop: Shop, arguments: dict[str, str]) -> None:
    async def scene(gateway: Gateway) -> None:
        first = await confirmed(gateway, "update_note", {"order_id": "8", "note_text": "a"}, idempotency_key="pay-1")
        assert first.ok
        other = await confirmed(gateway, "update_note", arguments, idempotency_key="pay-1")
        assert (code(other), other.data, other.meta.replayed) == ("idempotency_conflict", None, False)
        tool = await confirmed(gateway, "delete_order", {"order_id": "8"}, idempotency_key="pay-1")
        assert code(tool) == "idempotency_conflict"
        same = await confirmed(gateway, "update_note", {"note_text": "a", "order_id": "8"}, idempotency_key="pay-1")
        assert same.meta.replayed
        assert shop.calls == [("update_note", "a")]

    play(index, shop, scene)


def test_nothing_is_replayed_to_another_principal(index: ToolIndex, shop: Shop) -> None:
    async def scene(gateway: Gateway) -> None:
        arguments = {"order_id": "8", "note_text": "a"}
        assert (await confirmed(gateway, "update_note", arguments, idempotency_key="pay-1")).ok
        call = ToolCall(name_or_ref="update_note", arguments=arguments, write_allowed=True, idempotency_key="pay-1")
        refused = await gateway.call(call, principal=BOB)
        assert refused.error is not None
        done: CallResult = await gateway.call(
            call.model_copy(update={"confirmation": refused.error.confirmation}), principal=BOB
        )
        assert done.ok
        assert not done.meta.replayed
        assert len(shop.calls) == 2

    play(index, shop, scene)
