import threading
from datetime import UTC, datetime, timedelta

import pytest

from toolsearch.model.errors import IndexStateError
from toolsearch.store import journal as journal_module
from toolsearch.store.decisions import DecisionRow
from toolsearch.store.journal import Journal
from toolsearch.store.registry import Registry

T0 = datetime(2026, 9, 17, tzinfo=UTC)


def row(trace_id, *, answer="{}", at=T0):
    return DecisionRow(trace_id=trace_id, at=at, subject="ann", request="{}", answer=answer)


@pytest.fixture
def registry():
    with Registry.open(None) as registry:
        yield registry


def kept(registry):
    return registry.counts()["decisions"]


def test_records_go_down_in_batches(registry):
    journal = Journal(registry, capacity=3)
    journal.append(row("t1"))
    journal.append(row("t2"))
    assert kept(registry) == 0
    journal.append(row("t3"))
    assert kept(registry) == 3
    journal.append(row("t4"))
    journal.close()
    journal.close()
    assert kept(registry) == 4


def test_find_sees_records_that_are_held_back_the_newest_first(registry):
    journal = Journal(registry, capacity=10)
    journal.append(row("t1", answer="1"))
    journal.flush()
    journal.append(row("t1", answer="2"))
    journal.append(row("t1", answer="3"))
    assert journal.find("t1").answer == "3"
    assert journal.find("none") is None
    journal.flush()
    assert journal.find("t1").answer == registry.decision("t1").answer == "3"


def test_old_records_are_pruned_on_the_way(registry, monkeypatch):
    monkeypatch.setattr(journal_module, "PRUNE_EVERY", 4)
    journal = Journal(registry, capacity=2, max_rows=3)
    for number in range(14):
        journal.append(row(f"t{number}"))
        assert kept(registry) < 3 + 4
    assert kept(registry) == 3
    assert registry.decision("t13") is not None
    assert registry.decision("t10") is None


def test_a_registry_that_cannot_be_written_stops_no_search_and_loses_only_the_oldest(registry):
    journal = Journal(registry, capacity=2)
    working = registry._database
    registry._database = Registry.open(None)._database
    registry._database.close()
    for number in range(50):
        journal.append(row(f"t{number}"))
    with pytest.raises(IndexStateError, match="closed"):
        journal.flush()
    assert journal.lost == 30
    registry._database = working
    journal.flush()
    assert kept(registry) == 20
    assert registry.decision("t29") is None
    assert registry.decision("t30") is not None


def test_threads_lose_nothing(registry):
    journal = Journal(registry, capacity=7)

    def work(number):
        for i in range(50):
            journal.append(row(f"t-{number}-{i}"))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    journal.close()
    assert kept(registry) == 200
    assert all(registry.decision(f"t-{n}-{i}") for n in range(4) for i in (0, 49))


def test_the_first_batch_drops_records_past_their_age(registry):
    registry.record_decisions([row("old", at=T0 - timedelta(days=8)), row("young", at=T0 - timedelta(days=6))])
    journal = Journal(registry, capacity=10, max_age_days=7)
    journal.append(row("new"))
    journal.close()
    assert registry.decision("old") is None
    assert registry.decision("young") is not None
    assert registry.decision("new") is not None


def test_an_odd_character_holds_up_no_batch(registry):
    journal = Journal(registry, capacity=2)
    journal.append(row("t1", answer="\ud800!"))
    journal.append(row("t2"))
    assert registry.decision("t1").answer == "?!"
    assert kept(registry) == 2
