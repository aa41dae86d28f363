"""Whatever happens to the catalogue, the rules and the process: a session's definitions never change in place."""

from __future__ import annotations

import itertools
import json
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from invariant_oracle import plain, seen_by
from strategies import catalogues, principals, requests, rule_books

from toolsearch.contracts.change.rollout import Rollout
from toolsearch.engine.search import ToolIndex
from toolsearch.model.answer import CandidateSet, SessionList
from toolsearch.model.contract import ToolContract, ToolRef
from toolsearch.model.errors import UnknownSession
from toolsearch.model.request import Principal, SearchRequest
from toolsearch.search.visibility.rules import Rule, RuleBook, RuleEffect, ToolScope

REFS = (
    *(ToolRef(server, name, 1) for server in ("alpha", "beta") for name in ("get", "list", "send")),
    ToolRef("alpha", "get", 2),
    ToolRef("alpha", "beta__get", 1),
)
WHO = (Principal(subject="ann"), Principal(subject="ann", tenant="acme"), Principal(subject="bob", roles=("staff",)))
IDS = ("one", "two")
WORDS = ("orders", "parcels", "letters", "bills")


def revision_of(ref: ToolRef, number: int) -> ToolContract:
    """Return one of some revisions of a tool: other words, other neighbours, at times for staff alone."""
    return ToolContract.model_validate(
        {
            "identity": {"server": ref.server, "name": ref.name, "version": ref.version},
            "capability": {
                "does": f"{ref.name} {WORDS[number % 4]} of {ref.server}, {number}",
                "tags": ["always-on"] if number % 7 == 6 else [],
            },
            "selection": {"adjacent_tools": {"beta/list": "for lists"} if number % 2 else {}},
            "input": {"schema": {"type": "object", "properties": {f"p{number}": {"type": "string"}}}},
            "execution": {"side_effect": ("read_only", "reversible")[number % 2]},
            "access": {"roles_any": ["staff"]} if number % 5 == 4 else {},
        }
    )


def denying(names: tuple[str, ...]) -> RuleBook:
    allow = Rule(id="all", effect=RuleEffect.ALLOW, reason="open")
    deny = Rule(id="none", effect=RuleEffect.DENY, reason="shut", tools=ToolScope(names=names))
    return RuleBook(rules=(allow, deny) if names else (allow,))


@dataclass
class Told:
    """What a harness knows of one session: the list as it was told, and every name it ever heard."""

    definitions: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)

    def leave(self, seen: set[str]) -> list[str]:
        gone = [ref for ref in self.definitions if ref not in seen]
        for ref in gone:
            del self.definitions[ref]
        self.left += gone
        return gone


def text_of(definition: dict[str, Any] | None) -> str:
    return json.dumps(definition, ensure_ascii=False)


