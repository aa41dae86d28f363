import os
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from toolsearch.model.contract import ToolContract, ToolRef
from toolsearch.model.errors import (
    ContractError,
    EncoderMismatch,
    IndexCorrupt,
    IndexFormatMismatch,
    IndexLocked,
    IndexMissing,
    IndexStateError,
    RequestError,
)
from toolsearch.model.request import OutcomeStatus
from toolsearch.store.database import Database
from toolsearch.store.decisions import DecisionRow
from toolsearch.store.migrations import SCHEMA_VERSION, schema_version
from toolsearch.store.outcomes import OutcomeRow
from toolsearch.store.registry import Registry
from toolsearch.text.embed.cached import text_key

T0 = datetime(2026, 9, 17, 10, 0, tzinfo=UTC)


def contract(name, does="reads", *, server="s", version=1, **sections):
    return ToolContract.model_validate(
        {
            "identity": {"name": name, "server": server, "version": version},
            "capability": {"does": does},
            **sections,
        }
    )


def ref(name, *, server="s", version=1):
    return ToolRef(server, name, version)


def decision(trace_id, *, subject="ann", tenant=None, at=T0, answer="{}"):
    return DecisionRow(trace_id=trace_id, at=at, subject=subject, tenant=tenant, request='{"text": "x"}', answer=answer)


def outcome(status, *, name="a", at=T0, server="s"):
    return OutcomeRow(server=server, name=name, status=status, subject="ann", at=at)


@pytest.fixture
def registry():
    with Registry.open(None) as registry:
        yield registry


def test_apply_tells_what_changed_and_counts_generations(registry):
    assert registry.generation == 0
    first = registry.apply([contract("b"), contract("a")], at=T0)
    assert (first.added, first.generation) == ((ref("a"), ref("b")), 1)
    second = registry.apply(
        [contract("a"), contract("b", "writes"), contract("c")], [ref("zzz")], at=T0 + timedelta(hours=1)
    )
    assert second.unchanged == (ref("a"),)
    assert second.replaced == (ref("b"),)
    assert second.added == (ref("c"),)
    assert second.removed == ()
    third = registry.apply(removals=[ref("a"), ref("a")], at=T0)
    assert (third.removed, third.generation) == ((ref("a"),), 3)
    assert [str(each.ref) for each in registry.contracts()] == ["s/b@1", "s/c@1"]


def test_nothing_changed_keeps_the_generation(registry):
    registry.apply([contract("a")], at=T0)
    again = registry.apply([contract("a"), contract("a")], [ref("x")], at=T0)
    assert again.unchanged == (ref("a"),)
    assert registry.generation == 1


def test_upsert_wins_over_removal_of_the_same_ref(registry):
    registry.apply([contract("a")], at=T0)
    changes = registry.apply([contract("a", "else")], [ref("a")], at=T0)
    assert (changes.replaced, changes.removed) == ((ref("a"),), ())


def test_one_ref_with_two_contents_is_refused_whole(registry):
    with pytest.raises(ContractError, match="s/a@1 is given twice"):
        registry.apply([contract("b"), contract("a"), contract("a", "else")], at=T0)
    assert registry.contracts() == ()
    assert registry.generation == 0


def test_history_keeps_earlier_contracts_and_their_times(registry):
    t1, t2 = T0 + timedelta(days=1), T0 + timedelta(days=2)
    registry.apply([contract("a", "one")], at=T0)
    registry.apply([contract("a", "two"), contract("a", "new", version=2)], at=t1)
    registry.apply(removals=[ref("a")], at=t2)
    found = registry.history(server="s", name="a")
    assert [(each.contract.capability.does, each.valid_from, each.valid_to) for each in found] == [
        ("one", T0, t1),
        ("two", t1, t2),
        ("new", t1, None),
    ]
    assert found[0].fingerprint == contract("a", "one").fingerprint
    assert registry.history(server="s", name="none") == ()


def test_times_of_any_zone_come_back_as_the_same_moment(registry):
    at = datetime.fromisoformat("2026-01-01T08:00:00+08:00")
    registry.apply([contract("a")], at=at)
    assert registry.history(server="s", name="a")[0].valid_from == at
    with pytest.raises(ValueError, match="time zone"):
        registry.apply([contract("b")], at=datetime(2026, 1, 1))
    assert [each.ref.name for each in registry.contracts()] == ["a"]


