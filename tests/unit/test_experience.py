"""Past requests: what is kept, how it is searched, and how it votes."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pytest

from toolsearch.engine.experience import experience_row
from toolsearch.model.contract import ToolRef
from toolsearch.search.index.docset import DocSet
from toolsearch.search.index.experience import Experience, PastHits, PastVectors, source_number
from toolsearch.search.rank.experience import SOURCES, experience_of, lifted, number_documents
from toolsearch.store.experience import ExperienceKey
from toolsearch.store.ledger import ExperienceBounds, Ledger, _level
from toolsearch.store.registry import Registry
from toolsearch.text.embed.cached import text_key

NOW = datetime(2026, 9, 17, 10, 0, tzinfo=UTC)
DIM = 8


def past(text, *, tool="a", version=1, subject="ann", tenant=None, days_ago=0.0):
    at = NOW - timedelta(days=days_ago)
    return experience_row(ref=ToolRef("s", tool, version), text=text, subject=subject, tenant=tenant, at=at)


def vector(*values):
    row = np.zeros(DIM, dtype=np.float32)
    row[: len(values)] = values
    return row / np.linalg.norm(row)


def told(ledger, rows):
    return [ledger.succeed(row, now=NOW) for row in rows]


def texts(ledger):
    return sorted(row.text for row in ledger.rows())


# What is kept ------------------------------------------------------------------------------------------------------


def test_a_text_counts_once_and_gets_younger():
    ledger = Ledger()
    told(ledger, [past("x", days_ago=9), past("x", days_ago=2), past("x", days_ago=5)])
    assert [row.at for row in ledger.rows()] == [NOW - timedelta(days=2)]


def test_one_source_adds_a_few_texts_a_day():
    ledger = Ledger(bounds=ExperienceBounds(per_day=2))
    told(ledger, [past(f"today {n}") for n in range(5)])
    told(ledger, [past("last week", days_ago=7), past("of bob", subject="bob"), past("of b", tool="b")])
    assert texts(ledger) == ["last week", "of b", "of bob", "today 0", "today 1"]


def test_one_source_holds_a_few_texts_of_a_tool_the_youngest():
    ledger = Ledger(bounds=ExperienceBounds(per_source=2))
    told(ledger, [past(f"day {n}", days_ago=n) for n in (5, 1, 9)])
    assert texts(ledger) == ["day 1", "day 5"]


def test_where_a_tool_is_full_the_greediest_source_gives_way():
    ledger = Ledger(bounds=ExperienceBounds(per_tool=3))
    told(
        ledger,
        [past("of bob", subject="bob", days_ago=90), *(past(f"of ann {n}", days_ago=9 - 2 * n) for n in range(4))],
    )
    assert texts(ledger) == ["of ann 2", "of ann 3", "of bob"]


def test_a_tenant_and_the_whole_are_bounded_and_the_small_do_not_pay():
    bounds = ExperienceBounds(per_tenant=6, in_all=10)
    ledger = Ledger(bounds=bounds)
    told(ledger, [past("rare", tool="rare", tenant="t", days_ago=300)])
    told(ledger, [past(f"{n}", subject=f"u{n}", tenant="t") for n in range(20)])
    assert len(ledger) == 6
    assert "rare" in texts(ledger)
    told(ledger, [past(f"{n}", subject=f"u{n}", tenant="other") for n in range(20)])
    assert len(ledger) <= 10
    assert "rare" in texts(ledger)


def test_level_is_the_largest_cut_that_fits():
    assert _level([5, 1, 9], room=7) == 3
    assert _level([5, 1, 9], room=100) == 9
    assert _level([], room=3) == 0


def test_what_is_too_old_is_neither_taken_nor_kept():
    ledger = Ledger()
    told(ledger, [past("old", days_ago=400)])
    assert len(ledger) == 0
    told(ledger, [past("then", days_ago=300)])
    assert ledger.older(now=NOW + timedelta(days=90)) == [past("then").key]


def test_failures_count_against_their_own_source_and_are_mended():
    ledger = Ledger()
    told(ledger, [past("x"), past("x", subject="bob")])
    assert ledger.fail(past("y").key).put == ()
    ledger.fail(past("x").key)
    ledger.fail(past("x").key)
    assert {row.key.subject: row.failures for row in ledger.rows()} == {"ann": 2, "bob": 0}
    told(ledger, [past("x")])
    assert {row.key.subject: row.failures for row in ledger.rows()} == {"ann": 1, "bob": 0}


def test_a_withdrawn_version_leaves_what_it_learnt_to_the_others():
    ledger = Ledger()
    told(ledger, [past("x"), past("gone", tool="b"), past("stays", tool="c")])
    change = ledger.follow(frozenset({ToolRef("s", "a", 2), ToolRef("s", "a", 3), ToolRef("s", "c", 1)}))
    assert sorted((row.key.version, row.text) for row in change.put) == [(2, "x"), (3, "x")]
    assert set(change.drop) == {past("x").key, past("gone", tool="b").key}
    assert texts(ledger) == ["stays", "x", "x"]


def test_the_registry_keeps_replaces_drops_and_forgets():
    rows = [past("x"), past("x", subject="bob"), past("x", tenant="t"), past("y", version=2)]
    with Registry.open(None) as registry:
        registry.put_embeddings("e", {text_key("x"): vector(1), text_key("y"): vector(0, 1)})
        registry.change_experience(put=rows)
        registry.change_experience(put=[past("x", days_ago=3)], drop=[past("x", tenant="t").key])
        kept = {row.key: row.at for row in registry.experience()}
        assert kept == {rows[0].key: NOW - timedelta(days=3), rows[1].key: NOW, rows[3].key: NOW}
        assert registry.forget(subject="ann", tenant=None) == 2
        assert [row.key for row in registry.experience()] == [rows[1].key]
        assert set(registry.embeddings("e", [text_key("x"), text_key("y")])) == {text_key("x")}, "bob asked x too"


def test_a_long_text_is_cut():
    assert len(past("x" * 5_000).text) == 1_000
    assert past("x" * 5_000).key == past("x" * 4_000).key


# How it is searched ------------------------------------------------------------------------------------------------


def shelf_rows(shelf):
    return {
        key: (segment.vectors.rows[place].tobytes(), segment.at[place], segment.failures[place])
        for segment in shelf.segments
        for key, place in segment.places.items()
    }


@pytest.mark.parametrize("seed", range(5))
def test_many_small_changes_are_one_large_change(seed):
    random = np.random.default_rng(seed)
    vectors, one = {}, PastVectors({}, ())
    live = {}
    for step in range(40):
        put = []
        for _ in range(int(random.integers(0, 4))):
            row = past(f"t{random.integers(30)}", tool="abc"[random.integers(3)], days_ago=float(step))
            vectors.setdefault(row.key.text_hash, vector(*random.normal(size=DIM)))
            put.append(row)
        put = list({row.key: row for row in put}.values())
        drop = [key for key in list(live) if random.random() < 0.1 and key not in {row.key for row in put}]
        one = one.changed(put, drop, vectors=vectors, dim=DIM)
        live |= {row.key: row for row in put}
        for key in drop:
            del live[key]
        assert set(shelf_rows(one)) == set(live)
        sizes = [segment.live for segment in one.segments]
        assert all(large >= 2 * small for large, small in pairwise(sizes))
    at_once = PastVectors({}, ()).changed(list(live.values()), [], vectors=vectors, dim=DIM)
    assert shelf_rows(one) == shelf_rows(at_once)


def test_a_shelf_finds_what_is_near_among_the_given_tools_only():
    rows = [past("x"), past("y"), past("x", tool="b")]
    vectors = {text_key("x"): vector(1), text_key("y"): vector(0, 1)}
    shelf = PastVectors({}, ()).changed(rows, [], vectors=vectors, dim=DIM)
    only = DocSet.of([shelf.numbers[ToolRef("s", "a", 1)]], n_docs=2)
    hits = shelf.near(vector(1, 0.5), tools=only, least=0.6)
    assert hits.tools.tolist() == [shelf.numbers[ToolRef("s", "a", 1)]]
    assert hits.cosines[0] == pytest.approx(1 / np.sqrt(1.25), abs=1e-6)


def test_tenants_lie_on_separate_shelves():
    vectors = {text_key("x"): vector(1)}
    experience = Experience(DIM).changed([past("x", tenant="t"), past("x")], [], vectors=vectors)
    assert set(experience.shelves) == {"t", None}
    without = experience.changed([], [past("x").key], vectors={})
    assert set(without.shelves) == {"t"}
    assert without.shelves["t"] is experience.shelves["t"]
    assert len(experience) == 2


def test_numbers_lead_to_the_documents_that_are_there():
    refs = [ToolRef("s", "a", 1), ToolRef("s", "b", 1), ToolRef("s", "b", 2)]
    numbers = {ToolRef("s", "b", 2): 0, ToolRef("s", "gone", 1): 1, ToolRef("s", "a", 1): 2}
    tools, docs = number_documents(numbers, refs=refs)
    assert (tools.tolist(), docs.tolist()) == ([0, 2], [2, 0])


# How it votes ------------------------------------------------------------------------------------------------------


def hits(*entries):
    """Return PastHits of (tool, subject, cosine, days ago, failures)."""
    tools, subjects, cosines, days, failures = zip(*entries, strict=True)
    return PastHits(
        np.array(tools, dtype=np.int32),
        np.array([source_number(subject) for subject in subjects], dtype=np.int64),
        np.array(cosines, dtype=np.float64),
        NOW.timestamp() - 86_400.0 * np.array(days),
        np.array(failures, dtype=np.int32),
    )


def values(*entries, floor=0.0, own=None):
    own = None if own is None else source_number(own)
    tools, found, _ = experience_of(hits(*entries), floor=floor, at=NOW.timestamp(), own=own)
    return dict(zip(tools.tolist(), found.tolist(), strict=True))


def test_three_sources_make_full_weight():
    assert values((0, "a", 1.0, 0, 0)) == {0: pytest.approx(1 / 3)}
    assert values((0, "a", 1.0, 0, 0), (0, "b", 1.0, 0, 0)) == {0: pytest.approx(2 / 3)}
    assert values(*((0, who, 1.0, 0, 0) for who in "abcd")) == {0: 1.0}


def test_a_source_counts_by_its_best_request_alone():
    one = values((0, "a", 0.9, 0, 0), (0, "b", 0.5, 0, 0))
    many = values((0, "b", 0.5, 0, 0), *((0, "a", 0.9 - n / 2_000, 0, 0) for n in range(1_000)))
    assert one == many


def test_votes_fall_with_distance_age_and_failures():
    full, near, old, failed = (
        values((0, "a", *entry))[0] for entry in ((1.0, 0, 0), (0.9, 0, 0), (1.0, 90, 0), (1.0, 0, 1))
    )
    assert near == pytest.approx(full * 0.9**1.5)
    assert old == pytest.approx(full / 2)
    assert failed == pytest.approx(full / 2)
    assert values((0, "a", 0.4, 0, 0), floor=0.5) == {0: 0.0}
    assert values((0, "a", 0.2, 0, 0)) == {0: 0.0}, "too faint"


def test_who_asks_is_not_taken_in_by_itself():
    entries = ((0, "me", 0.9, 0, 0), (1, "you", 0.9, 0, 0))
    assert values(*entries, own="me") == {0: pytest.approx(0.9**1.5), 1: pytest.approx(0.3 * 0.9**0.5)}


@pytest.mark.parametrize("seed", range(20))
def test_one_source_moves_a_tool_by_a_third_at_most_and_no_other_tool(seed):
    random = np.random.default_rng(seed)
    others = [
        (int(random.integers(3)), f"u{random.integers(6)}", float(random.random()), float(random.integers(200)), 0)
        for _ in range(int(random.integers(1, 30)))
    ]
    attack = [(0, "mallory", float(random.random()), 0, 0) for _ in range(1_000)] + [(0, "mallory", 1.0, 0, 0)]
    before, after = values(*others), values(*others, *attack)
    assert after[0] - before.get(0, 0.0) <= 1 / SOURCES + 1e-12
    assert {tool: value for tool, value in after.items() if tool} == {
        tool: value for tool, value in before.items() if tool
    }


@pytest.mark.parametrize("seed", range(10))
def test_the_order_of_hits_changes_no_bit(seed):
    random = np.random.default_rng(seed)
    entries = [
        (int(random.integers(3)), f"u{random.integers(4)}", float(random.random()), float(random.integers(99)), 0)
        for _ in range(40)
    ]
    shuffled = [entries[at] for at in random.permutation(len(entries))]
    assert values(*entries, own="u1") == values(*shuffled, own="u1")


def test_lifting_is_bounded_and_nothing_from_nothing():
    relevance = np.array([0.0, 0.3, 1.0])
    assert lifted(relevance, np.zeros(3), gain=1.0).tobytes() == relevance.tobytes()
    assert lifted(relevance, np.ones(3), gain=1.0).tolist() == [1.0, 1.0, 1.0]
    assert lifted(relevance, np.full(3, 0.5), gain=0.0).tobytes() == relevance.tobytes()


def test_no_hits_no_tools():
    empty = PastHits(*(np.zeros(0, dtype=kind) for kind in (np.int32, np.int64, np.float64, np.float64, np.int32)))
    tools, found, sources = experience_of(empty, floor=0.1, at=NOW.timestamp(), own=None)
    assert tools.size == found.size == sources.size == 0


def test_keys_are_of_a_tool_version():
    assert ExperienceKey("t", "s", "a", 2, "ann", "h").ref == ToolRef("s", "a", 2)
