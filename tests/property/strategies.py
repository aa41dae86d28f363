"""Hypothesis strategies for whole catalogues, and for who asks what of them.

Every tool name ends in a code of its own (`get_order_qz07`), and no text of a contract holds one. So a code of a hidden
tool anywhere in an answer is a leak, unless the request itself said it. Words, entities, servers, domains and access
requirements come from small pools, so that tools overlap in everything that could let one of them shape another.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import Any

from hypothesis import strategies as st

from toolsearch.model.contract import SideEffect, ToolContract
from toolsearch.model.request import (
    SIGNAL_NAMES,
    DefinitionFormat,
    Detail,
    Mode,
    Principal,
    Restriction,
    SearchRequest,
)
from toolsearch.search.visibility.rules import PrincipalScope, Rule, RuleBook, RuleEffect, ToolScope

NOW = "2026-09-17T10:00:00Z"

WORDS = ("order", "orders", "refund", "price", "latest", "cancel", "invoice", "customer", "search", "report", "file")
HAN = ("订单", "退款", "查询", "行情", "取消", "发票", "客户", "今天")
SERVERS = ("alpha", "beta", "gamma")
DOMAINS = ("orders", "billing", "market")
ENTITIES = ("order_id", "customer_id", "city", "day")
ROLES, SCOPES, TENANTS, ENVIRONMENTS = (
    ("support", "finance"),
    ("o.read", "o.write", "b.read"),
    ("acme", "globex"),
    ("prod",),
)
VERBS = ("get", "cancel", "list")
CODE = re.compile(r"qz\d\d")

_words = st.lists(st.sampled_from((*WORDS, *HAN)), min_size=1, max_size=5).map(" ".join)
SCHEMAS: tuple[Any, ...] = (
    {"type": "string"},
    {"type": "string", "pattern": "^ORD-[0-9]{8}$"},
    {"type": ["integer", "null"]},
    {"type": "string", "enum": ["paris", "latest", "订单"]},
    {"type": "string", "format": "date"},
    {},
    True,
)
OPERATIONAL = ({}, {"freshness": {"max_staleness": "P1D"}}, {"cost_class": "high"}, {"cost_class": "free"})


def _some(pool: Sequence[str], *, most: int = 2) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(pool), max_size=most, unique=True)


def _pick(random: Random, pool: Sequence[str], *, most: int = 2) -> list[str]:
    return random.sample(pool, random.randint(0, min(most, len(pool))))


def _phrase(random: Random) -> str:
    return " ".join(random.choices((*WORDS, *HAN), k=random.randint(1, 5)))


def _phrases(random: Random) -> list[str]:
    return [_phrase(random) for _ in range(random.randint(0, 2))]


def _access(random: Random) -> dict[str, Any]:
    return random.choice(
        (
            {"scopes_all": _pick(random, SCOPES)},
            {"scopes_any": _pick(random, SCOPES), "tenants": _pick(random, TENANTS, most=1)},
            {"roles_any": _pick(random, ROLES)},
            {"environments": _pick(random, ENVIRONMENTS)},
            {},
            {},
        )
    )


def make_contract(seed: int, *, at: int, name: str, version: int, names: Sequence[str]) -> ToolContract:
    """Return one contract of a name, its details made from a seed; it may point at any tool of `names`.

    Drawing every detail by itself would cost a hundred times as much as the searches it is for.
    """
    random = Random(seed)
    inputs = _pick(random, ENTITIES)
    effect = random.choice((None, *SideEffect))
    data: dict[str, Any] = {
        "identity": {
            "name": name,
            "version": version,
            "server": SERVERS[at % len(SERVERS)],
            "domain": random.choice(DOMAINS),
            "aliases": _phrases(random),
        },
        "capability": {
            "does": _phrase(random),
            "does_not": _phrases(random),
            "examples": _phrases(random),
            "tags": ["always-on"] if random.random() < 0.1 else [],
        },
        "selection": {
            "use_when": _phrases(random),
            "do_not_use_when": _phrases(random),
            "adjacent_tools": {other: _phrase(random) for other in _pick(random, names, most=3)},
        },
        "input": {
            "schema": {"type": "object", "properties": {name: random.choice(SCHEMAS) for name in inputs}},
            "required": inputs,
            "forbidden_inference_fields": _pick(random, ENTITIES, most=1),
            "clarification_fields": _pick(random, ENTITIES, most=1),
        },
        "output": {"produces": dict.fromkeys(_pick(random, ENTITIES, most=1), "result")},
        "execution": {} if effect is None else {"side_effect": effect.label},
        "operational": random.choice(OPERATIONAL),
        "access": _access(random),
    }
    return ToolContract.model_validate(data)


@st.composite
def catalogues(draw: st.DrawFn, *, most: int = 25) -> tuple[ToolContract, ...]:
    """Return 1 to `most` contracts with distinct refs, some of them two versions of one tool."""
    count = draw(st.one_of(st.integers(1, 6), st.integers(1, most)))
    seeds = draw(st.lists(st.integers(0, 2**32 - 1), min_size=count, max_size=count))
    names = [f"{VERBS[seed % 3]}_{WORDS[at % 3]}_qz{at:02d}" for at, seed in enumerate(seeds)]
    pointed = [*names, *(f"{SERVERS[at % len(SERVERS)]}/{name}" for at, name in enumerate(names))]
    made = [make_contract(seed, at=at, name=names[at], version=1, names=pointed) for at, seed in enumerate(seeds)]
    if count < most and seeds[0] % 2:
        made.append(make_contract(seeds[0] // 2, at=0, name=names[0], version=2, names=pointed))
    return tuple(made)


@st.composite
def rule_books(draw: st.DrawFn) -> RuleBook:
    """Return a book with up to three rules; most of them allow."""
    rules = []
    for at in range(draw(st.sampled_from((1, 2, 3, 0)))):
        rules.append(  # noqa: PERF401 - one draw after the other
            Rule(
                id=f"r{at}",
                effect=draw(st.sampled_from((RuleEffect.ALLOW, RuleEffect.ALLOW, RuleEffect.DENY))),
                reason="so",
                tools=draw(
                    st.sampled_from(
                        (
                            ToolScope(),
                            ToolScope(servers=("alpha",)),
                            ToolScope(names=("get_*",)),
                            ToolScope(domains=("b*", "m*")),
                            ToolScope(max_side_effect=SideEffect.READ_ONLY),
                        )
                    )
                ),
                principals=draw(
                    st.sampled_from(
                        (PrincipalScope(), PrincipalScope(roles_any=("sup*",)), PrincipalScope(tenants=("acme",)))
                    )
                ),
            )
        )
    return RuleBook(rules=tuple(rules))


restrictions = st.sampled_from(
    (
        None,
        Restriction(),
        Restriction(servers=("alpha", "beta")),
        Restriction(domains=("orders",)),
        Restriction(max_side_effect=SideEffect.READ_ONLY),
        Restriction(exclude_tools=("get_order_qz00",)),
        Restriction(tools=("alpha/get_order_qz00", "get_orders_qz01", "get_refund_qz02")),
    )
)


@st.composite
def principals(draw: st.DrawFn) -> Principal:
    """Return a principal without the administrator's role."""
    limit = draw(restrictions)
    return Principal(
        subject=draw(st.sampled_from(("ann", "bob"))),
        tenant=draw(st.sampled_from((*TENANTS, None))),
        environment=draw(st.sampled_from((*ENVIRONMENTS, None))),
        roles=draw(st.sampled_from((ROLES[:1], ROLES, ()))),
        scopes=draw(st.sampled_from((SCOPES[:1], SCOPES[1:], SCOPES, ()))),
        restrictions=() if limit is None else (limit,),
    )


