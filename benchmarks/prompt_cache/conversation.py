"""The conversation: what the user says in 30 turns, and what happens to the catalogue and to the rights meanwhile."""

from __future__ import annotations

import random

from toolsearch import Principal, ToolContract

TOPICS = (
    (
        "Where is the parcel of order ORD-20260917?",
        "这个订单 ORD-20260917 付款了吗？",
        "Has a refund been requested for order ORD-20260917?",
    ),
    (
        "查一下客户 C-204817 的资料",
        "Find the customers whose phone number ends in 4821",
        "她之前有没有投诉过？查一下工单",
    ),
    (
        "杭州明天会下雨吗？",
        "And how was the weather in Hangzhou last week?",
        "杭州现在多少度",
    ),
    (
        "Find trains from Shanghai to Hangzhou tomorrow morning",
        "帮我看看杭州西湖附近的酒店，住两晚",
        "What is on my calendar tomorrow?",
    ),
    (
        "订单 ORD-20260918 的详情给我看一下",
        "Get me the customs declaration of order ORD-20260918",
        "上周的销售额是多少？",
    ),
    (
        "How many refunds did we pay last month?",
        "贵州茅台现在的股价是多少",
        "Show the daily bars of 600519 for last month",
    ),
    (
        "公司的差旅报销政策是什么",
        "List the open issues of the repository that are labelled bug",
        "Which pods are crashing in the namespace payments?",
    ),
    (
        "再查一下客户 C-204817 的手机号",
        "Search the tickets about damaged parcels",
        "在知识库里找一下退货流程",
    ),
    (
        "Translate the answer into German",
        "把 300 美元换成人民币是多少",
        "What time is it in Berlin now?",
    ),
    (
        "数据库里有哪些和订单有关的表",
        "谢谢，订单 ORD-20260917 的包裹现在到哪里了？",
        "Thank you, that is all.",
    ),
)
UPDATE_BEFORE = 12
"""Turn before which the catalogue changes: a listed definition is reworded, and a tool is added."""

REVOKED_BEFORE = 21
"""Turn before which the principal loses a scope."""

REVOKED = "crm.read"
CLERK = Principal(
    subject="clerk",
    tenant="acme",
    environment="production",
    roles=("support", "analyst"),
    scopes=(
        *("analytics.read", "crm.read", "db.read", "market.read", "market.realtime", "orders.read", "tickets.read"),
        "travel.read",
    ),
)
UPDATED = "orders/orders.get@1"
ADDED = ToolContract.model_validate(
    {
        "identity": {"name": "orders.customs_declaration", "server": "orders", "domain": "order_after_sales"},
        "capability": {"does": "Returns the customs declaration of an order that was shipped abroad."},
        "selection": {"use_when": ["The customs declaration of a known order is wanted."]},
        "input": {
            "schema": {
                "type": "object",
                "properties": {"order_id": {"type": "string", "description": "Order number."}},
                "required": ["order_id"],
            }
        },
        "execution": {"side_effect": "read_only"},
        "access": {"scopes_all": ["orders.read"], "tenants": ["acme"], "environments": ["production"]},
    }
)


def spoken(*, seed: int = 0) -> tuple[str, ...]:
    """Return what the user says.

    Args:
        seed: 0 = the topics as written; another shuffles those after the second.
    """
    rest = list(TOPICS[2:])
    if seed:
        random.Random(seed).shuffle(rest)
    return tuple(text for topic in (*TOPICS[:2], *rest) for text in topic)


def updated(contract: ToolContract) -> ToolContract:
    """Return the contract of `UPDATED` with another description."""
    does = f"{contract.capability.does} Since this release also the carrier."
    capability = contract.capability.model_copy(update={"does": does})
    return contract.model_copy(update={"capability": capability})


def without_scope(principal: Principal) -> Principal:
    """Return the principal after it lost `REVOKED`."""
    return principal.model_copy(update={"scopes": tuple(scope for scope in principal.scopes if scope != REVOKED)})
