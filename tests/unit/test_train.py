"""Learning from one's own log: what is fitted, what judges, who is served, and the way back."""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from toolsearch import PastRequest, Principal, RuleBook, SearchRequest, ToolContract, ToolIndex
from toolsearch.engine.models import LearntModel
from toolsearch.engine.workbench import Workbench
from toolsearch.learn import fit
from toolsearch.learn.log import Asked, Log, alike, fair, of_tenant, plain, split
from toolsearch.learn.train import Trained, train
from toolsearch.model.errors import ModelRefused, RequestError
from toolsearch.text.embed.hashed import HashedEncoder
from toolsearch.text.embed.protocol import EncoderInfo

AT = datetime(2026, 9, 17, 10, tzinfo=UTC)
RULES = RuleBook.public(reason="all are visible")
WHO = Principal(subject="zoe", tenant="acme")

# What people call a thing, and the tool whose definition calls it otherwise.
SLANG = {
    "invoices": ("bill", "Lists documents of money owed"),
    "parcels": ("packet", "Tracks shipments"),
    "calendar": ("meeting", "Shows appointments"),
    "tickets": ("bug", "Files defects"),
    "payroll": ("salary", "Computes wages"),
    "vacation": ("holiday", "Books absences"),
    "weather": ("rain", "Tells the forecast"),
    "music": ("song", "Plays audio"),
}
PLACES = ("paris", "oslo", "lima", "cairo", "quito", "delhi", "tokyo", "perth")
VERBS = ("show", "find", "give", "check", "want", "see", "open", "list")


class Words:
    """A direction for each word, and their mean for a text: small, so that training takes no time."""

    info = EncoderInfo(id="words@1", dim=48, sha256="0" * 64, scripts=("any",), cosine_floor=0.1, cosine_ceiling=0.7)

    def encode_queries(self, texts: Sequence[str]) -> np.ndarray:
        rows = np.zeros((len(texts), self.info.dim))
        for row, text in enumerate(texts):
            for word in re.findall(r"\w+", text.lower()) or [""]:
                rows[row] += np.random.default_rng(zlib.crc32(word.encode())).normal(size=self.info.dim)
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    def encode_documents(self, texts: Sequence[str]) -> np.ndarray:
        return self.encode_queries(texts)


class OtherWeights(Words):
    info = replace(Words.info, id="words@2", sha256="1" * 64)


def contract(name: str, does: str) -> ToolContract:
    return ToolContract.model_validate({"identity": {"name": name, "server": "s"}, "capability": {"does": does}})


CATALOGUE = tuple(contract(name, does) for name, (_, does) in SLANG.items())


def log(*, tenant: str | None = "acme", shuffled: bool = False) -> list[PastRequest]:
    """Return requests in other words than those of the definitions; shuffled, their tools are by chance."""
    chance = random.Random(7)
    names = list(SLANG)
    found = []
    for number, name in enumerate(name for name in names for _ in range(16)):
        words = [chance.choice(VERBS), SLANG[name][0], chance.choice(PLACES), chance.choice(PLACES)]
        text = f"{' '.join(words)} {chance.choice('abcdefghijkl') * 3}"
        tool = chance.choice(names) if shuffled else name
        found.append(PastRequest(text=text, ref=f"s/{tool}", subject=f"p{number}", tenant=tenant, at=AT))
    return found


@pytest.fixture
def index() -> Iterator[ToolIndex]:
    with ToolIndex.create(None, rules=RULES, encoder=Words()) as made:
        made.add(CATALOGUE)
        yield made


@pytest.fixture(scope="module")
def trained() -> Trained:
    with ToolIndex.create(None, rules=RULES, encoder=Words()) as made:
        made.add(CATALOGUE)
        return train(made, log(), at=AT)


def answer(index: ToolIndex, text: str = "show bill oslo", who: Principal = WHO) -> str:
    found = index.search(SearchRequest(text=text, now=AT, trace_id=None), principal=who)
    return found.model_dump_json(exclude={"trace_id", "timings_ms"})


