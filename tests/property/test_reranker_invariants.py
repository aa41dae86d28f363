"""A reranker lifts what it reads and touches nothing else; without one, nothing has changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from invariant_oracle import plain, refs_in, seen_by, whom
from numpy.typing import NDArray
from strategies import CODE, NOW, catalogues, scenes, texts

from toolsearch import RuleBook, ToolContract, ToolIndex
from toolsearch.model.errors import RequestError
from toolsearch.model.limits import PROFILES
from toolsearch.model.reasons import ReasonCode, Why
from toolsearch.model.request import SIGNAL_NAMES, Principal, SearchRequest
from toolsearch.search.inputs.readiness import Readiness
from toolsearch.search.rank.rerank import RELEVANCE_SIGNALS, Evidence, score
from toolsearch.search.rank.signals import Signal
from toolsearch.text.analysis.analyzer import analyze
from toolsearch.text.embed.reranking import RerankerInfo

ANYONE = Principal()
A_REASON = Why(ReasonCode.TEXT_MATCH, "so")
shares = st.floats(0, 1).map(lambda value: round(value, 6))


class Overlap:
    """Share of the request's words that stand in a text; keeps what it was given to read."""

    def __init__(self) -> None:
        self.read: list[str] = []

    @property
    def info(self) -> RerankerInfo:
        return RerankerInfo(id="overlap@1", sha256="0" * 64)

    def score(self, request: str, texts: Sequence[str]) -> NDArray[np.float64]:
        self.read += texts
        words = set(analyze(request))
        return np.array([len(words & set(analyze(text))) / max(1, len(words)) for text in texts], dtype=np.float64)


class Fixed(Overlap):
    """Gives the same numbers to whatever stands at the same place."""

    def __init__(self, *values: float) -> None:
        super().__init__()
        self.values = values

    def score(self, request: str, texts: Sequence[str]) -> NDArray[np.float64]:
        self.read += texts
        return np.array([self.values[at % len(self.values)] for at in range(len(texts))], dtype=np.float64)


def runs(examples: int) -> settings:
    return settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
    )


def fill(index: ToolIndex, contracts: Any, rules: RuleBook) -> ToolIndex:
    index.replace_all(contracts)
    index.set_rules(rules)
    return index


def with_reranker(index: ToolIndex, reranker: Any, *, top: int = 20) -> ToolIndex:
    """Return a second door to an index that has a reranker."""
    return ToolIndex(index._live, limits=replace(index.limits, rerank_top=top), reranker=reranker)


def unrestricted(catalogue: Any) -> list[Any]:
    return [contract.model_copy(update={"access": type(contract.access)()}) for contract in catalogue]


@pytest.fixture(scope="module")
def overlapping() -> Iterator[tuple[ToolIndex, ToolIndex, Overlap]]:
    reranker = Overlap()
    with (
        ToolIndex.create(None, encoder="hashed", reranker=reranker) as one,
        ToolIndex.create(None, encoder="hashed", reranker=reranker) as other,
    ):
        yield one, other, reranker


@settings(max_examples=300, deadline=None)
@given(
    st.fixed_dictionaries(dict.fromkeys(SIGNAL_NAMES, shares)),
    st.lists(shares, min_size=2, max_size=2).map(sorted),
    st.fixed_dictionaries({name: st.sampled_from((0.0, 0.3, 1.0, 10.0)) for name in (*SIGNAL_NAMES, "rerank")}),
    st.sampled_from(("seed", "default")),
    st.frozensets(st.sampled_from(RELEVANCE_SIGNALS)),
    st.sampled_from((None, 0.75, 0.95)),
    st.sampled_from((None, 0.4)),
    st.sampled_from((0.0, 0.3)),
)
def test_raising_its_number_never_lowers_a_score(
    values: dict[str, float],
    numbers: list[float],
    weights: Any,
    profile: str,
    spoke: frozenset[str],
    named: float | None,
    past: float | None,
    penalty: float,
) -> None:
    unread = Evidence(
        doc_id=0,
        signals={name: Signal(value, lambda: A_REASON) for name, value in values.items()},
        spoke=spoke,
        named=None if named is None else (named, A_REASON),
        past=None if past is None else (past, lambda: A_REASON),
        penalties=(("negative_boundary", penalty, lambda: A_REASON),) if penalty else (),
        notes=(),
        cautions=(),
        readiness=Readiness(1.0, 0, {}, ()),
        clauses=(),
    )
    items = [unread, *(replace(unread, read=(number, lambda: A_REASON)) for number in numbers)]
    plain_one, lower, higher = (score(item, profile=PROFILES[profile], weights=weights) for item in items)
    for less, more in ((plain_one, lower), (lower, higher)):
        assert more.score >= less.score - 1e-12
        assert more.relevance >= less.relevance - 1e-12
    assert 0.0 <= higher.score <= 1.0
    assert higher.relevance <= 1.0 + 1e-12
    assert sum(part.contribution for part in higher.signals.values()) == pytest.approx(higher.score, abs=1e-12)
    assert "rerank" not in plain_one.signals
    assert higher.signals["rerank"].value == numbers[1]


