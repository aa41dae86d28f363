"""The same searches through the sidecar on loopback, with several clients at once."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

START_S = 60.0
"""Seconds a server gets to say where it listens."""


@dataclass(frozen=True, slots=True)
class Load:
    """What some clients saw.

    Attributes:
        milliseconds: Of each answered request, as the client saw it.
        overhead: Of each, less what the engine says it took.
        refused: Requests the server turned away.
        seconds: From the first request to the last answer.
    """

    clients: int
    milliseconds: tuple[float, ...]
    overhead: tuple[float, ...]
    refused: int
    seconds: float

    @property
    def throughput(self) -> float:
        """Return answers a second."""
        return len(self.milliseconds) / self.seconds if self.seconds else 0.0


@contextmanager
def sidecar(index: Path) -> Iterator[str]:
    """Run `toolsearch serve` over an index and yield its base URL; the process ends with the block."""
    principal = json.dumps({"subject": "benchmark", "roles": ["everything"]})
    start = "from toolsearch.cli.app import main; main()"
    command = [sys.executable, "-c", start, "serve", str(index), "--port", "0", "--log-level", "error"]
    environment = {**os.environ, "TOOLSEARCH_LOCAL_PRINCIPAL": principal}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        yield _announced(process)
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _announced(process: subprocess.Popen[str]) -> str:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.stdout is not None:
        line = process.stdout.readline()
        if found := re.search(r"http://[\w.:\[\]]+", line):
            return found.group()
        if not line:
            break
    raise RuntimeError("the sidecar did not start; run `toolsearch serve` on the index to see why")


def load(url: str, requests: Sequence[str], *, clients: int, seconds: float) -> Load:
    """Ask all requests, shared out among clients with a connection each, for at most so many seconds."""
    deadline = time.monotonic() + seconds
    started = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        parts = list(pool.map(lambda at: _client(url, requests[at::clients], deadline), range(clients)))
    took = time.perf_counter() - started
    times = [pair for answered, _ in parts for pair in answered]
    return Load(
        clients,
        tuple(whole for whole, _ in times),
        tuple(whole - inside for whole, inside in times),
        sum(refused for _, refused in parts),
        took,
    )


def _client(url: str, requests: Sequence[str], deadline: float) -> tuple[list[tuple[float, float]], int]:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
    answered: list[tuple[float, float]] = []
    refused = 0
    for request in requests:
        if time.monotonic() > deadline:
            break
        body = json.dumps({"text": request}).encode()
        started = time.perf_counter()
        connection.request("POST", "/v1/search", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        content = response.read()
        whole = (time.perf_counter() - started) * 1e3
        if response.status == 200:
            answered.append((whole, json.loads(content)["timings_ms"]["total"]))
        else:
            refused += 1
    connection.close()
    return answered, refused
