"""Sessions: what was handed out stays, what may not be seen leaves, and nobody else knows."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from toolsearch.contracts.change.rollout import Rollout
from toolsearch.contracts.export import json_tokens
from toolsearch.engine.search import ToolIndex
from toolsearch.engine.sessions import store as store_module
from toolsearch.engine.sessions.names import session_names
from toolsearch.model.answer import CandidateSet, LeftTool
from toolsearch.model.contract import ToolContract, ToolRef
from toolsearch.model.errors import (
    IndexCorrupt,
    IndexStateError,
    RequestError,
    UnknownSession,
    UnknownTool,
    UnknownTrace,
)
from toolsearch.model.limits import SessionLimits
from toolsearch.model.request import DefinitionFormat, Detail, Principal, Restriction, SearchRequest
from toolsearch.search.visibility.rules import Rule, RuleBook, RuleEffect, ToolScope

ANN, BOB = Principal(subject="ann", tenant="acme"), Principal(subject="bob", tenant="acme")
PUBLIC = RuleBook.public()
ONLY_READING = Restriction(max_side_effect="read_only")


def contract(
    name: str, does: str, *, server: str = "shop", version: int = 1, side_effect: str = "read_only", **sections: object
) -> ToolContract:
    return ToolContract.model_validate(
        {
            "identity": {"name": name, "server": server, "version": version},
            "capability": {"does": does},
            "execution": {"side_effect": side_effect},
            **sections,
        }
    )


ORDERS = contract("orders.get", "look up one order by its number")
WEATHER = contract("weather.now", "tell the weather of a city")
INVOICES = contract("invoices.list", "list the invoices of a customer")
ORDERS_REF, WEATHER_REF, INVOICES_REF = map(str, (ORDERS.ref, WEATHER.ref, INVOICES.ref))
NEW_ORDERS = contract("orders.get", "look up one order by its number, with its deliveries")


def hiding(name: str) -> RuleBook:
    secret = Rule(id="secret-rule", effect=RuleEffect.DENY, reason="secret reason", tools=ToolScope(names=(name,)))
    return RuleBook(rules=(*PUBLIC.rules, secret))


@pytest.fixture
def index() -> Iterator[ToolIndex]:
    with ToolIndex.create(None, rules=PUBLIC, encoder="hashed") as index:
        index.add([ORDERS, WEATHER, INVOICES])
        yield index


class Clock:
    """Time that passes when it is told to."""

    def __init__(self, index: ToolIndex) -> None:
        self.now = datetime(2026, 9, 17, tzinfo=UTC)
        index._live.sessions._clock = lambda: self.now
        index._live.sessions._swept = self.now

    def pass_by(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def search(
    index: ToolIndex, text: str, *, session: str = "s1", principal: Principal = ANN, **fields: object
) -> CandidateSet:
    request = SearchRequest.model_validate({"text": text, "session": session, **fields})
    return index.search(request, principal=principal)


def definitions(index: ToolIndex, session: str = "s1", *, principal: Principal = ANN) -> dict[str, str]:
    """Return ref -> definition as text, in the order of the list."""
    return {tool.ref: json.dumps(tool.definition) for tool in index.sessions.get(session, principal=principal).tools}


# The list ----------------------------------------------------------------------------------------------------------


def test_a_list_grows_at_its_end_and_marks_what_is_loaded(index: ToolIndex) -> None:
    first = search(index, "look up an order", k=1)
    assert first.session.created
    assert first.session.refs == first.session.appended == (ORDERS_REF,)
    assert not first.candidates[0].already_loaded
    second = search(index, "weather of a city, and look up the order", k=2)
    assert not second.session.created
    assert second.session.refs == (ORDERS_REF, WEATHER_REF)
    assert second.session.appended == (WEATHER_REF,)
    assert {candidate.ref: candidate.already_loaded for candidate in second.candidates} == {
        ORDERS_REF: True,
        WEATHER_REF: False,
    }
    third = search(index, "look up an order", k=1)
    assert third.session == second.session.model_copy(update={"appended": ()})
    assert third.session.token_metrics.returned == sum(
        json_tokens(tool.definition) for tool in index.sessions.get("s1", principal=ANN).tools
    )


def test_a_search_without_a_session_says_nothing_of_one(index: ToolIndex) -> None:
    answer = index.search("look up an order", principal=ANN)
    assert answer.session is None
    assert '"session"' not in answer.model_dump_json()


def test_tools_that_are_always_on_come_first(index: ToolIndex) -> None:
    index.add([contract("ask.user", "ask the user", capability={"does": "ask the user", "tags": ["always-on"]})])
    answer = search(index, "look up an order", k=1)
    assert answer.session.refs == ("shop/ask.user@1", ORDERS_REF)
    assert not answer.always_on[0].already_loaded
    assert search(index, "weather of a city", k=1).always_on[0].already_loaded


def test_only_what_is_handed_out_is_in_the_list(index: ToolIndex) -> None:
    answer = search(index, "look up an order", k=1, token_budget=0)
    assert [withheld.ref for withheld in answer.withheld] == [ORDERS_REF]
    assert answer.session.refs == ()
    assert search(index, "sing me a song").session.refs == ()


def test_explain_adds_nothing(index: ToolIndex) -> None:
    index.explain(SearchRequest(text="look up an order", session="s1"), ref=ORDERS_REF, principal=ANN)
    with pytest.raises(UnknownSession):
        index.sessions.get("s1", principal=ANN)


def test_the_documented_searches_work(index: ToolIndex) -> None:
    page = (Path(__file__).parents[2] / "docs" / "sessions.md").read_text(encoding="utf-8")
    names = {"index": index, "ann": ANN, "SearchRequest": SearchRequest}
    exec(re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0], names)
    assert names["later"].session.id == "conversation-42"
    assert names["later"].session.tools_hash


# Pinned ------------------------------------------------------------------------------------------------------------


def test_a_pinned_definition_outlives_its_contract(index: ToolIndex) -> None:
    before = search(index, "look up an order", k=1)
    index.add([NEW_ORDERS])
    after = search(index, "look up an order and its deliveries", k=1)
    assert after.candidates[0].definition == before.candidates[0].definition
    assert after.candidates[0].already_loaded
    assert after.session.newer_available == (ORDERS_REF,)
    assert after.session.tools_hash == before.session.tools_hash
    fresh = search(index, "look up an order", session="s2", k=1)
    assert fresh.candidates[0].definition["capability"]["does"].endswith("with its deliveries")
    assert fresh.session.newer_available == ()
    index.add([ORDERS])
    assert search(index, "look up an order", k=1).session.newer_available == ()


def test_format_detail_and_name_stay_those_of_the_first_time(index: ToolIndex) -> None:
    first = search(index, "look up an order", k=1, format="openai", detail="signature")
    again = search(index, "look up an order", k=1, format="anthropic", detail="full")
    assert again.candidates[0].definition == first.candidates[0].definition
    other = search(index, "weather of a city", k=1, format="anthropic")
    assert "input_schema" in other.candidates[0].definition
    assert [(tool.format, tool.detail) for tool in index.sessions.get("s1", principal=ANN).tools] == [
        (DefinitionFormat.OPENAI, Detail.SIGNATURE),
        (DefinitionFormat.ANTHROPIC, Detail.FULL),
    ]


def test_what_a_caller_does_to_a_definition_changes_no_session(index: ToolIndex) -> None:
    answer = search(index, "look up an order", k=1)
    kept = definitions(index)
    answer.candidates[0].definition["capability"]["does"] = "something else"
    index.sessions.get("s1", principal=ANN).tools[0].definition.clear()
    search(index, "look up an order", k=1).candidates[0].definition["capability"].clear()
    assert definitions(index) == kept


def test_a_name_is_given_once(index: ToolIndex) -> None:
    search(index, "look up an order", k=1)
    index.add([contract("orders.get", "find a parcel of the warehouse", server="depot")])
    both = search(index, "find a parcel of the warehouse", k=1)
    assert both.session.refs == (ORDERS_REF, "depot/orders.get@1")
    assert [tool.api_name for tool in index.sessions.get("s1", principal=ANN).tools] == [
        "orders_get",
        "depot__orders_get",
    ]
    index.remove(["depot/orders.get"])
    index.add([contract("depot__orders_get", "find a parcel of the warehouse")])
    last = search(index, "find a parcel of the warehouse", k=1)
    assert last.session.left == (LeftTool(ref="depot/orders.get@1"),)
    names = [tool.api_name for tool in index.sessions.get("s1", principal=ANN).tools]
    assert names[0] == "orders_get"
    assert names[1].startswith("depot__orders_get_")


def test_names_avoid_all_that_were_given_before() -> None:
    ref, other = ToolRef("a", "get", 1), ToolRef("b", "get", 1)
    assert session_names([ref, other], known={}) == {ref: "a__get", other: "b__get"}
    assert session_names([other], known={ref: "get"}) == {other: "b__get"}
    assert session_names([ref], known={ref: "odd"}) == {ref: "odd"}
    taken = session_names([other], known={ToolRef("c", "x", 1): "get", ToolRef("c", "y", 1): "b__get"})[other]
    assert taken not in {"get", "b__get"}
    assert taken.startswith("get_")
    crowded = {ToolRef("c", f"x{digits}", 1): taken[: 4 + digits] for digits in (8, 12)}
    assert session_names([other], known={**crowded, ref: "get"})[other] not in crowded.values()


def test_bytes_survive_a_restart(tmp_path: Path) -> None:
    with ToolIndex.create(tmp_path / "i", rules=PUBLIC, encoder="hashed") as index:
        index.add([ORDERS, WEATHER, INVOICES])
        search(index, "look up an order; 订单", k=1, format="openai")
        shown = search(index, "weather of a city", k=1)
        index.add([NEW_ORDERS])
        before = index.sessions.get("s1", principal=ANN).model_dump_json()
    with ToolIndex.open(tmp_path / "i") as index:
        assert index.sessions.get("s1", principal=ANN).model_dump_json() == before
        again = search(index, "weather of a city", k=1)
        assert not again.session.created
        assert again.session.tools_hash == shown.session.tools_hash
        assert again.candidates[0].definition == shown.candidates[0].definition


def test_a_kill_after_the_answer_loses_nothing(tmp_path: Path) -> None:
    with ToolIndex.create(tmp_path / "i", rules=PUBLIC, encoder="hashed") as index:
        index.add([ORDERS, WEATHER, INVOICES])
    code = f"""
