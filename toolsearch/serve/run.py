"""Run the sidecar as a process: bind, tell where it listens, serve, and leave the index folder clean."""

from __future__ import annotations

import logging
import os
import signal
import socket
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI

from toolsearch import ToolIndex
from toolsearch.model.errors import RequestError, ToolSearchError
from toolsearch.serve.address import ServerAddress, remove_address, write_address
from toolsearch.serve.http.app import create_app
from toolsearch.serve.http.page import EXAMPLE_TEXT
from toolsearch.serve.settings import Settings
from toolsearch.serve.sidecar import Sidecar


def run_server(settings: Settings, *, announce: Callable[[str, str], None]) -> None:
    """Serve until the process is told to stop.

    Args:
        settings: Everything that can be set.
        announce: Called once, when the index is open, with the base URL and a request that finds something.

    Raises:
        RequestError: If the port cannot be bound.
        PolicyError: If the credentials are not usable, or missing where others can reach the server.
        IndexStateError: If the index cannot be opened; the server has stopped then.
    """
    _log_to_stderr(settings)
    app = create_app(lambda: _opened(settings, server=server), settings=settings)
    sidecar: Sidecar = app.state.sidecar
    bound = _bind(settings)
    host, port = _reachable(bound)
    address = ServerAddress(host=host, port=port, pid=os.getpid(), instance=sidecar.instance)

    def tell(index: ToolIndex) -> None:
        write_address(settings.index, address)
        announce(address.url, example_text(index, settings=settings))

    sidecar.when_ready = tell
    server = _server(app, settings=settings)
    _keep_alive_after_signals()
    try:
        server.run(sockets=[bound])
    finally:
        remove_address(settings.index, instance=sidecar.instance)
        bound.close()
    if sidecar.failure is not None:
        raise sidecar.failure


def _log_to_stderr(settings: Settings) -> None:
    layout = "%(asctime)s %(levelname)s %(name)s %(message)s"
    logging.basicConfig(level=settings.log_level.upper(), format=layout, force=True)


def _opened(settings: Settings, *, server: uvicorn.Server) -> ToolIndex:
    """Open the index and load its models; a server without one stops."""
    try:
        index = ToolIndex.open(
            settings.index,
            limits=settings.search_limits,
            remember_requests=settings.remember_requests,
            session_limits=settings.session_limits,
            reranker=settings.reranker,
        )
        try:
            index.warm()
        except ToolSearchError:
            index.close()
            raise
    except ToolSearchError:
        server.should_exit = True
        raise
    return index


def _server(app: FastAPI, *, settings: Settings) -> uvicorn.Server:
    config = uvicorn.Config(
        app,
        access_log=False,  # the guard writes one line a request
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=settings.shutdown_grace_s,
    )
    return uvicorn.Server(config)


def example_text(index: ToolIndex, *, settings: Settings) -> str:
    """Return an example request of a tool that the local principal sees; a fixed one where credentials decide."""
    if not settings.authenticated:
        for summary in index.tools(principal=settings.local_principal):
            capability = index.tool(summary.ref, principal=settings.local_principal).capability
            if capability.examples and "always-on" not in capability.tags:
                return capability.examples[0]
    return EXAMPLE_TEXT


def _bind(settings: Settings) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(128)  # from here on a client waits instead of being refused
    except OSError as error:
        raise RequestError(
            f"cannot bind {settings.host} port {settings.port}: {error.strerror or error}; choose another with --port",
            field="port",
        ) from None
    return bound


def _reachable(bound: socket.socket) -> tuple[str, int]:
    """Return the address under which a client on this machine reaches a bound socket."""
    host, port = bound.getsockname()[:2]
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), port


def _keep_alive_after_signals() -> None:
    """Let the process finish its cleaning: uvicorn raises the signal that stopped it once more at the end."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
