"""Arguments against schema, formats and declared rules: what is found, what passes, and that no schema breaks it."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch import ToolContract
from toolsearch.model.argument_problem import Layer
from toolsearch.search.inputs.check import check_arguments
from toolsearch.search.inputs.rules import approval_needed, read_rule, unread_rules

BARS = {
    "symbol": {"type": "string", "pattern": r"^[0-9]{6}\.(SH|SZ)$", "examples": ["600519.SH"]},
    "start_date": {"type": "string", "format": "date"},
    "end_date": {"type": "string", "format": "date"},
    "limit": {"type": "integer", "minimum": 1, "maximum": 100},
    "adjust": {"type": "string", "enum": ["none", "forward"]},
}
GOOD = {"symbol": "600519.SH", "start_date": "2026-07-01", "end_date": "2026-07-31"}


def contract(schema: dict[str, Any] | None = None, **sections: Any) -> ToolContract:
    whole = schema or {"type": "object", "properties": BARS, "required": ["symbol"], "additionalProperties": False}
    return ToolContract.model_validate(
        {"identity": {"name": "t"}, "input": {"schema": whole, **sections.pop("input", {})}, **sections}
    )


RULES = ("start_date must not be after end_date", "end_date must be before today", "a trading day is no calendar day")
TOOL = contract(input={"semantic_rules": RULES})


def codes(arguments: dict[str, Any], tool: ToolContract = TOOL) -> list[tuple[str, str, str]]:
    found = check_arguments(arguments, contract=tool, today=date(2026, 8, 15))
    return [(problem.layer.value, problem.code, problem.field) for problem in found]


def test_good_arguments_have_no_problem() -> None:
    assert codes(GOOD) == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"symbol": "600519"}, ("structure", "pattern", "symbol")),
        ({"symbol": None}, ("structure", "type", "symbol")),
        ({"limit": 0}, ("structure", "minimum", "limit")),
        ({"limit": True}, ("structure", "type", "limit")),
        ({"adjust": "backward"}, ("structure", "enum", "adjust")),
        ({"start_date": "07/01/2026"}, ("semantics", "format", "start_date")),
        ({"start_date": "2026-08-01"}, ("semantics", "rule", "start_date")),
        ({"end_date": "2026-08-15"}, ("semantics", "rule", "end_date")),
    ],
)
def test_what_is_wrong_is_named_with_its_layer(change: dict[str, Any], expected: tuple[str, str, str]) -> None:
    assert expected in codes({**GOOD, **change})


def test_missing_and_unknown_arguments() -> None:
    assert codes({"start_date": "2026-07-01"}) == [("structure", "required", "symbol")]
    (unknown,) = check_arguments({**GOOD, "ticker": 1}, contract=TOOL)
    assert unknown.code == "additionalProperties"
    assert "symbol" in unknown.options


def test_enum_problems_list_the_values() -> None:
    (problem,) = check_arguments({**GOOD, "adjust": "x"}, contract=TOOL)
    assert problem.options == ("none", "forward")
    assert problem.layer is Layer.STRUCTURE


def test_a_rule_about_today_is_left_out_without_a_day() -> None:
    assert check_arguments({**GOOD, "end_date": "2999-01-01"}, contract=TOOL) == ()


@pytest.mark.parametrize(
    ("sentence", "order"),
    [
        ("a must not be after b", "<="),
        ("a must be after b.", ">"),
        ("a must be at least 3", ">="),
        ("a and b must differ", "!="),
        ("a must not exceed b", "<="),
        ("a 不得晚于 b。", "<="),
        ("a 必须早于 b", "<"),
        ("a 和 b 不能相同", "!="),
        ("a >= 200", ">="),
    ],
)
def test_rules_that_are_read(sentence: str, order: str) -> None:
    rule = read_rule(sentence, known=frozenset("ab"))
    assert rule is not None
    assert (rule.left, rule.order) == ("a", order)


@pytest.mark.parametrize(
    "sentence", ["amount must not exceed refundable", "both must match", "a must be after", "", "a must not be after c"]
)
def test_rules_that_are_not_read(sentence: str) -> None:
    assert read_rule(sentence, known=frozenset({"a", "b", "amount"})) is None


def test_unread_rules_are_for_the_model() -> None:
    assert unread_rules(TOOL) == ("a trading day is no calendar day",)


@pytest.mark.parametrize(
    ("condition", "arguments", "needed"),
    [
        ("limit >= 20", {"limit": 20}, True),
        ("limit >= 20", {"limit": 19}, False),
        ("limit >= 20", {}, True),
        ("limit >= 20", {"limit": "many"}, True),
        ("always", {}, True),
        ("the recipient is outside the company", {}, True),
    ],
)
def test_approval_that_cannot_be_decided_is_needed(condition: str, arguments: dict[str, Any], needed: bool) -> None:
    assert approval_needed(arguments, contract=contract(execution={"approval": condition})) is needed


def test_no_approval_is_needed_where_none_is_declared() -> None:
    assert not approval_needed({}, contract=TOOL)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "objectt"},
        {"$ref": "https://example.com/schema.json"},
        {"$ref": "#"},
        {"properties": {"a": {"$ref": "#/nowhere"}}},
        {"properties": {"a": {"pattern": "(?=x"}}},
        {"properties": {"a": {"pattern": "(a+)+$"}}},
        {"patternProperties": {"(a+)+$": {"type": "integer"}}, "unevaluatedProperties": False},
        {"properties": 3},
    ],
)
def test_any_schema_is_survived(schema: dict[str, Any]) -> None:
    check_arguments({"a": "a" * 5_000 + "!"}, contract=contract(schema))


def test_patterns_of_property_names_are_obeyed() -> None:
    tool = contract({"patternProperties": {"^x_": {"type": "integer"}}, "additionalProperties": False})
    assert codes({"x_a": 1}, tool) == []
    assert codes({"x_a": "1"}, tool) == [("structure", "type", "x_a")]
    assert codes({"y": 1}, tool) == [("structure", "additionalProperties", "")]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*BARS, "other"]), JSON))
def test_any_arguments_are_judged_the_same_twice(arguments: dict[str, Any]) -> None:
    assert codes(arguments) == codes(arguments)
