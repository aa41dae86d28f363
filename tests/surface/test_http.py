"""The HTTP surface: the library's answers byte for byte, and a problem document for everything else."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
import time
from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient
from surface_catalogue import CATALOGUE, LOOPBACK, SUPPORT

from toolsearch import SearchRequest, ToolIndex
from toolsearch.model.errors import IndexMissing
from toolsearch.serve.http.app import create_app
from toolsearch.serve.http.limits import read_body, strict_json
from toolsearch.serve.http.problems import HttpProblem
from toolsearch.serve.settings import load_settings

JSON = {"Content-Type": "application/json"}


def problem(response: object) -> dict[str, object]:
    """Check the form of an error answer and return it."""
    assert response.headers["Content-Type"] == "application/problem+json"
    body = response.json()
    assert body["status"] == response.status_code
    assert body["type"] == f"urn:toolsearch:problem:{body['code']}"
    assert body["request_id"] == response.headers["X-Request-ID"]
    assert body["detail"]
    assert "Traceback" not in response.text
    return body


def without_trace(text: str) -> dict[str, object]:
    return {key: value for key, value in json.loads(text).items() if key not in ("trace_id", "timings_ms")}


def test_search_is_the_library_s_answer(client: TestClient, index: ToolIndex) -> None:
    request = SearchRequest(text="where is my order ORD-20260917", k=3)
    over_http = client.post("/v1/search", content=request.model_dump_json(), headers=JSON)
    assert over_http.status_code == 200
    direct = index.search(request, principal=SUPPORT).model_dump_json()
    assert without_trace(over_http.text) == without_trace(direct)
    assert list(json.loads(over_http.text)) == list(json.loads(direct))
    assert over_http.json()["candidates"][0]["ref"] == "orders/orders.get@1"


def test_chinese_travels_unharmed(client: TestClient) -> None:
    found = client.post("/v1/search", json={"text": "取消订单 ORD-20260917"})
    assert "orders/orders.cancel@1" in found.text
    assert "取消一个订单" in found.text


def test_the_body_narrows(client: TestClient) -> None:
    narrowed = {"text": "取消订单", "restrict": {"max_side_effect": "read_only"}}
    assert "orders.cancel" not in client.post("/v1/search", json=narrowed).text


def test_hidden_and_absent_tools_answer_alike(client: TestClient) -> None:
    hidden = problem(client.get("/v1/tools/vault/vault.open@1"))
    absent = problem(client.get("/v1/tools/vault/vault.shut@1"))
    assert hidden["status"] == absent["status"] == 404
    assert str(hidden["detail"]).replace("vault.open", "x") == str(absent["detail"]).replace("vault.shut", "x")
    assert "vault" not in client.get("/v1/tools").text


def test_a_tool_is_its_canonical_json(client: TestClient) -> None:
    answer = client.get("/v1/tools/weather/weather.today@1")
    expected = next(one for one in CATALOGUE if one.identity.name == "weather.today")
    assert answer.text == expected.canonical_json
    assert answer.headers["ETag"] == f'"{hashlib.sha256(answer.content).hexdigest()}"'


def test_tools_are_put_and_deleted(client: TestClient) -> None:
    body = {"identity": {"name": "new", "server": "orders"}, "access": {"roles_any": ["support"]}}
    assert client.put("/v1/tools", json=body).json()["added"] == ["orders/new@1"]
    assert client.put("/v1/tools", json=[body]).json()["unchanged"] == ["orders/new@1"]
    assert client.get("/v1/tools/orders/new").status_code == 200
    assert client.delete("/v1/tools/orders/new@1", headers=JSON).json()["removed"] == ["orders/new@1"]
    assert client.get("/v1/tools/orders/new").status_code == 404


def test_put_can_replace_the_whole_catalogue(client: TestClient) -> None:
    body = [{"identity": {"name": "only"}, "access": {"roles_any": ["support"]}}]
    assert client.put("/v1/tools?others=remove", json=body).json()["added"] == ["local/only@1"]
    assert [tool["ref"] for tool in client.get("/v1/tools").json()] == ["local/only@1"]


def test_rules_are_replaced(client: TestClient) -> None:
    assert "weather.today" in client.get("/v1/tools").text
    assert client.put("/v1/rules", json={"rules": []}).status_code == 200
    assert "weather.today" not in client.get("/v1/tools").text


def test_decision_outcome_explain_and_why_not(client: TestClient) -> None:
    trace = client.post("/v1/search", json={"text": "weather today"}).json()["trace_id"]
    assert client.get(f"/v1/decisions/{trace}").json()["trace_id"] == trace
    report = {"ref": "weather/weather.today@1", "status": "success", "trace_id": trace, "latency_ms": 12.5}
    assert client.post("/v1/outcomes", json=report).status_code == 204
    asked = {"request": {"text": "weather today"}, "ref": "weather.today"}
    assert client.post("/v1/explain", json=asked).json()["ref"] == "weather/weather.today@1"
    report = client.post("/v1/why-not", json={"ref": "vault/vault.open@1", "principal": {"tenant": "acme"}}).json()
    assert report["allowed"] is False
    assert report["rule"]
    assert problem(client.get("/v1/decisions/unknown-trace"))["code"] == "trace_unknown"


def test_a_log_is_learnt_and_forgotten(client: TestClient, index: ToolIndex) -> None:
    log = [
        {"text": "do I need an umbrella", "ref": "weather/weather.today", "subject": name, "tenant": "acme"}
        for name in ("ann", "bob")
    ]
    unknown = {"text": "x", "ref": "no/such", "subject": "ann"}
    assert client.post("/v1/learn", json=[*log, unknown]).json() == {"learnt": 2, "refused": 0, "unknown": 1}
    assert len(index._live.memory) == 2
    assert client.post("/v1/forget", json={"subject": "ann", "tenant": "acme"}).json() == {"forgotten": 1}
    assert client.post("/v1/forget", json={"subject": "ann"}).json() == {"forgotten": 0}
    assert len(index._live.memory) == 1
    assert problem(client.post("/v1/learn", json=[{"text": "x", "ref": "no/such"}]))["status"] == 422


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        (b"", 400, "empty"),
        (b"{", 400, "line 1 column 2"),
        (b"\xff\xfe", 400, "UTF-8 at byte 0"),
        (b'{"text": "x", "text": "y"}', 400, "'text' stands twice"),
        (b'{"text": "x", "inputs": {"a": NaN}}', 400, "NaN"),
        (b'{"text": "x", "inputs": {"a": -Infinity}}', 400, "-Infinity"),
        (b'{"text": "x", "inputs": {"a": 1e999}}', 400, "1e999"),
        (b'{"text": "x", "inputs": {"a": ' + b"9" * 5000 + b"}}", 400, "64 bits"),
        (b"[" * 100_000, 400, "deeper than 64"),
        (b'{"text": "x", "inputs": {"a": ' + b"[" * 70 + b"]" * 70 + b"}}", 400, "deeper than 64"),
        (b"[]", 422, "dictionary"),
        (b"null", 422, "dictionary"),
        (b"{}", 422, "text"),
        (b'{"text": "x", "k": 0}', 422, "greater than or equal to 1; given 0"),
        (b'{"text": "x", "colour": 1}', 422, "colour"),
        (b'{"text": " \\u0000 "}', 422, "empty"),
        (b'{"text": "' + b"x" * 9000 + b'"}', 422, "8000"),
        (b"x" * 1_100_000, 413, "1048576"),
    ],
)
def test_bad_bodies_are_named(client: TestClient, body: bytes, status: int, says: str) -> None:
    answer = client.post("/v1/search", content=body, headers=JSON)
    assert answer.status_code == status
    assert says in str(problem(answer)["detail"])
    assert len(answer.content) < 4_000


def test_a_lone_surrogate_is_mended(client: TestClient) -> None:
    answer = client.post(
        "/v1/search", content=b'{"text": "weather \\ud83d", "inputs": {"a\\udc00": "\\ud800"}}', headers=JSON
    )
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "headers", [{}, {"Content-Type": "text/plain"}, {"Content-Type": "application/json; charset=latin-1"}]
)
def test_json_needs_its_header(client: TestClient, headers: dict[str, str]) -> None:
    answer = client.post("/v1/search", content=b'{"text": "x"}', headers=headers)
    assert answer.status_code == 415
    assert "Content-Type: application/json" in str(problem(answer)["detail"])


def test_other_errors_are_problems(client: TestClient) -> None:
    assert problem(client.get("/nowhere"))["code"] == "path_unknown"
    wrong_method = client.patch("/v1/search", headers=JSON)
    assert problem(wrong_method)["status"] == 405
    assert wrong_method.headers["Allow"] == "POST"
    packed = client.post("/v1/search", content=b"x", headers=JSON | {"Content-Encoding": "gzip"})
    assert problem(packed)["status"] == 415
    assert (
        problem(client.put("/v1/tools", json=[{"identity": {"nam": "x"}}]))["errors"][0]["field"] == "0.identity.name"
    )
    assert problem(client.put("/v1/tools?others=burn", json=[]))["status"] == 422


def test_an_unforeseen_failure_tells_nothing(
    client: TestClient, index: ToolIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: ToolIndex, *args: object, **kwargs: object) -> None:
        raise RuntimeError("vault.open")

    monkeypatch.setattr(ToolIndex, "search", fails)
    answer = client.post("/v1/search", json={"text": "x"})
    assert problem(answer)["status"] == 500
    assert "vault" not in answer.text


def test_request_ids_are_echoed_or_made(client: TestClient) -> None:
    assert client.get("/livez", headers={"X-Request-ID": "abc-12345"}).headers["X-Request-ID"] == "abc-12345"
    made = client.get("/livez", headers={"X-Request-ID": "no good\x7f"}).headers["X-Request-ID"]
    assert len(made) == 32


def test_health_follows_the_index(index: ToolIndex) -> None:
    go = threading.Event()

    def slow() -> ToolIndex:
        go.wait(10)
        return index

    with TestClient(create_app(slow, settings=load_settings()), base_url=LOOPBACK) as starting:
        assert starting.get("/livez").status_code == 204
        assert starting.get("/healthz").json()["status"] == "starting"
        assert starting.get("/healthz").status_code == 503
        refused = starting.get("/v1/tools")
        assert problem(refused)["code"] == "not_ready"
        assert refused.headers["Retry-After"] == "1"
        go.set()
        deadline = time.monotonic() + 10
        while starting.get("/healthz").status_code != 200 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert starting.get("/healthz").json()["status"] == "ready"


def test_a_missing_index_shows_in_health() -> None:
    def missing() -> ToolIndex:
        raise IndexMissing("no index at x")

    with TestClient(create_app(missing, settings=load_settings()), base_url=LOOPBACK) as failed:
        deadline = time.monotonic() + 10
        while failed.get("/healthz").json()["status"] == "starting" and time.monotonic() < deadline:
            time.sleep(0.01)
        assert failed.get("/healthz").json()["status"] == "failed"
        assert failed.get("/healthz").status_code == 503


def test_shutdown_closes_the_index(open_app: FastAPI, index: ToolIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[ToolIndex] = []
    original = ToolIndex.close
    monkeypatch.setattr(ToolIndex, "close", lambda self: (closed.append(self), original(self))[1])
    with TestClient(open_app, base_url=LOOPBACK):
        pass
    assert closed == [index]


@pytest.fixture
def stuck(index: ToolIndex, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """A server with one worker and no queue, whose searches hang until the test ends."""
    go = threading.Event()
    monkeypatch.setattr(ToolIndex, "search", lambda self, request, *, principal: go.wait(20))
    limits = load_settings(workers=1, queue=0, request_timeout_s=0.1)
    with TestClient(create_app(index, settings=limits), base_url=LOOPBACK) as client:
        yield client
        go.set()


def test_time_and_concurrency_are_bounded(stuck: TestClient) -> None:
    slow = problem(stuck.post("/v1/search", json={"text": "x"}))
    assert (slow["status"], slow["code"]) == (503, "timeout")
    full = problem(stuck.get("/v1/tools"))
    assert (full["status"], full["code"]) == (503, "overloaded")
    assert stuck.get("/healthz").status_code == 200


def test_metrics_count_without_names(client: TestClient) -> None:
    client.post("/v1/search", json={"text": "weather in Hangzhou"})
    client.post("/v1/outcomes", json={"ref": "weather/weather.today@1", "status": "success"})
    client.get("/not/a/path")
    text = client.get("/metrics").text
    assert 'toolsearch_searches_total{outcome="' in text
    assert 'toolsearch_stage_seconds_bucket{le="' in text
    assert 'toolsearch_outcomes_total{status="success"} 1.0' in text
    assert 'endpoint="unmatched",method="GET",status="404"' in text
    assert "toolsearch_tools 4.0" in text
    for secret in ("weather.today", "Hangzhou", "vault", "/not/a/path", "s1"):
        assert secret not in text


def test_two_apps_count_apart(open_app: FastAPI, index: ToolIndex) -> None:
    other = create_app(index, settings=load_settings())
    assert other.state.sidecar.metrics.registry is not open_app.state.sidecar.metrics.registry


def test_the_front_page_loads_nothing_from_elsewhere(client: TestClient) -> None:
    page = client.get("/")
    assert "/v1/search" in page.text
    assert "<script" not in page.text
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert client.get("/docs").status_code == 404


def test_the_openapi_document_knows_every_model(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    known = document["components"]["schemas"]
    references = {part.split('"')[0] for part in json.dumps(document).split("#/components/schemas/")[1:]}
    assert references <= set(known)
    assert {"SearchRequest", "CandidateSet", "Problem"} <= set(known)
    examples = document["paths"]["/v1/search"]["post"]["requestBody"]["content"]["application/json"]["examples"]
    for example in examples.values():
        assert client.post("/v1/search", json=example["value"]).status_code == 200


def test_a_body_without_a_length_is_bounded_too(client: TestClient) -> None:
    pieces = (b"x" * 100_000 for _ in range(12))
    answer = client.post("/v1/search", content=pieces, headers=JSON)
    assert problem(answer)["code"] == "body_too_large"


@pytest.mark.parametrize(
    ("messages", "code"),
    [
        ([{"type": "http.request", "body": b"{", "more_body": True}], "body_timeout"),
        ([{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}], "body_incomplete"),
    ],
)
def test_a_body_that_does_not_come(messages: list[dict[str, object]], code: str) -> None:
    async def receive() -> dict[str, object]:
        if messages:
            return messages.pop(0)
        await asyncio.sleep(60)
        raise AssertionError("waited too long")

    with pytest.raises(HttpProblem) as refused:
        asyncio.run(read_body(receive, limit=100, declared=None, timeout_s=0.05))
    assert refused.value.code == code


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(json_values)
def test_strict_json_reads_what_json_writes(value: object) -> None:
    assert strict_json(json.dumps(value).encode("utf-8")) == value


@given(st.binary(max_size=200))
def test_strict_json_answers_any_bytes(body: bytes) -> None:
    status = 200
    try:
        strict_json(body)
    except HttpProblem as error:
        status = error.status
    assert status in (200, 400)


ENDPOINTS = [
    ("POST", "/v1/search"),
    ("POST", "/v1/explain"),
    ("POST", "/v1/why-not"),
    ("POST", "/v1/outcomes"),
    ("POST", "/v1/learn"),
    ("POST", "/v1/forget"),
    ("PUT", "/v1/tools"),
    ("PUT", "/v1/rules"),
    ("GET", "/v1/tools"),
    ("GET", "/healthz"),
    ("GET", "/metrics"),
    ("GET", "/"),
]
bodies = st.binary(max_size=300) | json_values.map(lambda value: json.dumps(value).encode("utf-8"))


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    endpoint=st.sampled_from(ENDPOINTS), body=bodies, media_type=st.sampled_from(["application/json", "text/plain", ""])
)
def test_any_bytes_get_an_answer(client: TestClient, endpoint: tuple[str, str], body: bytes, media_type: str) -> None:
    method, path = endpoint
    answer = client.request(method, path, content=body, headers={"Content-Type": media_type})
    assert answer.status_code < 500
    if answer.status_code >= 400:
        problem(answer)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=st.text(max_size=300), method=st.sampled_from(["GET", "DELETE"]))
def test_any_reference_gets_an_answer(client: TestClient, text: str, method: str) -> None:
    from urllib.parse import quote

    encoded = quote(text, safe="", errors="replace")
    for path in (f"/v1/tools/{encoded}", f"/v1/decisions/{encoded}"):
        answer = client.request(method, path)
        assert answer.status_code < 500


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=st.text(max_size=200), inputs=st.dictionaries(st.text(max_size=20), json_values, max_size=4))
def test_any_request_text_gets_an_answer(client: TestClient, text: str, inputs: dict[str, object]) -> None:
    body = json.dumps({"text": text, "inputs": inputs}).encode("utf-8")
    answer = client.post("/v1/search", content=body, headers=JSON)
    assert answer.status_code in (200, 400, 422)
    assert "vault.open" not in answer.text or "vault.open" in text


def test_decision_records_reach_the_disk_without_a_close(index: ToolIndex) -> None:
    app = create_app(index, settings=load_settings())
    sidecar = app.state.sidecar
    trace_id = index.search("weather", principal=SUPPORT).trace_id

    async def run_a_little() -> None:
        flushing = asyncio.create_task(sidecar.flush_regularly(every_s=0.01))
        await asyncio.sleep(0.3)
        flushing.cancel()

    asyncio.run(run_a_little())
    assert index._live.registry.decision(trace_id) is not None
