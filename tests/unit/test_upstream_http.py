"""Servers over HTTP that are not what they should be: redirects, refusals, silence; and what the logs hold."""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytest.importorskip("mcp")

from toolsearch.calls.upstream import read_config_data
from toolsearch.calls.upstream.connect import connect
from toolsearch.calls.upstream.listing import list_tools
from toolsearch.model.errors import UpstreamError

pytestmark = pytest.mark.extras
SECRET = "hunter2hunter2"


@contextmanager
def answering(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[tuple[int, list[str]]]:
    """Run an HTTP server on loopback; yield its port and the paths that were asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            answer(self)

        do_GET = do_DELETE = do_POST

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port, asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def plain(status: int, **headers: str) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


def refusal(port: int, *, kind: str = "http", host: str = "127.0.0.1") -> str:
    entry = {
        "type": kind,
        "url": f"http://{host}:{port}/mcp?key={SECRET}",
        "headers": {"Authorization": f"Bearer {SECRET}"},
    }
    (server,) = read_config_data({"mcpServers": {"odd": entry}}).servers

    async def main() -> None:
        async with connect(server, timeout_s=5) as connection:
            await list_tools(connection)

    with pytest.raises(UpstreamError) as raised:
        asyncio.run(main())
    assert SECRET not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize("kind", ["http", "sse"])
def test_a_redirect_to_another_host_is_not_followed(kind: str) -> None:
    with (
        answering(plain(200)) as (elsewhere, asked_elsewhere),
        answering(plain(307, Location=f"http://127.0.0.1:{elsewhere}/mcp")) as (port, asked),
    ):
        refusal(port, kind=kind)
        assert asked
        assert asked_elsewhere == []


@pytest.mark.parametrize("kind", ["http", "sse"])
@pytest.mark.parametrize(
    ("status", "says"), [(401, "refuses the credentials"), (404, "HTTP status 404"), (500, "HTTP status 500")]
)
def test_a_refusal_says_what_to_do(status: int, kind: str, says: str) -> None:
    with answering(plain(status)) as (port, _):
        assert refusal(port, kind=kind).count(says) == 1


def test_no_secret_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with answering(plain(500)) as (port, asked):
        refusal(port, host="localhost")
        assert SECRET in asked[0]
    assert SECRET not in caplog.text
