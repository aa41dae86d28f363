"""The examples in Python run as they stand, and do what they say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

pytestmark = [pytest.mark.extras, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def lines_of(name: str) -> list[dict[str, object]]:
    """Run an example in a process of its own, and return the JSON lines that it prints."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("name", "package"), [("langchain_agent.py", "langchain"), ("llama_index_agent.py", "llama_index.core")]
)
def test_agent(name: str, package: str) -> None:
    pytest.importorskip(package)
    turns = lines_of(name)
    ran = ["orders/orders.track_shipment@1", "weather/weather.current@1", "orders/orders.get@1"]
    assert [json.loads(str(turn["answer"]).partition(": ")[2])["ran"] for turn in turns] == ran
    for before, after in pairwise(turns):
        held = before["tools"]
        assert isinstance(held, list)
        assert isinstance(after["tools"], list)
        assert after["tools"][: len(held)] == held