def first(index: ToolIndex, text: str, who: Principal = WHO) -> str:
    return index.rank(SearchRequest(text=text, now=AT), principal=who)[0][0]


def identity(model: LearntModel, **manifest: object) -> LearntModel:
    """Return the model that changes nothing."""
    made = model.manifest.model_copy(update=manifest)
    return LearntModel(manifest=made, dim=model.dim, rank=0)


def test_other_words_than_those_of_the_definitions_are_learnt(trained: Trained, index: ToolIndex) -> None:
    assert trained.report.won, trained.report.verdict
    manifest = trained.model.manifest
    assert manifest.after.mrr > manifest.before.mrr + 0.2
    assert manifest.tenant == "acme"
    assert not manifest.all_tenants
    index.models.install(trained.require_won())
    asked = {f"please {word} bergen": f"s/{name}@1" for name, (word, _) in SLANG.items()}
    assert sum(first(index, text) == ref for text, ref in asked.items()) >= len(asked) - 1
    assert len(trained.model.model_dump_json()) < 1_000_000


def test_the_same_log_gives_the_same_model(trained: Trained, index: ToolIndex) -> None:
    again = train(index, reversed(log()), at=AT)
    assert again.model.model_dump_json() == trained.model.model_dump_json()


def test_tools_by_chance_are_refused(index: ToolIndex) -> None:
    before = answer(index)
    found = train(index, log(shuffled=True), at=AT)
    assert not found.report.won
    with pytest.raises(ModelRefused, match="not installed"):
        found.require_won()
    assert index.models.list() == ()
    assert answer(index) == before
    assert index._live.registry.experience() == []


def test_too_small_a_log_is_refused(index: ToolIndex) -> None:
    with pytest.raises(ModelRefused, match="at least 60"):
        train(index, log()[:30], at=AT)


def test_a_log_of_several_tenants_needs_a_word(index: ToolIndex) -> None:
    mixed = [*log(), *log(tenant="other")[:5]]
    with pytest.raises(RequestError, match="2 tenants"):
        train(index, mixed, at=AT)
    assert of_tenant(mixed, tenant="acme", all_tenants=False) == log()
    assert of_tenant(mixed, tenant=None, all_tenants=True) == mixed


def test_an_identity_model_changes_no_byte(trained: Trained, index: ToolIndex) -> None:
    before = answer(index)
    index.models.install(identity(trained.model))
    assert answer(index) == before


def test_a_model_serves_its_tenant_alone(trained: Trained, index: ToolIndex) -> None:
    others = [Principal(subject="bob", tenant="other"), Principal(subject="bob")]
    before = [answer(index, who=who) for who in others]
    own = answer(index)
    index.models.install(trained.model)
    assert [answer(index, who=who) for who in others] == before
    assert answer(index) != own


def test_a_model_for_everybody_gives_way_to_a_tenants_own(trained: Trained, index: ToolIndex) -> None:
    other = Principal(subject="bob", tenant="other")
    before = answer(index)
    general = trained.model.model_copy(
        update={"manifest": trained.model.manifest.model_copy(update={"all_tenants": True})}
    )
    index.models.install(general)
    index.models.install(identity(trained.model))
    assert first(index, "please rain bergen", who=other) == "s/weather@1"
    assert answer(index) == before


def test_rollback_brings_the_bytes_back(trained: Trained, index: ToolIndex) -> None:
    bare = answer(index)
    index.models.install(trained.model)
    learnt = answer(index)
    index.models.install(identity(trained.model))
    assert answer(index) == bare != learnt
    back = index.models.rollback()
    assert back is not None
    assert back.number == 1
    assert answer(index) == learnt
    assert index.models.rollback() is None
    assert answer(index) == bare
    with pytest.raises(RequestError, match="no model is in service"):
        index.models.rollback()
    index.models.activate(1)
    assert answer(index) == learnt
    with pytest.raises(RequestError, match="no model 9"):
        index.models.activate(9)


