"""One request, three surfaces, one answer: library, command line and HTTP give the same JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from surface_catalogue import ADMIN, CATALOGUE, LOOPBACK, RULES, SUPPORT

from toolsearch import SearchRequest, ToolIndex
from toolsearch.cli.app import main
from toolsearch.model.prepared import PrepareRequest
from toolsearch.serve.http.app import create_app
from toolsearch.serve.settings import load_settings

LOCAL = SUPPORT.model_copy(update={"roles": (*SUPPORT.roles, *ADMIN.roles)})
REQUESTS = [
    {"text": "where is my order ORD-20260917"},
    {"text": "取消订单 ORD-20260917", "k": 1},
    {"text": "weather in Hangzhou", "detail": "name", "format": "openai"},
    {"text": "order", "inputs": {"order_id": "ORD-20260917"}, "weights": {"cost": 0.5}, "profile": "seed"},
    {"text": "sing me a song", "mode": "lexical"},
    {"text": "order", "restrict": {"max_side_effect": "none"}, "format": "anthropic", "token_budget": 10},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with ToolIndex.create(tmp_path / "index", rules=RULES, encoder="hashed") as index:
        index.add(CATALOGUE)
    return tmp_path / "index"


def stable(text: str) -> str:
    """Return the JSON text without what may differ between two runs, key order kept."""
    return json.dumps({key: value for key, value in json.loads(text).items() if key not in ("trace_id", "timings_ms")})


@pytest.mark.parametrize("request_", REQUESTS, ids=range(len(REQUESTS)))
def test_search(folder: Path, tmp_path: Path, request_: dict[str, object], capsys: pytest.CaptureFixture[str]) -> None:
    now = {**request_, "now": "2026-09-17T10:00:00Z"}
    (tmp_path / "request.json").write_text(json.dumps(now))
    (tmp_path / "principal.json").write_text(LOCAL.model_dump_json())
    with ToolIndex.open(folder) as index:
        by_library = index.search(SearchRequest.model_validate(now), principal=LOCAL).model_dump_json()
    words = ["search", "--request", tmp_path / "request.json", "--principal", tmp_path / "principal.json", "--json"]
    with pytest.raises(SystemExit):
        main([str(word) for word in (*words, "-i", folder)])
    by_command = capsys.readouterr().out
    app = create_app(ToolIndex.open(folder), settings=load_settings(local_principal=LOCAL))
    with TestClient(app, base_url=LOOPBACK) as client:
        by_http = client.post("/v1/search", json=now).text
    assert stable(by_library) == stable(by_command) == stable(by_http)


def test_the_other_verbs(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "principal.json").write_text(LOCAL.model_dump_json())
    asked = {"text": "where is my order", "trace_id": "same-trace-everywhere"}
    (tmp_path / "request.json").write_text(json.dumps(asked))
    ref, who = "orders/orders.get@1", ["--principal", tmp_path / "principal.json"]
    with ToolIndex.open(folder) as index:
        explained = index.explain(SearchRequest.model_validate(asked), ref=ref, principal=LOCAL).model_dump_json()
        report = index.why_not(ref, principal=LOCAL, asked_by=LOCAL).model_dump_json()
        contract = index.tool(ref, principal=LOCAL).canonical_json
    printed = []
    for words in (["explain", ref, "--request", tmp_path / "request.json"], ["why-not", ref], ["tools", ref]):
        with pytest.raises(SystemExit):
            main([str(word) for word in (*words, "--json", "-i", folder, *who)])
        printed.append(capsys.readouterr().out.rstrip("\n"))
    assert printed == [explained, report, contract]
    app = create_app(ToolIndex.open(folder), settings=load_settings(local_principal=LOCAL))
    with TestClient(app, base_url=LOOPBACK) as client:
        assert client.post("/v1/explain", json={"request": asked, "ref": ref}).text == explained
        body = {"ref": ref, "principal": LOCAL.model_dump(mode="json")}
        assert client.post("/v1/why-not", json=body).text == report
        assert client.get(f"/v1/tools/{ref}").text == contract


def test_prepare(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    turns = [{"role": "user", "text": "I ordered ORD-20260917"}]
    asked = {"ref": "orders/orders.get", "text": "where is it", "conversation": turns, "format": "mcp"}
    (tmp_path / "principal.json").write_text(LOCAL.model_dump_json())
    (tmp_path / "turns.json").write_text(json.dumps(turns))
    with ToolIndex.open(folder) as index:
        by_library = index.prepare(PrepareRequest.model_validate(asked), principal=LOCAL).model_dump_json()
    words = ["prepare", "orders/orders.get", "--text", "where is it", "--conversation", tmp_path / "turns.json"]
    with pytest.raises(SystemExit):
        main(
            [
                *map(str, words),
                *("--format", "mcp", "--json", "-i", str(folder), "--principal", str(tmp_path / "principal.json")),
            ]
        )
    by_command = capsys.readouterr().out.rstrip("\n")
    app = create_app(ToolIndex.open(folder), settings=load_settings(local_principal=LOCAL))
    with TestClient(app, base_url=LOOPBACK) as client:
        by_http = client.post("/v1/prepare", json=asked).text
    assert by_library == by_command == by_http
    assert json.loads(by_http)["arguments"] == {"order_id": "ORD-20260917"}


def test_sessions(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "principal.json").write_text(LOCAL.model_dump_json())
    asked = {"text": "where is my order ORD-20260917", "session": "talk-1", "now": "2026-09-17T10:00:00Z"}
    (tmp_path / "request.json").write_text(json.dumps(asked))
    with ToolIndex.open(folder) as index:
        index.search(SearchRequest.model_validate(asked), principal=LOCAL)
        searched = index.search(SearchRequest.model_validate(asked), principal=LOCAL).model_dump_json()
        opened = index.sessions.open("talk-1", principal=LOCAL).model_dump_json()
        shown = index.sessions.get("talk-1", principal=LOCAL).model_dump_json()
        refreshed = index.sessions.refresh("talk-1", principal=LOCAL).model_dump_json()
    printed = []
    words = ["sessions", "talk-1"]
    for more in ([*words, "--open"], words, [*words, "--refresh"], ["search", "--request", tmp_path / "request.json"]):
        with pytest.raises(SystemExit):
            main([str(word) for word in (*more, "--json", "-i", folder, "--principal", tmp_path / "principal.json")])
        printed.append(capsys.readouterr().out.rstrip("\n"))
    assert printed[:3] == [opened, shown, refreshed]
    assert stable(printed[3]) == stable(searched)
    app = create_app(ToolIndex.open(folder), settings=load_settings(local_principal=LOCAL))
    with TestClient(app, base_url=LOOPBACK) as client:
        assert client.post("/v1/sessions", json={"session": "talk-1"}).text == opened
        assert client.get("/v1/sessions/talk-1").text == shown
        assert client.post("/v1/sessions/talk-1/refresh", json={}).text == refreshed
        assert stable(client.post("/v1/search", json=asked).text) == stable(searched)
        assert client.delete("/v1/sessions/talk-1", headers={"Content-Type": "application/json"}).status_code == 204
    with pytest.raises(SystemExit) as ended:
        main([*words, "-i", str(folder), "--principal", str(tmp_path / "principal.json")])
    assert ended.value.code == 3
    assert "no session 'talk-1'" in capsys.readouterr().err
