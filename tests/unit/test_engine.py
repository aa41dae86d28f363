"""ToolIndex: opening, changing, asking, and many threads at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from toolsearch.engine.search import ToolIndex
from toolsearch.model.answer import CandidateSet
from toolsearch.model.contract import ToolContract
from toolsearch.model.errors import (
    ContractError,
    EncoderMismatch,
    IndexLocked,
    IndexMissing,
    IndexStateError,
    RequestError,
    UnknownTool,
    UnknownTrace,
)
from toolsearch.model.reasons import ReasonCode
from toolsearch.model.request import Mode, Outcome, Principal, SearchRequest
from toolsearch.search.visibility.rules import ADMIN_ROLE, Rule, RuleBook, RuleEffect, ToolScope
from toolsearch.text.embed.hashed import HashedEncoder
from toolsearch.text.embed.protocol import EncoderInfo

ANN, BOB = Principal(subject="ann", tenant="acme"), Principal(subject="bob", tenant="acme")
ADMIN = Principal(subject="root", roles=(ADMIN_ROLE,))
PUBLIC = RuleBook.public()


def contract(name: str, does: str, *, server: str = "shop", version: int = 1) -> ToolContract:
    return ToolContract.model_validate(
        {
            "identity": {"name": name, "server": server, "version": version},
            "capability": {"does": does},
            "execution": {"side_effect": "read_only"},
        }
    )


ORDERS = contract("orders.get", "look up one order by its number")
WEATHER = contract("weather.now", "tell the weather of a city")
INVOICES = contract("invoices.list", "list the invoices of a customer")


@pytest.fixture
def index() -> Iterator[ToolIndex]:
    with ToolIndex.create(None, rules=PUBLIC, encoder="hashed") as index:
        index.add([ORDERS, WEATHER, INVOICES])
        yield index


def refs(answer: CandidateSet) -> list[str]:
    return [candidate.ref for candidate in answer.candidates]


# Opening ------------------------------------------------------------------------------------------------------------


def test_an_index_is_created_once(tmp_path: Path) -> None:
    with ToolIndex.create(tmp_path / "i", rules=PUBLIC, encoder="hashed") as index:
        index.add([ORDERS])
    with pytest.raises(IndexStateError, match="already holds an index"):
        ToolIndex.create(tmp_path / "i", encoder="hashed")
    with ToolIndex.create(tmp_path / "i", encoder="hashed", exist_ok=True) as index:
        assert index.status().tools == 1
        assert index.rules == PUBLIC


def test_an_unknown_encoder_leaves_no_index_behind(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="no encoder 'nope'"):
        ToolIndex.create(tmp_path / "i", encoder="nope")
    with ToolIndex.create(tmp_path / "i", encoder="hashed") as index:
        assert index.status().tools == 0


def test_what_was_written_is_there_again(tmp_path: Path) -> None:
    with ToolIndex.create(tmp_path, rules=PUBLIC, encoder="hashed") as index:
        index.add([ORDERS, WEATHER])
        index.record_outcome(Outcome(ref="orders.get", status="tool_error", at="2026-09-17T09:00:00Z"), principal=ANN)
        answer = index.search(SearchRequest(text="look up an order", now="2026-09-17T10:00:00Z"), principal=ANN)
        before = index.status()
    with ToolIndex.open(tmp_path) as index:
        assert index.status() == before
        again = index.search(SearchRequest(text="look up an order", now="2026-09-17T10:00:00Z"), principal=ANN)
        assert again.candidates == answer.candidates
        assert index.decision(answer.trace_id, principal=ANN)["answer"]["candidates"][0]["ref"] == "shop/orders.get@1"


def test_no_index_to_open(tmp_path: Path) -> None:
    with pytest.raises(IndexMissing, match="make one with"):
        ToolIndex.open(tmp_path)


class OtherEncoder(HashedEncoder):
    """The same vectors under another name."""

    @property
    def info(self) -> EncoderInfo:
        """Return the identity."""
        known = super().info
        return EncoderInfo(
            id="other@1",
            dim=known.dim,
            sha256="1" * 64,
            scripts=known.scripts,
            cosine_floor=known.cosine_floor,
            cosine_ceiling=known.cosine_ceiling,
        )


def test_another_encoder_needs_a_rebuild(tmp_path: Path) -> None:
    with ToolIndex.create(tmp_path, rules=PUBLIC, encoder="hashed") as index:
        index.add([ORDERS])
    with pytest.raises(EncoderMismatch, match="rebuild"):
        ToolIndex.open(tmp_path, encoder=OtherEncoder())
    with ToolIndex.open(tmp_path, encoder=OtherEncoder(), rebuild=True) as index:
        assert index.status().encoder == "other@1"
        assert refs(index.search("look up an order", principal=ANN)) == ["shop/orders.get@1"]
    with pytest.raises(EncoderMismatch, match="pass it to open"):
        ToolIndex.open(tmp_path)


def test_an_open_index_is_owned(tmp_path: Path) -> None:
    ToolIndex.create(tmp_path, rules=PUBLIC, encoder="hashed").close()
    with ToolIndex.open(tmp_path, read_only=True) as reader:
        assert reader.status().tools == 0
    with ToolIndex.open(tmp_path):
        try:
            second = ToolIndex.open(tmp_path, read_only=True)
        except (IndexLocked, IndexStateError):
            return
        second.close()


def test_a_read_only_index_answers_and_writes_nothing(tmp_path: Path) -> None:
    with ToolIndex.create(tmp_path, rules=PUBLIC, encoder="hashed") as index:
        index.add([ORDERS])
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with ToolIndex.open(tmp_path, read_only=True) as index:
        answer = index.search("look up an order", principal=ANN)
        assert refs(answer) == ["shop/orders.get@1"]
        with pytest.raises(IndexStateError):
            index.add([WEATHER])
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_closed_index_gives_its_folder_free(tmp_path: Path) -> None:
    with ToolIndex.create(tmp_path, rules=PUBLIC, encoder="hashed") as index:
        index.add([ORDERS])
    with ToolIndex.open(tmp_path) as index:
        index.add([WEATHER])
    with ToolIndex.open(tmp_path) as index:
        assert index.status().tools == 2


# Changing -----------------------------------------------------------------------------------------------------------


def test_add_replace_and_remove_are_reported(index: ToolIndex) -> None:
    changed = contract("orders.get", "look up one order and its parcels")
    added = contract("orders.cancel", "cancel one order")
    report = index.add([changed, WEATHER, added])
    assert (report.added, report.replaced, report.unchanged, report.removed) == (
        ("shop/orders.cancel@1",),
        ("shop/orders.get@1",),
        ("shop/weather.now@1",),
        (),
    )
    assert index.tool("orders.get", principal=ANN) == changed
    assert index.remove(["orders.cancel", "shop/weather.now"]).removed == ("shop/orders.cancel@1", "shop/weather.now@1")
    assert [tool.ref for tool in index.tools(principal=ANN)] == ["shop/invoices.list@1", "shop/orders.get@1"]


def test_an_unchanged_catalogue_is_no_new_generation(index: ToolIndex) -> None:
    before = index.status().generation
    assert index.add([ORDERS]).generation == before
    assert index.replace_all([INVOICES, WEATHER, ORDERS]).removed == ()
    assert index.status().generation == before


def test_replace_all_removes_the_others(index: ToolIndex) -> None:
    report = index.replace_all([ORDERS])
    assert report.removed == ("shop/invoices.list@1", "shop/weather.now@1")
    assert "shop/weather.now@1" not in refs(index.search("weather of a city", principal=ANN))


def test_a_wrong_change_changes_nothing(index: ToolIndex) -> None:
    with pytest.raises(UnknownTool):
        index.remove(["orders.get", "no.such.tool"])
    with pytest.raises(ContractError):
        index.add([contract("twin", "one"), contract("twin", "other")])
    assert index.status().tools == 3


def test_a_removed_tool_leaves_at_once(index: ToolIndex) -> None:
    assert refs(index.search("weather of a city", principal=ANN))[0] == "shop/weather.now@1"
    index.remove(["weather.now"])
    assert "shop/weather.now@1" not in refs(index.search("weather of a city", principal=ANN))
    with pytest.raises(UnknownTool):
        index.tool("weather.now", principal=ANN)


def test_the_newest_version_is_meant_by_a_bare_name(index: ToolIndex) -> None:
    index.add([contract("orders.get", "newer", version=2)])
    assert index.tool("orders.get", principal=ANN).identity.version == 2
    assert index.tool("shop/orders.get@1", principal=ANN) == ORDERS


def test_a_name_on_two_servers_must_be_spelled_out(index: ToolIndex) -> None:
    index.add([contract("orders.get", "elsewhere", server="crm")])
    with pytest.raises(RequestError, match=r"crm/orders\.get, shop/orders\.get"):
        index.tool("orders.get", principal=ANN)
    assert index.tool("crm/orders.get", principal=ANN).identity.server == "crm"


def test_new_rules_are_obeyed_by_the_next_search(index: ToolIndex) -> None:
    deny = Rule(id="no-weather", effect=RuleEffect.DENY, reason="so", tools=ToolScope(names=("weather.*",)))
    index.set_rules(RuleBook(rules=(*PUBLIC.rules, deny)))
    assert "shop/weather.now@1" not in refs(index.search("weather of a city", principal=ANN))
    index.set_rules(RuleBook())
    assert index.search("weather of a city", principal=ANN).visible_tools == 0
    index.set_rules(PUBLIC)
    assert index.search("weather of a city", principal=ANN).visible_tools == 3


class GatedEncoder(HashedEncoder):
    """Embeds documents only after the gate is opened."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.asked = threading.Event()

    def encode_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32[n, dim] once the gate is open."""
        self.asked.set()
        assert self.gate.wait(60)
        return HashedEncoder.encode_documents(self, texts)

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32[n, dim]."""
        return HashedEncoder.encode_documents(self, texts)


