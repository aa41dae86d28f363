"""The outermost layer of the sidecar: who asks, how much may come in, what is counted, and that nothing escapes.

It works on plain ASGI messages, before a byte of the body is read: an unknown caller cannot make the server read,
parse or compute anything.
"""

from __future__ import annotations

import logging
import re
import secrets
import time
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolsearch import Principal
from toolsearch.model.errors import ToolSearchError
from toolsearch.serve.auth import Authenticator, is_loopback, utc_now
from toolsearch.serve.http.limits import read_body, replay
from toolsearch.serve.http.metrics import SidecarMetrics
from toolsearch.serve.http.problems import HttpProblem, response_for
from toolsearch.serve.settings import ADMIN_ROLE, Settings

REQUEST_ID_HEADER = "X-Request-ID"
OPEN_PATHS = frozenset({"/", "/healthz", "/livez", "/openapi.json"})
"""Paths that tell nothing about the catalogue and need no credentials."""

MCP_PATH = "/mcp"
"""Where MCP is mounted: its clients end a session with a DELETE that has no content type."""

_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_SITES = frozenset({"same-origin", "none"})
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
_REQUEST_ID = re.compile(r"[A-Za-z0-9_.-]{8,64}")
_LOG = logging.getLogger("toolsearch.serve")
_SAFE_HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}


class Guard:
    """ASGI middleware around the whole application."""

    def __init__(
        self, app: ASGIApp, *, settings: Settings, authenticator: Authenticator, metrics: SidecarMetrics
    ) -> None:
        """Wrap `app`."""
        self._app = app
        self._settings = settings
        self._authenticator = authenticator
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; other protocols pass through."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        request_id = _request_id(headers.get(REQUEST_ID_HEADER))
        scope.setdefault("state", {})["request_id"] = request_id
        answer = _Answer(send, request_id=request_id)
        started = time.perf_counter()
        try:
            body = await self._admit(scope, headers, receive)
            await self._app(scope, replay(body, receive), answer)
        except Exception as error:  # noqa: BLE001 - the last line of defence: a caller always gets an answer
            if not answer.status:
                await response_for(error, request_id=request_id)(scope, receive, answer)
            else:
                _LOG.error("request %s broke off", request_id, exc_info=error)
        finally:
            self._record(scope, answer.status, seconds=time.perf_counter() - started)

    async def _admit(self, scope: Scope, headers: Headers, receive: Receive) -> bytes:
        if not _is_for_us(headers, local=self._authenticator.local):
            raise HttpProblem(
                "without authentication only requests to a loopback host name are answered; "
                "use http://127.0.0.1, or configure credentials",
                status=421,
                code="host_not_local",
            )
        changes = scope["method"].upper() not in _READING
        if changes:
            _refuse_other_sites(headers)
        limit, timeout_s = self._settings.body_limit_bytes, self._settings.request_timeout_s
        if scope["path"] not in OPEN_PATHS:
            principal = self._authenticator.principal(
                authorization=headers.get("Authorization"), api_key=headers.get("X-API-Key"), now=utc_now()
            )
            scope["state"]["principal"] = principal
            uploads = scope["method"] == "PUT" or scope["path"] == "/v1/tools:import"
            if uploads and ADMIN_ROLE in principal.roles:
                limit, timeout_s = self._settings.upload_limit_bytes, self._settings.upload_timeout_s
        if changes and (scope["method"].upper(), scope["path"]) != ("DELETE", MCP_PATH):
            _require_json(headers)
        if headers.get("Content-Encoding", "identity").lower() != "identity":
            raise HttpProblem(
                "compressed bodies are not accepted; leave Content-Encoding out",
                status=415,
                code="encoding_unsupported",
            )
        return await read_body(receive, limit=limit, declared=headers.get("Content-Length"), timeout_s=timeout_s)

    def _record(self, scope: Scope, status: int, *, seconds: float) -> None:
        route = scope.get("route")
        endpoint = getattr(route, "path_format", "unmatched")
        self._metrics.request(endpoint=endpoint, method=str(scope["method"]), status=status, seconds=seconds)
        _LOG.info(
            "%s %s %d %.1fms %s",
            scope["method"],
            endpoint,
            status,
            seconds * 1000,
            scope["state"]["request_id"],
        )


class _Answer:
    """Passes an answer on, noting its status and adding the headers that every answer has."""

    def __init__(self, send: Send, *, request_id: str) -> None:
        self._send = send
        self._request_id = request_id
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = int(message["status"])
            headers = MutableHeaders(scope=message)
            headers[REQUEST_ID_HEADER] = self._request_id
            for name, value in _SAFE_HEADERS.items():
                headers.setdefault(name, value)
        await self._send(message)


def _request_id(given: str | None) -> str:
    if given is not None and _REQUEST_ID.fullmatch(given):
        return given
    return secrets.token_hex(16)


def _is_for_us(headers: Headers, *, local: Principal | None) -> bool:
    """Tell whether a request may be answered without credentials.

    A web page can make a browser call loopback under a name of its own (DNS rebinding); the Host header shows it.
    """
    if local is None:
        return True
    host = headers.get("Host", "")
    name = host[: host.index("]") + 1] if host.startswith("[") and "]" in host else host.partition(":")[0]
    return is_loopback(name)


def _refuse_other_sites(headers: Headers) -> None:
    """Refuse what a page of another origin made a browser send; programs send neither header.

    Raises:
        HttpProblem: 403.
    """
    host = headers.get("Host", "").lower()
    foreign = [given for given in headers.getlist("Origin") if not _is_origin_of(given.strip().lower(), host=host)]
    sites = [given.strip().lower() for given in headers.getlist("Sec-Fetch-Site")]
    if foreign or not _OWN_SITES.issuperset(sites):
        shown = f"Origin {foreign[0][:100]!r}" if foreign else "Sec-Fetch-Site other than same-origin"
        raise HttpProblem(
            f"{shown}: pages of another origin may not send this; send it from a program, without that header",
            status=403,
            code="cross_site",
        )


def _is_origin_of(origin: str, *, host: str) -> bool:
    """Tell whether an origin is this server; the scheme is not compared, as a proxy may speak TLS for it."""
    scheme, found, authority = origin.partition("://")
    port = _DEFAULT_PORTS.get(scheme)
    return bool(found and port and host) and authority.removesuffix(port or "") == host.removesuffix(port or "")


def _require_json(headers: Headers) -> None:
    """Refuse content types that a form of any page can send, also where there is no body.

    Raises:
        HttpProblem: 415.
    """
    given = headers.getlist("Content-Type")
    if len(given) != 1 or given[0].partition(";")[0].strip().lower() != "application/json":
        raise HttpProblem(
            "send the header 'Content-Type: application/json' once, also where there is no body, and JSON in UTF-8",
            status=415,
            code="content_type_unsupported",
            headers={"Accept-Post": "application/json"},
        )


def principal_of_state(state: Any) -> Principal:
    """Return the principal that the guard put into the state of a request.

    Raises:
        ToolSearchError: If the path is open and so has none; a programming error.
    """
    principal = getattr(state, "principal", None)
    if not isinstance(principal, Principal):
        raise ToolSearchError("this path runs without a principal")
    return principal
