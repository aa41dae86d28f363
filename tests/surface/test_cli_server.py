"""The registry has one writing process: where a server is that process, the command line is its client."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml
from surface_catalogue import ADMIN, CATALOGUE, RULES

from toolsearch import ToolIndex
from toolsearch.cli.app import main
from toolsearch.cli.connect import server_of
from toolsearch.serve.address import FILE_NAME, ServerAddress, read_address, remove_address, write_address
from toolsearch.serve.keys import new_key

pytestmark = pytest.mark.slow
START_S = 60


def run(*words: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return int(ended.value.code or 0)


def start(folder: Path, *words: object, environment: dict[str, str] | None = None) -> subprocess.Popen[str]:
    code = "from toolsearch.cli.app import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, "serve", str(folder), "--port", "0", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
    )


def started(folder: Path, process: subprocess.Popen[str]) -> ServerAddress:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        address = read_address(folder)
        if address is not None and address.pid == process.pid:
            return address
        time.sleep(0.05)
    raise AssertionError(f"no server after {START_S} s: {process.communicate(timeout=5)}")


def stop(process: subprocess.Popen[str]) -> tuple[str, str]:
    process.send_signal(signal.SIGTERM)
    return process.communicate(timeout=30)


def build(folder: Path) -> Path:
    with ToolIndex.create(folder, rules=RULES, encoder="hashed") as index:
        index.add(CATALOGUE)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return build(tmp_path / "index")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, ServerAddress]]:
    folder = build(tmp_path_factory.mktemp("served") / "index")
    process = start(folder)
    try:
        yield folder, started(folder, process)
    finally:
        stop(process)


def test_commands_go_through_the_server(
    server: tuple[Path, ServerAddress], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, address = server
    new = {"identity": {"name": "new", "server": "weather"}, "capability": {"does": "Tells tomorrow's weather."}}
    (tmp_path / "new.json").write_text(json.dumps(new))
    assert run("index", folder, tmp_path / "new.json") == 0
    assert "1 added" in capsys.readouterr().out
    assert run("tools", "-i", folder, "--json") == 0
    through_cli = capsys.readouterr().out.rstrip("\n")
    with urllib.request.urlopen(f"{address.url}/v1/tools") as answer:
        assert answer.read().decode() == through_cli
    assert "weather/new@1" in through_cli
    assert run("tools", "weather/new", "-i", folder) == 0
    assert yaml.safe_load(capsys.readouterr().out) == new
    assert run("search", "weather tomorrow", "-i", folder, "--json") == 0
    trace = json.loads(capsys.readouterr().out)["trace_id"]
    assert run("decisions", trace, "-i", folder) == 0
    assert run("outcomes", "weather/new@1", "success", "-i", folder, "--trace-id", trace) == 0
    assert run("explain", "weather/new", "weather tomorrow", "-i", folder) == 0
    assert run("search", "weather tomorrow", "-i", folder, "--session", "talk") == 0
    assert run("sessions", "talk", "-i", folder, "--refresh") == 0
    assert "weather/new@1 as new" in capsys.readouterr().out
    assert run("sessions", "talk", "-i", folder, "--end") == 0
    assert run("sessions", "-i", folder, "--open") == 0
    log = tmp_path / "log.jsonl"
    entries = [{"text": f"rain on day {n} " + "x" * 900, "ref": "weather/new", "subject": f"u{n}"} for n in range(300)]
    log.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    assert run("learn", log, "-i", folder) == 0
    assert run("forget", "u7", "-i", folder) == 0
    told = re.search(r"learnt (\d+), refused (\d+), of unknown tools 0\nforgotten: ", capsys.readouterr().out)
    assert told is not None
    assert sum(map(int, told.groups())) == 300, "in several bodies"
    assert run("why-not", "vault.open", "-i", folder, "--subject", "x") == 0
    capsys.readouterr()
    assert run("remove", "weather/new@1", "-i", folder) == 0
    assert "removed 1: weather/new@1" in capsys.readouterr().out
    (tmp_path / "all.json").write_text("[" + ",".join(contract.canonical_json for contract in CATALOGUE) + "]")
    assert run("index", folder, tmp_path / "new.json", "--prune", "--public") == 0
    assert "1 added, 0 replaced, 0 unchanged, 4 removed" in capsys.readouterr().out
    assert run("index", folder, tmp_path / "all.json", "--prune") == 0
    assert "4 added, 0 replaced, 0 unchanged, 1 removed" in capsys.readouterr().out


def test_errors_of_the_server_are_the_library_s(
    server: tuple[Path, ServerAddress], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, _ = server
    for words, says in (
        (("tools", "nope"), "nope"),
        (("decisions", "no-such-trace"), "no-such-trace"),
        (("sessions", "no-such-session"), "no-such-session"),
        (("remove", "nope"), "nope"),
        (("search", "x", "--role", "boss"), "takes the principal from the credentials"),
        (("index", folder, "--rebuild"), "stop it"),
    ):
        index = () if words[0] == "index" else ("-i", folder)
        assert run(*words, *index) == 3
        error = capsys.readouterr().err
        assert says in error
        assert error.count("\n") == 1


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00" * 64,
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -5\r\n\r\n",
        b"POST /v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nxxxxxx",
        b"POST /v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\n",
        b"GET /" + b"x" * 200_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: \xff\xfe\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
    ids=range(8),
)
def test_raw_bytes_do_no_harm(server: tuple[Path, ServerAddress], sent: bytes) -> None:
    _, address = server
    connection = socket.create_connection((address.host, address.port), timeout=10)
    with connection, contextlib.suppress(OSError):
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        assert not connection.recv(12).startswith((b"HTTP/1.1 5", b"HTTP/1.1 2"))
    with urllib.request.urlopen(f"{address.url}/healthz", timeout=10) as answer:
        assert answer.status == 200


def test_readers_are_not_disturbed_by_writers(server: tuple[Path, ServerAddress]) -> None:
    _, address = server

    def ask(number: int) -> int:
        path, method, body = "/v1/search", "POST", {"text": f"weather {number}"}
        if number % 5 == 0:
            path, method = "/v1/tools", "PUT"
            body = {"identity": {"name": f"t{number}", "server": "weather"}, "capability": {"does": "Tells weather."}}
        request = urllib.request.Request(
            address.url + path,
            method=method,
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return int(answer.status)

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(ask, range(1, 81))) == {200}
    with urllib.request.urlopen(f"{address.url}/v1/tools", timeout=10) as answer:
        names = {tool["ref"] for tool in json.loads(answer.read())}
    assert {f"weather/t{number}@1" for number in range(5, 81, 5)} <= names
    server_of(server[0], api_key=None).replace_all(CATALOGUE)


def test_a_second_server_is_refused(server: tuple[Path, ServerAddress]) -> None:
    folder, first = server
    second = start(folder)
    _, error = second.communicate(timeout=START_S)
    assert second.returncode == 3
    assert "error:" in error
    assert "Traceback" not in error
    assert read_address(folder) == first


def test_the_address_goes_when_the_server_goes(folder: Path) -> None:
    process = start(folder)
    started(folder, process)
    out, error = stop(process)
    assert process.returncode == 0
    assert "curl" in out
    assert "Traceback" not in error
    assert not (folder / FILE_NAME).exists()
    with ToolIndex.open(folder) as index:
        assert index.tools(principal=ADMIN)


def test_the_printed_request_works_as_pasted(folder: Path) -> None:
    process = start(folder)
    started(folder, process)
    try:
        lines = iter(process.stdout.readline, "")
        command = next(line.strip() for line in lines if "curl" in line)
        answer = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, timeout=30, check=False)
        if answer.returncode == 127:
            pytest.skip("curl is not installed")
        assert json.loads(answer.stdout)["outcome"]
    finally:
        stop(process)


def test_after_a_kill_the_address_is_stale(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    process = start(folder)
    address = started(folder, process)
    process.kill()
    process.communicate(timeout=30)
    assert (folder / FILE_NAME).exists()
    assert read_address(folder) is None
    assert run("tools", "-i", folder, "--subject", "x") == 0
    write_address(folder, ServerAddress(host="127.0.0.1", port=address.port, pid=os.getpid(), instance="other"))
    assert server_of(folder, api_key=None) is None
    assert run("tools", "-i", folder, "--subject", "x") == 0


def test_with_keys_the_command_line_needs_one(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    secret, digest = new_key()
    entry = {"sha256": digest, "principal": {"subject": "s1", "scopes": ["orders.read"]}}
    (tmp_path / "keys.yaml").write_text(yaml.safe_dump({"keys": [entry]}))
    process = start(folder, "--api-keys-file", tmp_path / "keys.yaml")
    started(folder, process)
    try:
        assert run("tools", "-i", folder) == 3
        assert "no credentials" in capsys.readouterr().err
        monkeypatch.setenv("TOOLSEARCH_API_KEY", secret)
        assert run("tools", "-i", folder, "--json") == 0
        seen = {tool["ref"] for tool in json.loads(capsys.readouterr().out)}
        assert seen == {"orders/orders.get@1", "weather/weather.today@1"}
        assert run("remove", "orders.get", "-i", folder) == 3
        assert "toolsearch-admin" in capsys.readouterr().err
    finally:
        stop(process)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--host", "0.0.0.0"), "TOOLSEARCH_API_KEYS_FILE"),
        (("--port", "99999"), "65535"),
        (("--host", "no.such.host.invalid"), "loopback|authentication"),
    ],
)
def test_serve_refuses_in_one_line(folder: Path, words: tuple[str, ...], says: str) -> None:
    process = start(folder, *words)
    _, error = process.communicate(timeout=START_S)
    assert process.returncode == 3
    assert any(part in error for part in says.split("|"))
    assert "Traceback" not in error


def test_a_missing_index_ends_the_server(tmp_path: Path) -> None:
    process = start(tmp_path / "none")
    _, error = process.communicate(timeout=START_S)
    assert process.returncode == 3
    assert "no index" in error
    assert "Traceback" not in error


def test_an_address_is_only_removed_by_its_server(tmp_path: Path) -> None:
    address = ServerAddress(host="::1", port=1, pid=os.getpid(), instance="a")
    write_address(tmp_path, address)
    remove_address(tmp_path, instance="b")
    assert read_address(tmp_path) == address
    assert address.url == "http://[::1]:1"
    remove_address(tmp_path, instance="a")
    assert read_address(tmp_path) is None


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"host": 1}', '{"host":"x","port":"y","pid":1,"instance":"z"}', "\x00"]
)
def test_a_damaged_address_is_no_address(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE_NAME).write_text(text)
    assert read_address(tmp_path) is None