def test_a_model_installed_twice_keeps_its_number(trained: Trained, index: ToolIndex) -> None:
    later = trained.model.manifest.model_copy(update={"created_at": datetime(2027, 1, 1, tzinfo=UTC)})
    first_time = index.models.install(trained.model)
    assert index.models.install(trained.model.model_copy(update={"manifest": later})).number == first_time.number


def test_a_restart_finds_the_model_serving(trained: Trained, tmp_path: Path) -> None:
    with ToolIndex.create(tmp_path, rules=RULES, encoder=Words()) as made:
        made.add(CATALOGUE)
        bare = answer(made)
        made.models.install(trained.model)
        learnt = answer(made)
    with ToolIndex.open(tmp_path, encoder=Words()) as opened:
        assert answer(opened) == learnt != bare
        assert opened.status().models == (f"model 1 ({trained.model.fingerprint[:12]}) serves tenant acme",)
        opened.add([contract("more", "Does something else")])
        assert first(opened, "please rain bergen") == "s/weather@1", "a change of the catalogue keeps the model"


def test_another_encoder_leaves_the_model_unused(trained: Trained, tmp_path: Path) -> None:
    with ToolIndex.create(tmp_path, rules=RULES, encoder=Words()) as made:
        made.add(CATALOGUE)
        bare = answer(made)
        made.models.install(trained.model)
    with ToolIndex.open(tmp_path, encoder=OtherWeights(), rebuild=True) as rebuilt:
        assert answer(rebuilt) == bare
        assert "is not used" in rebuilt.status().models[0]
        with pytest.raises(ModelRefused, match="train again"):
            rebuilt.models.activate(1)
        with pytest.raises(ModelRefused, match="train again"):
            rebuilt.models.install(trained.model)


def test_hidden_tools_change_no_byte_under_a_model(trained: Trained) -> None:
    rules = RuleBook.model_validate(
        {"rules": [{"id": "shown", "effect": "allow", "reason": "public", "tools": {"servers": ["s"]}}]}
    )
    with ToolIndex.create(None, rules=rules, encoder=Words()) as made:
        made.add(CATALOGUE)
        made.models.install(trained.model)
        before = [answer(made, f"show {word} oslo") for word, _ in SLANG.values()]
        hidden = [
            ToolContract.model_validate(
                {"identity": {"name": f"h{at}", "server": "vault"}, "capability": {"does": f"{word} {does}"}}
            )
            for at, (word, does) in enumerate(SLANG.values())
        ]
        made.add(hidden)
        assert [answer(made, f"show {word} oslo") for word, _ in SLANG.values()] == before


def test_the_record_of_a_search_names_the_model(trained: Trained, index: ToolIndex) -> None:
    without = index.search("show bill oslo", principal=WHO)
    index.models.install(trained.model)
    with_it = index.search("show bill oslo", principal=WHO)
    seed = index.search(SearchRequest(text="show bill oslo", profile="seed"), principal=WHO)
    index.models.rollback()
    named = index.decision(with_it.trace_id, principal=WHO)
    assert named["model"] == {"number": 1, "sha256": trained.model.fingerprint}
    assert "model" not in index.decision(without.trace_id, principal=WHO)
    assert "model" not in index.decision(seed.trace_id, principal=WHO)


def test_a_request_knows_better_than_a_model(trained: Trained, index: ToolIndex) -> None:
    asked = SearchRequest(text="show shipments oslo", now=AT, weights={"lexical": 1.0})
    before = index.rank(asked, principal=WHO)
    weighed = identity(trained.model).model_copy(update={"weights": {"lexical": 0.0}})
    index.models.install(weighed)
    assert index.rank(asked, principal=WHO) == before
    unasked = asked.model_copy(update={"weights": {}})
    assert index.rank(unasked, principal=WHO) != before


def test_a_workbench_caches_no_text_of_a_log(index: ToolIndex) -> None:
    with Workbench.of(index) as bench:
        bench.learn(log())
        bench.rank("show bill oslo", principal=WHO)
    keys = [_key(request.text) for request in log()]
    info = index._live.encoder.info
    assert index._live.registry.embeddings(f"{info.id}:{info.sha256[:16]}", keys) == {}


