"""Input readiness: what stands in a request, what was given, what can be obtained, what must be asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from toolsearch.model.contract import ToolContract
from toolsearch.model.reasons import ReasonCode
from toolsearch.search.inputs.extract import (
    RequestFacts,
    find_enum,
    find_format,
    find_number,
    matcher,
    shape,
    valid_value,
)
from toolsearch.search.inputs.readiness import ASK, AT_HAND, FORBIDDEN, OBTAINABLE, Readiness, assess, input_fields


def read(
    text: str,
    schema: Mapping[str, Any] | None = None,
    *,
    name: str = "order_id",
    given: Mapping[str, Any] | None = None,
    producers: tuple[str, ...] = (),
    **inputs: Any,
) -> Readiness:
    properties = {} if schema is None else {name: schema}
    contract = ToolContract.model_validate(
        {"identity": {"name": "x"}, "input": {"schema": {"properties": properties}, "required": [name], **inputs}}
    )
    return assess(
        input_fields(contract), facts=RequestFacts.of(text), given=given or {}, producers=lambda entity: producers
    )


def found(text: str, schema: Mapping[str, Any], *, name: str = "order_id", **inputs: Any) -> Any:
    return read(text, schema, name=name, **inputs).ready.get(name)


def test_a_tool_without_required_inputs_is_ready() -> None:
    state = assess((), facts=RequestFacts.of("x"), given={}, producers=lambda entity: ())
    assert (state.value, state.why().code) == (1.0, ReasonCode.NO_INPUTS_NEEDED)


@pytest.mark.parametrize(
    "text",
    [
        "ORD-20260917 到哪了",
        "订单ORD-20260917到哪了",
        "where is ORD-20260917?",
        "refund (ORD-20260917), please.",
        "'ORD-20260917'",
    ],
)
def test_a_pattern_is_found_in_the_request(text: str) -> None:
    state = read(text, {"type": "string", "pattern": "^ORD-[0-9]{8}$"})
    assert state.ready == {"order_id": "ORD-20260917"}
    assert (state.value, state.missing, state.why().code) == (1.0, (), ReasonCode.INPUTS_READY)


@pytest.mark.parametrize("text", ["order 20260917", "ORD-2026091", "ORD-202609170", "XORD-20260917", "ord-20260917"])
def test_what_does_not_match_as_a_whole_is_not_found(text: str) -> None:
    assert found(text, {"type": "string", "pattern": "^ORD-[0-9]{8}$"}) is None
    assert found(text, {"type": "string", "pattern": "ORD-[0-9]{8}"}) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("show unpaid and paid ones", "paid"),
        ("show unpaid ones", None),
        ("which are PAID?", "paid"),
        ("partially refunded orders", "partially_refunded"),
        ("只看已发货的", "已发货"),
        ("状态paid的订单", "paid"),
    ],
)
def test_enum_words(text: str, value: str | None) -> None:
    assert found(text, {"enum": ["paid", "partially_refunded", "已发货"]}, name="status") == value
    assert find_enum(RequestFacts.of(text), ()) is None


@pytest.mark.parametrize(
    ("form", "text", "value"),
    [
        ("email", "发给zhang.wei+1@example.com吧", "zhang.wei+1@example.com"),
        ("email", "mail bob@example", None),
        ("uri", "open https://example.com/a?b=1 now", "https://example.com/a?b=1"),
        ("date", "meet on 2026-09-17", "2026-09-17"),
        ("date", "2026年9月17日的账单", "2026年9月17日"),
        ("date", "明天开会", "明天"),
        ("date", "下周三的会", "下周三"),
        ("date", "next Friday", "next Friday"),
        ("date", "soon", None),
        ("date-time", "at 3:30 pm", "3:30 pm"),
        ("date-time", "下午三点半", "下午"),
        ("uuid", "id 123e4567-e89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"),
        ("ipv4", "ping 10.0.0.1", "10.0.0.1"),
    ],
)
def test_formats(form: str, text: str, value: str | None) -> None:
    assert find_format(RequestFacts.of(text), form) == value
    assert found(text, {"type": "string", "format": form}, name="thing") == value


def test_a_date_is_recognised_by_the_name_of_its_input() -> None:
    assert found("昨天的收盘价", {"type": "string"}, name="trade_date") == "昨天"


@pytest.mark.parametrize(
    ("text", "value"),
    [("transfer 1,250.50 to Ann", "1250.50"), ("order A1024", None), ("room 42", "42"), ("v1.2.3", None)],
)
def test_numbers(text: str, value: str | None) -> None:
    assert find_number(RequestFacts.of(text)) == value
    assert found(text, {"type": ["number", "null"]}, name="amount") == value


def test_shapes_of_examples() -> None:
    assert [shape(text) for text in ("A1024", "ORD-20260917", "a/b-1")] == ["A9", "A-9", "A/A-9"]
    schema = {"type": "string", "description": "The order, e.g. `A1024`."}
    assert found("where is B77", schema) == "B77"
    assert found("where is B-77", schema) is None
    assert found("where is B77", {"type": "string", "examples": ["A1024"]}) == "B77"
    assert found("where is B77", {"type": "string"}, semantics={"order_id": "如 A1024"}) == "B77"


def test_given_inputs_win_over_the_text() -> None:
    schema = {"type": "string", "pattern": "^ORD-[0-9]{8}$"}
    state = read("ORD-20260917", schema, given={"order_id": "ORD-20260101"})
    assert state.ready == {"order_id": "ORD-20260101"}


@pytest.mark.parametrize(
    ("value", "schema", "valid"),
    [
        ("x", {"type": "string"}, True),
        (7, {"type": "string"}, False),
        (7, {"type": "integer"}, True),
        (True, {"type": "integer"}, False),
        (7.5, {"type": "integer"}, False),
        (7, {"type": "number"}, True),
        (None, {}, False),
        ("paid", {"enum": ["paid"]}, True),
        ("lost", {"enum": ["paid"]}, False),
        ([], {"enum": ["paid"]}, False),
        ("ORD-1", {"pattern": "^ORD-[0-9]{8}$"}, False),
        ({"a": 1}, {"type": "object"}, True),
        (7, {"type": ["integer", "null"]}, True),
    ],
)
def test_given_values_are_checked_against_the_schema(value: Any, schema: dict[str, Any], valid: bool) -> None:
    assert valid_value(value, schema) is valid


def test_a_given_value_of_the_wrong_type_does_not_count() -> None:
    state = read("hello", {"type": "string", "pattern": "^ORD-[0-9]{8}$"}, given={"order_id": 20260917})
    assert [item.field for item in state.missing] == ["order_id"]
    assert state.ready == {}


def test_a_missing_input_must_be_asked_for() -> None:
    state = read("where is my order", {"type": "string"})
    assert (state.value, state.missing[0].ask, state.why().code) == (ASK, True, ReasonCode.INPUTS_MISSING)


def test_a_producer_is_better_than_asking() -> None:
    state = read("where is my order", {"type": "string"}, producers=("s/find@1",))
    assert (state.value, state.missing[0].obtain_from) == (OBTAINABLE, ("s/find@1",))
    assert not state.missing[0].ask
    assert state.why().code is ReasonCode.INPUTS_OBTAINABLE


def test_a_forbidden_input_is_worth_nothing_until_it_is_stated() -> None:
    forbidden = {"forbidden_inference_fields": ["order_id"]}
    schema = {"type": "string", "pattern": "^ORD-[0-9]{8}$", "default": "ORD-00000000"}
    absent = read("refund my order", schema, **forbidden)
    assert (absent.value, absent.why().code) == (FORBIDDEN, ReasonCode.INPUT_FORBIDDEN)
    assert absent.missing[0].forbidden
    assert read("refund ORD-20260917", schema, **forbidden).value == AT_HAND


def test_a_free_text_or_a_default_is_no_obstacle() -> None:
    assert read("anything", {"type": "string"}, name="query").value == AT_HAND
    assert read("anything", {"type": "integer", "default": 10}, name="limit").value == AT_HAND
    assert read("anything", {"type": "string"}, name="query", clarification_fields=["query"]).value == ASK


def test_the_value_is_the_mean_over_the_required_inputs() -> None:
    contract = ToolContract.model_validate(
        {
            "identity": {"name": "x"},
            "input": {
                "schema": {
                    "properties": {"a_id": {"type": "string"}, "n": {"type": "integer"}, "c": {"type": "string"}}
                },
                "required": ["a_id", "n", "c"],
                "forbidden_inference_fields": ["c"],
            },
        }
    )
    state = assess(input_fields(contract), facts=RequestFacts.of("take 5"), given={}, producers=lambda entity: ())
    assert state.value == pytest.approx((ASK + AT_HAND + FORBIDDEN) / 3)
    assert state.required == 3


@pytest.mark.parametrize("pattern", ["(a+)+$", "^(a|a)*$", "(?=a)a", r"(a)\1", "[", "a" * 2_000, "(x{1,100}){1,100}y"])
def test_hostile_patterns_neither_hang_nor_fail(pattern: str) -> None:
    matches = matcher(pattern)
    assert matches is None or not matches("a" * 5_000 + "!")
    assert read("a" * 7_000 + "%", {"type": "string", "pattern": pattern}).missing