def test_contracts_come_back_equal_with_parameters_in_their_order(registry):
    schema = {
        "type": "object",
        "properties": {"z": {"type": "string"}, "a": {"const": "\ud800"}, "中": {"default": 2**70}},
    }
    original = contract("工具", "查订单 \u0000 \u2028", input={"schema": schema})
    registry.apply([original], at=T0)
    (loaded,) = registry.contracts()
    assert loaded == original
    assert loaded.fingerprint == original.fingerprint
    assert list(loaded.input_schema["properties"]) == ["z", "a", "中"]
    assert registry.fingerprints() == {original.ref: original.fingerprint}


def test_refs_sort_like_tool_refs(registry):
    names = ["b", "a", "B", "é", "中", "a.b", "a-b", "𝒳"]
    registry.apply([contract(name, version=v) for name in names for v in (10, 9)], at=T0)
    refs = [each.ref for each in registry.contracts()]
    assert refs == sorted(refs)
    assert list(registry.fingerprints()) == refs


def test_state_survives_reopening(tmp_path):
    path = tmp_path / "registry.duckdb"
    with Registry.open(path) as registry:
        registry.apply([contract("a")], at=T0)
        registry.set_rules("rules: []", at=T0)
        registry.set_setting("encoder", "hashed@1")
        registry.record_outcome(outcome(OutcomeStatus.SUCCESS))
        registry.record_decisions([decision("trace-1")])
    with Registry.open(path, read_only=True) as registry:
        assert registry.generation == 1
        assert registry.rules() == "rules: []"
        assert registry.setting("encoder") == "hashed@1"
        assert registry.tallies()[("s", "a", 0)].successes == 1.0
        assert registry.decision("trace-1") == decision("trace-1")
        assert registry.counts() == {"outcomes": 1, "decisions": 1}
        with pytest.raises(IndexStateError, match="reading only"):
            registry.apply([contract("b")], at=T0)


def test_rules_and_settings(registry):
    assert (registry.rules(), registry.rules_generation, registry.setting("x")) == (None, 0, None)
    assert registry.set_rules("one", at=T0) == 1
    assert registry.set_rules("one", at=T0) == 1
    assert registry.set_rules("two", at=T0) == 2
    assert registry.rules() == "two"
    registry.set_setting("x", "1")
    registry.set_setting("x", "2")
    assert registry.setting("x") == "2"
    assert registry.generation == 0


def test_embeddings_are_kept_by_encoder_and_hash(registry):
    one, two = np.array([1, 0], dtype=np.float32), np.array([0.6, 0.8], dtype=np.float32)
    registry.put_embeddings("e1", {text_key("one"): one, text_key("two"): two})
    registry.put_embeddings("e1", {text_key("one"): two})  # the same text again: the first stays
    registry.put_embeddings("e2", {text_key("one"): two})
    registry.put_embeddings("e2", {})
    found = registry.embeddings("e1", [text_key("two"), text_key("one"), text_key("no"), text_key("one")])
    assert found.keys() == {text_key("one"), text_key("two")}
    np.testing.assert_array_equal(found[text_key("one")], one)
    np.testing.assert_array_equal(found[text_key("two")], two)
    assert found[text_key("two")].dtype == np.float32
    assert registry.embeddings("e1", []) == {}
    assert registry.drop_embeddings(except_encoder_id="e2") == 2
    assert registry.embeddings("e1", [text_key("one")]) == {}
    assert len(registry.embeddings("e2", [text_key("one")])) == 1


def test_embeddings_of_unequal_length_are_refused(registry):
    with pytest.raises(EncoderMismatch, match="one length"):
        registry.put_embeddings("e", {"a": np.ones(2, np.float32), "b": np.ones(3, np.float32)})


def test_decisions_newest_of_a_trace_counts_and_pruning_keeps_the_newest(registry):
    registry.record_decisions([])
    registry.record_decisions([decision("t1", answer="old"), decision("t1", answer="new")])
    registry.record_decisions([decision("t1", subject="bob", tenant="acme")])
    found = registry.decision("t1")
    assert found is not None
    assert found.belongs_to(subject="bob", tenant="acme")
    assert not found.belongs_to(subject="bob", tenant=None)
    assert not found.belongs_to(subject="ann", tenant="acme")
    assert registry.decision("t2") is None
    old = T0 - timedelta(days=100)
    registry.record_decisions([decision(f"n{i}", at=old if i < 5 else T0) for i in range(10)])
    assert registry.prune_decisions(max_rows=8) == 5
    assert registry.decision("t1") is None
    assert registry.prune_decisions(before=T0) == 3
    assert registry.counts()["decisions"] == 5
    assert registry.prune_decisions() == 0


