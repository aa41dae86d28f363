"""What both clients do around a call: how they connect, when they try again, what a failure is told as."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx2

from toolsearch.client.calls import Call
from toolsearch.client.errors import as_error
from toolsearch.model.errors import RequestError, ServerUnreachable

_T = TypeVar("_T")

CONNECT_S = 5.0
"""A server that runs takes a connection within this time."""

LONGEST_PAUSE_S = 5.0
"""Longest wait before another attempt, whatever the server's Retry-After says."""

PASSING = frozenset({HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT})
"""Statuses that may be gone at the next attempt."""


def checked_url(url: str) -> str:
    """Return the address of a server without a trailing slash.

    Raises:
        RequestError: If it is none. The text never repeats it, as addresses may hold credentials.
    """
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and not parts.query and not parts.fragment
    except ValueError:
        usable = False
    if not usable:
        raise RequestError("is no address of a server; write e.g. http://127.0.0.1:8765", field="url")
    return url.rstrip("/")


def options(*, api_key: str | None, timeout_s: float) -> dict[str, Any]:
    """Return the settings of an httpx2 client.

    The environment's proxies and `.netrc` take no part: the server is the caller's own, and so are the credentials.
    """
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    timeout = httpx2.Timeout(timeout_s, connect=min(CONNECT_S, timeout_s))
    return {"headers": headers, "timeout": timeout, "trust_env": False}


def request_of(call: Call[Any], *, url: str) -> dict[str, Any]:
    """Return the arguments of `httpx2.Client.request`."""
    return {
        "method": call.method,
        "url": url + call.path,
        "content": None if call.body is None else call.body.encode("utf-8", "replace"),
        "headers": {"Content-Type": "application/json"},
    }


def result(call: Call[_T], response: httpx2.Response) -> _T:
    """Return what a verb returns.

    Raises:
        ToolSearchError: Of the kind that the problem document names.
    """
    if not response.is_success:
        raise as_error(response.status_code, response.content)
    return call.read(response.content)


def pause(
    call: Call[Any], failure: httpx2.Response | httpx2.TransportError, *, attempt: int, retries: int, backoff_s: float
) -> float | None:
    """Return how long to wait before a call is sent again, in seconds; None = it is not.

    Only what is repeatable is sent again, and not what took too long: the next attempt would take as long.

    Args:
        call: What was sent.
        failure: The answer, or why there is none.
        attempt: How many attempts failed before, from 0.
        retries: Most attempts after the first.
        backoff_s: Wait after the first failure; it doubles with each.
    """
    if not call.repeatable or attempt >= retries:
        return None
    wait = backoff_s * 2.0**attempt
    if isinstance(failure, httpx2.Response):
        if failure.status_code not in PASSING or as_error(failure.status_code, failure.content).code == "timeout":
            return None
        asked = failure.headers.get("Retry-After", "")
        return min(LONGEST_PAUSE_S, max(wait, float(asked) if asked.isdecimal() else 0.0))
    if isinstance(failure, httpx2.TimeoutException) and not isinstance(failure, httpx2.ConnectTimeout):
        return None
    return min(LONGEST_PAUSE_S, wait)


def unreachable(error: httpx2.TransportError, *, url: str, timeout_s: float) -> ServerUnreachable:
    """Return the error for a call that got no answer."""
    if isinstance(error, httpx2.TimeoutException):
        return ServerUnreachable(f"did not answer within {timeout_s:g} s: wait longer, or look at it", url=url)
    return ServerUnreachable(f"does not answer ({type(error).__name__}): start it with 'toolsearch serve'", url=url)
