"""The TypeScript example, run by Node with the packages that it names, against a real server on loopback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from toolsearch import ToolIndex, load_contracts
from toolsearch.eval.catalogue import read_rules
from toolsearch.serve.address import read_address

pytestmark = [pytest.mark.extras, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
STARTER = ROOT / "indexes" / "starter"
EXAMPLE = ROOT / "examples" / "vercel-ai-sdk"
BIN = EXAMPLE / "node_modules" / ".bin"
START_S = 60


@pytest.fixture(scope="module", autouse=True)
def _installed() -> None:
    if not (BIN / "tsx").exists():
        pytest.skip("the packages of examples/vercel-ai-sdk are not installed; run `make servers`")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rules = read_rules(STARTER / "rules.yaml")
    with ToolIndex.create(tmp_path / "index", rules=rules) as index:
        index.add(load_contracts(STARTER / "contracts"))
    return tmp_path / "index"


@pytest.fixture
def url(folder: Path) -> Iterator[str]:
    """Serve the starter catalogue on a port of its own."""
    code = "from toolsearch.cli.app import main; main()"
    words = ["serve", str(folder), "--port", "0", "--config", str(STARTER / "serve.toml")]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TOOLSEARCH_")}
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=clean
    )
    try:
        deadline = time.monotonic() + START_S
        while (address := read_address(folder)) is None:
            assert process.poll() is None, "the server ended"
            assert time.monotonic() < deadline, f"no server after {START_S} s"
            time.sleep(0.05)
        yield address.url
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)


def test_types() -> None:
    done = subprocess.run([BIN / "tsc", "--noEmit"], cwd=EXAMPLE, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout


def test_conversation(url: str, folder: Path) -> None:
    done = subprocess.run(
        [BIN / "tsx", "agent.ts", url], cwd=EXAMPLE, capture_output=True, text=True, timeout=120, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    turns = [json.loads(line) for line in done.stdout.splitlines()]
    calls = ["orders_track_shipment", "weather_current", "orders_get", "translate_text"]
    assert [turn["called"] for turn in turns] == [[call] for call in calls]
    assert all(turn["kept"] for turn in turns)
    assert [turn["tools"] for turn in turns] == sorted(turn["tools"] for turn in turns)
    assert sum(len(turn["added"]) for turn in turns) == turns[-1]["tools"]


def test_outcomes_are_reported(url: str, folder: Path) -> None:
    subprocess.run([BIN / "tsx", "agent.ts", url], cwd=EXAMPLE, check=True, capture_output=True, timeout=120)
    with urlopen(f"{url}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    assert 'toolsearch_outcomes_total{status="success"} 4.0' in text


def test_no_server() -> None:
    done = subprocess.run(
        [BIN / "tsx", "agent.ts", "http://127.0.0.1:9"], cwd=EXAMPLE, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1
    assert "fetch failed" in done.stderr
