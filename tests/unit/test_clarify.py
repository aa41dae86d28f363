"""The questions of an answer: which inputs are asked for, and which of two domains is meant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.engine.search import ToolIndex
from toolsearch.model.answer import CandidateSet, Clarify, OutcomeKind
from toolsearch.model.contract import ToolContract
from toolsearch.model.limits import SearchLimits
from toolsearch.model.request import Mode, Principal, SearchRequest
from toolsearch.search.rank.ties import domain_of, tied_domains, which_domain
from toolsearch.search.visibility.rules import RuleBook

ANN = Principal(subject="ann")
BOSS = Principal(subject="boss", scopes=("secret",))
TIES = SearchLimits(relevance_floor=0.01, words_floor=0.01, min_confidence=0.0, domain_tie=0.05)


def contract(name: str, does: str, *, domain: str = "", server: str = "shop", **sections: Any) -> ToolContract:
    identity = {"name": name, "server": server, "domain": domain}
    body = {"capability": {"does": does}, "execution": {"side_effect": "read_only"}, **sections}
    return ToolContract.model_validate({"identity": identity, **body})


KB = contract("search_a", "search the rules for travel expenses 查询报销规定", domain="knowledge")
HR = contract("search_b", "search the rules for travel expenses 查询报销规定!", domain="human_resources")
CLOCK = contract("clock", "tell the time", domain="time")
SECRET = contract(
    "search_c",
    "search the rules for travel expenses 查询报销规定?",
    domain="secrets",
    access={"scopes_all": ["secret"]},
)
DATE = {"schema": {"properties": {"day": {"type": "string", "format": "date"}}}, "required": ["day"]}


def index_of(*contracts: ToolContract, limits: SearchLimits = TIES) -> ToolIndex:
    index = ToolIndex.create(None, rules=RuleBook.public(), encoder="hashed", limits=limits)
    index.add(contracts)
    return index


def ask(index: ToolIndex, text: str, *, principal: Principal = ANN, **options: Any) -> CandidateSet:
    return index.search(SearchRequest(text=text, mode=Mode.LEXICAL, **options), principal=principal)


@pytest.fixture(scope="module")
def index() -> Iterator[ToolIndex]:
    with index_of(KB, HR, CLOCK) as index:
        yield index


# Two domains --------------------------------------------------------------------------------------------------------


def test_a_tie_of_two_domains_is_asked_about(index: ToolIndex) -> None:
    answer = ask(index, "rules for travel expenses")
    assert answer.outcome is OutcomeKind.CLARIFY
    assert answer.clarify is not None
    assert set(answer.clarify.domains) == {"knowledge", "human_resources"}
    assert answer.clarify.fields == ()
    assert answer.clarify.ref == answer.candidates[0].ref
    assert len(answer.candidates) >= 2
    assert all(domain in answer.clarify.question and domain in answer.message for domain in answer.clarify.domains)


def test_the_question_is_in_the_language_of_the_request(index: ToolIndex) -> None:
    asked = ask(index, "查询报销规定").clarify
    assert asked is not None
    assert "请问是哪一个" in asked.question
    assert which_domain(("a", "b"), text="look a up") == "This request may be about a or about b. Which one is meant?"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        pytest.param("human resources rules for travel expenses", {}, id="names a domain"),
        pytest.param("rules for travel expenses of the shop", {}, id="names a server"),
        pytest.param("rules for travel expenses", {"k": 1}, id="one tool is wanted"),
        pytest.param("tell the time", {}, id="one domain fits"),
        pytest.param("tell the time, then search the rules for travel expenses", {}, id="two steps need two domains"),
    ],
)
def test_there_is_nothing_to_decide(index: ToolIndex, text: str, options: dict[str, Any]) -> None:
    answer = ask(index, text, **options)
    assert answer.outcome is OutcomeKind.CANDIDATES
    assert answer.clarify is None


def test_a_margin_of_zero_asks_nothing(index: ToolIndex) -> None:
    silent = index.with_limits(SearchLimits(min_confidence=0.0, domain_tie=0.0))
    assert ask(silent, "rules for travel expenses").clarify is None


def test_a_hidden_domain_is_neither_named_nor_does_it_tie() -> None:
    with index_of(KB, SECRET, CLOCK) as whole, index_of(KB, CLOCK) as visible:
        unstable = {"trace_id", "timings_ms"}
        answers = [ask(one, "rules for travel expenses").model_dump_json(exclude=unstable) for one in (whole, visible)]
        assert answers[0] == answers[1]
        seen = ask(whole, "rules for travel expenses", principal=BOSS).clarify
        assert seen is not None
        assert set(seen.domains) == {"knowledge", "secrets"}


def test_without_a_domain_the_server_stands_for_it() -> None:
    tools = [contract("find", "find", server=name) for name in ("mail", "drive")]
    assert [domain_of(tool) for tool in tools] == ["mail", "drive"]
    offered = [(tools[0], 0.5), (tools[1], 0.5)]
    assert tied_domains(offered, text="look it up", margin=0.01) == ("mail", "drive")
    assert tied_domains(offered, text="look it up in my mail", margin=0.01) == ()


def test_a_tool_that_stands_first_for_other_reasons_than_relevance_ties_with_nothing() -> None:
    assert tied_domains([(KB, 0.40), (HR, 0.41)], text="look it up", margin=0.5) == ()


@given(
    first=st.floats(0, 1),
    others=st.lists(st.tuples(st.sampled_from([KB, HR, CLOCK]), st.floats(0, 1)), max_size=6),
    margin=st.floats(0, 0.5),
)
def test_a_tie_names_two_domains_of_the_offer_and_grows_with_the_margin(
    first: float, others: list[tuple[ToolContract, float]], margin: float
) -> None:
    offered = [(KB, first), *others]
    found = tied_domains(offered, text="look it up", margin=margin)
    if found:
        assert found[0] == "knowledge" != found[1]
        assert found[1] in {domain_of(tool) for tool, _ in others}
        assert tied_domains(offered, text="look it up", margin=margin + 0.1) == found


def test_a_question_about_inputs_has_no_field_for_domains() -> None:
    assert "domains" not in Clarify(ref="a/b@1", fields=("c",), question="?").model_dump()
    assert Clarify(ref="a/b@1", domains=("c", "d"), question="?").model_dump()["domains"] == ("c", "d")


# Inputs -------------------------------------------------------------------------------------------------------------


def dated(name: str, **more: Any) -> ToolContract:
    return contract(name, "sales report of one day with its turnover", input={**DATE, **more})


def test_only_what_the_contract_says_is_asked_for() -> None:
    schema = {"properties": {**DATE["schema"]["properties"], "kind": {"enum": ["net", "gross"]}}}  # type: ignore[index]
    tool = dated("report", schema=schema, required=["day", "kind"], clarification_fields=["kind"])
    with index_of(tool) as index:
        asked = ask(index, "sales report").clarify
        assert asked is not None
        assert asked.fields == ("kind",)
        assert {item.field for item in ask(index, "sales report").candidates[0].inputs.missing} == {"day", "kind"}
        assert ask(index, "gross sales report").outcome is OutcomeKind.CANDIDATES


def test_what_must_not_be_guessed_is_asked_for() -> None:
    ready = contract("dashboard", "sales report of now with its turnover")
    with index_of(dated("report", forbidden_inference_fields=["day"]), ready) as index:
        asked = ask(index, "sales report of one day").clarify
        assert asked is not None
        assert asked.fields == ("day",)


def test_of_a_silent_contract_nothing_is_asked_while_a_near_tool_can_be_called() -> None:
    with index_of(dated("report")) as index:
        assert ask(index, "sales report of one day").outcome is OutcomeKind.CLARIFY
        index.add([contract("dashboard", "sales report of one day, live, with turnover")])
        answer = ask(index, "sales report of one day")
        assert answer.candidates[0].ref == "shop/report@1"
        assert answer.outcome is OutcomeKind.CANDIDATES
