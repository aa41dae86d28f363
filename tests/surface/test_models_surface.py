"""Learnt models over HTTP and on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from surface_catalogue import CATALOGUE, RULES

from toolsearch import PastRequest, ToolIndex
from toolsearch.cli.app import main
from toolsearch.cli.remote_models import RemoteModels
from toolsearch.engine.models import LearntModel
from toolsearch.model.errors import RequestError
from toolsearch.text.embed.hashed import HashedEncoder


def weighed(**changed: object) -> LearntModel:
    """Return a model that only weighs words otherwise."""
    info = HashedEncoder().info
    figures = {"mrr": 0.5, "recall_1": 0.4, "recall_5": 0.7}
    manifest = {
        "encoder": info.id,
        "encoder_sha256": info.sha256,
        "analyzer": "any",
        "created_at": "2026-09-17T10:00:00Z",
        "all_tenants": True,
        **dict.fromkeys(("seed", "requests", "held_out", "tools", "subjects", "strength", "gain_low", "gain_high"), 0),
        "p_value": 0.01,
        "before": figures,
        "after": figures,
        **changed,
    }
    return LearntModel.model_validate({"manifest": manifest, "weights": {"lexical": 0.9}, "dim": info.dim, "rank": 0})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with ToolIndex.create(tmp_path / "index", rules=RULES, encoder="hashed") as index:
        index.add(CATALOGUE)
    return tmp_path / "index"


def run(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    shown = capsys.readouterr()
    return int(ended.value.code or 0), shown.out + shown.err


def test_http_installs_lists_activates_and_rolls_back(client: TestClient) -> None:
    def send(method: str, path: str, body: str | None = None) -> bytes:
        headers = {"Content-Type": "application/json"}
        answer = client.request(method, path, content=body, headers=headers)
        if answer.status_code >= 400:
            raise RequestError(answer.text)
        return answer.content

    room = RemoteModels(send)
    assert room.list() == ()
    stored = room.install(weighed(), activate=False)
    assert (stored.number, stored.active) == (1, False)
    assert room.activate(1).active
    assert room.list()[0].active
    assert room.rollback() is None
    with pytest.raises(RequestError, match="no model is in service"):
        room.rollback()
    with pytest.raises(RequestError, match="no model 7"):
        room.activate(7)


def test_http_refuses_a_model_for_another_encoder(client: TestClient) -> None:
    answer = client.post(
        "/v1/models",
        content=weighed(encoder="other@1").model_dump_json(),
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code == 409
    assert answer.json()["code"] == "model_refused"


def test_models_are_for_administrators(secured_client: TestClient, keys: dict[str, str]) -> None:
    guest = {"Authorization": f"Bearer {keys['guest']}"}
    body = weighed().model_dump_json()
    assert secured_client.get("/v1/models", headers=guest).status_code == 403
    assert (
        secured_client.post("/v1/models/1/activate", headers={**guest, "Content-Type": "application/json"}).status_code
        == 403
    )
    assert (
        secured_client.post("/v1/models/rollback", headers={**guest, "Content-Type": "application/json"}).status_code
        == 403
    )
    posted = secured_client.post("/v1/models", content=body, headers={**guest, "Content-Type": "application/json"})
    assert posted.status_code == 403


def test_the_command_line_installs_and_rolls_back(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "model.json").write_text(weighed().model_dump_json(), encoding="utf-8")
    code, shown = run(capsys, "models", "-i", folder, "--install", tmp_path / "model.json")
    assert code == 0
    assert "serves every tenant without a model of its own" in shown
    code, shown = run(capsys, "models", "-i", folder, "--json")
    assert [entry["active"] for entry in json.loads(shown)] == [True]
    code, shown = run(capsys, "models", "-i", folder, "--rollback")
    assert "no model is in service" in shown
    code, shown = run(capsys, "models", "-i", folder, "--activate", "4")
    assert code == 3
    assert "no model 4" in shown


def test_training_on_too_little_ends_with_3(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = PastRequest(text="where is my parcel", ref="orders/orders.get", subject="ann").model_dump_json()
    (tmp_path / "log.jsonl").write_text(line + "\n", encoding="utf-8")
    code, shown = run(capsys, "train", "-i", folder, "--log", tmp_path / "log.jsonl")
    assert code == 3
    assert "at least 60" in shown
    assert run(capsys, "models", "-i", folder)[1] == "no model is in service\n"
