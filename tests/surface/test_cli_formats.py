"""`toolsearch index` knows a format by its content, and says what it refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from toolsearch.cli.app import main

API = """
openapi: 3.1.0
info: {title: Shop, version: "1"}
paths:
  /orders/{id}:
    get:
      operationId: getOrder
      summary: Read an order
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    put:
      operationId: replaceOrder
      requestBody: {content: {application/json: {schema: {$ref: "https://example.com/order.json"}}}}
"""


def test_files_of_many_formats_are_one_catalogue(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "api.yaml").write_text(API)
    (sources / "a.json").write_text(json.dumps({"functionDeclarations": [{"name": "get_weather"}], "googleSearch": {}}))
    (sources / "b.json").write_text(json.dumps([{"type": "function", "name": "send_mail", "parameters": {}}]))
    index = str(tmp_path / "index")
    with pytest.raises(SystemExit) as exit_:
        main(["index", index, str(sources), "--public", "--encoder", "hashed", "--json"])
    assert exit_.value.code == 3
    report = json.loads(capsys.readouterr().out)
    assert sorted(map(_written, report["added"])) == ["local/get_weather@1", "local/send_mail@1", "shop/getOrder@1"]
    built_in, remote = report["refused"]
    assert "Gemini's own tool 'googleSearch'" in built_in
    assert "api.yaml:10:5" in remote
    assert "leads out of its document" in remote
    with pytest.raises(SystemExit) as exit_:
        main(["search", "read an order", "--index", index, "--json"])
    assert exit_.value.code == 0
    assert json.loads(capsys.readouterr().out)["candidates"][0]["ref"] == "shop/getOrder@1"


def _written(ref: object) -> str:
    return ref if isinstance(ref, str) else "{}/{}@{}".format(*ref) if isinstance(ref, list) else str(ref)
