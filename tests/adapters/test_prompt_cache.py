"""The block of tools of every adapter changes only by appending; a revoked tool leaves it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

pytest.importorskip("agents")
pytest.importorskip("langchain")
pytest.importorskip("llama_index.core")
pytest.importorskip("pydantic_ai")

from benchmarks.prompt_cache import world
from benchmarks.prompt_cache.conversation import REVOKED_BEFORE, TOPICS, UPDATE_BEFORE, spoken
from benchmarks.prompt_cache.conversing import Transcript, converse, names
from benchmarks.prompt_cache.cost import Prices
from benchmarks.prompt_cache.harnesses import ADAPTERS, BASELINES, Harness
from benchmarks.prompt_cache.report import Table, report
from benchmarks.prompt_cache.world import World
from toolsearch import ToolIndex

pytestmark = [pytest.mark.extras, pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecationWarning")]

SAID = (
    "Where is the parcel of order ORD-20260917?",
    "查一下客户 C-204817 的资料 get customer profile",
    "订单 ORD-20260918 的详情给我看一下",
    "Get me the customs declaration of order ORD-20260918",
    "再查一下客户 C-204817 的手机号",
    "Find open tickets about damaged parcels",
    "杭州现在天气怎么样？",
)
UPDATE, REVOKE = 3, 5


@pytest.fixture(scope="module")
def index() -> Iterator[ToolIndex]:
    with world.opened(None, encoder="hashed") as made:
        yield made


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world, "UPDATE_BEFORE", UPDATE)
    monkeypatch.setattr(world, "REVOKED_BEFORE", REVOKE)


@pytest.mark.parametrize("name", ADAPTERS)
def test_the_block_changes_only_by_appending(name: str, index: ToolIndex) -> None:
    made = converse(index, ADAPTERS[name], said=SAID)
    per_turn = len(made.calls) // len(SAID)
    searched = REVOKE * per_turn - 1  # the call after the first search without the right
    assert made.broken in ((), (searched,))
    if made.broken:
        assert made.left == ("crm_get_customer", "crm_search_customers")[: len(made.left)]
    assert names(made.calls[0].block) == names(made.calls[-1].block)[: len(made.calls[0].block)]


@pytest.mark.parametrize("name", [name for name in ADAPTERS if "deferred" not in name])
def test_the_conversation_has_what_it_is_to_show(name: str, index: ToolIndex) -> None:
    """Tools come and one goes, the new tool is found, and the reworded one stays as it was."""
    made = converse(index, ADAPTERS[name], said=SAID)
    assert made.broken == (REVOKE - 1,)
    assert made.changed >= 4
    assert "crm_get_customer" in names(made.calls[REVOKE - 2].block)
    assert "orders_customs_declaration" in names(made.calls[-1].block)
    assert "Since this release also the carrier" not in "".join(made.calls[-1].block)


def test_every_harness_begins_with_the_same_catalogue(index: ToolIndex) -> None:
    def once() -> Transcript:
        return converse(index, BASELINES["all tools"], said=SAID)

    first, second = once(), once()
    assert first == second
    assert "Since this release also the carrier" in "".join(first.calls[-1].block)
    assert "orders_customs_declaration" not in names(first.calls[0].block)


def test_a_harness_that_chooses_anew_is_found_out(index: ToolIndex) -> None:
    begin: Callable[[World], Harness] = BASELINES["fresh top-k each turn"]
    assert len(converse(index, begin, said=SAID).broken) > 2


def test_thirty_turns() -> None:
    assert len(spoken()) == 30
    assert sorted(spoken(seed=7)) == sorted(spoken())
    assert spoken(seed=7) == spoken(seed=7) != spoken()
    assert spoken(seed=7)[: 2 * len(TOPICS[0])] == spoken()[: 2 * len(TOPICS[0])]
    assert UPDATE_BEFORE < REVOKED_BEFORE < 30


def test_the_page_names_seed_catalogue_and_what_left(index: ToolIndex) -> None:
    shown = {**BASELINES, "OpenAI Chat Completions": ADAPTERS["OpenAI Chat Completions"]}
    sent = {name: converse(index, begin, said=SAID) for name, begin in shown.items()}
    made = Table(catalogue="starter", visible=40, transcripts=sent)
    page = report([made], prices=Prices(), seed=3, turns=len(SAID), encoder="hashed")
    assert "7 turns, seed 3" in page
    assert "## starter: 40 visible tools" in page
    rows = {
        row.split(" | ")[0].removeprefix("| "): row.split(" | ") for row in page.splitlines() if row.startswith("|")
    }
    assert rows["all tools"][-2] == "100%"
    assert rows["fresh top-k each turn"][-1] == "100% |"
    assert rows["OpenAI Chat Completions"][5].startswith("1 (`crm_get_customer`")
