"""The ways to a server: a child process, streamable HTTP, SSE; each with its end made known."""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from ipaddress import ip_address
from types import TracebackType
from typing import Any, TextIO

import httpx2
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from toolsearch.calls.upstream.address import check_address, is_local_name, literal_address
from toolsearch.calls.upstream.server import UpstreamServer

Streams = AbstractAsyncContextManager[Any]
"""What `mcp.Client` takes as a transport: a context that yields a stream to read and one to write."""

_STREAM_IDLE_S = 300.0


def transport_to(server: UpstreamServer, *, errlog: TextIO, statuses: deque[int], timeout_s: float) -> Streams:
    """Return the transport to a server; nothing is started or reached before it is entered.

    Args:
        server: Where to.
        errlog: Standard error of a child process.
        statuses: Gets the HTTP statuses that are errors.
        timeout_s: Seconds to connect, and between two parts of an answer.
    """
    if server.transport == "stdio":
        return stdio_client(
            StdioServerParameters(
                command=server.command or "",
                args=[argument.get_secret_value() for argument in server.args],
                env={name: value.get_secret_value() for name, value in server.env.items()},
                cwd=server.cwd,
            ),
            errlog=errlog,
        )
    assert server.url is not None
    url = server.url.get_secret_value()
    if server.transport == "sse":

        def client(
            headers: dict[str, str] | None = None,
            timeout: httpx2.Timeout | None = None,
            auth: httpx2.Auth | None = None,
        ) -> httpx2.AsyncClient:
            return _http_client(server, statuses=statuses, timeout_s=timeout_s)

        return sse_client(url, httpx_client_factory=client)
    return _streamable(url, server=server, statuses=statuses, timeout_s=timeout_s)


@asynccontextmanager
async def _streamable(
    url: str, *, server: UpstreamServer, statuses: deque[int], timeout_s: float
) -> AsyncIterator[Any]:
    async with (
        _http_client(server, statuses=statuses, timeout_s=timeout_s) as client,
        streamable_http_client(url, http_client=client) as streams,
    ):
        yield streams


@asynccontextmanager
async def noting_end(transport: Streams, ended: asyncio.Event) -> AsyncIterator[Any]:
    """Enter a transport, and set the event when nothing more can come from the other side."""
    async with transport as (read, write):
        yield _NotedEnd(read, ended), write


class _NotedEnd:
    """A read stream that tells when it ended; all else is the stream's."""

    def __init__(self, inner: Any, ended: asyncio.Event) -> None:
        self._inner, self._ended = inner, ended

    @property
    def last_context(self) -> Any:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Any:
        try:
            return await self._inner.receive()
        except Exception:
            self._ended.set()
            raise

    def __aiter__(self) -> _NotedEnd:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._inner.__anext__()
        except (StopAsyncIteration, Exception):
            self._ended.set()
            raise

    async def aclose(self) -> None:
        await self._inner.aclose()

    def close(self) -> None:
        self._inner.close()

    async def __aenter__(self) -> _NotedEnd:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        left: bool | None = await self._inner.__aexit__(kind, error, trace)
        return left


def _http_client(server: UpstreamServer, *, statuses: deque[int], timeout_s: float) -> httpx2.AsyncClient:
    async def note_status(response: httpx2.Response) -> None:
        if response.status_code >= 400:
            statuses.append(response.status_code)

    return httpx2.AsyncClient(
        headers={name: value.get_secret_value() for name, value in server.headers.items()},
        timeout=httpx2.Timeout(timeout_s, read=max(timeout_s, _STREAM_IDLE_S)),
        transport=_CheckedAddresses(allow_private=server.allow_private),
        event_hooks={"response": [note_status]},
        follow_redirects=False,  # the transports of mcp follow those within the origin
        trust_env=False,
    )


class _CheckedAddresses(httpx2.AsyncHTTPTransport):
    """Connects to the very address that was checked: a name that changes its answer gains nothing."""

    def __init__(self, *, allow_private: bool) -> None:
        super().__init__(trust_env=False)
        self._allow_private = allow_private

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        host = request.url.host
        if literal_address(host) is None:
            address = await self._checked_address(host, port=request.url.port or 0)
            request.extensions = {**request.extensions, "sni_hostname": host}
            request.url = request.url.copy_with(host=address)
        else:
            check_address(ip_address(host), host=host, allow_private=self._allow_private)
        return await super().handle_async_request(request)

    async def _checked_address(self, host: str, *, port: int) -> str:
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise httpx2.ConnectError(f"host {host} is not known: {error.strerror or error}") from None
        addresses = [str(entry[4][0]) for entry in found]
        for address in addresses:
            check_address(ip_address(address.partition("%")[0]), host=host, allow_private=self._allow_private)
        if is_local_name(host):  # servers on this machine often listen on one of the two only
            addresses.sort(key=lambda address: ":" in address)
        return addresses[0]
