"""The examples run with the real SDKs, and what these send keeps its prefix from turn to turn."""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.extras, pytest.mark.slow]
EXAMPLES = Path(__file__).parents[2] / "examples"
CALLED = {"orders_track_shipment", "weather_current", "orders_get"}


@pytest.fixture(autouse=True)
def _on_the_path(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    yield
    for name in [name for name, module in sys.modules.items() if str(EXAMPLES) in str(getattr(module, "__file__", ""))]:
        del sys.modules[name]


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["answer"] for line in told] == [
        "orders_track_shipment has answered.",
        "weather_current has answered.",
        "orders_get has answered.",
    ]
    return told


def part(request: bytes, key: str) -> str:
    """Return a list of a request's body, keys in the order that was sent, without the closing bracket."""
    return json.dumps(json.loads(request)[key], ensure_ascii=False)[:-1]


def test_anthropic_messages(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("anthropic")
    api = importlib.import_module("anthropic_messages").main()
    assert set(lines(capsys)[-1]["tools"]) > CALLED
    assert len(api.requests) == 3 + 3 + 2
    for before, after in pairwise(api.requests):
        assert part(after, "tools").startswith(part(before, "tools"))
        assert part(after, "messages").startswith(part(before, "messages"))


def test_openai_responses(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("openai")
    api = importlib.import_module("openai_responses").main()
    assert set(lines(capsys)[-1]["tools"]) > CALLED
    assert len(api.requests) == 3 + 3 + 2
    for before, after in pairwise(api.requests):
        assert part(after, "tools") == part(before, "tools")
        assert part(after, "input").startswith(part(before, "input"))


def test_openai_chat(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("openai")
    api = importlib.import_module("openai_chat").main()
    assert set(lines(capsys)[-1]["tools"]) > CALLED
    assert len(api.requests) == 6
    for before, after in pairwise(api.requests):
        assert part(after, "tools").startswith(part(before, "tools"))
        assert part(after, "messages").startswith(part(before, "messages"))


def test_openai_agents(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("agents")
    model = asyncio.run(importlib.import_module("openai_agents").main())
    assert set(lines(capsys)[-1]["tools"]) > CALLED
    from agents.models.openai_responses import Converter

    sent = [json.dumps(Converter.convert_tools(call.tools, [], model=None).tools)[:-1] for call in model.calls]
    assert len(sent) == 6
    assert all(after.startswith(before) for before, after in pairwise(sent))
    assert sent[-1] != sent[0]


def test_pydantic_ai(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pydantic_ai")
    sent = asyncio.run(importlib.import_module("pydantic_ai_agent").main())
    assert set(lines(capsys)[-1]["tools"]) > CALLED
    blocks = [
        json.dumps([[tool.name, tool.description, tool.parameters_json_schema] for tool in turn])[:-1] for turn in sent
    ]
    assert len(blocks) == 6
    assert all(after.startswith(before) for before, after in pairwise(blocks))
    assert blocks[-1] != blocks[0]
