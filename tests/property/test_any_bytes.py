"""Invariant 11: whatever is sent gets a clear error or an answer, never a crash or a hang, and nothing is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from invariant_oracle import public_index
from pydantic import ValidationError
from strategies import texts

from toolsearch.engine.search import ToolIndex
from toolsearch.model.contract import ToolContract
from toolsearch.model.errors import ToolSearchError
from toolsearch.model.request import Outcome, OutcomeStatus, Principal, SearchRequest

ANYONE = Principal()


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None), max_size=20),
    nested,
    max_leaves=8,
)
near_requests = st.fixed_dictionaries(
    {"text": st.one_of(texts(), st.text(st.characters(codec=None), max_size=200), json_values)},
    optional={
        name: st.one_of(json_values, st.dictionaries(st.sampled_from(("order_id", "city", "x")), json_values))
        for name in SearchRequest.model_fields
        if name != "text"
    },
)


@pytest.fixture(scope="module")
def sturdy() -> Iterator[ToolIndex]:
    effects = ("read_only", "irreversible", None)
    made = [
        ToolContract.model_validate(
            {
                "identity": {"name": f"orders.{at}", "server": "alpha"},
                "capability": {"does": "cancel order 订单", "does_not": ["refund"], "examples": ["cancel my order"]},
                "input": {
                    "required": ["order_id", "city", "x"],
                    "schema": {"properties": {"order_id": {"pattern": "(a+)+$"}, "city": {"format": "email"}}},
                },
                "execution": {} if effect is None else {"side_effect": effect},
            }
        )
        for at, effect in enumerate(effects)
    ]
    with public_index(made) as index:
        yield index


def answers_or_errs(call: Any) -> None:
    try:
        call()
    except (ToolSearchError, ValidationError) as error:
        told_nothing = not str(error)
    else:
        return
    assert not told_nothing


@settings(max_examples=150, deadline=None)
@given(near_requests)
def test_11_any_request_gives_an_answer_or_a_clear_error(sturdy: ToolIndex, shaped: dict[str, Any]) -> None:
    answers_or_errs(lambda: sturdy.search(SearchRequest.model_validate(shaped), principal=ANYONE))
    answers_or_errs(lambda: sturdy.search(SearchRequest.model_validate_json(json.dumps(shaped)), principal=ANYONE))
    assert sturdy.search("cancel my order", principal=ANYONE).candidates
    assert sturdy.status().tools == 3


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.text(st.characters(codec=None), max_size=300), st.text("order/@1 .\x00(a)", max_size=20)))
def test_11_any_name_gives_an_answer_or_a_clear_error(sturdy: ToolIndex, text: str) -> None:
    for call in (
        lambda: sturdy.search(text, principal=ANYONE),
        lambda: sturdy.tool(text, principal=ANYONE),
        lambda: sturdy.why_not(text, principal=ANYONE, asked_by=ANYONE),
        lambda: sturdy.why_not(text, principal=ANYONE, asked_by=Principal(roles=("toolsearch-admin",))),
        lambda: sturdy.explain("cancel", ref=text, principal=ANYONE),
        lambda: sturdy.decision(text, principal=ANYONE),
        lambda: sturdy.remove([f"{text}?"]),
        lambda: sturdy.record_outcome(Outcome(ref=text, status="success"), principal=ANYONE),
        lambda: sturdy.search(SearchRequest(text="order", trace_id=text), principal=ANYONE),
    ):
        answers_or_errs(call)
    assert sturdy.status().tools == 3


@settings(max_examples=100, deadline=None)
@given(st.datetimes(timezones=st.timezones()), st.floats(), st.sampled_from(OutcomeStatus))
def test_11_any_moment_is_taken(sturdy: ToolIndex, at: Any, latency: float, status: OutcomeStatus) -> None:
    answers_or_errs(
        lambda: sturdy.record_outcome(
            Outcome(ref="orders.0", status=status, at=at, latency_ms=latency), principal=ANYONE
        )
    )
    answers_or_errs(lambda: sturdy.search(SearchRequest(text="cancel my order", now=at), principal=ANYONE))
    assert 0.0 <= sturdy.rank("cancel my order", principal=ANYONE)[0][1] <= 1.0


HOSTILE = {
    "spaces": "cancel" + " " * 7_900 + "order",
    "commas": "cancel ," * 990,
    "letters": "a" * 8_000,
    "digits": "1" * 8_000,
    "dots": "1." * 4_000,
    "hyphens": "a-" * 4_000,
    "quotes": "'\"" * 4_000,
    "lines": "\n \r\n" * 1_900 + "x",
    "steps": "then order " * 700,
    "han": "，订" * 4_000,
    "names": "a_b " * 2_000,
}


@pytest.mark.parametrize("kind", sorted(HOSTILE))
def test_11_a_long_hostile_request_does_not_hang(sturdy: ToolIndex, kind: str) -> None:
    # Quadratic or worse reading of 8,000 characters would take minutes here and fail the run's time limit.
    assert sturdy.search(HOSTILE[kind], principal=ANYONE).visible_tools == 3