def test_words_answer_while_vectors_are_being_built() -> None:
    encoder = GatedEncoder()
    many = [contract(f"orders.get{at}", f"look up order kind{at}") for at in range(40)]
    with ToolIndex.create(None, rules=PUBLIC, encoder=encoder) as index:
        writer = threading.Thread(target=index.add, args=(many,))
        writer.start()
        try:
            assert encoder.asked.wait(60)
            assert index.status().tools == 40
            assert not index.status().vectors_ready
            early = index.search("look up order kind7", principal=ANN)
        finally:
            encoder.gate.set()
            writer.join(60)
        late = index.search("look up order kind7", principal=ANN)
        assert index.status().vectors_ready
        assert refs(early)[0] == refs(late)[0] == "shop/orders.get7@1"
        assert ReasonCode.VECTOR_ABSTAINED in {caution.code for caution in early.candidates[0].cautions}
        assert early.candidates[0].signals["semantic"].weight == 0.0
        assert late.candidates[0].signals["semantic"].weight > 0.0


# Asking -------------------------------------------------------------------------------------------------------------


def test_an_empty_index_answers() -> None:
    with ToolIndex.create(None, rules=PUBLIC, encoder="hashed") as index:
        answer = index.search("anything", principal=ANN)
        assert (answer.outcome, answer.candidates, answer.visible_tools) == ("no_tool", (), 0)
        assert index.rank("anything", principal=ANN) == []
        assert index.tools(principal=ANN) == ()


