"""The exact-name lane: names in requests are found, common words are not taken for names."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.model.contract import Identity
from toolsearch.search.index.docset import DocSet
from toolsearch.search.index.names import NameIndex, build_names, compact, looks_like_code

TOOLS = (
    ("ai", "ask_codex", ("codex",)),
    ("ai", "ask_gemini", ()),
    ("ai", "search", ()),
    ("docs", "search", ()),
    ("github", "github", ()),
    ("github", "createIssue", ("open_ticket", "提交问题")),
    ("shop", "orders.get", ("查订单",)),
    ("shop", "orders-get-all", ()),
    ("shop", "time", ()),
    ("shop", "s3_upload", ()),
)


def identity(server: str, name: str, aliases: tuple[str, ...]) -> Identity:
    return Identity(server=server, name=name, aliases=aliases)


INDEX = build_names([identity(*tool) for tool in TOOLS])
EVERYTHING = DocSet.from_mask(np.ones(len(TOOLS), dtype=np.bool_))


def named(text: str, docs: DocSet = EVERYTHING, index: NameIndex = INDEX) -> list[tuple[str, str]]:
    return [(TOOLS[match.doc_id][1], match.kind) for match in index.match(text, docs=docs)]


@pytest.mark.parametrize(
    "text",
    [
        "ask_codex",
        "please run ask_codex on this diff",
        "用ask_codex看看",
        "Call ASK_CODEX.",
        "ai/ask_codex",
        "try ai/ask_codex, then stop",
        "mcp__ai__ask_codex",
        "askCodex",
        "ask-codex",
        "ask codex",
        "`ask codex` please",
        "ask_codex()",
        '"ask_codex"',
    ],
)
def test_a_full_name_is_found(text: str) -> None:
    assert named(text) == [("ask_codex", "exact")]


@pytest.mark.parametrize(
    "text",
    [
        "search for the time in Tokyo",
        "what time is it",
        "a GitHub search",
        "look up github stars, all the time.",
        "e.g. order 1024 and/or v2.1",
        "ask someone",
        "",
        "`",
        "?!",
        "🙂",
    ],
)
def test_a_common_word_in_a_sentence_is_no_name(text: str) -> None:
    assert named(text) == []


@pytest.mark.parametrize(
    "text", ["search", " Search ", "`search`", "use `search` here", "call search() now", "搜索 `search`"]
)
def test_a_common_word_that_is_meant_as_a_name_finds_every_tool_of_that_name(text: str) -> None:
    assert named(text) == [("search", "exact"), ("search", "exact")]


def test_a_server_picks_among_equal_names() -> None:
    assert [match.doc_id for match in INDEX.match("use docs/search for it", docs=EVERYTHING)] == [3]
    assert named("nowhere/search") == []


def test_aliases_are_found() -> None:
    assert named("codex") == [("ask_codex", "alias")]
    assert named("查订单") == [("orders.get", "alias")]
    assert named("please open_ticket") == [("createIssue", "alias")]
    assert named("the codex of law") == []


def test_several_names_come_strongest_first_then_by_doc_id() -> None:
    assert named("orders.get, then ask_gem and open_ticket, then ask_codex and orders.get") == [
        ("ask_codex", "exact"), ("orders.get", "exact"), ("createIssue", "alias"), ("ask_gemini", "prefix"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ask_cod", "ask_codex"),
        ("run ask_gem for me", "ask_gemini"),
        ("s3_up", "s3_upload"),
        ("createIss", "createIssue"),
        ("orders.get.a", "orders-get-all"),
    ],
)
def test_a_unique_prefix_is_found(text: str, expected: str) -> None:
    assert named(text) == [(expected, "prefix")]


@pytest.mark.parametrize("text", ["ask_", "ask", "ord", "create", "crea the s3", "orders_g"])
def test_a_short_plain_or_ambiguous_prefix_is_not(text: str) -> None:
    assert named(text) == []


def test_hidden_tools_do_not_exist() -> None:
    hidden = [at for at, (_, name, _) in enumerate(TOOLS) if name in {"ask_gemini", "orders-get-all"}]
    docs = DocSet.of([at for at in range(len(TOOLS)) if at not in hidden], n_docs=len(TOOLS))
    assert named("ask_gemini", docs) == []
    assert named("run orders.g", docs) == [("orders.get", "prefix")]
    assert named("run orders.g", EVERYTHING) == []
    assert named("search", DocSet.of([3], n_docs=len(TOOLS))) == [("search", "exact")]


def test_versions_of_one_name_share_a_prefix() -> None:
    both = [Identity(name="ask_codex", version=version) for version in (1, 2)]
    docs = DocSet.from_mask(np.ones(2, dtype=np.bool_))
    assert [match.doc_id for match in build_names(both).match("ask_co", docs=docs)] == [0, 1]


def test_the_spelling_that_fits_exactly_wins() -> None:
    index = build_names([identity("a", "get_user", ()), identity("b", "getUser", ())])
    docs = DocSet.from_mask(np.ones(2, dtype=np.bool_))
    assert [match.doc_id for match in index.match("get_user", docs=docs)] == [0]
    assert [match.doc_id for match in index.match("get user", docs=docs)] == [0, 1]
    assert [match.doc_id for match in index.match("get_user", docs=DocSet.of([1], n_docs=2))] == [1]


def test_an_empty_catalogue_matches_nothing() -> None:
    assert build_names([]).match("ask_codex", docs=DocSet.from_mask(np.zeros(0, dtype=np.bool_))) == ()


def test_odd_names_are_names() -> None:
    index = build_names(
        [identity("a", "+++", ()), identity("a", "查询订单", ()), identity("a", "GorillaFileSystem::cat", ())]
    )
    docs = DocSet.from_mask(np.ones(3, dtype=np.bool_))
    assert [match.doc_id for match in index.match("`+++`", docs=docs)] == [0]
    assert [match.doc_id for match in index.match("查询订单。", docs=docs)] == [1]
    assert [match.doc_id for match in index.match("run GorillaFileSystem::cat on it", docs=docs)] == [2]


def test_shapes_of_code() -> None:
    assert all(map(looks_like_code, ("a_b", "a.b", "a-b", "aB", "s3", "f()", "a/b", "a::b")))
    assert not any(map(looks_like_code, ("word", "Word", "WORD", "2024", "12.5", "end.", "_", "")))
    assert compact("Orders.Get_All") == "ordersgetall"


@given(st.text(max_size=200), st.lists(st.booleans(), min_size=len(TOOLS), max_size=len(TOOLS)))
def test_any_text_names_only_visible_tools_once(text: str, visible: list[bool]) -> None:
    docs = DocSet.from_mask(np.array(visible))
    found = INDEX.match(text, docs=docs)
    assert all(visible[match.doc_id] for match in found)
    assert len({match.doc_id for match in found}) == len(found)


@given(st.sampled_from(TOOLS), st.sampled_from(["{}", "`{}`", "use `{}` for order 7", "{}()"]))
def test_every_name_is_found_when_written_as_one(tool: tuple[str, str, tuple[str, ...]], frame: str) -> None:
    assert (tool[1], "exact") in named(frame.format(tool[1]))


@given(
    st.lists(
        st.sampled_from(
            [
                "ask_codex",
                "ask_c",
                "`search`",
                "orders.get",
                "github",
                "createIss",
                "s3_up",
                "docs/search",
                "open_ticket",
            ]
        ),
        max_size=4,
    ),
    st.lists(st.booleans(), min_size=len(TOOLS), max_size=len(TOOLS)),
)
def test_hidden_tools_change_nothing(mentions: list[str], visible: list[bool]) -> None:
    text = " ".join(mentions)
    kept = [at for at, shown in enumerate(visible) if shown]
    alone = build_names([identity(*TOOLS[at]) for at in kept])
    expected = alone.match(text, docs=DocSet.from_mask(np.ones(len(kept), dtype=np.bool_)))
    found = INDEX.match(text, docs=DocSet.from_mask(np.array(visible)))
    assert found == tuple(match._replace(doc_id=kept[match.doc_id]) for match in expected)
