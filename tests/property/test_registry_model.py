"""The registry behaves like a dictionary with a memory, whatever is done to it."""

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from toolsearch.model.contract import ToolContract, ToolRef
from toolsearch.model.request import OutcomeStatus
from toolsearch.store.outcomes import OutcomeRow
from toolsearch.store.registry import Registry
from toolsearch.store.tally import Tally, verdict

T0 = datetime(2026, 1, 1, tzinfo=UTC)
names = st.sampled_from(["a", "B", "é", "订单"])
refs = st.builds(ToolRef, st.sampled_from(["s", "t"]), names, st.integers(1, 2))


@st.composite
def contracts(draw):
    ref = draw(refs)
    return ToolContract.model_validate(
        {
            "identity": {"server": ref.server, "name": ref.name, "version": ref.version},
            "capability": {"does": draw(st.text(max_size=3))},
        }
    )


steps = st.lists(
    st.tuples(
        st.lists(contracts(), max_size=3, unique_by=lambda each: each.ref), st.lists(refs, max_size=3), st.booleans()
    ),
    max_size=6,
)


@settings(max_examples=20, deadline=None)
@given(steps)
def test_apply_equals_a_dictionary(steps):
    model, generation, versions = {}, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        registry = Registry.open(Path(folder) / "r.duckdb")
        for number, (upserts, removals, reopen) in enumerate(steps):
            at = T0 + timedelta(hours=number)
            before = dict(model)
            wanted = {each.ref: each for each in upserts}
            for ref in removals:
                if ref not in wanted:
                    model.pop(ref, None)
            model.update(wanted)
            changes = registry.apply(upserts, removals, at=at)
            fresh = {ref for ref in wanted if ref not in before}
            replaced = {ref for ref in wanted if ref in before and before[ref].fingerprint != wanted[ref].fingerprint}
            assert set(changes.added) == fresh
            assert set(changes.replaced) == replaced
            assert set(changes.removed) == before.keys() - model.keys()
            assert set(changes.unchanged) == wanted.keys() - fresh - replaced
            generation += bool(fresh or replaced or changes.removed)
            versions += len(fresh) + len(replaced)
            assert changes.generation == registry.generation == generation
            if reopen:
                registry.close()
                registry = Registry.open(Path(folder) / "r.duckdb")
        assert registry.contracts() == tuple(model[ref] for ref in sorted(model))
        assert registry.fingerprints() == {ref: model[ref].fingerprint for ref in sorted(model)}
        past = [
            each
            for server in ("s", "t")
            for name in ("a", "B", "é", "订单")
            for each in registry.history(server=server, name=name)
        ]
        assert len(past) == versions
        assert {each.ref for each in past if each.valid_to is None} == model.keys()
        assert all(each.contract.fingerprint == each.fingerprint for each in past)
        assert all(each.valid_to is None or each.valid_from <= each.valid_to for each in past)
        registry.close()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(names, st.sampled_from(OutcomeStatus), st.integers(0, 10**6)), max_size=12))
def test_tallies_after_a_restart_are_those_of_the_running_engine_bit_for_bit(reports):
    live = {}
    with Registry.open(None) as registry:
        for name, status, minutes in reports:
            at = T0 + timedelta(minutes=minutes, microseconds=minutes)
            registry.record_outcome(OutcomeRow(server="s", name=name, status=status, subject="x", at=at))
            live[("s", name, 0)] = live.get(("s", name, 0), Tally()).observed(verdict(status), at)
        assert registry.tallies() == {key: tally for key, tally in live.items() if tally.as_of is not None}
