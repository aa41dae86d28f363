"""What past requests may and may not change, over random catalogues, principals and logs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from invariant_oracle import plain, seen_by, whom
from strategies import TENANTS, scenes, texts

from toolsearch.engine.search import ToolIndex
from toolsearch.model.limits import SearchLimits
from toolsearch.model.request import PastRequest

MOMENT = datetime.now(UTC)


def runs(examples: int) -> settings:
    return settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
    )


@st.composite
def lived(draw: st.DrawFn) -> tuple[Any, list[PastRequest]]:
    """Return a scene and a log over its tools, of a few sources; some ask what the scene's request asks."""
    scene = draw(scenes(most=8))
    catalogue, _, _, request = scene
    entry = st.builds(
        PastRequest,
        text=st.one_of(st.just(request.text), texts(catalogue=catalogue)),
        ref=st.sampled_from([str(contract.ref) for contract in catalogue]),
        subject=st.sampled_from(("ann", "bob", "cy", "anonymous")),
        tenant=st.sampled_from((None, *TENANTS)),
        at=st.integers(0, 400).map(lambda days: MOMENT - timedelta(days=days)),
    )
    now = MOMENT if draw(st.booleans()) else MOMENT + timedelta(days=50)
    log = draw(st.lists(entry, max_size=25))
    return (*scene[:3], request.model_copy(update={"now": now})), log


def filled(index: ToolIndex, catalogue: Any, rules: Any, log: list[PastRequest]) -> ToolIndex:
    index.replace_all(())
    index.replace_all(catalogue)
    index.set_rules(rules)
    index.learn(log)
    return index


@runs(120)
@given(lived())
def test_experience_of_hidden_tools_and_of_other_tenants_does_not_exist(
    whole: ToolIndex, alone: ToolIndex, life: Any
) -> None:
    (catalogue, rules, principal, request), log = life
    visible = seen_by(catalogue, rules=rules, principal=whom(request, principal))
    refs = {str(contract.ref) for contract in visible}
    filled(whole, catalogue, rules, log)
    own = [entry for entry in log if entry.ref in refs and entry.tenant == principal.tenant]
    filled(alone, visible, rules, own)
    assert plain(whole.search(request, principal=principal)) == plain(alone.search(request, principal=principal))
    assert whole.rank(request, principal=principal) == alone.rank(request, principal=principal)


@runs(60)
@given(lived())
def test_without_past_requests_of_one_s_own_tenant_nothing_changes(whole: ToolIndex, life: Any) -> None:
    (catalogue, rules, principal, request), log = life
    filled(whole, catalogue, rules, [entry for entry in log if entry.tenant != principal.tenant])
    never = whole.with_limits(SearchLimits(past=False))
    assert plain(whole.search(request, principal=principal)) == plain(never.search(request, principal=principal))
    assert whole.rank(request, principal=principal) == never.rank(request, principal=principal)


@runs(60)
@given(lived())
def test_learning_lowers_nothing_and_moves_only_what_it_is_about(whole: ToolIndex, alone: ToolIndex, life: Any) -> None:
    (catalogue, rules, principal, request), log = life
    filled(whole, catalogue, rules, log)
    told = {entry.ref for entry in log if entry.tenant == principal.tenant}
    never = whole.with_limits(SearchLimits(past=False))
    after = dict(whole.rank(request, principal=principal, depth=1_000))
    before = dict(never.rank(request, principal=principal, depth=1_000))
    for ref in before.keys() & after.keys():
        assert after[ref] >= before[ref] - 1e-12
        assert ref in told or after[ref] == before[ref]


@runs(60)
@given(lived(), st.randoms(use_true_random=False))
def test_one_source_does_little_to_others_however_much_it_tells(whole: ToolIndex, life: Any, random: Any) -> None:
    (catalogue, rules, principal, request), log = life
    flood = [
        PastRequest(
            text=request.text if number % 7 == 0 else f"{request.text} {number}",
            ref=str(catalogue[0].ref),
            subject="mallory",
            tenant=principal.tenant,
            at=MOMENT - timedelta(days=random.randrange(80)),
        )
        for number in range(60)
    ]
    filled(whole, catalogue, rules, log)
    before = dict(whole.rank(request, principal=principal, depth=1_000))
    whole.learn(flood)
    after = dict(whole.rank(request, principal=principal, depth=1_000))
    for ref in before.keys() & after.keys():
        moved = after[ref] - before[ref]
        assert moved == 0 if ref != str(catalogue[0].ref) else -1e-12 <= moved <= 1 / 3 + 1e-12


@runs(40)
@given(lived())
def test_the_order_and_the_grouping_of_a_log_change_nothing(whole: ToolIndex, alone: ToolIndex, life: Any) -> None:
    (catalogue, rules, principal, request), log = life
    # Within the daily limit: which of too many are taken does depend on which came first.
    few = list({(entry.ref, entry.subject, entry.tenant): entry for entry in log}.values())
    filled(whole, catalogue, rules, few)
    filled(alone, catalogue, rules, [])
    for entry in reversed(few):
        alone.learn([entry])
    assert whole.rank(request, principal=principal) == alone.rank(request, principal=principal)