import os, signal
from toolsearch import Principal, SearchRequest, ToolIndex
index = ToolIndex.open({str(tmp_path / "i")!r})
for text in ("look up an order", "weather of a city"):
    request = SearchRequest(text=text, session="s1", k=1)
    answer = index.search(request, principal=Principal(subject="ann", tenant="acme"))
print(answer.session.tools_hash, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    with ToolIndex.open(tmp_path / "i") as index:
        session = index.sessions.get("s1", principal=ANN)
    assert [tool.ref for tool in session.tools] == [ORDERS_REF, WEATHER_REF]
    assert session.tools_hash == done.stdout.strip()


def test_what_could_not_be_written_was_not_handed_out(index: ToolIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    search(index, "look up an order", k=1)
    before = index.sessions.get("s1", principal=ANN)

    def full_disk(*_: object, **__: object) -> None:
        raise IndexCorrupt("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(index._live.registry, "put_session", full_disk)
        with pytest.raises(IndexStateError):
            search(index, "weather of a city", k=1)
    assert index.sessions.get("s1", principal=ANN) == before
    assert search(index, "weather of a city", k=1).session.appended == (WEATHER_REF,)


def test_an_index_for_reading_shows_sessions_and_begins_none(tmp_path: Path) -> None:
    with ToolIndex.create(tmp_path / "i", rules=PUBLIC, encoder="hashed") as index:
        index.add([ORDERS, WEATHER])
        search(index, "look up an order", k=1)
        before = index.sessions.get("s1", principal=ANN)
    with ToolIndex.open(tmp_path / "i", read_only=True) as index:
        assert index.sessions.get("s1", principal=ANN) == before
        assert search(index, "look up an order", k=1).candidates[0].already_loaded
        with pytest.raises(IndexStateError, match="reading only"):
            search(index, "weather of a city", k=1)
        with pytest.raises(IndexStateError, match="reading only"):
            index.sessions.open("s2", principal=ANN)
        index._live.sessions._clock = lambda: datetime.now(UTC) + timedelta(days=2)
        with pytest.raises(UnknownSession):
            index.sessions.get("s1", principal=ANN)


# Leaving -----------------------------------------------------------------------------------------------------------


def test_revoked_and_withdrawn_leave_alike_and_at_once(index: ToolIndex) -> None:
    search(index, "look up an order, the weather of a city", k=2)
    held = definitions(index)
    assert held.keys() == {ORDERS_REF, WEATHER_REF}
    index.set_rules(hiding("orders.get"))
    hidden = search(index, "weather of a city", k=1)
    assert hidden.session.left == (LeftTool(ref=ORDERS_REF, reason="revoked"),)
    assert hidden.session.refs == (WEATHER_REF,)
    assert "secret" not in hidden.model_dump_json()
    told = index.sessions.get("s1", principal=ANN)
    assert told.left == (LeftTool(ref=ORDERS_REF),)
    assert definitions(index) == {WEATHER_REF: held[WEATHER_REF]}
    assert search(index, "weather of a city", k=1).session.left == ()
    assert "number" not in "".join(row.definition for row in index._live.registry.session_tools(_key("s1")))

    with ToolIndex.create(None, rules=PUBLIC, encoder="hashed") as other:
        other.add([ORDERS, WEATHER, INVOICES])
        search(other, "look up an order, the weather of a city", k=2)
        other.remove(["orders.get"])
        withdrawn = search(other, "weather of a city", k=1)
        assert withdrawn.session == hidden.session
        assert other.sessions.get("s1", principal=ANN) == told


def _key(session_id: str) -> store_module.SessionKey:
    return store_module.SessionKey(session_id, ANN.subject, ANN.tenant)


def test_every_verb_lets_them_leave(index: ToolIndex) -> None:
    for session in ("get", "open", "refresh"):
        search(index, "look up an order", session=session, k=1)
    index.remove(["orders.get"])
    assert index.sessions.get("get", principal=ANN).left == (LeftTool(ref=ORDERS_REF),)
    assert index.sessions.open("open", principal=ANN).left == (LeftTool(ref=ORDERS_REF),)
    refreshed = index.sessions.refresh("refresh", principal=ANN)
    assert refreshed.session.left == (LeftTool(ref=ORDERS_REF),)
    assert refreshed.changed == ()


def test_what_comes_back_is_appended_under_its_old_name(index: ToolIndex) -> None:
    search(index, "look up an order", k=1)
    search(index, "weather of a city", k=1)
    index.remove(["orders.get"])
    assert search(index, "weather of a city", k=1).session.refs == (WEATHER_REF,)
    index.add([NEW_ORDERS])
    back = search(index, "look up an order", k=1)
    assert back.session.appended == (ORDERS_REF,)
    assert back.session.refs == (WEATHER_REF, ORDERS_REF)
    session = index.sessions.get("s1", principal=ANN)
    assert session.left == ()
    assert session.tools[1].api_name == "orders_get"
    assert session.tools[1].fingerprint == NEW_ORDERS.fingerprint


def test_what_a_request_leaves_out_has_not_left(index: ToolIndex) -> None:
    index.add([contract("orders.cancel", "cancel an order", side_effect="irreversible")])
    listed = search(index, "cancel an order", k=1).session
    narrowed = search(index, "look up an order", restrict=ONLY_READING.model_dump(mode="json"), k=1).session
    assert narrowed.refs == (*listed.refs, ORDERS_REF)
    assert narrowed.left == ()


def test_a_record_that_tells_of_a_list_is_unreadable_once_a_tool_of_it_is_hidden(index: ToolIndex) -> None:
    search(index, "look up an order", k=1)
    answer = search(index, "weather of a city", k=1)
    assert index.decision(answer.trace_id, principal=ANN)["answer"]["session"]["refs"] == [ORDERS_REF, WEATHER_REF]
    index.set_rules(hiding("orders.get"))
    with pytest.raises(UnknownTrace):
        index.decision(answer.trace_id, principal=ANN)
    later = search(index, "weather of a city", k=1)
    assert later.session.left == (LeftTool(ref=ORDERS_REF),)
    assert index.decision(later.trace_id, principal=ANN)["answer"]["session"]["refs"] == [WEATHER_REF]


# Whose -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", [BOB, Principal(subject="ann"), Principal(subject="ann", tenant="globex")])
def test_a_session_of_somebody_else_is_no_session(index: ToolIndex, other: Principal) -> None:
    search(index, "look up an order", k=1)
    verbs = index.sessions
    for verb in (verbs.get, verbs.end, verbs.refresh):
        errors = []
        for session in ("s1", "s0"):
            with pytest.raises(UnknownSession) as caught:
                verb(session, principal=other)
            errors.append(str(caught.value).replace(session, "?"))
        assert errors[0] == errors[1]
    theirs = search(index, "weather of a city", k=1, principal=other)
    assert theirs.session.created
    assert theirs.session.refs == (WEATHER_REF,)
    assert list(definitions(index)) == [ORDERS_REF]


def test_opening_ending_and_opening_again(index: ToolIndex) -> None:
    opened = index.sessions.open("s1", principal=ANN)
    assert (opened.id, opened.created, opened.tools) == ("s1", True, ())
    assert not search(index, "look up an order", k=1).session.created
    again = index.sessions.open("s1", principal=ANN)
    assert not again.created
    assert again == index.sessions.get("s1", principal=ANN)
    assert index.sessions.end("s1", principal=ANN) is None
    with pytest.raises(UnknownSession, match="'s1'"):
        index.sessions.end("s1", principal=ANN)
    assert search(index, "weather of a city", k=1).session.created
    one, two = index.sessions.open(principal=ANN), index.sessions.open(principal=ANN)
    assert one.id != two.id


@pytest.mark.parametrize("wrong", ["", "-x", "a b", "a/b", "é", "a" * 129, "a\n"])
def test_ids_have_a_form(index: ToolIndex, wrong: str) -> None:
    with pytest.raises(RequestError):
        index.sessions.open(wrong, principal=ANN)
    with pytest.raises(ValueError, match="session"):
        SearchRequest(text="x", session=wrong)
    with pytest.raises(UnknownSession):
        index.sessions.get(wrong, principal=ANN)


def test_forgetting_a_subject_ends_its_sessions(index: ToolIndex) -> None:
    index.sessions.open("s1", principal=ANN)
    index.sessions.open("s2", principal=ANN)
    index.sessions.open("s1", principal=BOB)
    assert index.forget("ann", tenant="acme") == 2
    with pytest.raises(UnknownSession):
        index.sessions.get("s1", principal=ANN)
    assert index.sessions.get("s1", principal=BOB).id == "s1"
    assert [key.subject for key, _ in index._live.registry.sessions()] == ["bob"]


# Refresh -----------------------------------------------------------------------------------------------------------


def test_refresh_moves_what_it_is_told_to_in_its_place(index: ToolIndex) -> None:
    search(index, "look up an order", k=1, format="openai")
    search(index, "weather of a city", k=1)
    new_weather = contract("weather.now", "tell the weather of a city, hour by hour")
    index.add([NEW_ORDERS, new_weather])
    before = index.sessions.get("s1", principal=ANN)
    one = index.sessions.refresh("s1", [ORDERS_REF], principal=ANN)
    (changed,) = one.changed
    assert (changed.ref, changed.before, changed.after) == (ORDERS_REF, ORDERS.fingerprint, NEW_ORDERS.fingerprint)
    assert one.session.tools_hash != before.tools_hash
    assert [tool.ref for tool in one.session.tools] == [ORDERS_REF, WEATHER_REF]
    assert one.session.tools[0].format == "openai"
    assert "deliveries" in json.dumps(one.session.tools[0].definition)
    assert one.session.tools[1] == before.tools[1]
    assert one.session == index.sessions.get("s1", principal=ANN)
    rest = index.sessions.refresh("s1", principal=ANN)
    assert [tool.ref for tool in rest.changed] == [WEATHER_REF]
    assert not any(tool.newer_available for tool in rest.session.tools)
    assert index.sessions.refresh("s1", principal=ANN).changed == ()


def test_refresh_completes_what_was_listed_in_part(index: ToolIndex) -> None:
    search(index, "look up an order", k=1, detail="name")
    search(index, "weather of a city", k=1, detail="name")
    done = index.sessions.refresh("s1", [ORDERS_REF], detail=Detail.FULL, principal=ANN)
    assert [tool.ref for tool in done.changed] == [ORDERS_REF]
    assert [tool.detail for tool in done.session.tools] == ["full", "name"]
    assert search(index, "look up an order", k=1).candidates[0].definition == done.session.tools[0].definition
    assert index.sessions.refresh("s1", [ORDERS_REF], principal=ANN).changed == ()


def test_refresh_knows_only_the_list(index: ToolIndex) -> None:
    search(index, "look up an order", k=1)
    index.add([NEW_ORDERS])
    with pytest.raises(UnknownTool, match="invoices"):
        index.sessions.refresh("s1", [ORDERS_REF, INVOICES_REF], principal=ANN)
    assert index.sessions.get("s1", principal=ANN).tools[0].fingerprint == ORDERS.fingerprint


def test_refresh_writes_anew_what_named_a_tool_that_is_gone(index: ToolIndex) -> None:
    adjacent = {"adjacent_tools": {"invoices.list": "when invoices are meant"}}
    index.add([contract("orders.get", "look up one order", selection=adjacent)])
    search(index, "look up an order", k=1)
    index.set_rules(hiding("invoices.list"))
    assert "invoices.list" in definitions(index)[ORDERS_REF]
    refreshed = index.sessions.refresh("s1", principal=ANN)
    assert refreshed.changed[0].before == refreshed.changed[0].after
    assert "invoices.list" not in definitions(index)[ORDERS_REF]


# Bounds ------------------------------------------------------------------------------------------------------------


def test_an_idle_session_expires(tmp_path: Path) -> None:
    with ToolIndex.create(
        tmp_path / "i", rules=PUBLIC, encoder="hashed", session_limits=SessionLimits(idle_s=100)
    ) as index:
        clock = Clock(index)
        index.add([ORDERS])
        search(index, "look up an order", k=1)
        for _ in range(3):
            clock.pass_by(90)
            assert not search(index, "look up an order", k=1).session.created
        clock.pass_by(5)
        assert index.sessions.get("s1", principal=ANN).tools
        now = clock.now
    with ToolIndex.open(tmp_path / "i", session_limits=SessionLimits(idle_s=100)) as index:
        clock = Clock(index)
        clock.now = now + timedelta(seconds=94)
        assert index.sessions.get("s1", principal=ANN).tools, "its last use is known to a tenth of the idle time"
        clock.pass_by(101)
        with pytest.raises(UnknownSession):
            index.sessions.get("s1", principal=ANN)
        assert search(index, "look up an order", k=1).session.created
        assert len(index._live.registry.session_tools(_key("s1"))) == 1


def test_expired_sessions_are_swept_when_others_begin(index: ToolIndex) -> None:
    index._live.sessions.limits = SessionLimits(idle_s=100)
    clock = Clock(index)
    index.sessions.open("old", principal=BOB)
    clock.pass_by(61)
    index.sessions.open("newer", principal=BOB)
    clock.pass_by(61)
    index.sessions.open("s1", principal=ANN)
    assert [key.session_id for key, _ in index._live.registry.sessions()] == ["newer", "s1"]


def test_the_session_left_idle_longest_makes_room(index: ToolIndex) -> None:
    index._live.sessions.limits = SessionLimits(per_principal=2)
    clock = Clock(index)
    for session in ("a", "b"):
        search(index, "look up an order", session=session, k=1)
        clock.pass_by(1)
    index.sessions.open("other", principal=BOB)
    index.sessions.get("a", principal=ANN)
    assert search(index, "look up an order", session="c", k=1).session.created
    with pytest.raises(UnknownSession):
        index.sessions.get("b", principal=ANN)
    assert index.sessions.get("a", principal=ANN).tools
    assert index.sessions.get("other", principal=BOB).id == "other"
    assert not index._live.registry.session_tools(_key("b"))


def test_a_session_in_use_does_not_make_room(index: ToolIndex) -> None:
    index._live.sessions.limits = SessionLimits(per_principal=1)
    with index.sessions.turn("a", principal=ANN, narrowed=ANN) as turn:
        turn.close(index.search("look up an order", principal=ANN))
        other = threading.Thread(target=lambda: index.sessions.open("b", principal=ANN))
        other.start()
        other.join()
    assert index.sessions.get("a", principal=ANN).id == "a"
    assert index.sessions.get("b", principal=ANN).id == "b"


def test_a_session_used_since_it_was_chosen_makes_no_room(index: ToolIndex) -> None:
    search(index, "look up an order", k=1)
    shelf = index._live.sessions
    chosen = shelf._of_owner(("ann", "acme"))
    search(index, "look up an order", k=1)
    shelf._drop(chosen)
    assert index.sessions.get("s1", principal=ANN).tools
    shelf._drop(shelf._of_owner(("ann", "acme")))
    with pytest.raises(UnknownSession):
        index.sessions.get("s1", principal=ANN)


def test_a_full_session_says_so(index: ToolIndex) -> None:
    index._live.sessions.limits = SessionLimits(tools=1)
    search(index, "look up an order", k=1)
    with pytest.raises(RequestError, match="1 tool of at most 1"):
        search(index, "weather of a city", k=1)
    assert search(index, "look up an order", k=1).session.refs == (ORDERS_REF,)


def test_sessions_beyond_the_memory_are_read_again(index: ToolIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "IN_MEMORY", 1)
    search(index, "look up an order", session="a", k=1)
    kept = definitions(index, "a")
    search(index, "weather of a city", session="b", k=1)
    assert len(index._live.sessions._kept) == 1
    assert definitions(index, "a") == kept


# Roll-outs ---------------------------------------------------------------------------------------------------------


def rolled(share: float, revision: ToolContract = NEW_ORDERS) -> dict[ToolRef, Rollout]:
    return {revision.ref: Rollout(contract=revision, share=share)}


def test_a_session_that_is_in_a_roll_out_pins_its_revision(index: ToolIndex) -> None:
    search(index, "look up an order", session="before", k=1)
    index._live.rollouts = rolled(1.0)
    inside = search(index, "look up an order", session="inside", k=1)
    assert "deliveries" in json.dumps(inside.candidates[0].definition)
    assert inside.session.newer_available == ()
    assert search(index, "look up an order", session="before", k=1).session.newer_available == (ORDERS_REF,)
    index._live.rollouts = {}
    kept = search(index, "look up an order", session="inside", k=1)
    assert kept.candidates[0].definition == inside.candidates[0].definition
    assert kept.session.newer_available == (ORDERS_REF,)
    back = index.sessions.refresh("inside", principal=ANN)
    assert back.changed[0].after == ORDERS.fingerprint


def test_about_the_share_of_new_sessions_is_in(index: ToolIndex) -> None:
    index._live.rollouts = rolled(0.3)
    inside = 0
    for number in range(100):
        answer = search(index, "look up an order", session=f"s{number}", k=1)
        inside += "deliveries" in json.dumps(answer.candidates[0].definition)
    assert 15 <= inside <= 45


def test_a_revision_that_may_not_be_seen_is_not_rolled_out(index: ToolIndex) -> None:
    risky = contract("orders.get", "look up one order by its number, with its deliveries", side_effect="irreversible")
    index._live.rollouts = rolled(1.0, risky)
    narrowed = search(index, "look up an order", restrict=ONLY_READING.model_dump(mode="json"), k=1)
    assert "deliveries" not in json.dumps(narrowed.candidates[0].definition)
    closed = contract("orders.get", "look up, with its deliveries", access={"roles_any": ["boss"]})
    index._live.rollouts = rolled(1.0, closed)
    assert "deliveries" not in json.dumps(search(index, "look up an order", session="s2", k=1).candidates[0].definition)


# Many at once ------------------------------------------------------------------------------------------------------


def test_searches_of_one_session_at_once_lose_nothing(tmp_path: Path) -> None:
    tools = [contract(f"tool{number}", f"work on thing{number}") for number in range(24)]
    with ToolIndex.create(tmp_path / "i", rules=PUBLIC, encoder="hashed") as index:
        index.add(tools)

        def work(first: int) -> list[str]:
            answers = [search(index, f"work on thing{number}", k=1) for number in range(first, 24, 4)]
            return [ref for answer in answers for ref in answer.session.appended]

        with ThreadPoolExecutor(6) as pool:
            appended = [ref for refs in pool.map(work, (0, 1, 2, 3, 0, 1)) for ref in refs]
        listed = [tool.ref for tool in index.sessions.get("s1", principal=ANN).tools]
        assert sorted(listed) == sorted(str(tool.ref) for tool in tools)
        assert sorted(appended) == sorted(listed), "each was appended once"
    with ToolIndex.open(tmp_path / "i") as index:
        assert [tool.ref for tool in index.sessions.get("s1", principal=ANN).tools] == listed
