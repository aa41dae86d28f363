"""What a conversation costs where the prefix of a prompt is cached."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.prompt_cache.cost import Cost, Prices, Prompt, cost, only_appended, shared

A, B, C = "a" * 400, "b" * 800, "c" * 1200  # 100, 200 and 300 tokens
EXACT = Prices(cached=0.1, fresh=1.25, least=0)
blocks = st.lists(st.sampled_from([A, B, C, "d", "e"]), max_size=6)


def test_a_common_prefix_is_read_from_the_cache() -> None:
    prompts = [Prompt(tools=(A,), messages=(B,)), Prompt(tools=(A,), messages=(B, C))]
    assert cost(prompts, prices=EXACT) == Cost(read=900, cached=300, paid=30 + 600 * 1.25)


def test_a_tool_in_front_moves_the_messages_out_of_the_cache() -> None:
    prompts = [Prompt(tools=(A,), messages=(B,)), Prompt(tools=(A, C), messages=(B,))]
    assert cost(prompts, prices=EXACT).cached == 100


def test_a_gap_ends_the_prefix() -> None:
    assert shared((A, B, C), (A, C, B)) == [A]


def test_a_short_prefix_is_not_cached() -> None:
    prompts = [Prompt(tools=(A,)), Prompt(tools=(A,))]
    assert cost(prompts, prices=Prices(least=101)).cached == 0
    assert cost(prompts, prices=Prices(least=100)).cached == 100


def test_nothing_costs_nothing() -> None:
    assert cost([], prices=EXACT) == Cost(read=0, cached=0, paid=0)


@given(before=blocks, more=blocks)
def test_appending_is_told(before: list[str], more: list[str]) -> None:
    assert only_appended(before, before + more)


@given(before=blocks, after=blocks)
def test_what_is_only_appended_begins_with_the_same_bytes(before: list[str], after: list[str]) -> None:
    assert only_appended(before, after) == (after[: len(before)] == before)


@given(before=blocks, more=blocks)
def test_what_left_may_be_missing(before: list[str], more: list[str]) -> None:
    kept = [entry for entry in before if entry != A]
    assert only_appended(before, kept + more, left=[A])