class Sessions(RuleBasedStateMachine):
    """An index on disk, the harnesses that use it, and what each of them was told."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.index = ToolIndex.create(self.folder / "i", rules=denying(()), encoder="hashed")
        self.catalogue: dict[ToolRef, ToolContract] = {}
        self.rules = denying(())
        self.told: dict[tuple[Principal, str], Told] = {}
        self.hashes: dict[str, str] = {}

    def teardown(self) -> None:
        self.index.close()
        shutil.rmtree(self.folder)

    def seen(self, principal: Principal) -> set[str]:
        visible = seen_by(self.catalogue.values(), rules=self.rules, principal=principal)
        return {str(contract.ref) for contract in visible}

    def agrees(self, hash_: str, told: Told) -> None:
        """One hash stands for one list of bytes, in whatever session, and no other hash for it."""
        shown = json.dumps(list(told.definitions.items()))
        assert self.hashes.setdefault(hash_, shown) == shown
        assert sum(other == shown for other in self.hashes.values()) == 1

    @initialize(numbers=st.lists(st.integers(0, 13), min_size=len(REFS), max_size=len(REFS)))
    def begin(self, numbers: list[int]) -> None:
        self.catalogue = {ref: revision_of(ref, number) for ref, number in zip(REFS, numbers, strict=True)}
        self.index.add(self.catalogue.values())

    @rule(ref=st.sampled_from(REFS), number=st.integers(0, 13))
    def revise(self, ref: ToolRef, number: int) -> None:
        self.catalogue[ref] = revision_of(ref, number)
        self.index.add([self.catalogue[ref]])

    @rule(ref=st.sampled_from(REFS))
    def withdraw(self, ref: ToolRef) -> None:
        if self.catalogue.pop(ref, None) is not None:
            self.index.remove([str(ref)])

    @rule(names=st.lists(st.sampled_from(("get", "list", "send", "beta__*")), max_size=1).map(tuple))
    def rule_anew(self, names: tuple[str, ...]) -> None:
        self.rules = denying(names)
        self.index.set_rules(self.rules)

    @rule(ref=st.sampled_from(REFS), number=st.integers(0, 13), share=st.sampled_from((0.0, 0.5, 1.0)))
    def roll_out(self, ref: ToolRef, number: int, share: float) -> None:
        self.index._live.rollouts = {ref: Rollout(contract=revision_of(ref, number), share=share)} if share else {}

    @rule()
    def restart(self) -> None:
        rollouts = self.index._live.rollouts
        self.index.close()
        self.index = ToolIndex.open(self.folder / "i")
        self.index._live.rollouts = rollouts

    @rule(
        principal=st.sampled_from(WHO),
        session=st.sampled_from(IDS),
        text=st.sampled_from(("get orders", "list parcels", "send letters of beta", "bills", "sing")),
        more=st.sampled_from(
            (
                {},
                {"k": 1, "format": "openai"},
                {"k": 3, "detail": "signature"},
                {"token_budget": 60},
                {"restrict": {"servers": ["alpha"], "max_side_effect": "read_only"}, "format": "anthropic"},
            )
        ),
    )
    def search(self, principal: Principal, session: str, text: str, more: dict[str, Any]) -> None:
        request = SearchRequest.model_validate({"text": text, "session": session, **more})
        answer = self.index.search(request, principal=principal)
        self.hear(answer, principal=principal, session=session)

    def hear(self, answer: CandidateSet, *, principal: Principal, session: str) -> None:
        update = answer.session
        assert update.created == ((principal, session) not in self.told)
        told = self.told.setdefault((principal, session), Told())
        assert [tool.ref for tool in update.left] == told.leave(self.seen(principal))
        handed = {tool.ref: tool for tool in (*answer.always_on, *answer.candidates)}
        for ref, tool in handed.items():
            assert tool.already_loaded == (ref in told.definitions)
            if ref in told.definitions:
                assert text_of(tool.definition) == told.definitions[ref], "a definition changed in place"
        appended = [ref for ref in handed if ref not in told.definitions]
        assert list(update.appended) == appended
        told.definitions |= {ref: text_of(handed[ref].definition) for ref in appended}
        told.left = [ref for ref in told.left if ref not in told.definitions]
        assert list(update.refs) == list(told.definitions)
        self.agrees(update.tools_hash, told)

    @rule(principal=st.sampled_from(WHO), session=st.sampled_from(IDS))
    def look(self, principal: Principal, session: str) -> None:
        told = self.told.get((principal, session))
        if told is None:
            with pytest.raises(UnknownSession):
                self.index.sessions.get(session, principal=principal)
            return
        told.leave(self.seen(principal))
        found = self.index.sessions.get(session, principal=principal)
        assert found.model_dump_json() == self.index.sessions.get(session, principal=principal).model_dump_json()
        self.compare(found, told)

    def compare(self, found: SessionList, told: Told) -> None:
        assert {tool.ref: text_of(tool.definition) for tool in found.tools} == told.definitions
        assert [tool.ref for tool in found.tools] == list(told.definitions)
        assert sorted(tool.ref for tool in found.left) == sorted(set(told.left))
        self.agrees(found.tools_hash, told)
        for tool in found.tools:
            assert told.names.setdefault(tool.ref, tool.api_name) == tool.api_name, "a tool got another name"
        assert len(set(told.names.values())) == len(told.names), "two tools of a session share a name"

    @rule(principal=st.sampled_from(WHO), session=st.sampled_from(IDS), everything=st.booleans())
    def refresh(self, principal: Principal, session: str, everything: bool) -> None:
        told = self.told.get((principal, session))
        if told is None:
            return
        told.leave(self.seen(principal))
        refs = () if everything else tuple(itertools.islice(told.definitions, 1))
        done = self.index.sessions.refresh(session, refs, principal=principal)
        changed = {tool.ref for tool in done.changed}
        assert changed <= set(refs or told.definitions)
        for tool in done.session.tools:
            if tool.ref in changed:
                assert tool.ref in told.definitions
                told.definitions[tool.ref] = text_of(tool.definition)
        self.compare(done.session, told)

    @rule(principal=st.sampled_from(WHO), session=st.sampled_from(IDS))
    def end(self, principal: Principal, session: str) -> None:
        if self.told.pop((principal, session), None) is not None:
            self.index.sessions.end(session, principal=principal)

    @invariant()
    def nobody_lost_a_session(self) -> None:
        kept = {(key.subject, key.tenant, key.session_id) for key, _ in self.index._live.registry.sessions()}
        assert kept == {(principal.subject, principal.tenant, session) for principal, session in self.told}


TestSessions = Sessions.TestCase
TestSessions.settings = settings(
    max_examples=6, stateful_step_count=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


@pytest.mark.slow
class TestManySessions(Sessions.TestCase):
    settings = settings(
        max_examples=40, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )


# What is hidden shapes no session -------------------------------------------------------------------------------------

_numbers = itertools.count()


@st.composite
def histories(draw: st.DrawFn) -> tuple[Principal, list[tuple[Any, RuleBook, SearchRequest]]]:
    """Return who asks, and a few steps of catalogue, rules and request; tools come, go and change from step to step."""
    steps = []
    for _ in range(draw(st.integers(1, 4))):
        catalogue = draw(catalogues(most=8))
        steps.append((catalogue, draw(rule_books()), draw(requests(catalogue=catalogue))))
    return draw(principals()), steps


def runs(examples: int) -> settings:
    return settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
    )


def check_history(whole: ToolIndex, alone: ToolIndex, history: Any) -> None:
    principal, steps = history
    session = f"s{next(_numbers)}"
    for catalogue, rules, request in steps:
        asked = request.model_copy(update={"session": session})
        for index, contracts in ((whole, catalogue), (alone, seen_by(catalogue, rules=rules, principal=principal))):
            index.replace_all(contracts)
            index.set_rules(rules)
        assert plain(whole.search(asked, principal=principal)) == plain(alone.search(asked, principal=principal))
        shown = [index.sessions.get(session, principal=principal).model_dump_json() for index in (whole, alone)]
        assert shown[0] == shown[1]
    moved = [index.sessions.refresh(session, principal=principal).model_dump_json() for index in (whole, alone)]
    assert moved[0] == moved[1]


@runs(15)
@given(histories())
def test_hidden_tools_do_not_show_in_a_session(whole: ToolIndex, alone: ToolIndex, history: Any) -> None:
    check_history(whole, alone, history)


@pytest.mark.slow
@runs(80)
@given(histories())
def test_hidden_tools_do_not_show_in_many_sessions(whole: ToolIndex, alone: ToolIndex, history: Any) -> None:
    check_history(whole, alone, history)
