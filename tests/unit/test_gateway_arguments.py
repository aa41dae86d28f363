"""Arguments at the gateway: what is mended, what is asked, what is never touched, which rules are checked."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("jsonschema")

from toolsearch.calls.gateway.check import check
from toolsearch.calls.gateway.forms import Unclear, as_date, as_date_time, as_number, converted, measured
from toolsearch.calls.gateway.repair import mend
from toolsearch.model.contract import ToolContract
from toolsearch.search.inputs.structure import check_structure, fits

NOW = datetime(2026, 7, 27, 12, tzinfo=UTC)

PROPERTIES: dict[str, Any] = {
    "city": {"type": "string", "enum": ["Paris", "Berlin"]},
    "days": {"type": "integer", "minimum": 1, "maximum": 30},
    "ratio": {"type": "number"},
    "live": {"type": "boolean"},
    "start_date": {"type": "string", "format": "date"},
    "end_date": {"type": "string", "format": "date"},
    "at": {"type": "string", "format": "date-time"},
    "tags": {"type": "array", "items": {"type": "string"}},
    "timeout_ms": {"type": "integer"},
    "order_id": {"type": "string", "pattern": "^O[0-9]+$"},
    "text": {"type": "string"},
    "where": {
        "type": "object",
        "properties": {"days": {"type": "integer"}, "order_id": {"type": "integer"}},
    },
}


def contract(*, effect: str | None = "read_only", schema: dict[str, Any] | None = None, **inputs: Any) -> ToolContract:
    execution = {} if effect is None else {"side_effect": effect}
    given_schema = {"type": "object", "properties": PROPERTIES} if schema is None else schema
    return ToolContract.model_validate(
        {
            "identity": {"name": "forecast", "server": "weather"},
            "input": {"schema": given_schema, **inputs},
            "execution": execution,
        }
    )


@pytest.mark.parametrize(
    ("name", "value", "mended", "kind"),
    [
        ("city", " Paris", "Paris", "trim"),
        ("city", "pARIS ", "Paris", "enum_case"),
        ("days", " 5 ", 5, "number"),
        ("ratio", "-0.25", -0.25, "number"),
        ("live", "True", True, "boolean"),
        ("start_date", "2026/7/8", "2026-07-08", "date"),
        ("start_date", "2026年7月8日", "2026-07-08", "date"),
        ("start_date", "20260708", "2026-07-08", "date"),
        ("start_date", "July 8, 2026", "2026-07-08", "date"),
        ("start_date", "27.07.2026", "2026-07-27", "date"),
        ("tags", "red", ["red"], "list"),
        ("tags", '["red", "blue"]', ["red", "blue"], "json"),
        ("timeout_ms", "1.5 s", 1500, "unit"),
        ("timeout_ms", "20 ms", 20, "unit"),
    ],
)
def test_green_mends_form_and_says_so(name: str, value: Any, mended: Any, kind: str) -> None:
    done = mend({name: value}, contract())
    assert done.arguments == {name: mended}
    assert [(repair.field, repair.kind, repair.before, repair.after) for repair in done.repairs] == [
        (f"/{name}", kind, value, mended)
    ]
    assert done.asks == ()


def test_green_takes_another_spelling_of_a_parameter() -> None:
    done = mend({"startDate": "2026/7/8", "DAYS": 3}, contract())
    assert done.arguments == {"start_date": "2026-07-08", "days": 3}
    assert [repair.kind for repair in done.repairs] == ["alias", "date", "alias"]


def test_two_spellings_of_one_parameter_are_left() -> None:
    arguments = {"Days": 1, "DAYS": 2}
    assert mend(arguments, contract()).arguments == arguments
    assert mend({"days": 1, "Days": 2}, contract()).arguments == {"days": 1, "Days": 2}


@pytest.mark.parametrize(
    ("name", "value", "options"),
    [
        ("start_date", "03/04/2026", ("2026-03-04", "2026-04-03")),
        ("start_date", "last week", ()),
        ("start_date", "最近", ()),
        ("at", "2026-07-08 10:00", ()),
        ("city", "Pariss", ("Paris",)),
        ("days", "5 km", ()),
    ],
)
def test_yellow_asks(name: str, value: str, options: tuple[str, ...]) -> None:
    checked = check({name: value}, contract(), now=NOW)
    assert checked.error is not None
    assert (checked.error.code, checked.error.field) == ("ask", name)
    assert checked.error.question
    assert checked.error.options == options
    assert not checked.error.retryable
    assert checked.arguments == {name: value}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("days", "1,000"),
        ("days", "007"),
        ("days", "1e3"),
        ("days", "five"),
        ("live", "yes"),
        ("start_date", "31.02.2026"),
    ],
)
def test_what_could_mean_something_else_is_not_mended(name: str, value: str) -> None:
    done = mend({name: value}, contract())
    assert done.arguments == {name: value}
    assert done.repairs == ()


def test_what_fits_is_not_touched() -> None:
    arguments = {"text": "  two  spaces ", "city": "Paris", "start_date": "2026-07-08", "tags": [" a "]}
    assert mend(arguments, contract()) == mend(dict(arguments), contract())
    assert mend(arguments, contract()).arguments == arguments
    assert mend(arguments, contract()).repairs == ()


def test_red_is_left_as_it_is() -> None:
    red = contract(forbidden_inference_fields=["order_id", "days"])
    arguments = {"order_id": " O1 ", "days": "5", "Days": 3, "where": {"days": "5", "order_id": "7"}}
    done = mend(arguments, red)
    assert done.arguments == arguments
    assert done.repairs == ()


@pytest.mark.parametrize("effect", ["irreversible", None])
def test_nothing_of_what_may_be_irreversible_is_mended(effect: str | None) -> None:
    arguments = {"days": "5", "city": "paris", "startDate": "2026/7/8"}
    checked = check(arguments, contract(effect=effect), now=NOW)
    assert checked.arguments == arguments
    assert checked.repairs == ()
    assert checked.error is not None
    assert checked.error.code == "invalid_arguments"


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**6), 10**6)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([" Paris", "PARIS", "5", " 5", "2026/7/8", "03/04/2026", "true", '["a"]', '{"days": "5"}', "5 s"])
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*PROPERTIES, "x"]), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from([*PROPERTIES, "startDate", "Order-Id", "ORDER_ID", "TAGS", "other"])


def parts(value: Any, name: str) -> list[str]:
    """Return every value under a name, at any depth, as JSON."""
    found = []
    if isinstance(value, dict):
        for key, inner in value.items():
            if key.replace("_", "").replace("-", "").casefold() == name.replace("_", ""):
                found.append(json.dumps([key, inner]))
            found += parts(inner, name)
    elif isinstance(value, list):
        for inner in value:
            found += parts(inner, name)
    return found


@given(arguments=st.dictionaries(NAMES, JSON_VALUES, max_size=6), red=st.sampled_from(sorted(PROPERTIES)))
def test_no_repair_ever_touches_a_red_field(arguments: dict[str, Any], red: str) -> None:
    before = json.dumps(arguments)
    done = mend(arguments, contract(forbidden_inference_fields=[red]))
    assert json.dumps(arguments) == before
    assert parts(done.arguments, red) == parts(arguments, red)
    assert all(red not in repair.field.split("/") for repair in done.repairs)


@given(arguments=st.dictionaries(NAMES, JSON_VALUES, max_size=6))
@settings(max_examples=200)
def test_a_repair_mends_and_a_second_one_finds_nothing(arguments: dict[str, Any]) -> None:
    tool = contract()
    done = mend(arguments, tool)
    again = mend(done.arguments, tool)
    assert again.arguments == done.arguments
    assert not [repair for repair in again.repairs if repair.kind != "alias"]
    wrong = {flaw.field for flaw in check_structure(done.arguments, contract=tool)}
    assert not wrong & {repair.field[1:].replace("/", ".") for repair in done.repairs if repair.kind != "alias"}


def test_missing_is_asked_where_it_must_not_be_guessed() -> None:
    tool = contract(
        required=["order_id", "city", "days"],
        forbidden_inference_fields=["order_id"],
        clarification_fields=["city"],
        semantics={"order_id": "number on the receipt"},
    )
    first = check({"days": 1, "city": "Paris"}, tool, now=NOW).error
    assert first is not None
    assert (first.code, first.field, first.layer) == ("ask", "order_id", "precondition")
    assert first.question == "Which order_id (number on the receipt)?"
    second = check({"days": 1, "order_id": "O1"}, tool, now=NOW).error
    assert second is not None
    assert (second.code, second.field) == ("ask", "city")
    third = check({"city": "Paris", "order_id": "O1"}, tool, now=NOW).error
    assert third is not None
    assert (third.code, third.field, third.retryable) == ("invalid_arguments", "days", True)


@pytest.mark.parametrize("value", ["<order_id>", "unknown", "TBD", "", "your_order_id", None, "me@example.com", "待定"])
def test_a_placeholder_is_no_answer(value: Any) -> None:
    tool = contract(schema={"type": "object"}, forbidden_inference_fields=["order_id"])
    error = check({"order_id": value}, tool, now=NOW).error
    assert error is not None
    assert (error.code, error.field) == ("ask", "order_id")
    assert check({"text": value}, tool, now=NOW).error is None


def test_structure_names_field_value_and_choices() -> None:
    tool = contract(effect="irreversible")
    error = check({"city": "Rome"}, tool, now=NOW).error
    assert error is not None
    assert (error.field, error.layer, error.options) == ("city", "structure", ("Paris", "Berlin"))
    assert "'Paris'" in error.hint
    error = check({"where": {"days": "x"}}, tool, now=NOW).error
    assert error is not None
    assert error.field == "where.days"
    assert error.message == "where.days: 'x' is not of type integer"


@pytest.mark.parametrize(
    ("text", "arguments", "expected"),
    [
        ("end_date must be after start_date", {"start_date": "2026-07-09", "end_date": "2026-07-08"}, False),
        ("end_date must be after start_date", {"start_date": "2026-07-07", "end_date": "2026-07-08"}, True),
        ("end_date must be after start_date", {"start_date": "2026-07-07"}, None),
        ("start_date must not be after end_date.", {"start_date": "2026-07-08", "end_date": "2026-07-08"}, True),
        ("end_date must be before today", {"end_date": "2026-07-27"}, False),
        ("end_date must be before today", {"end_date": "2026-07-26"}, True),
        ("days <= 10", {"days": 11}, False),
        ("days must not exceed 10", {"days": 10}, True),
        ("days must be at least 3", {"days": 2}, False),
        ("city and text must differ", {"city": "Paris", "text": "Paris"}, False),
        ("end_date 不得早于 start_date", {"start_date": "2026-07-09", "end_date": "2026-07-08"}, False),
        ("at must be before now", {"at": "2026-07-27T13:00:00Z"}, False),
    ],
)
def test_rules(text: str, arguments: dict[str, Any], expected: bool | None) -> None:
    error = check(arguments, contract(semantic_rules=[text]), now=NOW).error
    assert (error is not None and error.code == "rule_broken") is (expected is False)
    assert error is None or (error.layer == "semantics" and text.rstrip(".") in error.message)


@pytest.mark.parametrize(
    "text", ["amount must not exceed refundable_amount", "days must be after the crisis", "use trading days", "days"]
)
def test_what_no_program_can_check_is_told(text: str) -> None:
    checked = check({"days": 1}, contract(semantic_rules=[text]), now=NOW)
    assert checked.error is None
    assert text in checked.unchecked


@given(st.text(max_size=30))
def test_any_text_has_one_form_or_none(text: str) -> None:
    date, moment, number, amount = as_date(text), as_date_time(text), as_number(text), measured(text)
    assert date is None or isinstance(date, Unclear) or fits(date, {"format": "date"})
    assert moment is None or isinstance(moment, Unclear) or fits(moment, {"format": "date-time"})
    assert number is None or float(text) == number
    assert amount is None or converted(*amount, to=amount[1]) is not None or amount[0].denominator > 1


@given(st.dates())
def test_every_unambiguous_date_comes_back(day: Any) -> None:
    if day.year >= 1900 and day.year < 2100:
        assert as_date(f"{day.year}/{day.month}/{day.day}") == day.isoformat()
        assert as_date(f"{day.day} {day:%B} {day.year}") == day.isoformat()
