"""Sessions over HTTP and on the command line: whose they are, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient
from surface_catalogue import CATALOGUE, RULES

from toolsearch import ToolIndex
from toolsearch.cli.app import main


def code_of(client: TestClient, method: str, path: str, **more: object) -> tuple[int, str]:
    answer = client.request(method, path, **more)
    return answer.status_code, answer.json()["code"]


def test_a_session_belongs_to_the_principal_of_the_key(secured_client: TestClient, keys: dict[str, str]) -> None:
    support, guest = ({"X-API-Key": keys[subject], "Content-Type": "application/json"} for subject in ("s1", "guest"))
    asked = {"text": "where is my order ORD-20260917", "session": "talk-1"}
    first = secured_client.post("/v1/search", json=asked, headers=support).json()["session"]
    assert first["created"]
    assert "orders/orders.get@1" in first["refs"]
    for method, path, body in (
        ("GET", "/v1/sessions/talk-1", None),
        ("DELETE", "/v1/sessions/talk-1", None),
        ("POST", "/v1/sessions/talk-1/refresh", {}),
    ):
        assert code_of(secured_client, method, path, json=body, headers=guest) == (404, "session_unknown")
    other = secured_client.post("/v1/search", json=asked, headers=guest).json()["session"]
    assert other["created"]
    assert not set(other["refs"]) & set(first["refs"]) - {"weather/weather.today@1"}
    shown = secured_client.get("/v1/sessions/talk-1", headers=support)
    assert shown.json()["tools_hash"] == first["tools_hash"]
    assert shown.content == secured_client.get("/v1/sessions/talk-1", headers=support).content


def test_what_http_refuses(client: TestClient) -> None:
    assert code_of(client, "POST", "/v1/sessions", json={"session": "no spaces"}) == (422, "request_invalid")
    assert code_of(client, "POST", "/v1/sessions", json={"tools": []}) == (422, "request_invalid")
    assert code_of(client, "POST", "/v1/search", json={"text": "x", "session": "-"}) == (422, "request_invalid")
    assert code_of(client, "GET", "/v1/sessions/none") == (404, "session_unknown")
    begun = client.post("/v1/sessions", json={}).json()
    assert begun["created"]
    path = f"/v1/sessions/{begun['id']}/refresh"
    assert code_of(client, "POST", path, json={"refs": ["vault/vault.open@1"]}) == (404, "tool_unknown")


def run(*words: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return int(ended.value.code or 0)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "index"
    with ToolIndex.create(folder, rules=RULES, encoder="hashed") as index:
        index.add(CATALOGUE)
    assert run("search", "weather today", "-i", folder, "--session", "talk-1", "--subject", "guest") == 0
    assert "session talk-1: 1 tool, 1 appended" in capsys.readouterr().out
    assert run("sessions", "talk-1", "-i", folder, "--subject", "guest") == 0
    shown = capsys.readouterr().out
    held = next(tool for tool in CATALOGUE if tool.identity.name == "weather.today").fingerprint
    assert f"weather/weather.today@1 as weather_today (native, full), revision {held[:12]}\n" in shown
    assert (
        run("sessions", "talk-1", "--refresh", "--tool", "weather/weather.today@1", "-i", folder, "--subject", "guest")
        == 0
    )
    assert "refreshed: nothing" in capsys.readouterr().out
    assert run("sessions", "talk-1", "-i", folder) == 3
    assert "error: no session 'talk-1' of this principal is open" in capsys.readouterr().err
    assert run("sessions", "talk-1", "--end", "-i", folder, "--subject", "guest") == 0
    assert capsys.readouterr().out == "ended: talk-1\n"
    assert run("sessions", "--open", "-i", folder) == 0
    assert "begun: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "--open"),
        (("a", "--open", "--end"), "exclude"),
        (("a", "--tool", "x"), "--refresh"),
        (("a", "--detail", "full"), "--refresh"),
        (("a", "--refresh", "--detail", "all"), "name, signature, full"),
        (("no spaces", "--open"), "write 1 to 128"),
    ],
)
def test_what_the_command_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], says: str
) -> None:
    with ToolIndex.create(tmp_path / "index", rules=RULES, encoder="hashed"):
        pass
    assert run("sessions", *words, "-i", tmp_path / "index") == 3
    assert says in capsys.readouterr().err
