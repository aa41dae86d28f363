"""Learning from outcomes and logs, seen from outside."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from toolsearch import Outcome, PastRequest, Principal, Restriction, RuleBook, SearchRequest, ToolContract, ToolIndex
from toolsearch.model.errors import UnknownTool
from toolsearch.model.limits import SearchLimits
from toolsearch.model.reasons import ReasonCode

NOW = datetime.now(UTC)
"""The clock decides what is too old to be learnt; everything else is told this moment."""

RULES = RuleBook.public(reason="all are visible")
ASKED = "where has my parcel gone"


def contract(name: str, does: str, *, version: int = 1, **sections: object) -> ToolContract:
    return ToolContract.model_validate(
        {
            "identity": {"name": name, "server": "s", "version": version},
            "capability": {"does": does},
            **sections,
        }
    )


CATALOGUE = (
    contract("orders", "reads an order"),
    contract("refunds", "pays money back"),
    contract("weather", "tells the weather"),
    contract("lost", "finds a parcel that has gone astray"),
)


def person(name: str, tenant: str | None = "acme") -> Principal:
    return Principal(subject=name, tenant=tenant)


@pytest.fixture
def index() -> Iterator[ToolIndex]:
    with ToolIndex.create(None, rules=RULES, encoder="hashed") as index:
        index.add(CATALOGUE)
        yield index


def succeed(index: ToolIndex, who: Principal, *, tool: str = "s/orders", text: str = ASKED, **outcome: object) -> None:
    answer = index.search(text, principal=who)
    report = {"ref": tool, "status": "success", "trace_id": answer.trace_id, **outcome}
    index.record_outcome(Outcome.model_validate(report), principal=who)


def scores(index: ToolIndex, who: Principal, text: str = ASKED) -> dict[str, float]:
    return dict(index.rank(SearchRequest(text=text, now=NOW, weights={"reliability": 0}), principal=who))


def past(
    text: str = ASKED, *, tool: str = "s/orders", subject: str, tenant: str | None = "acme", days: float = 0
) -> PastRequest:
    return PastRequest(text=text, ref=tool, subject=subject, tenant=tenant, at=NOW - timedelta(days=days))


def test_successes_bring_their_tool_up_step_by_step(index: ToolIndex) -> None:
    asking = person("zoe")
    found = [scores(index, asking)["s/orders@1"]]
    for name in ("ann", "bob", "cy"):
        succeed(index, person(name))
        found.append(scores(index, asking)["s/orders@1"])
    assert found == sorted(set(found)), "each source adds something"
    assert index.rank(ASKED, principal=asking)[0][0] == "s/orders@1"


def test_no_other_tool_moves(index: ToolIndex) -> None:
    before = scores(index, person("zoe"))
    index.learn([past(subject=name) for name in ("ann", "bob", "cy")])
    after = scores(index, person("zoe"))
    assert {ref: score for ref, score in after.items() if ref != "s/orders@1"} == {
        ref: score for ref, score in before.items() if ref != "s/orders@1"
    }


def test_several_tools_of_one_request_all_learn(index: ToolIndex) -> None:
    ann = person("ann")
    answer = index.search(ASKED, principal=ann)
    before = scores(index, ann)
    for tool in ("s/orders", "s/refunds"):
        index.record_outcome(Outcome(ref=tool, status="success", trace_id=answer.trace_id), principal=ann)
    after = scores(index, ann)
    assert all(after[ref] > before[ref] for ref in ("s/orders@1", "s/refunds@1"))
    assert after["s/weather@1"] == before["s/weather@1"]


def test_one_client_with_a_thousand_successes_does_less_than_three_with_one_each() -> None:
    def lifted(entries: list[PastRequest]) -> tuple[float, int]:
        with ToolIndex.create(None, rules=RULES, encoder="hashed") as index:
            index.add(CATALOGUE)
            before = scores(index, person("zoe"))["s/weather@1"]
            index.learn(entries)
            assert len(index._live.memory) <= 20
            after = scores(index, person("zoe"))
            place = sorted(after, key=lambda ref: -after[ref]).index("s/weather@1")
            return after["s/weather@1"] - before, place

    # Many days, many wordings: all that one client could do to get around the limits.
    alone, alone_place = lifted(
        [past(f"{ASKED} {n}" if n else ASKED, tool="s/weather", subject="mallory", days=n % 80) for n in range(1_000)]
    )
    three, three_place = lifted([past(tool="s/weather", subject=name) for name in ("ann", "bob", "cy")])
    assert 0 < alone < three / 2
    assert alone <= 1 / 3
    assert three_place == 0 < alone_place, "one client does not get past the tool that fits"


def test_tenants_do_not_learn_from_each_other(index: ToolIndex) -> None:
    before = {tenant: scores(index, person("zoe", tenant)) for tenant in ("acme", "globex", None)}
    index.learn([past(subject=name) for name in ("ann", "bob", "cy")])
    assert scores(index, person("zoe"))["s/orders@1"] > before["acme"]["s/orders@1"]
    assert scores(index, person("zoe", "globex")) == before["globex"]
    assert scores(index, person("zoe", None)) == before[None]
    index.learn([past(subject=name, tenant=None) for name in ("ann", "bob", "cy")])
    assert scores(index, person("zoe", None))["s/orders@1"] > before[None]["s/orders@1"]
    assert scores(index, person("zoe", "globex")) == before["globex"]


def test_a_single_user_learns_from_one_success_and_anonymous_callers_are_nobody(index: ToolIndex) -> None:
    index.learn([past(subject="ann"), past(subject="anonymous", tenant=None)])
    base, mine = scores(index, person("zoe"))["s/orders@1"], scores(index, person("ann"))["s/orders@1"]
    assert mine > 2 * base
    nobody = scores(index, Principal())["s/orders@1"]
    assert nobody == pytest.approx(base, abs=0.01)


def test_a_stranger_s_trace_teaches_nothing(index: ToolIndex) -> None:
    answer = index.search(ASKED, principal=person("ann"))
    before = scores(index, person("bob"))
    for who in (person("bob"), person("ann", "globex")):
        index.record_outcome(Outcome(ref="s/orders", status="success", trace_id=answer.trace_id), principal=who)
    index.record_outcome(Outcome(ref="s/orders", status="success"), principal=person("bob"))
    index.record_outcome(Outcome(ref="s/orders", status="success", trace_id="neverseen"), principal=person("bob"))
    assert scores(index, person("bob")) == before


def test_failures_take_back_what_their_source_told_only(index: ToolIndex) -> None:
    index.learn([past(subject=name) for name in ("ann", "bob")])
    full = scores(index, person("zoe"))["s/orders@1"]
    succeed(index, person("mallory"), status="tool_error")
    assert scores(index, person("zoe"))["s/orders@1"] == full
    succeed(index, person("ann"), status="unknown")
    assert scores(index, person("zoe"))["s/orders@1"] == full
    succeed(index, person("ann"), status="timeout")
    assert scores(index, person("zoe"))["s/orders@1"] < full


def test_experience_fades(index: ToolIndex) -> None:
    found = []
    for days in (0, 90, 300):
        with ToolIndex.create(None, rules=RULES, encoder="hashed") as fresh:
            fresh.add(CATALOGUE)
            fresh.learn([past(subject=name, days=days) for name in ("ann", "bob", "cy")])
            found.append(scores(fresh, person("zoe"))["s/orders@1"])
    assert found == sorted(found, reverse=True)
    assert found[1] < 0.7 * found[0]
    assert found[2] > 0


def test_a_restart_changes_no_bit(tmp_path: Path) -> None:
    request = SearchRequest(text=ASKED, now=NOW)
    with ToolIndex.create(tmp_path / "i", rules=RULES, encoder="hashed") as index:
        index.add(CATALOGUE)
        index.learn([past(f"{ASKED} {n}", subject=f"u{n}", days=n) for n in range(9)])
        index.learn([past("rain tomorrow", tool="s/weather", subject="ann")])
        succeed(index, person("ann"), at=NOW)
        succeed(index, person("u3"), text=f"{ASKED} 3", status="timeout", at=NOW)
        before = index.rank(request, principal=person("zoe"))
        held = len(index._live.memory)
    with ToolIndex.open(tmp_path / "i") as index:
        assert len(index._live.memory) == held
        assert index.rank(request, principal=person("zoe")) == before
    with ToolIndex.open(tmp_path / "i", read_only=True) as index:
        assert index.rank(request, principal=person("zoe")) == before
    with ToolIndex.open(tmp_path / "i", rebuild=True) as index:
        assert index.rank(request, principal=person("zoe")) == before


def test_another_encoder_makes_the_vectors_again(tmp_path: Path) -> None:
    from toolsearch.text.embed.onnx import minilm

    with ToolIndex.create(tmp_path / "i", rules=RULES, encoder="hashed") as index:
        index.add(CATALOGUE)
        index.learn([past(subject=name) for name in ("ann", "bob", "cy")])
    with ToolIndex.open(tmp_path / "i", encoder=minilm(), rebuild=True) as index:
        without = index.with_limits(SearchLimits(past=False))
        assert scores(index, person("zoe"))["s/orders@1"] > 2 * scores(without, person("zoe"))["s/orders@1"]


def test_the_catalogue_may_change_under_it(index: ToolIndex) -> None:
    index.learn([past(subject=name) for name in ("ann", "bob", "cy")])
    before = scores(index, person("zoe"))["s/orders@1"]
    index.add([contract("aaa", "sorts before all others"), contract("orders", "reads an order, with its parcels")])
    assert scores(index, person("zoe"))["s/orders@1"] >= before
    index.replace_all([*CATALOGUE[1:], contract("orders", "reads an order", version=2)])
    assert scores(index, person("zoe"))["s/orders@2"] == before, "a new version takes over what the old one learnt"
    index.remove(["s/orders"])
    index.add([CATALOGUE[0]])
    assert scores(index, person("zoe"))["s/orders@1"] < before, "what was withdrawn is forgotten"


def test_hidden_tools_teach_nothing() -> None:
    with ToolIndex.create(None, rules=RULES, encoder="hashed") as index:
        index.add([*CATALOGUE, contract("orders", "reads an order", version=2, access={"roles_any": ["vip"]})])
        before = scores(index, person("zoe"))
        vip = Principal(subject="vip", tenant="acme", roles=("vip",))
        succeed(index, vip, tool="s/orders@2")
        index.learn([past(tool="s/orders@2", subject=name) for name in ("ann", "bob")])
        assert scores(index, person("zoe")) == before
        assert scores(index, vip)["s/orders@2"] > before["s/orders@1"]
        narrowed = vip.narrowed(Restriction(exclude_tools=("orders",)))
        assert "s/orders@2" not in scores(index, narrowed)
        with pytest.raises(UnknownTool):
            succeed(index, person("zoe"), tool="s/orders@2")


def test_nothing_is_remembered_unless_wanted(tmp_path: Path) -> None:
    with ToolIndex.create(tmp_path / "i", rules=RULES, encoder="hashed", remember_requests=False) as index:
        index.add(CATALOGUE)
        before = scores(index, person("ann"))
        succeed(index, person("ann"))
        assert scores(index, person("ann")) == before
        assert len(index._live.memory) == 0
        succeed(index.with_limits(SearchLimits()), person("ann"))
        assert len(index._live.memory) == 0


def test_forgetting_is_whole_and_lasts(tmp_path: Path) -> None:
    with ToolIndex.create(tmp_path / "i", rules=RULES, encoder="hashed") as index:
        index.add(CATALOGUE)
        before = scores(index, person("zoe"))
        succeed(index, person("ann"))
        succeed(index, person("ann"), tool="s/refunds")
        succeed(index, person("ann", "globex"))
        assert index.forget("ann", tenant="acme") == 4, "two past requests, two decision records"
        assert index.forget("ann", tenant="acme") == 0
        assert scores(index, person("zoe")) == before
    with ToolIndex.open(tmp_path / "i") as index:
        assert scores(index, person("zoe")) == before
        assert len(index._live.memory) == 1


def test_a_log_is_learnt_and_accounted_for(index: ToolIndex) -> None:
    entries = [past(f"parcel {n}", subject="ann") for n in range(7)]
    entries += [past(subject="bob", tool="s/none"), past(subject="bob", days=900), past(subject="bob", days=-5)]
    report = index.learn(entries)
    assert (report.learnt, report.refused, report.unknown) == (6, 3, 1)


def test_the_reason_tells_how_many_asked_but_not_what(index: ToolIndex) -> None:
    index.learn([past("where on earth is parcel QX9", subject=name) for name in ("ann", "bob")])
    answer = index.search("where on earth is my parcel", principal=person("zoe"))
    told = next(candidate for candidate in answer.candidates if candidate.ref == "s/orders@1")
    assert "2 sources" in next(reason.text for reason in told.reasons if reason.code is ReasonCode.PAST_REQUESTS)
    assert "QX9" not in answer.model_dump_json()
    assert told.score == pytest.approx(sum(part.contribution for part in told.signals.values()))
    assert 0 < told.signals["past_requests"].value < 1


def test_it_can_be_switched_off(index: ToolIndex) -> None:
    before = scores(index, person("zoe"))
    index.learn([past(subject=name) for name in ("ann", "bob", "cy")])
    assert scores(index.with_limits(SearchLimits(past=False)), person("zoe")) == before
    weighed = SearchRequest(text=ASKED, now=NOW, weights={"experience": 0.0})
    assert index.rank(weighed, principal=person("zoe")) == index.with_limits(SearchLimits(past=False)).rank(
        weighed, principal=person("zoe")
    )


def test_learning_searching_and_changing_the_catalogue_at_once(index: ToolIndex) -> None:
    def work(number: int) -> int:
        who = person(f"u{number}")
        for turn in range(8):
            succeed(index, who, text=f"{ASKED} {number} {turn}", tool=("s/orders", "s/refunds")[turn % 2])
            if number == 0:
                index.add([contract(f"aa{turn}", "is in the way of old numbers")])
            elif number == 1:
                index.forget(f"gone{turn}", tenant="acme")
        return len(index.rank(ASKED, principal=who))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))
    live = index._live
    kept = {row.key for row in live.registry.experience()}
    shelf = live.state.experience.shelves["acme"]
    assert kept == {key for segment in shelf.segments for key in segment.places}
    assert len(kept) == len(live.memory) == 4 * 8
    assert scores(index, person("zoe"))["s/orders@1"] > scores(index, person("zoe", "globex"))["s/orders@1"]
