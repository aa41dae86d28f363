"""No page of another origin changes anything: every changing operation of the application, and MCP."""

from __future__ import annotations

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

JSON = {"Content-Type": "application/json"}
FOREIGN = (
    {"Origin": "https://evil.example"},
    {"Origin": "HTTPS://EVIL.EXAMPLE"},
    {"Origin": "null"},
    {"Origin": ""},
    {"Origin": "http://127.0.0.1:3000"},
    {"Origin": "http://127.0.0.1.evil.example"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "Cross-Site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Origin": "http://127.0.0.1", "Sec-Fetch-Site": "cross-site"},
)
SIMPLE = (
    {},
    {"Content-Type": ""},
    {"Content-Type": "text/plain"},
    {"Content-Type": "TEXT/PLAIN; x=application/json"},
    {"Content-Type": "application/x-www-form-urlencoded"},
    {"Content-Type": "multipart/form-data; boundary=application/json"},
)


def operations(app: FastAPI) -> list[tuple[str, str]]:
    """Return what changes something, from the document, so that a new route is among them."""
    found = [
        (method.upper(), path.replace("{number}", "1"))
        for path, item in app.openapi()["paths"].items()
        for method in item
        if method in {"post", "put", "patch", "delete"}
    ]
    assert ("POST", "/v1/models/rollback") in found
    return [*found, ("POST", "/mcp")]


@pytest.mark.parametrize("headers", FOREIGN)
def test_pages_of_other_origins_are_refused(client: TestClient, open_app: FastAPI, headers: dict[str, str]) -> None:
    for method, path in operations(open_app):
        answer = client.request(method, path, headers=JSON | headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "cross_site"), (method, path)
    ended = client.delete("/mcp", headers=headers)
    assert (ended.status_code, ended.json()["code"]) == (403, "cross_site")


@pytest.mark.parametrize("headers", SIMPLE)
@pytest.mark.parametrize("body", [None, b"{}"])
def test_a_json_content_type_is_needed(
    client: TestClient, open_app: FastAPI, headers: dict[str, str], body: bytes | None
) -> None:
    for method, path in operations(open_app):
        answer = client.request(method, path, content=body, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (415, "content_type_unsupported"), (method, path)
        assert "Content-Type: application/json" in answer.json()["detail"]


def test_other_host_names_are_refused_everywhere(client: TestClient, open_app: FastAPI) -> None:
    for method, path in operations(open_app):
        answer = client.request(method, path, headers=JSON | {"Host": "evil.example", "Origin": "http://evil.example"})
        assert answer.status_code == 421, (method, path)


@pytest.mark.parametrize(
    "headers", [{}, {"Origin": "http://127.0.0.1"}, {"Origin": "http://127.0.0.1:80", "Sec-Fetch-Site": "same-origin"}]
)
def test_programs_and_the_own_origin_pass(client: TestClient, headers: dict[str, str]) -> None:
    sent = {"Content-Type": "Application/JSON; charset=utf-8"} | headers
    assert client.post("/v1/search", json={"text": "order"}, headers=sent).status_code == 200
