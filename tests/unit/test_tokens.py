"""Comparing token by token: exact, whoever else is compared, and carried over like vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from toolsearch import Principal, RuleBook, ToolIndex
from toolsearch.model.contract import ToolContract
from toolsearch.model.errors import EncoderMismatch, IndexCorrupt
from toolsearch.model.limits import SearchLimits
from toolsearch.search.index.token_vectors import BLOCK, TokenIndex
from toolsearch.text.embed.cached import Lookup, TokenCache, cached_tokens, embed_documents_cached, packed, text_key
from toolsearch.text.embed.hashed import HashedEncoder
from toolsearch.text.embed.protocol import EncoderInfo, RequestVectors, TextVectors, TokenQuery, encode_tokens
from toolsearch.text.embed.token_vectors import LEVELS, TokenHead

WIDTH = 4
NEW = -1

token = st.lists(st.integers(-LEVELS, LEVELS), min_size=WIDTH, max_size=WIDTH)
documents = st.lists(st.lists(token, max_size=5), min_size=1, max_size=6)
query = st.lists(st.tuples(token, st.integers(1, 5000)), min_size=1, max_size=5)


def rows(tokens: Sequence[Sequence[int]]) -> NDArray[np.int8]:
    return np.array(tokens, dtype=np.int8).reshape(-1, WIDTH)


def index_of(told: Sequence[Sequence[Sequence[int]]]) -> TokenIndex:
    ids = np.full(len(told), NEW, dtype=np.int32)
    return TokenIndex.empty(0, width=WIDTH).changed(ids, {at: rows(one) for at, one in enumerate(told)})


def query_of(asked: Sequence[tuple[Sequence[int], int]]) -> TokenQuery:
    return TokenQuery(rows([one for one, _ in asked]), np.array([weight for _, weight in asked], dtype=np.int64))


@given(documents, query)
def test_scores_are_those_of_the_definition_to_the_last_bit(
    told: list[list[list[int]]], asked: list[tuple[list[int], int]]
) -> None:
    scores = index_of(told).scores([query_of(asked)], doc_ids=np.arange(len(told)))[0]
    for score, tokens in zip(scores, told, strict=True):
        if not tokens:
            assert np.isnan(score)
            continue
        best = [max(sum(a * b for a, b in zip(one, other, strict=True)) for other in tokens) for one, _ in asked]
        total = sum(weight * value for (_, weight), value in zip(asked, best, strict=True))
        assert score == total / (sum(weight for _, weight in asked) * LEVELS**2)


@given(documents, query, st.data())
def test_other_documents_show_in_no_score(
    told: list[list[list[int]]], asked: list[tuple[list[int], int]], data: st.DataObject
) -> None:
    index, wanted = index_of(told), query_of(asked)
    together = index.scores([wanted, wanted], doc_ids=np.arange(len(told)))
    at = data.draw(st.integers(0, len(told) - 1))
    alone = index.scores([wanted], doc_ids=np.array([at]))
    assert alone.tobytes() == together[0, [at]].tobytes() == together[1, [at]].tobytes()


@given(documents, query, st.data())
def test_a_part_of_a_request_scores_as_if_it_were_read_alone(
    told: list[list[list[int]]], asked: list[tuple[list[int], int]], data: st.DataObject
) -> None:
    index, whole = index_of(told), query_of(asked)
    start = data.draw(st.integers(0, len(asked) - 1))
    end = data.draw(st.integers(start + 1, len(asked)))
    alone = TokenQuery(whole.rows[start:end], whole.weights[start:end])
    every = np.arange(len(told))
    _, scored, read = index.scores([whole, replace(alone, start=start), alone], doc_ids=every)
    assert scored.tobytes() == read.tobytes() == index.scores([alone], doc_ids=every)[0].tobytes()


def test_many_documents_are_compared_in_blocks() -> None:
    told = [[[at % LEVELS, 1, 2, 3]] for at in range(2 * BLOCK + 1)]
    index, wanted = index_of(told), query_of([([1, 0, 0, 0], 1)])
    (scores,) = index.scores([wanted], doc_ids=np.arange(len(told)))
    assert scores.tolist() == [at % LEVELS / LEVELS**2 for at in range(len(told))]


@given(documents, documents, st.data())
def test_a_changed_index_is_the_one_built_afresh(
    told: list[list[list[int]]], more: list[list[list[int]]], data: st.DataObject
) -> None:
    kept = data.draw(st.lists(st.integers(0, len(told) - 1), unique=True))
    order = data.draw(st.permutations([*kept, *([NEW] * len(more))]))
    fresh = iter(more)
    wanted = [told[old] if old != NEW else next(fresh) for old in order]
    added = {at: rows(wanted[at]) for at, old in enumerate(order) if old == NEW}
    changed = index_of(told).changed(np.array(order, dtype=np.int32), added)
    expected = index_of(wanted) if wanted else TokenIndex.empty(0, width=WIDTH)
    assert changed.rows.tobytes() == expected.rows.tobytes()
    assert changed.starts.tolist() == expected.starts.tolist()
    again = TokenIndex.from_arrays(changed.arrays())
    assert (again.width, again.starts.tolist()) == (WIDTH, expected.starts.tolist())


def test_tokens_of_another_width_are_refused() -> None:
    with pytest.raises(EncoderMismatch, match=r"shape \(1, 3\), expected \(n, 4\)"):
        index_of([]).changed(np.array([NEW], dtype=np.int32), {0: np.zeros((1, 3), dtype=np.int8)})


@pytest.mark.parametrize(
    ("arrays", "told"),
    [
        ({"rows": np.zeros((2, 4), np.int8)}, "'starts' is missing"),
        ({"rows": np.zeros((2, 4), np.int16), "starts": np.array([0, 2])}, "tokens are int16"),
        ({"rows": np.zeros((2, 4), np.int8), "starts": np.array([0, 3])}, "do not fall to the documents"),
        ({"rows": np.zeros((2, 4), np.int8), "starts": np.array([0, 2, 1, 2])}, "do not fall to the documents"),
        ({"rows": np.zeros((0, 4), np.int8), "starts": np.zeros(0, np.int64)}, "expected int8"),
    ],
)
def test_damaged_arrays_are_noticed(arrays: Mapping[str, NDArray[np.int64]], told: str) -> None:
    with pytest.raises(IndexCorrupt, match=told):
        TokenIndex.from_arrays(arrays)


def test_a_head_gives_directions_and_weights() -> None:
    matrix = np.zeros((3, 3), dtype=np.float32)
    matrix[0, 0] = matrix[1, 1] = 2.0  # dim 2, width 2
    matrix[0, 2], matrix[2, 2] = 5.0, -1.0
    head = TokenHead.of(matrix)
    asked = head.query(np.array([[3.0, 0.0], [-3.0, 4.0], [0.0, 0.0]], dtype=np.float32))
    assert asked.rows.tolist() == [[127, 0], [-76, 102], [0, 0]]
    assert asked.weights.tolist() == [14336, 1, 321]  # softplus of 14, -16 and -1, in levels of 1/1024; never 0
    assert head.directions(np.zeros((0, 2), dtype=np.float32)).shape == (0, 2)


class Spelling:
    """Reads a text letter by letter; counts what it is asked."""

    def __init__(self) -> None:
        self.plain: list[str] = []
        self.read: list[str] = []
        self._hashed = HashedEncoder()

    @property
    def info(self) -> EncoderInfo:
        known = self._hashed.info
        return EncoderInfo(
            id="spelling@1",
            dim=known.dim,
            sha256=known.sha256,
            scripts=("any",),
            cosine_floor=0.0,
            cosine_ceiling=1.0,
            token_width=WIDTH,
        )

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._hashed.encode_queries(texts)

    def encode_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.plain += texts
        return self._hashed.encode_documents(texts)

    def encode_request(self, text: str, clauses: Sequence[str]) -> RequestVectors:
        vectors = self._hashed.encode_queries([text, *clauses])
        weighed = [TokenQuery(spelt(part), np.ones(len(spelt(part)), np.int64)) for part in (text, *clauses)]
        return RequestVectors(vectors, tuple(weighed))

    def encode_tokens(self, texts: Sequence[str]) -> list[TextVectors]:
        self.read += texts
        vectors = self._hashed.encode_documents(texts)
        return [TextVectors(vector, spelt(text)) for vector, text in zip(vectors, texts, strict=True)]


def spelt(text: str) -> NDArray[np.int8]:
    return rows([[ord(letter) % 100, 1, 2, 3] for letter in text] or [[1, 1, 1, 1]])


def test_vector_and_tokens_come_out_of_one_pass_and_are_cached() -> None:
    encoder, vectors, kept = Spelling(), dict[str, NDArray[np.float32]](), dict[str, NDArray[np.float32]]()

    def lookup(known: Mapping[str, NDArray[np.float32]]) -> Lookup:
        return lambda keys: {key: known[key] for key in keys if key in known}

    def embed(texts: Sequence[str], main: Sequence[str]) -> NDArray[np.float32]:
        cache = TokenCache(main, lookup(kept), kept.update)
        return embed_documents_cached(encoder, texts, lookup=lookup(vectors), store=vectors.update, tokens=cache)

    expected = HashedEncoder().encode_documents(["main", "example"])
    assert embed(["main", "example"], ["main"]).tobytes() == expected.tobytes()
    assert set(kept) == {text_key("main")}
    found = cached_tokens(lookup(kept), [text_key("main"), text_key("example")], width=WIDTH)
    assert {key: tokens.tolist() for key, tokens in found.items()} == {text_key("main"): spelt("main").tolist()}
    asked = len(encoder.plain) + len(encoder.read)
    embed(["main", "example"], ["main"])
    assert len(encoder.plain) + len(encoder.read) == asked, "all of it is cached"
    embed(["example"], ["example"])
    assert text_key("example") in kept, "its vector was known, its tokens were not"
    kept[text_key("main")] = np.zeros(0, dtype=np.float32)
    embed(["main"], ["main"])
    assert cached_tokens(lookup(kept), [text_key("main")], width=WIDTH), "a damaged entry is as good as none"
    assert packed(spelt("main")).nbytes == spelt("main").nbytes


def test_an_encoder_without_tokens_gives_none() -> None:
    (read,) = encode_tokens(HashedEncoder(), ["a text"])
    assert read.tokens.shape == (0, 0)
    assert read.vector.tobytes() == HashedEncoder().encode_documents(["a text"])[0].tobytes()


def contract(name: str, does: str) -> ToolContract:
    return ToolContract.model_validate({"identity": {"name": name, "server": "s"}, "capability": {"does": does}})


TOOLS = (contract("orders.get", "Reads one order"), contract("mail.send", "Sends a mail"), contract("天气", "查天气"))
WHO = Principal(subject="x")


def test_an_index_compares_token_by_token_and_reads_no_tool_twice(tmp_path: Path) -> None:
    encoder = Spelling()
    with ToolIndex.create(tmp_path / "i", rules=RuleBook.public(reason="test"), encoder=encoder) as index:
        index.add(TOOLS[:2])
        index.add(TOOLS[2:])
        with_tokens = dict(index.rank("mail an order", principal=WHO))
    assert len(encoder.read) > 0
    read = encoder.plain + encoder.read
    assert len(read) == len(set(read)), "each text once, for its vector and its tokens"
    for rebuild in (False, True):
        with ToolIndex.open(tmp_path / "i", encoder=encoder, rebuild=rebuild) as index:
            assert dict(index.rank("mail an order", principal=WHO)) == with_tokens
    assert encoder.plain + encoder.read == read, "opening and rebuilding encode nothing"
    with ToolIndex.open(tmp_path / "i", encoder=encoder, limits=SearchLimits(tokens=False)) as index:
        without = dict(index.rank("mail an order", principal=WHO))
    assert with_tokens.keys() == without.keys()
    assert with_tokens["s/mail.send@1"] != without["s/mail.send@1"]
    assert with_tokens["s/天气@1"] == without["s/天气@1"], "too far from the request as a whole to be compared further"


def test_a_tool_more_changes_no_meaning_of_the_others() -> None:
    scores = []
    for tools in (TOOLS[:2], TOOLS):
        with ToolIndex.create(None, rules=RuleBook.public(reason="test"), encoder=Spelling()) as index:
            index.add(tools)
            explained = [
                index.explain("mail an order", ref=f"s/{tool.identity.name}@1", principal=WHO) for tool in TOOLS[:2]
            ]
            scores.append([line for one in explained for line in one.score.render().splitlines() if "semantic" in line])
    assert len(scores[0]) == 2
    assert scores[0] == scores[1]
