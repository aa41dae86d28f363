"""Any interleaving of proposals, decisions, direct changes and restarts keeps what versions promise."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from toolsearch.contracts.change.records import Revision
from toolsearch.engine.search import ToolIndex
from toolsearch.model.contract import ToolContract
from toolsearch.model.errors import RequestError, UnknownTool
from toolsearch.model.request import Principal
from toolsearch.search.visibility.rules import ADMIN_ROLE, RuleBook
from toolsearch.store.revisions import MAKES_CURRENT, Action

pytestmark = pytest.mark.slow
ADMIN = Principal(subject="root", roles=(ADMIN_ROLE,))


def contract(name: str, does: str, effect: str, required: bool) -> ToolContract:
    schema = {"type": "object", "properties": {"id": {}}, "required": ["id"] if required else []}
    return ToolContract.model_validate(
        {
            "identity": {"name": name, "server": "s"},
            "capability": {"does": does},
            "execution": {"side_effect": effect},
            "input": {"schema": schema},
        }
    )


names = st.sampled_from(["a", "b"])
contracts = st.builds(
    contract,
    names,
    st.sampled_from(["Reads.", "Looks up."]),
    st.sampled_from(["read_only", "irreversible"]),
    st.booleans(),
)


class Versions(RuleBasedStateMachine):
    """One index; what it told before; which contents somebody let pass."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.index = ToolIndex.create(self.folder / "i", rules=RuleBook.public(), encoder="hashed")
        self.told: dict[str, list[Revision]] = {}
        self.passed: set[str] = set()

    def teardown(self) -> None:
        if hasattr(self, "index"):
            self.index.close()
            shutil.rmtree(self.folder)

    @rule(given=contracts)
    def add(self, given: ToolContract) -> None:
        self.index.add([given])
        self.passed.add(given.fingerprint)

    @rule(given=contracts, whole=st.booleans())
    def propose(self, given: ToolContract, whole: bool) -> None:
        report = self.index.versions.propose([given], servers=["s"] if whole else [], author="s")
        ref = str(given.ref)
        places = [report.added, report.replaced, report.unchanged, report.held, report.refused]
        assert sum(ref in place for place in places) == 1
        if ref in (*report.added, *report.replaced):
            self.passed.add(given.fingerprint)

    @rule(name=names)
    def remove(self, name: str) -> None:
        with suppress(UnknownTool):
            self.index.remove([name])

    @rule(name=names, share=st.sampled_from([0.2, 1.0]))
    def approve(self, name: str, share: float) -> None:
        with suppress(UnknownTool, RequestError):
            line = self.index.versions.approve(name, share=share)
            self.passed.add(line.fingerprint)

    @rule(name=names)
    def reject(self, name: str) -> None:
        with suppress(UnknownTool):
            self.index.versions.reject(name)

    @rule(name=names)
    def rollback(self, name: str) -> None:
        with suppress(UnknownTool, RequestError):
            self.index.versions.rollback(f"s/{name}")

    @rule()
    def restart(self) -> None:
        before = self.seen()
        self.index.close()
        self.index = ToolIndex.open(self.folder / "i")
        assert self.seen() == before

    def seen(self) -> tuple[Any, ...]:
        return (self.index.versions.pending(), dict(self.index._live.rollouts), self.index.versions.contracts())

    @invariant()
    def history_only_grows_and_ends_with_what_is_current(self) -> None:
        current = {each.identity.name: each.fingerprint for each in self.index.versions.contracts()}
        for name in ("a", "b"):
            try:
                lines = list(self.index.versions.history(f"s/{name}", principal=ADMIN))
            except UnknownTool:
                assert name not in current
                continue
            plain = [line.model_copy(update={"current": False}) for line in lines]
            earlier = self.told.get(name, [])
            assert plain[: len(earlier)] == earlier
            self.told[name] = plain
            shown = [line.fingerprint for line in lines if line.current]
            assert shown == ([current[name]] if name in current else [])
            decisive = [line for line in lines if line.action in MAKES_CURRENT or line.action is Action.REMOVE]
            there = bool(decisive) and decisive[-1].action is not Action.REMOVE
            assert there == (name in current)

    @invariant()
    def nothing_serves_that_nobody_let_pass(self) -> None:
        assert {each.fingerprint for each in self.index.versions.contracts()} <= self.passed
        assert {each.contract.fingerprint for each in self.index._live.rollouts.values()} <= self.passed

    @invariant()
    def what_waits_is_news_and_what_is_rolled_out_has_a_stable_one(self) -> None:
        current = {str(each.ref): each.fingerprint for each in self.index.versions.contracts()}
        report = self.index.versions.pending()
        rolled = {each.ref: each.fingerprint for each in report.rollouts}
        assert rolled.keys() <= current.keys()
        for each in report.waiting:
            assert each.fingerprint not in (current.get(each.ref), rolled.get(each.ref))
        for each in report.reevaluate:
            assert current[each.ref] == each.fingerprint


TestVersions = Versions.TestCase
TestVersions.settings = settings(
    max_examples=12,
    stateful_step_count=15,
    deadline=None,
    phases=[Phase.generate],  # a failing history of disk files is slow to shrink, and short enough to read
    suppress_health_check=list(HealthCheck),
)