@pytest.mark.parametrize("mode", Mode)
def test_every_mode_finds_the_tool(index: ToolIndex, mode: Mode) -> None:
    answer = index.search(SearchRequest(text="look up one order by number", mode=mode), principal=ANN)
    assert refs(answer)[0] == "shop/orders.get@1"
    assert {"visibility", "recall", "rerank", "answer"} <= set(answer.timings_ms)


def test_explain_shows_the_score_that_was_used(index: ToolIndex) -> None:
    request = SearchRequest(text="look up one order by its number", now="2026-09-17T10:00:00Z")
    answer = index.search(request, principal=ANN)
    for candidate in answer.candidates:
        told = index.explain(request, ref=candidate.ref, principal=ANN)
        assert told.score.value == candidate.score
        assert told.returned
        assert sum(part.value for part in told.score.details) == pytest.approx(candidate.score, abs=1e-12)
    other = index.explain(request, ref="weather.now", principal=ANN)
    assert other.score.value < answer.candidates[0].score


def test_outcomes_move_reliability_at_once(index: ToolIndex) -> None:
    request = SearchRequest(text="look up one order", now=datetime.now(UTC))
    before = index.search(request, principal=ANN).candidates[0]
    for _ in range(10):
        index.record_outcome(Outcome(ref="orders.get", status="timeout"), principal=ANN)
    after = index.search(request.model_copy(update={"now": datetime.now(UTC)}), principal=ANN).candidates[0]
    assert after.ref == before.ref == "shop/orders.get@1"
    assert after.signals["reliability"].value < before.signals["reliability"].value == 0.8
    assert after.score < before.score
    assert ReasonCode.UNRELIABLE in {reason.code for reason in after.reasons}
    for _ in range(10):
        index.record_outcome(Outcome(ref="shop/orders.get@1", status="rejected"), principal=ANN)
    again = index.search(request.model_copy(update={"now": datetime.now(UTC)}), principal=ANN).candidates[0]
    assert again.signals["reliability"].value == pytest.approx(after.signals["reliability"].value, abs=1e-6)


