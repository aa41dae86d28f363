"""Sizes and risks: the exposure table of the design, row by row."""

from __future__ import annotations

import pytest

from toolsearch.model.contract import ToolContract
from toolsearch.model.limits import SearchLimits
from toolsearch.model.reasons import ReasonCode
from toolsearch.search.index.catalog import Catalog
from toolsearch.search.index.columns import Columns, build_columns
from toolsearch.search.inputs.readiness import Missing, Readiness
from toolsearch.search.rank.diversify import Folded
from toolsearch.search.rank.expose import CLEAR_SHARE, LEAST, Exposed, expose, situation_size
from toolsearch.search.rank.rerank import Evidence, Scored

LIMITS = SearchLimits()


def columns(*effects: str | None) -> Columns:
    return build_columns(
        Catalog.of(
            ToolContract.model_validate(
                {
                    "identity": {"name": f"tool{at:02d}"},
                    "execution": {} if effect is None else {"side_effect": effect},
                }
            )
            for at, effect in enumerate(effects)
        )
    )


def item(doc_id: int, value: float, *missing: Missing) -> Folded:
    readiness = Readiness(1.0, len(missing), {}, missing)
    return Folded(
        Scored(doc_id, value, value, {}, Evidence(doc_id, {}, frozenset(), None, (), (), (), readiness, ()), ())
    )


def shown(*items: Folded, effects: tuple[str | None, ...], k: int | None = None, clauses: int = 0) -> Exposed:
    return expose(items, k=k, clauses=clauses, columns=columns(*effects), limits=LIMITS)


def ids(exposed: Exposed) -> list[int]:
    return [offered.best.doc_id for offered in exposed.offered]


READ, WRITE, FOREVER = "read_only", "reversible", "irreversible"
ASKED = Missing("amount", (), forbidden=False)
FORBIDDEN = Missing("amount", (), forbidden=True)


@pytest.mark.parametrize(
    ("k", "clauses", "size"), [(None, 0, LIMITS.few), (None, 2, LIMITS.many), (1, 0, 1), (1, 3, 1), (20, 0, 20)]
)
def test_how_many_a_request_may_get(k: int | None, clauses: int, size: int) -> None:
    assert situation_size(k=k, clauses=clauses, limits=LIMITS) == size
    assert (LEAST, LIMITS.few, LIMITS.many, LIMITS.writes) == (3, 5, 8, 2)


def test_clear_intent_and_tools_that_differ_three_to_five() -> None:
    effects = (READ,) * 5
    close = [item(at, 0.9 - at / 100) for at in range(5)]
    assert ids(shown(*close, effects=effects)) == [0, 1, 2, 3, 4]
    apart = [item(0, 0.9), *(item(at, 0.9 * CLEAR_SHARE - 0.01) for at in range(1, 5))]
    assert ids(shown(*apart, effects=effects)) == [0, 1, 2]
    assert ids(shown(*apart[:2], effects=effects)) == [0, 1]


def test_several_tools_to_combine_up_to_eight() -> None:
    items = [item(at, 0.9 - at / 10) for at in range(8)]
    assert len(shown(*items, effects=(READ,) * 8, clauses=2).offered) == 8


def test_a_risky_write_comes_after_the_read_only_tool_that_confirms_it() -> None:
    found = shown(item(0, 0.9, ASKED), item(1, 0.8), item(2, 0.7), effects=(FOREVER, WRITE, READ))
    assert ids(found) == [2, 0, 1]
    assert found.offered[0].best.evidence.notes[0].code is ReasonCode.CONFIRMS_WRITE


def test_a_risky_write_with_all_its_inputs_stays_first() -> None:
    assert ids(shown(item(0, 0.9), item(1, 0.8), effects=(FOREVER, READ))) == [0, 1]
    assert ids(shown(item(0, 0.9, ASKED), item(1, 0.8), effects=(WRITE, READ))) == [0, 1]


def test_a_risky_write_that_lacks_what_must_not_be_guessed_is_held() -> None:
    found = shown(item(0, 0.9, FORBIDDEN), item(1, 0.8), effects=(FOREVER, READ))
    assert ids(found) == [1]
    (held,) = found.held
    assert held.item.best.doc_id == 0
    assert held.reason.code is ReasonCode.PRECONDITION
    assert "amount" in held.reason.text
    assert "amount" in held.unlock


def test_without_a_tool_that_confirms_a_write_is_not_held() -> None:
    assert ids(shown(item(0, 0.9, FORBIDDEN), effects=(FOREVER,))) == [0]
    assert ids(shown(item(0, 0.9, FORBIDDEN), item(1, 0.8), effects=(WRITE, READ))) == [0, 1]


def test_at_most_two_write_tools_at_once() -> None:
    items = [item(at, 0.9 - at / 100) for at in range(4)]
    effects = (WRITE, FOREVER, WRITE, READ)
    found = shown(*items, effects=effects)
    assert ids(found) == [0, 1, 3]
    assert [held.item.best.doc_id for held in found.held] == [2]
    assert ids(shown(*items, effects=effects, k=4)) == [0, 1, 2, 3]


def test_tools_whose_effect_nobody_stated_do_not_use_up_the_writes() -> None:
    items = [item(at, 0.9 - at / 100) for at in range(4)]
    assert ids(shown(*items, effects=(None,) * 4)) == [0, 1, 2, 3]


def test_nothing_fits() -> None:
    assert shown(effects=(READ,)) == Exposed((), ())


def test_one_only_when_the_caller_asks_for_one() -> None:
    assert ids(shown(item(0, 0.9), item(1, 0.1), effects=(READ, READ))) == [0, 1]
    assert ids(shown(item(0, 0.9), effects=(READ,), k=1)) == [0]
