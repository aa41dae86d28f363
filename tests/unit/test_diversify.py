"""A small set that differs inside and covers every clause."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.search.inputs.readiness import Readiness
from toolsearch.search.rank.diversify import COVER_BONUS, Folded, Likeness, diversify, in_covering_order, jaccard
from toolsearch.search.rank.rerank import Evidence, Scored


def scored(doc_id: int, value: float, *, clauses: tuple[int, ...] = (), relevance: float | None = None) -> Scored:
    evidence = Evidence(doc_id, {}, frozenset(), None, (), (), (), Readiness(1.0, 0, {}, ()), clauses)
    return Scored(doc_id, value, value if relevance is None else relevance, {}, evidence, clauses)


def like(name: str, words: str, effect: int = 1) -> Likeness:
    return Likeness(frozenset(name.split()), frozenset(words.split()), effect)


DISTINCT = {at: like(f"tool{at}", f"word{at}") for at in range(30)}


def chosen(
    *items: Scored,
    likeness: Mapping[int, Likeness] = DISTINCT,
    size: int = 3,
    clauses: int = 0,
    floor: float = 0.2,
) -> list[Folded]:
    return diversify(items, likeness=lambda doc_id: likeness[doc_id], size=size, clauses=clauses, floor=floor)


def ids(found: list[Folded]) -> list[int]:
    return [item.best.doc_id for item in found]


def test_overlap() -> None:
    assert jaccard({"a", "b"}, {"b", "c"}) == pytest.approx(1 / 3)
    assert jaccard(set(), set()) == 1.0
    assert jaccard({"a"}, set()) == 0.0


def test_the_best_come_first_and_the_irrelevant_not_at_all() -> None:
    items = [scored(0, 0.9), scored(1, 0.8, relevance=0.1), scored(2, 0.7), scored(3, 0.6), scored(4, 0.5)]
    assert ids(chosen(*items)) == [0, 2, 3]
    assert ids(chosen(*items, size=1)) == [0]
    assert chosen() == []
    assert chosen(scored(0, 0.1)) == []


def test_the_same_tool_on_two_servers_is_folded() -> None:
    words = "get order look up one order by id"
    likeness = {0: like("get order", words), 1: like("get order", words + " fast"), 2: like("other", "weather report")}
    found = chosen(scored(0, 0.9), scored(1, 0.8), scored(2, 0.7), likeness=likeness)
    assert ids(found) == [0, 2]
    ((twin, similarity),) = found[0].alternatives
    assert twin.doc_id == 1
    assert 0.6 < similarity < 1.0
    assert found[1].alternatives == ()


def test_look_alikes_with_another_effect_or_another_name_stay_apart() -> None:
    words = "create or delete one record of the shared customer database by its id now"
    likeness = {
        0: like("create record", words + " create", 2),
        1: like("delete record", words + " remove", 2),
        2: like("create record", words + " create", 1),
    }
    assert ids(chosen(scored(0, 0.9), scored(1, 0.8), scored(2, 0.7), likeness=likeness)) == [0, 1, 2]


def test_likeness_is_symmetric() -> None:
    one, other = like("a", "x y z"), like("a", "x y z w")
    assert one.similarity(other) == other.similarity(one) == pytest.approx(0.75)
    assert one.similarity(like("b", "x y z")) == 1.0
    assert one.similarity(like("a", "p q")) == 0.0


def test_the_best_tool_of_each_clause_takes_part() -> None:
    items = [
        scored(0, 0.9, clauses=(0,)),
        scored(1, 0.8, clauses=(0,)),
        scored(2, 0.7, clauses=(0,)),
        scored(3, 0.4, clauses=(1,)),
        scored(4, 0.3, clauses=(2,)),
    ]
    assert ids(chosen(*items, clauses=3)) == [0, 3, 4]
    assert ids(chosen(*items, clauses=3, size=4)) == [0, 1, 3, 4]
    assert ids(chosen(*items, clauses=3, size=2)) == [0, 3]


def test_a_clause_nobody_answers_takes_no_place() -> None:
    items = [scored(0, 0.9, clauses=(0,)), scored(1, 0.8), scored(2, 0.7)]
    assert ids(chosen(*items, clauses=2)) == [0, 1, 2]


def test_one_tool_may_answer_two_clauses() -> None:
    items = [scored(0, 0.9, clauses=(0, 1)), scored(1, 0.8, clauses=(1,))]
    assert ids(chosen(*items, clauses=2, size=1)) == [0]


def test_the_first_few_cover_the_clauses() -> None:
    items = [scored(0, 0.9, clauses=(0,)), scored(1, 0.88, clauses=(0,)), scored(2, 0.8, clauses=(1,)), scored(3, 0.7)]
    ordered = in_covering_order(items, scored=lambda item: item, clauses=2)
    assert [item.doc_id for item in ordered] == [0, 2, 1, 3]
    assert in_covering_order(items, scored=lambda item: item, clauses=0) == items
    assert ids(chosen(*items, size=2, clauses=2)) == [0, 2]


def test_a_tool_far_below_is_not_put_forward() -> None:
    far = 0.9 - COVER_BONUS / 2 - 0.01
    items = [scored(0, 0.9, clauses=(0,)), scored(1, 0.9, clauses=(0,)), scored(2, far, clauses=(1,))]
    assert [item.doc_id for item in in_covering_order(items, scored=lambda item: item, clauses=2)] == [0, 1, 2]


@given(st.lists(st.tuples(st.floats(0, 1), st.sets(st.integers(0, 3))), max_size=12))
def test_covering_order_moves_and_loses_nothing_else(drawn: list[tuple[float, set[int]]]) -> None:
    best_first = sorted(drawn, key=lambda pair: -pair[0])
    items = [scored(at, value, clauses=tuple(sorted(clauses))) for at, (value, clauses) in enumerate(best_first)]
    ordered = in_covering_order(items, scored=lambda item: item, clauses=4)
    assert sorted(item.doc_id for item in ordered) == [item.doc_id for item in items]
    idle = [item.doc_id for item in ordered if not item.clauses]
    assert idle == sorted(idle)
