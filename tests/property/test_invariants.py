"""The eleven invariants of a search, each under its own name, over random catalogues and principals.

One pair of indexes serves all examples of a module: replacing
whole catalogues again and again is itself part of what must not show.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from invariant_oracle import (
    TinyEncoder,
    bm25_shares,
    name_shares,
    plain,
    refs_in,
    seen_by,
    similarities,
    told,
    whom,
)
from strategies import CODE, NOW, catalogues, principals, restrictions, rule_books, scenes, texts

from toolsearch.contracts.export import json_tokens
from toolsearch.engine.search import ToolIndex
from toolsearch.model.contract import ToolContract
from toolsearch.model.errors import UnknownTool
from toolsearch.model.limits import PROFILES, Bm25Parameters
from toolsearch.model.reasons import ReasonCode, Why
from toolsearch.model.request import SIGNAL_NAMES, Mode, Outcome, OutcomeStatus, Principal, SearchRequest
from toolsearch.search.inputs.readiness import Readiness
from toolsearch.search.rank.recall import NAME_SHARE
from toolsearch.search.rank.rerank import CONTEXT_SIGNALS, RELEVANCE_SIGNALS, Evidence, score
from toolsearch.search.rank.signals import Signal
from toolsearch.search.visibility.rules import RuleBook

HERE = Path(__file__).parent


def runs(examples: int) -> settings:
    return settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
    )


ANYONE = Principal()
NO_CONTEXT = dict.fromkeys(CONTEXT_SIGNALS, 0.0)


@pytest.fixture(scope="module")
def observed() -> Iterator[ToolIndex]:
    """An index with outcomes, apart from the others: outcomes outlive the catalogues they were made in."""
    with ToolIndex.create(None, encoder="hashed") as index:
        yield index


@pytest.fixture(scope="module")
def tiny() -> Iterator[tuple[ToolIndex, ToolIndex]]:
    with ToolIndex.create(None, encoder=TinyEncoder()) as one, ToolIndex.create(None, encoder=TinyEncoder()) as other:
        yield one, other


def fill(index: ToolIndex, contracts: Any, rules: RuleBook) -> ToolIndex:
    index.replace_all(contracts)
    index.set_rules(rules)
    return index


# 1 -----------------------------------------------------------------------------------------------------------------


@runs(150)
@given(scenes(most=12))
def test_1_no_forbidden_tool_in_any_output(whole: ToolIndex, scene: Any) -> None:
    catalogue, rules, principal, request = scene
    fill(whole, catalogue, rules)
    seen = {str(contract.ref) for contract in seen_by(catalogue, rules=rules, principal=principal)}
    now_seen = {str(contract.ref) for contract in seen_by(catalogue, rules=rules, principal=whom(request, principal))}
    assert {summary.ref for summary in whole.tools(principal=principal)} == seen
    said = set(CODE.findall(request.text))

    def clean(text: str, allowed: set[str]) -> None:
        visible = {code for ref in allowed for code in CODE.findall(ref)}
        assert set(CODE.findall(text)) - said <= visible

    answer = whole.search(request, principal=principal)
    assert set(refs_in(answer)) <= now_seen
    assert {ref for ref, _ in whole.rank(request, principal=principal)} <= now_seen
    clean(plain(answer), now_seen)
    record = whole.decision(answer.trace_id, principal=principal)["answer"]
    clean(json.dumps(record, ensure_ascii=False), now_seen)
    clean(told(lambda: whole.tools(principal=principal)), seen)
    for contract in catalogue[:5]:
        ref = str(contract.ref)
        if ref in seen:
            clean(told(lambda ref=ref: whole.tool(ref, principal=principal)), seen)
        else:
            with pytest.raises(UnknownTool):
                whole.tool(ref, principal=principal)
            with pytest.raises(UnknownTool):
                whole.why_not(ref, principal=principal, asked_by=principal)
            with pytest.raises(UnknownTool):
                whole.record_outcome(Outcome(ref=ref, status=OutcomeStatus.SUCCESS), principal=principal)
        if ref in now_seen:
            clean(told(lambda ref=ref: whole.explain(request, ref=ref, principal=principal)), now_seen)
        else:
            with pytest.raises(UnknownTool):
                whole.explain(request, ref=ref, principal=principal)


# 2 -----------------------------------------------------------------------------------------------------------------


def check_interference(whole: ToolIndex, alone: ToolIndex, scene: Any) -> None:
    catalogue, rules, principal, request = scene
    narrowed = whom(request, principal)
    fill(whole, catalogue, rules)
    fill(alone, seen_by(catalogue, rules=rules, principal=narrowed), rules)
    assert plain(whole.search(request, principal=principal)) == plain(alone.search(request, principal=principal))
    assert whole.rank(request, principal=principal) == alone.rank(request, principal=principal)
    assert whole.tools(principal=narrowed) == alone.tools(principal=narrowed)
    seen = {contract.ref for contract in seen_by(catalogue, rules=rules, principal=narrowed)}
    hidden = [str(contract.ref) for contract in catalogue if contract.ref not in seen]
    shown = [str(contract.ref) for contract in catalogue if contract.ref in seen]
    for asked in {*hidden[:2], *shown[-2:], catalogue[0].identity.name, "get_order_qz99"}:
        for index_call in (
            lambda index, ref=asked: index.tool(ref, principal=narrowed),
            lambda index, ref=asked: index.why_not(ref, principal=narrowed, asked_by=narrowed),
            lambda index, ref=asked: index.explain(request, ref=ref, principal=narrowed),
        ):
            assert told(lambda call=index_call: call(whole)) == told(lambda call=index_call: call(alone))


@runs(200)
@given(scenes())
def test_2_non_interference(whole: ToolIndex, alone: ToolIndex, scene: Any) -> None:
    check_interference(whole, alone, scene)


@runs(50)
@given(scenes(most=10))
def test_2_non_interference_where_the_vector_lane_abstains(tiny: tuple[ToolIndex, ToolIndex], scene: Any) -> None:
    check_interference(*tiny, scene)


@pytest.mark.slow
@runs(1_000)
@given(scenes())
def test_2_non_interference_over_a_thousand_catalogues(whole: ToolIndex, alone: ToolIndex, scene: Any) -> None:
    check_interference(whole, alone, scene)


@runs(15)
@given(scenes(most=6), st.lists(st.tuples(st.integers(0, 6), st.booleans()), max_size=8))
def test_2_non_interference_of_outcomes(scene: Any, calls: list[tuple[int, bool]]) -> None:
    catalogue, rules, principal, request = scene
    everyone = [*seen_by(catalogue, rules=rules, principal=whom(request, principal))]
    with (
        ToolIndex.create(None, encoder="hashed", rules=rules) as whole,
        ToolIndex.create(None, encoder="hashed", rules=rules) as alone,
    ):
        whole.add(catalogue)
        alone.add(everyone)
        for at, success in calls:
            contract = catalogue[at % len(catalogue)]
            status = OutcomeStatus.SUCCESS if success else OutcomeStatus.TIMEOUT
            outcome = Outcome(ref=str(contract.ref), status=status, at="2026-09-16T10:00:00Z")
            for index in (whole, alone):
                # Recorded by somebody who sees the tool, below the rules: the state is what counts.
                if index is whole or contract in everyone:
                    index._live.observe(outcome, ref=contract.ref, subject="x", tenant=None, at=outcome.at)
        assert plain(whole.search(request, principal=principal)) == plain(alone.search(request, principal=principal))


# 3 -----------------------------------------------------------------------------------------------------------------


@runs(40)
@given(scenes(most=10))
def test_3_same_input_same_bytes(whole: ToolIndex, scene: Any) -> None:
    catalogue, rules, principal, request = scene
    fill(whole, catalogue, rules)
    first = whole.search(request, principal=principal)
    assert plain(whole.search(request, principal=principal)) == plain(first)
    scores = whole.rank(request, principal=principal)
    order = {str(contract.ref): contract.ref for contract in catalogue}
    assert scores == sorted(scores, key=lambda item: (-item[1], order[item[0]]))


def test_3_same_bytes_in_another_process() -> None:
    def digest(seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, str(HERE / "answer_bytes.py")]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120).stdout

    first = digest("0")
    assert len(first.split()) > 20
    assert first == digest("1") == digest("4242")


# 4 -----------------------------------------------------------------------------------------------------------------


@runs(40)
@given(scenes(most=8), st.integers(0, 1_000), st.integers(0, 8))
def test_4_catalogue_order_changes_nothing(whole: ToolIndex, alone: ToolIndex, scene: Any, seed: int, cut: int) -> None:
    catalogue, rules, principal, request = scene
    shuffled = list(catalogue)
    Random(seed).shuffle(shuffled)
    fill(whole, catalogue, rules)
    fill(alone, shuffled[:cut], rules)
    for contract in shuffled[cut:]:
        alone.add([contract])
    assert plain(whole.search(request, principal=principal)) == plain(alone.search(request, principal=principal))


# 5 -----------------------------------------------------------------------------------------------------------------


def without_penalties(contract: ToolContract) -> ToolContract:
    """Return the contract without what lifts or lowers a score or a place apart from relevance."""
    given = contract.input.model_dump(mode="json", by_alias=True)
    schema = {**given["schema"], "required": []} if isinstance(given["schema"], dict) else given["schema"]
    return ToolContract.model_validate(
        {
            **contract.model_dump(mode="json", by_alias=True),
            "identity": {**contract.identity.model_dump(mode="json"), "aliases": []},
            "capability": {**contract.capability.model_dump(mode="json"), "does_not": [], "tags": []},
            "selection": {**contract.selection.model_dump(mode="json"), "do_not_use_when": []},
            "input": {**given, "schema": schema, "required": []},
            "execution": {"side_effect": "read_only"},
        }
    )


@runs(80)
@given(catalogues(), rule_books(), principals(), st.sampled_from(Mode), st.data())
def test_5_filtered_search_equals_brute_force(
    whole: ToolIndex, catalogue: Any, rules: RuleBook, principal: Principal, mode: Mode, data: st.DataObject
) -> None:
    made = [without_penalties(contract) for contract in catalogue]
    text = " ".join(data.draw(texts()).split(" and then ")[0].split("，然后")[0].split(". Also ")[0].split())
    fill(whole, made, rules)
    allowed = sorted(seen_by(made, rules=rules, principal=principal), key=lambda contract: contract.ref)
    request = SearchRequest(text=text, mode=mode, weights=NO_CONTEXT, now=NOW)
    found = dict(whole.rank(request, principal=principal))
    if not allowed:
        assert found == {}
        return
    weights = PROFILES["default"].weights
    words = None if mode is Mode.VECTOR else bm25_shares(text, allowed, parameters=Bm25Parameters())
    vectors = None if mode is Mode.LEXICAL else similarities(text, allowed)
    names = name_shares(text, allowed)
    expected = {}
    for at, contract in enumerate(allowed):
        parts: list[tuple[float, float]] = []
        if words is not None:
            shares, known = words
            said = (1 - NAME_SHARE) * math.sqrt(shares[at]) + NAME_SHARE * names[at]
            parts.append((weights["lexical"] * (known if vectors is not None else 1.0), said))
        if vectors is not None:
            parts.append((weights["semantic"], vectors[at][0]))
            if contract.capability.examples:
                parts.append((weights["experience"], vectors[at][1]))
        norm = sum(weight for weight, _ in parts)
        expected[str(contract.ref)] = sum(weight * value for weight, value in parts) / norm if parts else 0.0
    assert set(found) <= set(expected)
    assert {ref for ref, value in expected.items() if value > 0} <= set(found)
    for ref, value in found.items():
        assert value == pytest.approx(expected[ref], abs=1e-6)
    listed = list(found)
    for above, below in pairwise(listed):
        assert expected[above] > expected[below] - 1e-6


# 6 -----------------------------------------------------------------------------------------------------------------


@runs(12)
@given(scene=scenes(most=10))
def test_6_save_and_load_give_equal_answers(tmp_path_factory: pytest.TempPathFactory, scene: Any) -> None:
    catalogue, rules, principal, request = scene
    folder = tmp_path_factory.mktemp("index")
    with ToolIndex.create(folder, rules=rules, encoder="hashed") as index:
        index.add(catalogue)
        before = plain(index.search(request, principal=principal))
    with ToolIndex.open(folder) as index:
        assert plain(index.search(request, principal=principal)) == before


@runs(60)
@given(scenes(most=10), catalogues(most=10), st.data())
def test_6_changes_equal_a_fresh_build(
    whole: ToolIndex, alone: ToolIndex, scene: Any, other: Any, data: st.DataObject
) -> None:
    catalogue, rules, principal, request = scene
    fill(whole, other, rules)
    whole.add(catalogue)
    now = {contract.ref: contract for contract in (*other, *catalogue)}
    gone = data.draw(st.lists(st.sampled_from(sorted(now)), unique=True, max_size=3))
    whole.remove(map(str, gone))
    fill(alone, [contract for ref, contract in now.items() if ref not in gone], rules)
    assert plain(whole.search(request, principal=principal)) == plain(alone.search(request, principal=principal))


# 7 -----------------------------------------------------------------------------------------------------------------


@runs(60)
@given(catalogues(most=10), texts())
def test_7_adding_a_tool_changes_scores_only_through_lexical_statistics(
    whole: ToolIndex, alone: ToolIndex, catalogue: Any, text: str
) -> None:
    # What a tool produces is offered to others as a source of their inputs: that is its own business.
    silent = [contract.model_copy(update={"output": type(contract.output)()}) for contract in catalogue]
    silent = [ToolContract.model_validate(c.model_dump(mode="json", by_alias=True)) for c in silent]
    public = RuleBook.public()
    owner = Principal(
        tenant="acme", environment="prod", roles=("support", "finance"), scopes=("o.read", "o.write", "b.read")
    )
    fill(whole, silent, public)
    fill(alone, silent[:-1], public)
    request = SearchRequest(text=text, mode=Mode.VECTOR, now=NOW)
    new = str(silent[-1].ref)
    before = dict(alone.rank(request, principal=owner))
    after = {ref: value for ref, value in whole.rank(request, principal=owner) if ref != new}
    assert after == before


# 8 -----------------------------------------------------------------------------------------------------------------

signal_values = st.floats(0, 1).map(lambda value: round(value, 6))
weightings = st.fixed_dictionaries({name: st.sampled_from((0.0, 0.05, 0.3, 1.0, 10.0)) for name in SIGNAL_NAMES})
A_REASON = Why(ReasonCode.TEXT_MATCH, "so")


def evidence_of(
    values: Mapping[str, float], *, spoke: frozenset[str], named: float | None, penalty: float = 0.0
) -> Evidence:
    return Evidence(
        doc_id=0,
        signals={name: Signal(value, lambda: A_REASON) for name, value in values.items()},
        spoke=spoke,
        named=None if named is None else (named, A_REASON),
        penalties=(("negative_boundary", penalty, lambda: A_REASON),) if penalty else (),
        notes=(),
        cautions=(),
        readiness=Readiness(1.0, 0, {}, ()),
        clauses=(),
    )


@settings(max_examples=500, deadline=None)
@given(
    st.fixed_dictionaries(dict.fromkeys(SIGNAL_NAMES, signal_values)),
    st.sampled_from(SIGNAL_NAMES),
    signal_values,
    weightings,
    st.sampled_from(("seed", "default")),
    st.frozensets(st.sampled_from(RELEVANCE_SIGNALS)),
    st.sampled_from((None, 0.75, 0.95)),
    st.sampled_from((0.0, 0.3)),
)
def test_8_raising_a_signal_never_lowers_a_score(
    values: dict[str, float],
    name: str,
    other: float,
    weights: Any,
    profile: str,
    spoke: frozenset[str],
    named: float | None,
    penalty: float,
) -> None:
    low, high = sorted((values[name], other))
    lower, higher = (
        score(
            evidence_of({**values, name: value}, spoke=spoke, named=named, penalty=penalty),
            profile=PROFILES[profile],
            weights=weights,
        )
        for value in (low, high)
    )
    # Sums of the same parts in another size: the last bit is not a fall.
    assert higher.score >= lower.score - 1e-12
    assert higher.relevance >= lower.relevance - 1e-12
    assert 0.0 <= lower.score <= 1.0
    assert sum(part.contribution for part in higher.signals.values()) == pytest.approx(higher.score, abs=1e-12)


@runs(40)
@given(catalogues(most=8), texts(), st.integers(0, 7))
def test_8_given_inputs_and_successes_never_lower_a_score(
    observed: ToolIndex, catalogue: Any, text: str, at: int
) -> None:
    fill(observed, [c.model_copy(update={"access": type(c.access)()}) for c in catalogue], RuleBook.public())
    contract = catalogue[at % len(catalogue)]
    ref = str(contract.ref)
    inputs = {"order_id": "ORD-20260917", "city": "paris", "day": "2026-09-17", "customer_id": "latest"}
    bare, given_all = SearchRequest(text=text, now=NOW), SearchRequest(text=text, now=NOW, inputs=inputs)
    before = observed.explain(bare, ref=ref, principal=ANYONE).score.value
    assert observed.explain(given_all, ref=ref, principal=ANYONE).score.value >= before - 1e-12
    observed.record_outcome(Outcome(ref=ref, status="success", at="2026-09-17T09:00:00Z"), principal=ANYONE)
    assert observed.explain(bare, ref=ref, principal=ANYONE).score.value >= before - 1e-12


# 9 -----------------------------------------------------------------------------------------------------------------


@runs(80)
@given(catalogues(most=8), texts(), st.integers(0, 7), st.lists(texts(), min_size=1, max_size=3), st.booleans())
def test_9_a_negative_sentence_never_raises_a_score(
    whole: ToolIndex, alone: ToolIndex, catalogue: Any, text: str, at: int, sentences: list[str], does_not: bool
) -> None:
    opened = [c.model_copy(update={"access": type(c.access)()}) for c in catalogue]
    at %= len(opened)
    plain_data = opened[at].model_dump(mode="json", by_alias=True)
    section, key = ("capability", "does_not") if does_not else ("selection", "do_not_use_when")
    plain_data[section][key] = [*plain_data[section][key], *sentences]
    changed = ToolContract.model_validate(plain_data)
    fill(alone, opened, RuleBook.public())
    fill(whole, [*opened[:at], changed, *opened[at + 1 :]], RuleBook.public())
    request, ref = SearchRequest(text=text, now=NOW), str(changed.ref)
    before = {str(c.ref): alone.explain(request, ref=str(c.ref), principal=ANYONE).score.value for c in opened}
    after = {str(c.ref): whole.explain(request, ref=str(c.ref), principal=ANYONE).score.value for c in opened}
    assert after.pop(ref) <= before.pop(ref)
    assert after == before


# 10 ----------------------------------------------------------------------------------------------------------------


@runs(60)
@given(scenes(most=15), st.integers(1, 8), st.integers(0, 1_500))
def test_10_never_more_than_k_nor_than_the_budget(whole: ToolIndex, scene: Any, k: int, budget: int) -> None:
    catalogue, _, _, request = scene
    fill(whole, [c.model_copy(update={"access": type(c.access)()}) for c in catalogue], RuleBook.public())
    answer = whole.search(request.model_copy(update={"k": k, "token_budget": budget}), principal=ANYONE)
    assert len(answer.candidates) <= k
    fixed = sum(json_tokens(item.definition) for item in answer.always_on)
    offered = sum(json_tokens(item.definition) for item in answer.candidates)
    assert fixed + offered <= max(budget, fixed)
    assert answer.token_metrics.returned == fixed + offered
    shown = [item.ref for item in (*answer.candidates, *answer.always_on)]
    assert len(shown) == len(set(shown))
    assert [item.rank for item in answer.candidates] == [*range(1, len(answer.candidates) + 1)]


# 11: see test_any_bytes.py

# restrictions only narrow -----------------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(catalogues(most=12), rule_books(), principals(), restrictions, st.sampled_from(("o.read", "o.write", "b.read")))
def test_a_restriction_or_a_lost_scope_never_adds_a_tool(
    catalogue: Any, rules: RuleBook, principal: Principal, limit: Any, scope: str
) -> None:
    # Allow and deny rules here speak of roles and tenants, never of scopes: a deny by scope is lifted with the scope.
    before = seen_by(catalogue, rules=rules, principal=principal)
    if limit is not None:
        assert all(c in before for c in seen_by(catalogue, rules=rules, principal=principal.narrowed(limit)))
    fewer = principal.model_copy(update={"scopes": tuple(s for s in principal.scopes if s != scope)})
    assert all(contract in before for contract in seen_by(catalogue, rules=rules, principal=fewer))


def test_the_strategies_hide_and_show() -> None:
    """The properties above would be empty if nothing were hidden, or nothing seen."""
    hidden = shown = 0

    @settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(scenes(most=12))
    def count(scene: Any) -> None:
        nonlocal hidden, shown
        catalogue, rules, principal, request = scene
        seen = len(seen_by(catalogue, rules=rules, principal=whom(request, principal)))
        shown += seen > 1
        hidden += 0 < seen < len(catalogue)

    count()
    assert shown >= 12
    assert hidden >= 12
