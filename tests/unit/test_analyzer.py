"""The analyzer: which spellings meet, which words carry nothing, and that no text breaks it."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolsearch.text.analysis.analyzer import analyze, fold, han_share, stem
from toolsearch.text.analysis.identifiers import identifier_words, singular, split_humps
from toolsearch.text.analysis.stopwords import ENGLISH

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=300)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("create_invoice", ["creat", "invoic", "createinvoic"]),
        ("createInvoice", ["creat", "invoic", "createinvoic"]),
        ("create-invoice", ["creat", "invoic", "createinvoic"]),
        ("create.invoice", ["creat", "invoic", "createinvoic"]),
        ("create invoice", ["creat", "invoic"]),
        ("createinvoice", ["createinvoic"]),
        ("HTTPServer", ["http", "server", "httpserver"]),
        ("GitHub's IDs and PRs", ["git", "hub", "github", "id", "pr"]),
        ("s3bucket", ["3", "bucket", "s3bucket"]),
        ("utf-8", ["utf", "8", "utf8"]),
        ("Orders, ordered; ordering!", ["order", "order", "order"]),
        ("log out, scale down, turn off", ["log", "out", "scale", "down", "turn", "off"]),
    ],
)
def test_english_and_identifiers(text: str, tokens: list[str]) -> None:
    assert analyze(text) == tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("A1024 到哪了", ["a1024", "到哪", "到", "哪"]),
        ("ORD-20260917", ["ord", "20260917"]),
        ("2026-09-17", ["2026", "09", "17"]),
    ],
)
def test_values_stay_whole(text: str, tokens: list[str]) -> None:
    assert analyze(text) == tokens


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("请帮我查询一下订单的状态", "查询 订单 状态"),
        ("查A1024", "查 a1024"),
        ("查询github仓库", "查询 github 仓库"),
        ("申请退款", "申请 请退 退款"),
        ("请假三天", "请假 假三 三天"),
        ("请查询库存", "查询 询库 库存"),
        ("カレンダー", "カレ レン ンダ ダー"),
        ("ﾃｽﾄ", "テス スト"),
        ("일정 검색", "일정 검색"),
        ("ＡＰＩ", "api"),
    ],
)
def test_chinese_japanese_korean(text: str, words: str) -> None:
    tokens = analyze(text)
    assert [token for token in tokens if len(token) > 1] == [word for word in words.split() if len(word) > 1]
    assert {token for token in tokens if len(token) == 1} == {
        char for word in words.split() if not word.isascii() for char in word
    }


def test_single_characters_meet_longer_words() -> None:
    assert analyze("查询订单") == ["查询", "询订", "订单", "查", "询", "订", "单"]
    assert set(analyze("查 A1024")) & set(analyze("查询订单")) == {"查"}


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("Who am I?", ["who", "am", "i"]), ("the", ["the"]), ("我的", ["我的", "我", "的"]), ("what 的", ["what", "的"])],
)
def test_a_text_of_stop_words_keeps_them(text: str, tokens: list[str]) -> None:
    assert analyze(text) == tokens
    assert not set(analyze(f"{text} weather")) & ENGLISH


@pytest.mark.parametrize("text", ["", "   ", "\x00\x07\n", "😀🎉", "!?。，", "\ud800", "___", "\u200b", "--"])
def test_text_without_words(text: str) -> None:
    assert analyze(text) == []


def test_invisible_characters_do_not_split_words() -> None:
    assert analyze("in\u00advoice\u200b \ufefforder") == ["invoic", "order"]
    assert analyze("naïve 😀 order\ud800list") == ["naïve", "order", "list"]


def test_vowel_signs_belong_to_their_word() -> None:
    assert analyze("हिन्दी में खोजें") == ["हिन्दी", "में", "खोजें"]


def test_very_long_words_are_cut() -> None:
    assert analyze("x" * 1000) == ["x" * 64] * 15 + ["x" * 40]
    assert max(map(len, analyze("ab_" * 5000))) < 100


@given(ANY_TEXT)
@example("ŉ\u0345ẞ_ǰΐ")
@example("請\u1100\u1161．ｆｏｏ")
def test_tokens_are_words(text: str) -> None:
    tokens = analyze(text)
    assert tokens == analyze(text)
    for token in tokens:
        assert token
        assert not any(map(str.isspace, token))
        assert len(token) <= 600
        token.encode()


@given(ANY_TEXT)
@example("\u1e9e\u0345\u03b1\u0345\u0308")
@example("ﬁ\u00a0 Å")
def test_fold_is_idempotent(text: str) -> None:
    folded = fold(text)
    assert fold(folded) == folded
    assert folded == " ".join(folded.split())
    folded.encode()


@given(ANY_TEXT)
@example("一\U0002ebe1")
def test_han_share_is_a_share(text: str) -> None:
    assert 0.0 <= han_share(text) <= 1.0


def test_han_share() -> None:
    assert han_share("订单 A1 到哪") == 4 / 5
    assert han_share("orders") == 0.0
    assert han_share("订单。123") == 1.0
    assert han_share("。。") == 0.0
    assert han_share("주문 テスト") == 1.0


@given(st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=20))
def test_a_stem_is_never_empty(word: str) -> None:
    assert stem(word)


def test_stems_of_many_threads_do_not_mix() -> None:
    words = ["availability", "notifications", "categories", "connecting", "organisational", "running"] * 40
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            stems = list(threads.map(stem.__wrapped__, words))
    finally:
        sys.setswitchinterval(interval)
    assert stems == [stem(word) for word in words]


def test_identifier_words_keep_case() -> None:
    assert identifier_words("orders.getByID_v2") == ["orders", "get", "By", "ID", "v2"]
    assert split_humps("listURLs") == "list URLs"
    assert identifier_words("查询_订单") == ["查询", "订单"]
    assert identifier_words("__") == []


@pytest.mark.parametrize(
    ("word", "one"),
    [
        ("orders", "order"),
        ("queries", "query"),
        ("movies", "movie"),
        ("addresses", "address"),
        ("boxes", "box"),
        ("branches", "branch"),
        ("status", "status"),
        ("analysis", "analysis"),
        ("series", "series"),
        ("news", "news"),
        ("gas", "gas"),
        ("order", "order"),
    ],
)
def test_one_of_several(word: str, one: str) -> None:
    assert singular(word) == one
