"""Imports over HTTP and on the command line: who may, what a body may name, and the same report everywhere."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient
from surface_catalogue import LOOPBACK, RULES

from toolsearch import ToolIndex
from toolsearch.calls.importing import DataSource, import_sources
from toolsearch.cli.app import main
from toolsearch.cli.remote_importing import RemoteImporting
from toolsearch.model.errors import RequestError, UpstreamConfigError
from toolsearch.serve.http.app import create_app
from toolsearch.serve.settings import load_settings

TOOLS = [{"name": "now", "description": "Tell the time.", "inputSchema": {"type": "object"}}]


def test_definitions_are_imported(client: TestClient) -> None:
    answer = client.post("/v1/tools:import", json={"server": "clock", "definitions": TOOLS})
    assert answer.status_code == 200
    (server,) = answer.json()["servers"]
    assert (server["server"], server["added"], server["origin"]) == ("clock", ["clock/now@1"], "request")
    again = client.post("/v1/tools:import", json={"server": "clock", "definitions": {"tools": TOOLS}}).json()
    assert again["servers"][0]["unchanged"] == ["clock/now@1"]
    assert again["generation"] == answer.json()["generation"]
    assert len(client.get("/v1/tools/orders/orders.get").json()) > 1
    (row,) = client.get("/v1/sources").json()
    assert (row["server"], row["tools"], row["stale"]) == ("clock", 1, False)


def test_refusals_have_positions(client: TestClient) -> None:
    wrong = {"name": "later", "inputSchema": []}
    answer = client.post("/v1/tools:import", json={"server": "clock", "definitions": [*TOOLS, wrong]}).json()
    assert answer["refused"] == [
        {"source": "request", "path": "/1/inputSchema", "message": "inputSchema is a list, not a JSON Schema object"}
    ]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"definitions": TOOLS, "live": ["git"]},
        {"live": ["git"], "server": "x"},
        {"command": "sh", "definitions": TOOLS},
        {"url": "http://127.0.0.1/mcp"},
        {"mcpServers": {"x": {"command": "sh"}}},
        {"live": [{"command": "sh"}]},
        {"readings": [{"server": "a", "origin": "x", "contracts": [{"identity": {"server": "b", "name": "t"}}]}]},
        [],
        "x",
    ],
)
def test_a_body_that_is_none_is_refused(body: Any, client: TestClient) -> None:
    answer = client.post("/v1/tools:import", json=body)
    assert answer.status_code == 422
    assert answer.json()["code"] == "request_invalid"
    assert client.get("/v1/sources").json() == []


def test_a_list_of_servers_is_no_list_of_tools(client: TestClient) -> None:
    """A configuration as definitions starts nothing."""
    answer = client.post("/v1/tools:import", json={"definitions": {"mcpServers": {"x": {"command": "sh"}}}}).json()
    assert answer["servers"] == []
    assert answer["refused"]


def test_live_servers_must_be_allowed(client: TestClient) -> None:
    answer = client.post("/v1/tools:import", json={"live": ["git"]})
    assert answer.status_code == 403
    assert "import_servers" in answer.json()["detail"]


@pytest.mark.parametrize("path", ["/v1/tools:import", "/v1/sources"])
def test_only_administrators(path: str, secured_client: TestClient, keys: dict[str, str]) -> None:
    def status(subject: str | None) -> int:
        headers = {} if subject is None else {"X-API-Key": keys[subject]}
        if path == "/v1/sources":
            return secured_client.get(path, headers=headers).status_code
        body = {"server": "clock", "definitions": TOOLS}
        return secured_client.post(path, headers=headers, json=body).status_code

    assert [status(None), status("guest"), status("s1"), status("root")] == [401, 403, 403, 200]


def test_an_administrator_may_send_more_than_others(index: ToolIndex) -> None:
    app = create_app(index, settings=load_settings(body_limit_bytes=1_024))
    body = {"server": "clock", "definitions": [{**TOOLS[0], "description": "Tell the time. " * 200}]}
    with TestClient(app, base_url=LOOPBACK) as client:
        assert client.post("/v1/tools:import", json=body).status_code == 200
        assert client.post("/v1/search", json={"text": "x" * 2_000}).status_code == 413


def test_the_report_is_the_same_everywhere(
    open_app: FastAPI, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def without_times(report: dict[str, Any]) -> dict[str, Any]:
        report = {key: value for key, value in report.items() if not key.endswith("_s")}
        return {**report, "servers": [{**one, "origin": ""} for one in report["servers"]], "generation": 0}

    with ToolIndex.create(None, rules=RULES, encoder="hashed") as index:
        library = import_sources(index, [DataSource(data=TOOLS, server="clock")])
    with TestClient(open_app, base_url=LOOPBACK) as client:
        http = client.post("/v1/tools:import", json={"server": "clock", "definitions": TOOLS}).json()
    (tmp_path / "clock.json").write_text(json.dumps(TOOLS))
    ToolIndex.create(tmp_path / "index", rules=RULES, encoder="hashed").close()
    assert run("import", tmp_path / "clock.json", "-i", tmp_path / "index", "--json") == 0
    command = json.loads(capsys.readouterr().out)
    wanted = without_times(json.loads(library.model_dump_json()))
    assert without_times(http) == wanted
    assert without_times(command) == wanted


def run(*words: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return int(ended.value.code or 0)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    ToolIndex.create(tmp_path / "index", rules=RULES, encoder="hashed").close()
    (tmp_path / "clock.json").write_text(json.dumps([*TOOLS, {"name": "bad", "inputSchema": []}]))
    assert run("import", tmp_path / "clock.json", "-i", tmp_path / "index") == 3
    shown = capsys.readouterr()
    assert "clock: 1 added, 0 replaced, 0 unchanged, 0 removed, 0 refused" in shown.out
    assert "clock.json:/1 (line 1)/inputSchema" in shown.err
    assert run("sources", "-i", tmp_path / "index") == 0
    assert capsys.readouterr().out.startswith("clock: 1 tool, read 2")
    assert run("import", tmp_path / "clock.json", "-i", tmp_path / "index", "--watch") == 3
    assert "--watch needs a live server" in capsys.readouterr().err
    (tmp_path / "mcp.json").write_text('{"mcpServers": {}}')
    assert run("import", tmp_path / "mcp.json", "-i", tmp_path / "index") == 3
    assert "no server and no definition" in capsys.readouterr().err


def test_a_client_hands_over_what_it_read(client: TestClient) -> None:
    """What `RemoteIndex` does, over the same code, without a process."""

    class Remote(RemoteImporting):
        def send(self, method: str, path: str, body: str | None = None) -> bytes:
            answer = client.request(method, path, content=body, headers={"Content-Type": "application/json"})
            assert answer.status_code == 200, answer.text
            return answer.content

    from toolsearch.calls.importing import Reading
    from toolsearch.contracts.read import read_data

    contracts = read_data(TOOLS, server="clock").contracts
    report = Remote().import_readings(
        [
            Reading(server="clock", origin="clock.json", contracts=contracts),
            Reading(server="fire", origin="there", error="server 'fire' is down"),
        ]
    )
    assert report.servers[0].added == ("clock/now@1",)
    assert report.servers[1].error
    rows = Remote().sources()
    assert [(row.server, row.stale, row.origin) for row in rows] == [
        ("clock", False, "clock.json"),
        ("fire", True, "there"),
    ]


def test_settings_that_do_not_fit(tmp_path: Path, index: ToolIndex) -> None:
    with pytest.raises(RequestError, match="mcp_config, which lists them, is not set"):
        create_app(index, settings=load_settings(import_servers=("git",)))
    (tmp_path / "mcp.json").write_text('{"mcpServers": {}}')
    with pytest.raises(RequestError, match="has no usable server 'git'"):
        create_app(index, settings=load_settings(mcp_config=tmp_path / "mcp.json", import_servers=("git",)))
    with pytest.raises(UpstreamConfigError, match="cannot be read"):
        create_app(index, settings=load_settings(mcp_config=tmp_path / "nope.json"))


@pytest.mark.slow
@pytest.mark.extras
def test_a_sidecar_follows_its_servers(tmp_path: Path, index: ToolIndex) -> None:
    pytest.importorskip("mcp")
    growing = Path(__file__).parents[1] / "servers" / "growing_server.py"
    config = {
        "mcpServers": {
            "growing": {"command": sys.executable, "args": [str(growing), "apples"]},
            "gone": {"command": "no-such-program"},
            "odd": {"comand": "x"},
        }
    }
    (tmp_path / "mcp.json").write_text(json.dumps(config))
    app = create_app(index, settings=load_settings(mcp_config=tmp_path / "mcp.json", import_servers=("growing",)))
    with TestClient(app, base_url=LOOPBACK) as client:
        deadline = time.monotonic() + 30
        while len(rows := client.get("/v1/sources").json()) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert [(row["server"], row["stale"]) for row in rows] == [("gone", True), ("growing", False)]
        again = client.post("/v1/tools:import", json={"live": ["growing"]}).json()
        assert "growing/apples@1" in again["servers"][0]["unchanged"]
        assert client.post("/v1/tools:import", json={"live": ["gone"]}).status_code == 403
