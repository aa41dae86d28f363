"""What a request wants: effect, freshness, steps."""

from __future__ import annotations

import pytest

from toolsearch.search.rank.intent import (
    DAY_SECONDS,
    LIVE_SECONDS,
    MAX_CLAUSES,
    RECENT_SECONDS,
    Effect,
    read_effect,
    read_freshness,
    read_intent,
    split_clauses,
)


@pytest.mark.parametrize(
    ("text", "effect"),
    [
        ("cancel order 7", Effect.WRITE),
        ("Please could you refund the customer", Effect.WRITE),
        ("show me the refunds of May", Effect.READ),
        ("what did we cancel", Effect.READ),
        ("where is my parcel", Effect.READ),
        ("is it raining?", Effect.READ),
        ("帮我取消订单", Effect.WRITE),
        ("给张三发一封邮件", Effect.WRITE),
        ("订单到哪了", Effect.READ),
        ("查一下退款政策", Effect.READ),
        ("退款率是多少", Effect.READ),
        ("hello", Effect.UNKNOWN),
        ("", Effect.UNKNOWN),
    ],
)
def test_effect(text: str, effect: Effect) -> None:
    assert read_effect(text) is effect


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("price of ACME right now", LIVE_SECONDS),
        ("现在股价多少", LIVE_SECONDS),
        ("latest news", RECENT_SECONDS),
        ("最新公告", RECENT_SECONDS),
        ("orders of today", DAY_SECONDS),
        ("今天的订单", DAY_SECONDS),
        ("latest closing prices", None),
        ("yesterday's close", None),
        ("过去30个交易日的走势", None),
        ("price of ACME", None),
    ],
)
def test_freshness(text: str, seconds: float | None) -> None:
    need = read_freshness(text)
    assert (need.max_age_seconds if need else None) == seconds
    if need:
        assert need.phrase in text


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("find the order and then refund the customer", ("find the order", "refund the customer")),
        ("find the order, cancel it for me", ("find the order", "cancel it for me")),
        ("Find the order. Refund the customer.", ("Find the order", "Refund the customer")),
        ("查询订单状态，然后发邮件通知客户", ("查询订单状态", "发邮件通知客户")),
        ("查一下天气情况，并把结果发给张三", ("查一下天气情况", "把结果发给张三")),
        ("find the red and blue ones", ()),
        (
            "Ask Dr. Smith for a date on Monday, not today. Lastly, can you send him the address?",
            ("Ask Dr. Smith for a date on Monday, not today", "Lastly, can you send him the address?"),
        ),
        (
            "Book a room for two. Pay it. Can you then mail the key?",
            ("Book a room for two. Pay it", "Can you then mail the key?"),
        ),
        ("帮我预订一个会议室。对了，最后通知所有参会的同事", ("帮我预订一个会议室", "对了，最后通知所有参会的同事")),
        ("show my open orders, also which ones are late", ("show my open orders", "which ones are late")),
        ("查询订单", ()),
        ("", ()),
        (" \n\t ", ()),
    ],
)
def test_steps(text: str, clauses: tuple[str, ...]) -> None:
    assert split_clauses(text) == clauses


def test_white_space_does_not_matter() -> None:
    assert split_clauses("find  the\torder   and then \n\n refund   the customer") == split_clauses(
        "find the order and then refund the customer"
    )


def test_steps_beyond_the_limit_are_kept_in_the_last() -> None:
    clauses = split_clauses("; ".join(f"find the order {at}" for at in range(20)))
    assert len(clauses) == MAX_CLAUSES
    assert clauses[-1].endswith("find the order 19")


def test_one_writing_step_makes_the_request_write() -> None:
    assert read_intent("find the order and then cancel the order").effect is Effect.WRITE
    assert read_intent("find the order and then show the customer").effect is Effect.READ


@pytest.mark.parametrize(
    "text", ["x" + " " * 7_990 + "y", " ,\n" * 2_600, "please " * 1_100, "then " * 1_600, "，" * 8_000, "\n" * 8_000]
)
def test_hostile_text_is_read_at_once(text: str) -> None:
    # These took minutes when patterns could split one run of white space in many ways.
    assert len(read_intent(text).clauses) <= MAX_CLAUSES