def _key(text: str) -> str:
    from toolsearch.text.embed.cached import text_key

    return text_key(text)


def asked(text: str, *subjects: str) -> Asked:
    return Asked(text=text, tenant=None, golds=("s/a@1",), subjects=subjects or ("p",))


def test_who_floods_a_log_counts_for_a_third() -> None:
    flood = [asked(f"flood {'x' * at}", "mallory") for at in range(500)]
    rest = [asked(f"rest {'y' * at}", f"p{at}") for at in range(40)]
    kept = fair([*flood, *rest])
    assert sum(one.subjects == ("mallory",) for one in kept) == 20
    assert [one for one in kept if one.subjects != ("mallory",)] == rest
    assert fair([*flood, *rest], max_share=1.0) == [*flood, *rest]
    assert fair(flood) == flood, "a log of one subject is its own"


def test_like_requests_stand_on_one_side() -> None:
    texts = [f"{verb} thing {'q' * at} of {place}" for at, verb in enumerate(VERBS) for place in PLACES]
    written = [*texts, *(text.upper() + " !!" for text in texts)]
    vectors = HashedEncoder().encode_queries(written)
    groups = alike([plain(text) for text in written], vectors, floor=0.1)
    for at in range(len(texts)):
        assert groups[at] == groups[at + len(texts)]
    golds = [(f"s/t{at % 7}@1",) for at in range(len(written))]
    made = Log(
        tuple(
            Asked(text=text, tenant=None, golds=gold, subjects=("p",))
            for text, gold in zip(written, golds, strict=True)
        ),
        np.arange(len(written)) % len(texts),
        0,
        0,
    )
    parts = split(made, seed=3)
    sides = [{made.groups[at] for at in part} for part in (parts.fit, parts.inner, parts.held_out)]
    assert len(set.union(*sides)) == sum(map(len, sides))
    assert sorted([*parts.fit, *parts.inner, *parts.held_out]) == list(range(len(written)))
    assert split(made, seed=3).held_out == parts.held_out != split(made, seed=4).held_out


def test_the_gradient_is_that_of_the_loss() -> None:
    chance = np.random.default_rng(0)
    dim, count = 6, 5
    unit = lambda rows: (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float64)  # noqa: E731
    requests, rows = unit(chance.normal(size=(count, dim))), unit(chance.normal(size=(8, dim)))
    own = np.zeros((count, 8), dtype=bool)
    own[np.arange(count), np.arange(count)] = True
    own[0, 7] = True
    others = np.zeros_like(own)
    others[1, 6] = True
    share, scale = np.full(count, 0.2), 4.0

    def loss(matrix: np.ndarray) -> float:
        turned = unit(requests + requests @ matrix.T)
        logits = scale * turned @ rows.T
        logits[others] = -np.inf
        mass = np.exp(logits)
        return float(-(share * np.log((mass * own).sum(axis=1) / mass.sum(axis=1))).sum())

    matrix = chance.normal(size=(dim, dim)) * 0.1
    found = fit._gradient(requests, matrix, rows=rows, own=own, others=others, share=share, scale=scale)  # type: ignore[arg-type]
    for row, column in [(0, 0), (2, 3), (5, 1)]:
        step = np.zeros_like(matrix)
        step[row, column] = 1e-6
        numeric = (loss(matrix + step) - loss(matrix - step)) / 2e-6
        assert found[row, column] == pytest.approx(numeric, rel=1e-3, abs=1e-5)


@pytest.mark.parametrize(
    "change", [{"left": "AAA="}, {"rank": 3}, {"left": "AHwAfAB8AHw=", "right": "AHwAfAB8AHw=", "rank": 1, "dim": 4}]
)
def test_a_damaged_model_is_refused(trained: Trained, change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="finite numbers"):
        LearntModel.model_validate(trained.model.model_dump() | change)
