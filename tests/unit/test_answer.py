"""The answer: shapes of definitions, tools listed apart, budgets, hashes, questions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from toolsearch.contracts.export import definition_tokens, json_tokens
from toolsearch.engine.search import ToolIndex
from toolsearch.model.answer import CandidateSet, OutcomeKind
from toolsearch.model.contract import ToolContract
from toolsearch.model.limits import SearchLimits
from toolsearch.model.reasons import ReasonCode
from toolsearch.model.request import DefinitionFormat, Detail, Principal, SearchRequest
from toolsearch.search.visibility.rules import RuleBook

ANN = Principal(subject="ann", scopes=("orders.read",))
LOW = SearchLimits(relevance_floor=0.01, words_floor=0.01)
"""Floors that let several tools of this small catalogue through; their real values are tuned elsewhere."""

NOW = "2026-09-17T10:00:00Z"


def contract(name: str, does: str, effect: str = "read_only", **sections: Any) -> ToolContract:
    sections.setdefault("capability", {})["does"] = does
    return ToolContract.model_validate(
        {"identity": {"name": name, "server": "shop"}, "execution": {"side_effect": effect}, **sections}
    )


ORDER_ID = {
    "schema": {"properties": {"order_id": {"type": "string", "pattern": "^ORD-[0-9]{8}$"}}},
    "required": ["order_id"],
}
GET = contract(
    "orders.get",
    "look up one order by its number",
    input=ORDER_ID,
    selection={"adjacent_tools": {"orders.secret": "for secret orders", "orders.list": "for all orders of a customer"}},
)
LIST = contract("orders.list", "list all orders of a customer", output={"produces": {"payment_id": "$.id"}})
REFUND = contract(
    "orders.refund",
    "refund the money of one order",
    "irreversible",
    input={"required": ["payment_id"], "forbidden_inference_fields": ["payment_id"]},
)
CLOCK = contract("clock", "tell the time", capability={"tags": ["always-on"]})
SECRET = contract("orders.secret", "look up one secret order by its number", access={"scopes_all": ["secret"]})
CATALOGUE = (GET, LIST, REFUND, CLOCK, SECRET)


@pytest.fixture(scope="module")
def index() -> Iterator[ToolIndex]:
    with ToolIndex.create(None, rules=RuleBook.public(), encoder="hashed", limits=LOW) as index:
        index.add(CATALOGUE)
        yield index


def ask(index: ToolIndex, text: str = "look up one order by its number", **options: Any) -> CandidateSet:
    return index.search(SearchRequest(text=text, now=NOW, **options), principal=ANN)


def refs(answer: CandidateSet) -> list[str]:
    return [candidate.ref for candidate in answer.candidates]


def shown(answer: CandidateSet) -> dict[str, Any]:
    definition = answer.candidates[0].definition
    assert definition is not None
    return definition


# Shapes -------------------------------------------------------------------------------------------------------------


def test_detail_levels_of_our_own_shape(index: ToolIndex) -> None:
    name = shown(ask(index, detail="name"))
    assert name == {
        "ref": "shop/orders.get@1",
        "name": "orders_get",
        "title": "",
        "does": "look up one order by its number",
    }
    signature = shown(ask(index, detail="signature"))
    assert signature["parameters"] == [{"name": "order_id", "type": "string", "required": True}]
    full = shown(ask(index, detail="full"))
    assert full["input"]["schema"] == ORDER_ID["schema"]
    sizes = [json_tokens(item) for item in (name, signature, full)]
    assert sizes == sorted(sizes)


@pytest.mark.parametrize("detail", Detail)
def test_provider_shapes(index: ToolIndex, detail: Detail) -> None:
    made = {form: shown(ask(index, format=form, detail=detail)) for form in DefinitionFormat}
    assert made[DefinitionFormat.OPENAI]["type"] == "function"
    assert made[DefinitionFormat.OPENAI]["function"]["name"] == "orders_get"
    assert set(made[DefinitionFormat.ANTHROPIC]) == {"name", "description", "input_schema"}
    assert made[DefinitionFormat.ANTHROPIC_REFERENCE] == {"type": "tool_reference", "tool_name": "orders_get"}
    assert made[DefinitionFormat.MCP]["inputSchema"]["type"] == "object"
    assert made[DefinitionFormat.NATIVE]["name"] == "orders_get"


def test_adjacent_tools_are_named_only_when_visible(index: ToolIndex) -> None:
    for form in DefinitionFormat:
        assert "secret" not in ask(index, format=form).model_dump_json()
    assert list(shown(ask(index))["selection"]["adjacent_tools"]) == ["orders.list"]
    allowed = index.search("look up one order", principal=Principal(scopes=("secret",)))
    assert "orders.secret" in allowed.model_dump_json()


# Listed apart -------------------------------------------------------------------------------------------------------


def test_always_on_tools_are_listed_apart(index: ToolIndex) -> None:
    tagged = ask(index, "tell the time")
    assert [item.ref for item in tagged.always_on] == ["shop/clock@1"]
    assert "shop/clock@1" not in refs(tagged)
    asked = ask(index, always_on=["orders.get", "orders.secret", "no.such", "shop/clock@1"])
    assert [item.ref for item in asked.always_on] == ["shop/clock@1", "shop/orders.get@1"]
    assert "shop/orders.get@1" not in refs(asked)
    assert asked.always_on[1].definition == shown(ask(index))


def test_loaded_tools_are_marked(index: ToolIndex) -> None:
    answer = ask(index, loaded=["shop/orders.get@1", "shop/clock@1", "shop/gone@1"])
    assert answer.candidates[0].already_loaded
    assert not any(candidate.already_loaded for candidate in answer.candidates[1:])
    assert answer.always_on[0].already_loaded
    assert refs(answer) == refs(ask(index))


# Budget and metrics -------------------------------------------------------------------------------------------------


def test_a_budget_holds_what_does_not_fit(index: ToolIndex) -> None:
    free = ask(index)
    fixed = sum(json_tokens(item.definition) for item in free.always_on)
    sizes = [json_tokens(item.definition) for item in free.candidates]
    exact = ask(index, token_budget=fixed + sum(sizes))
    assert refs(exact) == refs(free)
    tight = ask(index, token_budget=fixed + sizes[0])
    assert refs(tight) == refs(free)[:1]
    assert tight.token_metrics.returned == fixed + sizes[0]
    over = [item for item in tight.withheld if item.reason.code is ReasonCode.OVER_BUDGET]
    assert [item.ref for item in over] == refs(free)[1:]
    assert "token_budget" in over[0].unlock


def test_a_budget_of_nothing_still_lists_what_is_always_on(index: ToolIndex) -> None:
    answer = ask(index, token_budget=0)
    assert answer.candidates == ()
    assert len(answer.always_on) == 1


def test_token_metrics_compare_with_the_visible_catalogue(index: ToolIndex) -> None:
    metrics = ask(index, k=1).token_metrics
    assert metrics.baseline == sum(definition_tokens(one) for one in CATALOGUE if one is not SECRET)
    assert metrics.savings_percent == round(100 * (1 - metrics.returned / metrics.baseline), 1)


# Hashes -------------------------------------------------------------------------------------------------------------


def test_hashes_change_exactly_when_they_should() -> None:
    with ToolIndex.create(None, rules=RuleBook.public(), encoder="hashed", limits=LOW) as index:
        index.add(CATALOGUE)
        first = ask(index)
        assert (ask(index).tools_hash, ask(index).catalog_version) == (first.tools_hash, first.catalog_version)

        index.add([SECRET.model_copy(update={"capability": GET.capability})])
        hidden = ask(index)
        assert (hidden.tools_hash, hidden.catalog_version) == (first.tools_hash, first.catalog_version)

        index.add([contract("weather", "tell the weather of tomorrow")])
        other = ask(index)
        assert other.catalog_version != first.catalog_version
        assert refs(other) == refs(first)
        assert other.tools_hash == first.tools_hash

        index.add([GET.model_copy(update={"input": LIST.input})])
        assert ask(index).tools_hash != first.tools_hash

        index.replace_all(CATALOGUE)
        back = ask(index)
        assert (back.tools_hash, back.catalog_version) == (first.tools_hash, first.catalog_version)


def test_the_tools_hash_is_of_what_is_shown(index: ToolIndex) -> None:
    whole = ask(index)
    assert ask(index, detail="name").tools_hash != whole.tools_hash
    assert ask(index, format="openai").tools_hash != whole.tools_hash
    assert ask(index, k=1).tools_hash != whole.tools_hash
    assert ask(index, loaded=["shop/orders.get@1"]).tools_hash == whole.tools_hash
    assert ask(index, detail="name").catalog_version == whole.catalog_version


# Outcomes -----------------------------------------------------------------------------------------------------------


def test_no_tool_fits(index: ToolIndex) -> None:
    answer = ask(index.with_limits(SearchLimits()), "zyx qwv")
    assert (answer.outcome, answer.candidates, answer.clarify) == (OutcomeKind.NO_TOOL, (), None)
    assert "No visible tool" in answer.message


def test_a_missing_input_is_asked_for(index: ToolIndex) -> None:
    answer = ask(index)
    assert answer.outcome is OutcomeKind.CLARIFY
    assert answer.clarify is not None
    assert (answer.clarify.ref, answer.clarify.fields) == ("shop/orders.get@1", ("order_id",))
    assert "order_id" in answer.message


@pytest.mark.parametrize("options", [{"text": "look up order ORD-20260917"}, {"inputs": {"order_id": "ORD-20260917"}}])
def test_with_the_input_there_is_nothing_to_ask(index: ToolIndex, options: dict[str, Any]) -> None:
    answer = ask(index, **options)
    assert answer.outcome is OutcomeKind.CANDIDATES
    assert answer.clarify is None
    assert answer.candidates[0].inputs.ready == {"order_id": "ORD-20260917"}


def test_a_write_that_must_not_guess_is_withheld_until_it_knows(index: ToolIndex) -> None:
    held = ask(index, "refund the money of one order")
    assert "shop/orders.refund@1" not in refs(held)
    assert [item.ref for item in held.withheld] == ["shop/orders.refund@1"]
    assert held.withheld[0].reason.code is ReasonCode.PRECONDITION
    assert "shop/orders.list@1" in held.withheld[0].unlock
    ready = ask(index, "refund the money of one order", inputs={"payment_id": "PAY-7"})
    assert "shop/orders.refund@1" in refs(ready)
    assert ready.withheld == ()


def test_ranks_are_counted_from_one(index: ToolIndex) -> None:
    answer = ask(index, k=3)
    assert [candidate.rank for candidate in answer.candidates] == list(range(1, len(answer.candidates) + 1))
    assert CandidateSet.model_validate_json(answer.model_dump_json()) == answer
