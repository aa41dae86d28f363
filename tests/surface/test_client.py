"""The Python client against the server's own application: the same models, errors, few repetitions, the async twin."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient
from surface_catalogue import ADMIN, CATALOGUE, GUEST, LOOPBACK, SUPPORT

import toolsearch
from toolsearch import Client, Outcome, PastRequest, RuleBook, SearchRequest, ToolIndex
from toolsearch.adapters.source import on_behalf_of
from toolsearch.adapters.toolset import ToolSet
from toolsearch.client import AsyncClient, asynchronous, synchronous
from toolsearch.model.errors import (
    AuthenticationError,
    PolicyError,
    RequestError,
    ServerUnreachable,
    ToolSearchError,
    UnknownSession,
    UnknownTool,
    UnknownTrace,
)
from toolsearch.model.request import DefinitionFormat

pytestmark = pytest.mark.filterwarnings("ignore:.*anyio.*")
REQUEST = SearchRequest(text="where is order ORD-20260917", session="talk-1")


@pytest.fixture
def support(secured_client: TestClient, keys: dict[str, str]) -> Iterator[Client]:
    with Client(LOOPBACK, api_key=keys["s1"], transport=secured_client._transport) as made:
        yield made


@pytest.fixture
def admin(secured_client: TestClient, keys: dict[str, str]) -> Iterator[Client]:
    with Client(LOOPBACK, api_key=keys["root"], transport=secured_client._transport) as made:
        yield made


def test_a_search_is_the_librarys_answer(support: Client, index: ToolIndex) -> None:
    mine, theirs = support.search(REQUEST), index.search(REQUEST, principal=SUPPORT)
    moving = {"trace_id", "timings_ms"}
    seen, expected = mine.model_dump(exclude=moving), theirs.model_dump(exclude=moving)
    seen["session"].pop("created"), expected["session"].pop("created")
    seen["session"].pop("appended"), expected["session"].pop("appended")
    for answer in (seen, expected):
        for candidate in answer["candidates"]:
            candidate.pop("already_loaded")
    assert seen == expected
    assert mine.candidates[0].ref == "orders/orders.get@1"
    assert support.search("where is my order").candidates[0].ref == "orders/orders.get@1"


def test_every_verb_for_everybody(support: Client, index: ToolIndex) -> None:
    answer = support.search(REQUEST)
    assert support.tools() == index.tools(principal=SUPPORT)
    assert support.tool("orders.get") == index.tool("orders.get", principal=SUPPORT)
    assert support.explain(REQUEST, ref="orders.get").ref == "orders/orders.get@1"
    format = DefinitionFormat.ANTHROPIC
    mine = support.export(format=format, tools=["orders.get"], defer_loading=True)
    assert mine == index.export(principal=SUPPORT, format=format, tools=["orders.get"], defer_loading=True)
    assert mine.tools[0]["defer_loading"] is True
    assert support.lint() == index.lint(principal=SUPPORT)
    support.record_outcome(Outcome(ref="orders/orders.get@1", status="success", trace_id=answer.trace_id))
    assert support.decision(answer.trace_id)["trace_id"] == answer.trace_id


def test_the_verbs_of_sessions(support: Client) -> None:
    support.search(REQUEST)
    held = support.sessions.get("talk-1")
    assert held.tools[0].ref == "orders/orders.get@1"
    assert support.sessions.open("talk-1").tools == held.tools
    assert support.sessions.refresh("talk-1").session.tools == held.tools
    support.sessions.end("talk-1")
    with pytest.raises(UnknownSession, match="talk-1"):
        support.sessions.get("talk-1")
    assert support.sessions.open().id


def test_the_verbs_of_administrators(admin: Client, support: Client) -> None:
    assert admin.add(CATALOGUE, reason="again").unchanged
    assert admin.remove("weather.today").removed == ("weather/weather.today@1",)
    assert admin.replace_all(CATALOGUE).added == ("weather/weather.today@1",)
    assert admin.learn([PastRequest(text="parcel?", ref="orders/orders.get", subject="ann")]).learnt == 1
    assert isinstance(admin.forget("ann"), int)
    assert not admin.why_not("vault.open", principal=GUEST).allowed
    admin.set_rules(RuleBook())
    with pytest.raises(PolicyError):
        support.set_rules(RuleBook())


def test_the_rooms_of_administrators(admin: Client, index: ToolIndex) -> None:
    before = CATALOGUE[2]
    after = before.model_copy(
        update={"capability": before.capability.model_copy(update={"does": "Tells the weather."})}
    )
    admin.add([after], reason="shorter")
    assert admin.versions.diff(before, after) == index.versions.diff(before, after, principal=ADMIN)
    assert admin.versions.contracts() == index.versions.contracts()
    assert [row.reason for row in admin.versions.history("weather.today")][-1:] == ["shorter"]
    assert admin.versions.pending() == index.versions.pending()
    assert admin.versions.rollback("weather.today", reason="back").author == "root"
    assert index.tool("weather.today", principal=ADMIN) == before
    with pytest.raises(ToolSearchError):
        admin.versions.approve("weather.today")
    with pytest.raises(ToolSearchError):
        admin.versions.reject("weather.today")
    assert admin.models.list() == ()
    with pytest.raises(ToolSearchError):
        admin.models.activate(7)
    with pytest.raises(ToolSearchError):
        admin.models.rollback()


def test_an_adapter_takes_a_client_in_place_of_an_index(support: Client, index: ToolIndex) -> None:
    ran: list[str] = []
    far = ToolSet(support, format=DefinitionFormat.OPENAI, run=lambda ref, arguments: ran.append(ref))
    near = ToolSet(on_behalf_of(index, SUPPORT), format=DefinitionFormat.OPENAI)
    assert far.search("where is my order").candidates
    near.search("where is my order")
    assert far.definitions == near.definitions
    assert json.dumps(far.definitions) == json.dumps(near.definitions), "the keys in the same order, too"
    assert far.call("orders_get", {"order_id": "ORD-20260917"}).ok
    assert ran == ["orders/orders.get@1"]
    assert support.sessions.get(far.session).tools == far.tools


def test_errors_are_the_librarys(support: Client, secured_client: TestClient) -> None:
    with pytest.raises(UnknownTool, match=r"vault\.open"):
        support.tool("vault.open")
    with pytest.raises(UnknownTrace):
        support.decision("not-there-1")
    with pytest.raises(RequestError, match="deferred loading") as wrong:
        support.export(format=DefinitionFormat.MCP, defer_loading=True)
    assert wrong.value.field == "defer_loading"
    with (
        Client(LOOPBACK, api_key="wrong", transport=secured_client._transport) as stranger,
        pytest.raises(AuthenticationError),
    ):
        stranger.tools()


@pytest.mark.parametrize("url", ["", "127.0.0.1:8765", "ftp://127.0.0.1", "http://", "http://[::1", "http://a?b"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(RequestError, match="no address"):
        Client(url)


def counting(answer: Callable[[int], httpx2.Response]) -> tuple[httpx2.MockTransport, list[httpx2.Request]]:
    """Return a transport that answers the n-th request with `answer(n)`, from 1, and what was sent."""
    sent: list[httpx2.Request] = []

    def handle(request: httpx2.Request) -> httpx2.Response:
        sent.append(request)
        return answer(len(sent))

    return httpx2.MockTransport(handle), sent


def busy(code: str = "overloaded") -> httpx2.Response:
    return httpx2.Response(503, json={"detail": "try again", "code": code}, headers={"Retry-After": "0"})


def test_a_read_is_sent_again_and_a_change_is_not() -> None:
    transport, sent = counting(lambda number: busy() if number < 3 else httpx2.Response(200, json=[]))
    with Client(LOOPBACK, api_key="k", transport=transport, backoff_s=0) as client:
        assert client.tools() == ()
        assert [request.headers["Authorization"] for request in sent] == ["Bearer k"] * 3
    transport, sent = counting(lambda _: busy())
    with Client(LOOPBACK, transport=transport, backoff_s=0) as client:
        with pytest.raises(ToolSearchError, match="try again") as told:
            client.record_outcome(Outcome(ref="orders/orders.get", status="success"))
        assert len(sent) == 1
        assert (told.value.code, told.value.status) == ("overloaded", 503)
        with pytest.raises(ToolSearchError):
            client.search("where is my order")
        assert len(sent) == 1 + 3


def test_what_took_too_long_is_not_sent_again() -> None:
    def slow(_: int) -> httpx2.Response:
        raise httpx2.ReadTimeout("slow")

    transport, sent = counting(slow)
    with (
        Client(LOOPBACK, transport=transport, timeout_s=7) as client,
        pytest.raises(ServerUnreachable, match="within 7 s"),
    ):
        client.tools()
    assert len(sent) == 1
    transport, sent = counting(lambda _: busy("timeout"))
    with Client(LOOPBACK, transport=transport) as client, pytest.raises(ToolSearchError):
        client.tools()
    assert len(sent) == 1


def test_no_server() -> None:
    def refuse(_: int) -> httpx2.Response:
        raise httpx2.ConnectError("refused")

    transport, sent = counting(refuse)
    with (
        Client(LOOPBACK, transport=transport, backoff_s=0) as client,
        pytest.raises(ServerUnreachable, match="toolsearch serve"),
    ):
        client.tools()
    assert len(sent) == 3


def test_an_answer_of_something_else() -> None:
    transport, _ = counting(lambda _: httpx2.Response(404, text="<html>nginx</html>"))
    with Client(LOOPBACK, transport=transport) as client, pytest.raises(ToolSearchError, match="without a problem"):
        client.tools()


def test_the_async_client_answers_the_same(index: ToolIndex, open_app: Any) -> None:
    async def ask() -> list[Any]:
        async with (
            open_app.router.lifespan_context(open_app),
            AsyncClient(LOOPBACK, transport=httpx2.ASGITransport(open_app, client=("127.0.0.1", 50000))) as client,
        ):
            await client.sessions.open("talk-2")
            answers = await asyncio.gather(*(client.search("where is my order") for _ in range(4)))
            with pytest.raises(UnknownTool):
                await client.tool("nothing.here")
            return answers

    answers = asyncio.run(ask())
    assert {answer.candidates[0].ref for answer in answers} == {"orders/orders.get@1"}


def test_the_async_client_is_the_twin_of_the_other() -> None:
    plain = inspect.getsource(asynchronous)
    for pattern, with_ in (
        (r"async def __a(enter|exit)__", r"def __\1__"),
        (r"\basync def ", "def "),
        (r"\bawait asyncio\.sleep", "time.sleep"),
        (r"\bawait ", ""),
        (r"\baclose\b", "close"),
        (r"\bimport asyncio\b", "import time"),
        (r"Async(Client|BaseTransport)", r"\1"),
        (r'""".*?"""', ""),
    ):
        plain = re.sub(pattern, with_, plain, flags=re.DOTALL)
    other = re.sub(r'""".*?"""', "", inspect.getsource(synchronous), flags=re.DOTALL)
    assert "".join(plain.split()) == "".join(other.split())


def test_the_client_has_the_verbs_of_the_library() -> None:
    for verb in (
        "search",
        "explain",
        "why_not",
        "tools",
        "tool",
        "export",
        "prepare",
        "lint",
        "record_outcome",
        "decision",
    ):
        mine = inspect.signature(getattr(Client, verb)).parameters
        theirs = inspect.signature(getattr(ToolIndex, verb)).parameters
        left = [name for name in theirs if name not in {"principal", "asked_by"} or verb == "why_not"]
        assert [name for name in left if name != "asked_by"] == list(mine), verb
    assert toolsearch.Client is Client
    assert ADMIN.roles
