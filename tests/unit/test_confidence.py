"""How likely it is that any tool fits: rising with relevance and margin, and low for requests that need no tool."""

import math
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch import PastRequest, Principal, SearchRequest, ToolContract, ToolIndex
from toolsearch.model.answer import OutcomeKind
from toolsearch.model.limits import SearchLimits
from toolsearch.search.rank.confidence import ENOUGH, OFFSET, SAID, Signs, no_tool_requests
from toolsearch.search.visibility.rules import RuleBook

ANYONE = Principal(subject="u")
UNIT = st.floats(0, 1)


def tool(name: str, does: str) -> ToolContract:
    return ToolContract.model_validate({"identity": {"name": name, "server": "s"}, "capability": {"does": does}})


TOOLS = (
    tool("orders.get", "Reads the status, items and price of one order by its number."),
    tool("weather.forecast", "Returns the weather forecast of a city for the coming days."),
    tool("mail.send", "Sends an e-mail to one or more recipients."),
)


@pytest.fixture(scope="module")
def index() -> ToolIndex:
    made = ToolIndex.create(None, rules=RuleBook.public())
    made.add(TOOLS)
    return made


def signs(relevance: float, *, nearness: float, tokens: float, need: float, tools: int) -> Signs:
    return Signs(0, relevance, nearness=nearness, tokens=tokens, need=need, tools=tools)


@given(UNIT, UNIT, UNIT, UNIT, st.floats(-20, 20), st.floats(-20, 20), st.integers(1, 40))
def test_it_rises_with_all_parts_and_stays_in_bounds(
    one: float, other: float, near: float, nearer: float, need: float, second: float, few: int
) -> None:
    low = signs(min(one, other), nearness=min(near, nearer), tokens=0.4, need=min(need, second), tools=few)
    high = signs(max(one, other), nearness=max(near, nearer), tokens=0.5, need=max(need, second), tools=few + 1)
    assert 0.0 <= low.confidence <= high.confidence <= 1.0


def test_what_speaks_for_a_tool_weighs_up_the_offset_at_an_even_chance() -> None:
    even = signs(0.0, nearness=0.0, tokens=0.0, need=OFFSET, tools=ENOUGH)
    assert even.confidence == 0.5
    half = signs(0.5, nearness=0.5, tokens=0.5, need=0.0, tools=ENOUGH)
    assert half.confidence == replace(half, tools=10 * ENOUGH).confidence


@given(UNIT, UNIT, UNIT, st.floats(-20, 20), st.integers(1, 40))
def test_the_explanation_adds_up_to_the_confidence(
    relevance: float, nearness: float, tokens: float, need: float, tools: int
) -> None:
    found = signs(relevance, nearness=nearness, tokens=tokens, need=need, tools=tools)
    told = found.explanation(best="s/orders.get@1", least=0.2)
    assert told.value == found.confidence
    odds = sum(part.value for part in told.details)
    assert 1 / (1 + math.exp(-odds)) == pytest.approx(told.value)


@pytest.mark.parametrize("text", ["what is the status of order 17", "sing me a lullaby"])
def test_explain_tells_the_confidence_of_the_answer(index: ToolIndex, text: str) -> None:
    for ref in ("s/orders.get@1", "s/mail.send@1"):
        explained = index.explain(text, ref=ref, principal=ANYONE)
        assert explained.confidence is not None
        assert explained.confidence.value == pytest.approx(index.search(text, principal=ANYONE).confidence, abs=1e-6)
        assert "relevance of s/" in explained.confidence.render()


def test_the_bank_has_both_languages_and_no_repetition() -> None:
    requests = no_tool_requests()
    chinese = [text for text in requests if re.search("[一-鿿]", text)]
    assert len(set(requests)) == len(requests) > 120
    assert 50 < len(chinese) < len(requests) - 50


@pytest.mark.parametrize("text", ["sing me a lullaby", "why do cats purr", "给我讲个睡前故事", "你叫什么名字呀"])
def test_requests_without_a_tool_are_refused(index: ToolIndex, text: str) -> None:
    answer = index.search(text, principal=ANYONE)
    assert answer.outcome is OutcomeKind.NO_TOOL
    assert answer.confidence < index.limits.min_confidence
    assert answer.near_misses


@pytest.mark.parametrize("text", ["what is the status of order 17", "苏州后天天气怎么样", "email the report to Ann"])
def test_requests_with_a_tool_are_answered(index: ToolIndex, text: str) -> None:
    answer = index.search(text, principal=ANYONE)
    assert answer.candidates
    assert answer.confidence > 0.5


def test_a_named_tool_is_offered_whatever_else_the_request_is_like(index: ToolIndex) -> None:
    answer = index.search("tell me a joke with mail.send", principal=ANYONE)
    assert answer.candidates[0].ref == "s/mail.send@1"


def test_past_requests_raise_the_need_by_their_strength() -> None:
    log = [("tell me a joke about invoices", "ann"), ("a joke about invoices please", "bob"), ("invoice joke", "eve")]
    asked = "tell me a joke about cats"

    def need(past: int) -> float:
        index = ToolIndex.create(None, rules=RuleBook.public())
        index.add(TOOLS)
        index.learn([PastRequest(text=text, ref="s/mail.send@1", subject=who) for text, who in log[:past]])
        found = index.signs(asked, principal=ANYONE)
        assert found is not None
        return found.need

    before, one, three = need(0), need(1), need(3)
    assert before < one < three < SAID


def test_the_limit_is_the_caller_s(index: ToolIndex) -> None:
    text = "what is the status of order 17"
    assert index.with_limits(SearchLimits(min_confidence=0.0)).search(text, principal=ANYONE).candidates
    refused = index.with_limits(SearchLimits(min_confidence=1.0)).search(text, principal=ANYONE)
    assert refused.outcome is OutcomeKind.NO_TOOL


def test_words_alone_are_judged_by_relevance(index: ToolIndex) -> None:
    asked = SearchRequest(text="status, items and price of an order", mode="lexical")
    assert index.search(asked, principal=ANYONE).confidence > 0.5


def test_a_hidden_tool_moves_no_confidence() -> None:
    found = []
    for contracts in (TOOLS[:1], TOOLS):
        index = ToolIndex.create(None, rules=RuleBook.public(), encoder="hashed")
        index.add(contracts)
        asked = SearchRequest(text="order number", restrict={"tools": ["s/orders.get"]})
        found.append(index.search(asked, principal=ANYONE).confidence)
    assert found[0] == found[1] > 0


def test_an_empty_catalogue_has_none() -> None:
    index = ToolIndex.create(None, rules=RuleBook.public(), encoder="hashed")
    assert index.search("anything", principal=ANYONE).confidence == 0.0