@st.composite
def texts(draw: st.DrawFn, *, catalogue: Sequence[ToolContract] = ()) -> str:
    """Return a request of one or two steps, in English, Chinese or both; it may name a tool, or half of one."""
    parts = [draw(_words)]
    if draw(st.booleans()):
        parts.append(draw(st.sampled_from((" and then ", "，然后", ". Also "))) + draw(_words) + " " + draw(_words))
    if draw(st.integers(0, 3)) == 0:
        parts.append(draw(st.sampled_from((" ORD-20260917", " paris 2026-09-17", " right now", " 42"))))
    if catalogue and draw(st.integers(0, 3)) == 0:
        name = draw(st.sampled_from([contract.identity.name for contract in catalogue]))
        parts.append(" " + name[: draw(st.sampled_from((100, len(name) - 1, len(name) - 4)))])
    return "".join(parts)


@st.composite
def requests(draw: st.DrawFn, *, catalogue: Sequence[ToolContract]) -> SearchRequest:
    """Return a request at a fixed moment, with any of the options."""
    refs = [str(contract.ref) for contract in catalogue]
    return SearchRequest(
        text=draw(texts(catalogue=catalogue)),
        k=draw(st.sampled_from((None, None, 1, 3, 100))),
        inputs=draw(st.sampled_from(({}, {"order_id": "ORD-20260917"}, {"city": 7, "day": "2026-09-17"}))),
        restrict=draw(restrictions),
        mode=draw(st.sampled_from(Mode)),
        profile=draw(st.sampled_from(("default", "seed"))),
        weights=draw(st.dictionaries(st.sampled_from(SIGNAL_NAMES), st.sampled_from((0.0, 0.5, 10.0)), max_size=2)),
        token_budget=draw(st.sampled_from((None, None, 0, 150, 1_000))),
        detail=draw(st.sampled_from(Detail)),
        format=draw(st.sampled_from(DefinitionFormat)),
        always_on=tuple(draw(_some(refs, most=1))),
        loaded=tuple(draw(_some(refs, most=1))),
        now=NOW,
    )


@st.composite
def scenes(draw: st.DrawFn, *, most: int = 25) -> tuple[tuple[ToolContract, ...], RuleBook, Principal, SearchRequest]:
    """Return a catalogue, its rules, who asks, and what."""
    catalogue = draw(catalogues(most=most))
    return catalogue, draw(rule_books()), draw(principals()), draw(requests(catalogue=catalogue))
