"""Versions on the command line and over HTTP: the same verbs, the same JSON, administrators only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from starlette.testclient import TestClient
from surface_catalogue import ADMIN, CATALOGUE, RULES

from toolsearch import SideEffect, ToolContract, ToolIndex
from toolsearch.cli.app import main
from toolsearch.cli.remote_versions import RemoteVersions

GET = CATALOGUE[0]
WAITING = GET.model_copy(
    update={"execution": GET.execution.model_copy(update={"side_effect": SideEffect.IRREVERSIBLE})}
)


def run(*words: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return int(ended.value.code or 0)


def described(contract: ToolContract, does: str) -> ToolContract:
    return contract.model_copy(update={"capability": contract.capability.model_copy(update={"does": does})})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with ToolIndex.create(tmp_path / "shop", rules=RULES, encoder="hashed") as index:
        index.add(CATALOGUE, author="ann", reason="first")
        index.versions.propose([WAITING], author="orders")
    return tmp_path / "shop"


def written(path: Path, *contracts: ToolContract) -> Path:
    path.write_text(yaml.safe_dump([each.canonical() for each in contracts], allow_unicode=True), encoding="utf-8")
    return path


def test_diff_of_files_folders_indexes_and_revisions(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    same, prose = (
        written(tmp_path / "same.yaml", *CATALOGUE),
        written(tmp_path / "prose.yaml", described(GET, "Reads an order."), *CATALOGUE[1:]),
    )
    assert run("diff", same, folder, "--fail-on", "safe") == 0
    assert capsys.readouterr().out == "same: 0 tools changed, 4 unchanged\n"
    assert run("diff", same, prose, "--fail-on", "half_breaking") == 0
    capsys.readouterr()
    assert run("diff", same, prose, "--json", "--fail-on", "behaviour") == 1
    answer = json.loads(capsys.readouterr().out)
    assert (answer["verdict"], [each["ref"] for each in answer["tools"]]) == ("behaviour", ["orders/orders.get@1"])
    ref = "orders/orders.get@1"
    reader = ("--scope", "orders.read", "--role", "toolsearch-admin", "-i", folder)
    assert run("diff", ref, f"{ref}@{WAITING.fingerprint[:8]}", *reader, "--fail-on", "breaking") == 1
    out = capsys.readouterr().out
    assert "  breaking /execution/side_effect: " in out
    assert '    "read_only" -> "irreversible"' in out
    assert run("diff", ref, prose, "--json", *reader) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "behaviour"
    assert run("diff", "orders/no.such", prose, "-i", folder) == 3
    capsys.readouterr()


def test_a_broken_source_is_no_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.yaml").write_text("identity: {nam: x}")
    assert run("diff", tmp_path / "bad.yaml", tmp_path / "bad.yaml") == 3
    assert "bad.yaml" in capsys.readouterr().err


def test_the_life_of_a_change_on_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def said(*words: object) -> str:
        assert run(*words, "-i", folder) == 0
        return capsys.readouterr().out

    assert "orders/orders.get@1: " in said("pending")
    assert "side_effect" in said("pending")
    assert "rollout to 25% of new sessions" in said("approve", "orders.get", "--share", "0.25", "--author", "ann")
    assert "goes to 25% of new sessions" in said("pending")
    assert "approve" in said("approve", "orders.get", "--reason", "went well")
    assert "rollback" in said("rollback", "orders.get", "--author", "bob", "--reason", "did not")
    lines = json.loads(said("history", "orders.get", "--json"))
    assert [(each["action"], each["author"], each["reason"]) for each in lines] == [
        ("add", "ann", "first"),
        ("hold", "orders", ""),
        ("rollout", "ann", ""),
        ("approve", "local", "went well"),
        ("rollback", "bob", "did not"),
    ]
    shown = said("history", "orders.get")
    assert shown.splitlines()[0].rstrip() == "orders/orders.get@1"
    assert "did not" in shown
    assert "1" in said("remove", "orders.get", "--author", "eve", "--reason", "enough")
    assert json.loads(said("history", "orders/orders.get", "--json"))[-1]["author"] == "eve"
    assert run("reject", "orders.get", "-i", folder) == 3
    assert "nothing waits" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["approve", "reject", "rollback", "pending", "contracts"])
def test_decisions_are_for_administrators(verb: str, secured_client: TestClient, keys: dict[str, str]) -> None:
    headers = {"Authorization": f"Bearer {keys['s1']}"}
    if verb in ("pending", "contracts"):
        answer = secured_client.get(f"/v1/{verb}", headers=headers)
    else:
        answer = secured_client.post(f"/v1/{verb}", json={"ref": "orders/orders.get"}, headers=headers)
    assert answer.status_code == 403
    assert "orders" not in answer.text


def test_versions_over_http_are_the_library_s(
    secured_client: TestClient, keys: dict[str, str], index: ToolIndex
) -> None:
    admin = {"Authorization": f"Bearer {keys['root']}"}

    def send(method: str, path: str, body: str | None = None) -> bytes:
        headers = {**admin, **({} if body is None else {"Content-Type": "application/json"})}
        answer = secured_client.request(method, path, content=body, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.content

    index.versions.propose([WAITING], author="orders")
    remote = RemoteVersions(send)
    assert remote.pending() == index.versions.pending()
    assert remote.contracts() == index.versions.contracts()
    line = remote.approve("orders.get", share=0.5, fingerprint=WAITING.fingerprint[:6], author="ignored", reason="try")
    assert (line.author, line.share) == ("root", 0.5)
    assert remote.rollback("orders.get", to="", author="ignored", reason="errors").author == "root"
    assert remote.history("orders.get", principal=ADMIN) == index.versions.history("orders.get", principal=ADMIN)
    before = f"orders/orders.get@1@{GET.fingerprint}"
    assert remote.diff(before, WAITING, principal=ADMIN) == index.versions.diff(before, WAITING, principal=ADMIN)
    assert remote.diff(before, WAITING, principal=ADMIN).changes[0].kind == "side_effect"
    index.versions.propose([described(WAITING, "Other.")], author="orders")
    assert remote.reject("orders.get", fingerprint="", author="ignored", reason="no").action == "reject"


def test_what_is_put_and_deleted_is_noted(client: TestClient, index: ToolIndex) -> None:
    changed = described(GET, "Reads one order.")
    client.put("/v1/tools?reason=wording", json=changed.canonical()).raise_for_status()
    client.delete(
        "/v1/tools/orders/orders.get@1?reason=gone", headers={"Content-Type": "application/json"}
    ).raise_for_status()
    lines: list[dict[str, Any]] = client.get("/v1/history/orders/orders.get").json()
    assert [(each["action"], each["author"], each["reason"]) for each in lines] == [
        ("add", "library", ""),
        ("replace", "s1", "wording"),
        ("remove", "s1", "gone"),
    ]


def test_hidden_tools_have_no_history(secured_client: TestClient, keys: dict[str, str]) -> None:
    headers = {"Authorization": f"Bearer {keys['guest']}"}
    for path in ("/v1/history/orders/orders.get", "/v1/history/orders/orders.not"):
        answer = secured_client.get(path, headers=headers)
        assert answer.status_code == 404
    body = {"before": "orders/orders.get", "after": "weather/weather.today"}
    assert secured_client.post("/v1/diff", json=body, headers=headers).status_code == 404
    (line,) = secured_client.get("/v1/history/weather.today", headers=headers).json()
    assert (line["author"], line["reason"]) == ("", "")
