"""The second turn: what is taken from a conversation, what never is, and that hidden tools shape nothing."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch import Principal, RuleBook, SearchRequest, ToolContract, ToolIndex
from toolsearch.model.errors import RequestError, UnknownTool
from toolsearch.model.prepared import Prepared, PrepareRequest

WHO = Principal(subject="ann")
ORDER = {"type": "string", "pattern": "^ORD-[0-9]{8}$"}


def tool(name: str, properties: dict[str, Any], *, required: list[str], server: str = "s", **sections: Any) -> Any:
    schema = {"type": "object", "properties": properties, "required": required}
    return ToolContract.model_validate(
        {
            "identity": {"name": name, "server": server, "title": name.title()},
            "capability": {"does": f"Does {name}."},
            "input": {"schema": schema, **sections.pop("input", {})},
            "execution": {"side_effect": "read_only", **sections.pop("execution", {})},
            **sections,
        }
    )


REFUND = tool(
    "refund",
    {
        "order_id": ORDER,
        "amount": {"type": "number", "exclusiveMinimum": 0},
        "reason": {"type": "string", "enum": ["damaged", "wrong_item"]},
        "note": {"type": "string"},
    },
    required=["order_id", "amount", "reason"],
    input={"forbidden_inference_fields": ["order_id", "amount"], "clarification_fields": ["reason"]},
    execution={"side_effect": "irreversible", "approval": "amount >= 200"},
)
STATUS = tool("status", {"order_id": ORDER}, required=["order_id"])
FIND = tool("find", {"city": {"type": "string"}}, required=["city"], output={"produces": {"order_id": "id"}})
STAY = tool(
    "stay",
    {
        "city": {"type": "string"},
        "first": {"type": "string", "format": "date"},
        "last": {"type": "string", "format": "date"},
    },
    required=["city", "first", "last"],
    input={"semantic_rules": ["last must be after first", "be polite"]},
)
DAY = tool(
    "day",
    {"on": {"type": "string", "format": "date"}, "count": {"type": "integer", "default": 5}},
    required=["on"],
)
TOOLS = [REFUND, STATUS, FIND, STAY, DAY]


@pytest.fixture(scope="module")
def index() -> Any:
    with ToolIndex.create(None, rules=RuleBook.public(), encoder="hashed") as index:
        index.add(TOOLS)
        yield index


def ask(index: ToolIndex, ref: str, text: str = "", **fields: Any) -> Prepared:
    request = PrepareRequest.model_validate({"ref": ref, "text": text, "now": "2026-09-17T10:00:00Z", **fields})
    return index.prepare(request, principal=WHO)


def states(answer: Prepared) -> dict[str, str]:
    return {item.field: item.state for item in answer.inputs}


def turn(role: str, text: str) -> dict[str, str]:
    return {"role": role, "text": text}


def test_everything_at_hand(index: ToolIndex) -> None:
    answer = ask(index, "status", "where is ORD-20260917?")
    assert answer.ready
    assert answer.arguments == {"order_id": "ORD-20260917"}
    assert answer.inputs[0].source == "text"
    assert answer.definition["name"] == answer.name == "status"
    assert answer.ref == "s/status@1"


def test_the_newest_turn_wins_and_the_older_value_is_told(index: ToolIndex) -> None:
    answer = ask(index, "status", "and ORD-20260918?", conversation=[turn("user", "ORD-20260917 please")])
    assert answer.arguments == {"order_id": "ORD-20260918"}
    assert answer.inputs[0].options == ("ORD-20260917",)
    earlier = ask(index, "status", "and now?", conversation=[turn("user", "ORD-20260917 please")])
    assert earlier.inputs[0].source == "conversation[0]"


def test_two_values_in_one_turn_decide_nothing(index: ToolIndex) -> None:
    answer = ask(index, "status", "ORD-20260917 or ORD-20260918")
    assert states(answer) == {"order_id": "write"}
    assert answer.inputs[0].options == ("ORD-20260917", "ORD-20260918")
    assert answer.arguments == {}


def test_words_of_the_assistant_are_no_evidence_and_those_of_a_tool_are(index: ToolIndex) -> None:
    said = ask(index, "status", "where is it?", conversation=[turn("assistant", "ORD-20260917")])
    assert said.arguments == {}
    assert said.inputs[0].options == ("ORD-20260917",)
    result = ask(index, "status", "where is it?", conversation=[turn("tool", '{"id": "ORD-20260917"}')])
    assert result.arguments == {"order_id": "ORD-20260917"}


def test_forbidden_fields_are_taken_from_the_user_alone(index: ToolIndex) -> None:
    by_tool = ask(index, "refund", "refund 59", conversation=[turn("tool", "ORD-20260917")])
    assert states(by_tool)["order_id"] == "obtain"
    by_user = ask(index, "refund", "refund 59 for ORD-20260917, damaged")
    assert by_user.arguments == {"order_id": "ORD-20260917", "reason": "damaged"}
    assert states(by_user)["amount"] == "ask"  # 59 may be anything
    assert by_user.missing[0].forbidden_to_infer
    both = ask(index, "refund", "ORD-20260917", conversation=[turn("user", "ORD-20260918")])
    assert "order_id" not in both.arguments
    assert both.must_not_infer == ("order_id", "amount")


def test_given_values_are_checked_in_dry_run(index: ToolIndex) -> None:
    answer = ask(index, "refund", "ORD-20260917 damaged", inputs={"amount": 0})
    assert [(problem.layer, problem.field) for problem in answer.problems] == [("structure", "amount")]
    assert not answer.ready
    good = ask(index, "refund", "ORD-20260917 damaged", inputs={"amount": 59})
    assert good.ready
    assert not good.approval_needed
    assert ask(index, "refund", "", inputs={"amount": 200}).approval_needed
    unknown = ask(index, "refund", "", inputs={"colour": "red"})
    assert unknown.arguments == {"colour": "red"}  # told back, never silently dropped


def test_missing_inputs_name_their_visible_producer(index: ToolIndex) -> None:
    answer = ask(index, "status", "where is my order?")
    assert answer.missing[0].obtain_from == ("s/find@1",)
    assert answer.message == "Obtain order_id from s/find@1."


def test_two_inputs_of_one_form_are_not_dealt_out(index: ToolIndex) -> None:
    answer = ask(index, "stay", "in Nanjing from 2026-10-01 to 2026-10-03")
    assert states(answer) == {"city": "write", "first": "write", "last": "write"}
    assert answer.rules == ("be polite",)
    wrong = ask(index, "stay", inputs={"city": "x", "first": "2026-10-03", "last": "2026-10-01"})
    assert [problem.code for problem in wrong.problems] == ["rule"]


@pytest.mark.parametrize(
    ("text", "state", "value"),
    [("on 2026-09-18", "found", "2026-09-18"), ("2026年9月8日", "found", "2026-09-08"), ("tomorrow", "write", None)],
)
def test_dates_are_put_into_form_but_not_worked_out(index: ToolIndex, text: str, state: str, value: Any) -> None:
    item = ask(index, "day", text).inputs[0]
    assert (item.state, item.value) == (state, value)


def test_optional_inputs_take_no_bare_number(index: ToolIndex) -> None:
    answer = ask(index, "day", "on 2026-09-18 for 3 people")
    assert states(answer)["count"] == "default"
    assert "count" not in answer.arguments


def test_names(index: ToolIndex) -> None:
    assert {ask(index, name).ref for name in ("s/status@1", "s/status", "status")} == {"s/status@1"}
    with pytest.raises(UnknownTool):
        ask(index, "s/status@2")
    with pytest.raises(UnknownTool):
        ask(index, "s/status", restrict={"exclude_tools": ["s/status"]})


def test_the_name_that_an_export_gave_is_understood() -> None:
    with ToolIndex.create(None, rules=RuleBook.public(), encoder="hashed") as index:
        index.add([STATUS, tool("status", {}, required=[], server="other"), tool("a.b", {}, required=[])])
        assert ask(index, "a_b").ref == "s/a.b@1"
        assert ask(index, "other__status").ref == "other/status@1"
        with pytest.raises(RequestError, match="other/status, s/status"):
            ask(index, "status")


def test_a_session_knows_the_tool_by_its_name_there_and_tells_a_new_revision() -> None:
    with ToolIndex.create(None, rules=RuleBook.public(), encoder="hashed") as index:
        index.add(TOOLS)
        index.search(SearchRequest(text="status", session="talk"), principal=WHO)
        first = ask(index, "status", session="talk")
        assert not first.changed
        index.add([STATUS.model_copy(update={"capability": STATUS.capability.model_copy(update={"does": "Other."})})])
        later = ask(index, "status", session="talk")
        assert later.changed
        assert later.fingerprint != first.fingerprint
        assert ask(index, "status", session="none").changed is False


def test_hidden_tools_shape_nothing() -> None:
    hidden = {"tenants": ["other"]}
    with ToolIndex.create(None, rules=RuleBook.public(), encoder="hashed") as index:
        index.add(TOOLS)
        before = [ask(index, ref, "ORD-20260917").model_dump_json() for ref in ("status", "refund")]
        index.add(
            [
                tool("status", {}, required=[], server="hidden", access=hidden),
                tool("lookup", {}, required=[], server="a", access=hidden, output={"produces": {"order_id": "id"}}),
            ]
        )
        after = [ask(index, ref, "ORD-20260917").model_dump_json() for ref in ("status", "refund")]
        assert before == after
        with pytest.raises(UnknownTool):
            ask(index, "hidden/status")


TURNS = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "tool", "system"]), "text": st.text(max_size=40)}
    ),
    max_size=4,
)


@given(
    text=st.text(max_size=60), conversation=TURNS, ref=st.sampled_from([contract.identity.name for contract in TOOLS])
)
def test_any_conversation_has_an_answer_that_keeps_its_word(
    index: ToolIndex, text: str, conversation: list[dict[str, str]], ref: str
) -> None:
    answer = ask(index, ref, text, conversation=conversation)
    assert answer == ask(index, ref, text, conversation=conversation)
    user = " ".join([text, *(one["text"] for one in conversation if one["role"] == "user")])
    for item in answer.inputs:
        if item.forbidden_to_infer and item.state == "found":
            assert str(item.value) in user
    asked = {item.field for item in answer.inputs if item.state in ("ask", "obtain")}
    assert {item.field for item in answer.missing} == asked
    assert not (answer.ready and (asked or answer.problems))