@runs(60)
@given(scenes(most=10))
def test_without_one_or_without_weight_the_bytes_are_the_same(whole: ToolIndex, scene: Any) -> None:
    catalogue, rules, principal, request = scene
    fill(whole, catalogue, rules)
    request = request.model_copy(update={"session": None})
    silent = request.model_copy(update={"weights": {**request.weights, "rerank": 0.0}})
    reader = Overlap()
    expected = plain(whole.search(request, principal=principal))
    assert plain(whole.search(silent, principal=principal)) == expected
    assert plain(with_reranker(whole, reader).search(silent, principal=principal)) == expected
    assert plain(with_reranker(whole, reader, top=0).search(request, principal=principal)) == expected
    assert reader.read == []
    assert "rerank" not in expected


@runs(80)
@given(scenes(most=12))
def test_hidden_tools_never_reach_it(overlapping: tuple[ToolIndex, ToolIndex, Overlap], scene: Any) -> None:
    whole, alone, reranker = overlapping
    catalogue, rules, principal, request = scene
    narrowed = whom(request, principal)
    seen = seen_by(catalogue, rules=rules, principal=narrowed)
    fill(whole, catalogue, rules)
    fill(alone, seen, rules)
    reranker.read.clear()
    found = whole.search(request, principal=principal)
    ranked = whole.rank(request, principal=principal)
    read = list(reranker.read)
    reranker.read.clear()
    assert plain(alone.search(request, principal=principal)) == plain(found)
    assert alone.rank(request, principal=principal) == ranked
    assert reranker.read == read
    visible = {code for contract in seen for code in CODE.findall(contract.model_dump_json())}
    assert {code for text in read for code in CODE.findall(text)} <= visible
    assert set(refs_in(found)) <= {str(contract.ref) for contract in seen}


@runs(60)
@given(catalogues(most=12), texts(), st.lists(shares, min_size=1, max_size=4), st.integers(1, 4))
def test_it_lifts_what_it_reads_and_nothing_else(
    whole: ToolIndex, catalogue: Any, text: str, values: list[float], top: int
) -> None:
    fill(whole, unrestricted(catalogue), RuleBook.public())
    request = SearchRequest(text=text, now=NOW)
    before = dict(whole.rank(request, principal=ANYONE))
    best = sorted(before, key=lambda ref: -before[ref])[:top]
    reader = Fixed(*values)
    after = dict(with_reranker(whole, reader, top=top).rank(request, principal=ANYONE))
    assert after.keys() == before.keys()
    assert len(reader.read) == min(top, len(before))
    for ref, value in after.items():
        assert value >= before[ref] - 1e-12
    moved = {ref for ref in after if after[ref] != before[ref]}
    least = min((before[ref] for ref in best), default=0.0)
    assert all(before[ref] >= least for ref in moved)
    # Nothing that was not read overtakes what was.
    for ref in set(after) - moved - set(best):
        assert all(after[other] >= after[ref] for other in best)


@runs(40)
@given(catalogues(most=8), texts())
def test_what_is_shown_is_what_was_used(whole: ToolIndex, catalogue: Any, text: str) -> None:
    fill(whole, unrestricted(catalogue), RuleBook.public())
    reading = with_reranker(whole, Fixed(0.25, 0.9))
    request = SearchRequest(text=text, now=NOW)
    for candidate in reading.search(request, principal=ANYONE).candidates:
        total = sum(signal.contribution for signal in candidate.signals.values())
        assert total == pytest.approx(candidate.score, abs=1e-9)
        assert candidate.signals["rerank"].value in {0.25, 0.9}
        assert ReasonCode.READ_TOGETHER in {reason.code for reason in candidate.reasons}
        told = reading.explain(request, ref=candidate.ref, principal=ANYONE)
        assert sum(part.value for part in told.score.details) == pytest.approx(told.score.value, abs=1e-9)
        assert any("rerank: value" in part.description for part in told.score.details)


class Short(Overlap):
    """Gives one number whatever it reads."""

    def score(self, request: str, texts: Sequence[str]) -> NDArray[np.float64]:
        return np.array([0.5], dtype=np.float64)


@pytest.mark.parametrize("reranker", [Fixed(1.5), Fixed(-0.1), Fixed(float("nan")), Short()])
def test_numbers_that_cannot_be_used_are_refused(reranker: Overlap) -> None:
    contracts = [
        ToolContract.model_validate(
            {"identity": {"name": name, "server": "shop", "version": 1}, "capability": {"does": f"reads one {name}"}}
        )
        for name in ("order", "invoice")
    ]
    with ToolIndex.create(None, encoder="hashed", rules=RuleBook.public(), reranker=reranker) as index:
        index.add(contracts)
        with pytest.raises(RequestError, match="'overlap@1' must give 2 numbers from 0 to 1"):
            index.search("read one order or one invoice", principal=ANYONE)