def test_outcomes_are_tallied_by_tool(registry):
    for status in OutcomeStatus:
        registry.record_outcome(outcome(status, name="b"))
    registry.record_outcome(outcome(OutcomeStatus.UNKNOWN, name="only-unknown"))
    registry.record_outcome(outcome(OutcomeStatus.SUCCESS, at=T0 - timedelta(days=30)))
    registry.record_outcome(outcome(OutcomeStatus.TOOL_ERROR, at=T0))
    tallies = registry.tallies()
    assert list(tallies) == [("s", "a", 0), ("s", "b", 0)]
    assert (tallies[("s", "b", 0)].successes, tallies[("s", "b", 0)].failures) == (1.0, 2.0)
    assert (tallies[("s", "a", 0)].successes, tallies[("s", "a", 0)].failures) == (0.5, 1.0)
    assert tallies[("s", "a", 0)].as_of == T0
    assert registry.tallies(half_life_days=15)[("s", "a", 0)].successes == 0.25
    assert registry.prune_outcomes(before=T0) == 1
    assert registry.counts()["outcomes"] == 7


def test_threads_share_a_registry(tmp_path):
    errors = []

    def work(registry, number):
        try:
            for i in range(10):
                registry.apply([contract(f"t{number}-{i}")], at=T0)
                registry.contracts()
                registry.record_decisions([decision(f"trace-{number}-{i}")])
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    with Registry.open(tmp_path / "r.duckdb") as registry:
        threads = [threading.Thread(target=work, args=(registry, n)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert registry.generation == 40
        assert registry.counts()["decisions"] == 40


def test_second_process_is_told_to_ask_the_owner(tmp_path):
    path = tmp_path / "registry.duckdb"
    code = (
        "import sys; from pathlib import Path\n"
        "from toolsearch.store.registry import Registry\n"
        "from toolsearch.model.errors import IndexLocked\n"
        "try: Registry.open(Path(sys.argv[1]), read_only=True)\n"
        "except IndexLocked as error: print(error)\n"
    )
    with Registry.open(path):
        child = subprocess.run(
            [sys.executable, "-c", code, str(path)],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert "belongs to another process: send the request to the running server" in child.stdout
        with pytest.raises(IndexLocked, match="already open in this process"):
            Registry.open(path)
    Registry.open(path).close()


def test_missing_and_damaged_files(tmp_path):
    with pytest.raises(IndexMissing, match="toolsearch index"):
        Registry.open(tmp_path / "none.duckdb", read_only=True)
    with pytest.raises(IndexMissing):
        Registry.open(tmp_path / "no-folder" / "r.duckdb")
    for name, content in {"empty": b"", "text": b"not a database\n" * 999}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(IndexCorrupt, match="build the index again"):
            Registry.open(tmp_path / name)
    with pytest.raises(IndexCorrupt):
        Registry.open(tmp_path)


def test_newer_schema_is_refused_and_the_file_stays_free(tmp_path):
    path = tmp_path / "r.duckdb"
    Registry.open(path).close()
    database = Database.open(path)
    with database.transaction() as connection:
        connection.execute("UPDATE schema_version SET version = 99")
    database.close()
    for read_only in (False, True):
        with pytest.raises(IndexFormatMismatch, match="has schema 99") as caught:
            Registry.open(path, read_only=read_only)
        assert (caught.value.found, caught.value.expected) == ("99", str(SCHEMA_VERSION))


def test_older_schema_is_migrated_only_when_writing(tmp_path):
    path = tmp_path / "r.duckdb"
    Database.open(path).close()
    with pytest.raises(IndexFormatMismatch, match="open it once for writing"):
        Registry.open(path, read_only=True)
    Registry.open(path).close()
    database = Database.open(path, read_only=True)
    assert schema_version(database) == SCHEMA_VERSION
    database.close()


def test_failed_transaction_leaves_nothing_and_the_registry_usable(registry):
    def fail():
        with registry._database.transaction() as connection:
            connection.execute("UPDATE counters SET value = 7")
            raise RuntimeError("boom")

    with pytest.raises(RuntimeError, match="boom"):
        fail()
    assert registry.generation == 0
    registry.apply([contract("a")], at=T0)
    assert registry.generation == 1


def test_closed_registry_says_so(registry):
    registry.close()
    registry.close()
    with pytest.raises(IndexStateError, match="closed"):
        registry.contracts()


def test_text_that_is_no_unicode_is_the_callers_mistake(registry):
    with pytest.raises(RequestError, match="lone surrogate"):
        registry.decision("\udcff")
    with pytest.raises(RequestError, match="lone surrogate"):
        registry.record_decisions([decision("t1", subject="\ud800")])
    assert registry.counts()["decisions"] == 0