def test_outcomes_of_unknown_tools_are_refused(index: ToolIndex) -> None:
    with pytest.raises(UnknownTool):
        index.record_outcome(Outcome(ref="no.such", status="success"), principal=ANN)


def test_a_decision_is_for_who_asked_and_for_administrators(index: ToolIndex) -> None:
    answer = index.search(SearchRequest(text="look up one order", trace_id="trace-0001"), principal=ANN)
    record = index.decision("trace-0001", principal=ANN)
    assert record == index.decision("trace-0001", principal=ADMIN)
    assert record["request"]["text"] == "look up one order"
    assert CandidateSet.model_validate(record["answer"]) == answer
    texts = []
    for principal, trace_id in (
        (BOB, "trace-0001"),
        (ANN.model_copy(update={"tenant": "globex"}), "trace-0001"),
        (ANN, "trace-9999"),
    ):
        with pytest.raises(UnknownTrace) as caught:
            index.decision(trace_id, principal=principal)
        texts.append(str(caught.value).replace(trace_id, "X"))
    assert len(set(texts)) == 1


def test_a_trace_id_belongs_to_who_used_it_first(index: ToolIndex) -> None:
    request = SearchRequest(text="look up one order", trace_id="trace-0001")
    index.search(request, principal=ANN)
    index.search(request.model_copy(update={"text": "weather"}), principal=ANN)
    assert index.decision("trace-0001", principal=ANN)["request"]["text"] == "weather"
    with pytest.raises(RequestError, match="in use"):
        index.search(request, principal=BOB)


def test_trace_ids_are_distinct(index: ToolIndex) -> None:
    assert len({index.search("order", principal=ANN).trace_id for _ in range(20)}) == 20


# Threads ------------------------------------------------------------------------------------------------------------


def test_two_threads_search_while_a_third_changes_the_catalogue(index: ToolIndex) -> None:
    stop, errors, answers = threading.Event(), [], []

    def search() -> None:
        try:
            while not stop.is_set():
                answer = index.search("look up one order by its number", principal=ANN)
                assert refs(answer)[0] == "shop/orders.get@1"
                assert answer.visible_tools in range(3, 24)
                answers.append(answer.visible_tools)
        except BaseException as error:  # noqa: BLE001 - reported by the main thread
            errors.append(error)

    threads = [threading.Thread(target=search) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for at in range(20):
            index.add([contract(f"extra{at}", "something quite different")])
        index.remove([f"extra{at}" for at in range(20)])
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)
    assert errors == []
    assert answers
    assert index.status().tools == 3


def test_a_record_that_names_a_tool_now_hidden_is_unknown() -> None:
    index = ToolIndex.create(None, rules=RuleBook.public(), encoder="hashed")
    index.add(
        [ToolContract.model_validate({"identity": {"name": "refund"}, "capability": {"does": "refund an order"}})]
    )
    who = Principal(subject="s")
    trace_id = index.search("refund an order", principal=who).trace_id
    assert index.decision(trace_id, principal=who)["answer"]["candidates"]
    index.set_rules(RuleBook())
    with pytest.raises(UnknownTrace):
        index.decision(trace_id, principal=who)
    admin = Principal(subject="root", roles=("toolsearch-admin",))
    assert index.decision(trace_id, principal=admin)["answer"]["candidates"]
