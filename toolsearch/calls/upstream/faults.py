"""What a failed connection or request becomes: an error that says what to do, without a secret."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import httpx2
from mcp import MCPError
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT
from pydantic import ValidationError

from toolsearch.model.errors import UpstreamError, UpstreamTimeout

_MAX_TEXT = 300


def upstream_error(
    error: BaseException,
    *,
    name: str,
    timeout_s: float,
    redacted: Callable[[str], str] = str,
    reason: Callable[[], str] = str,
) -> UpstreamError:
    """Return the error of ours for one of the package mcp, its transports or the system.

    Args:
        error: What was raised, alone or in groups.
        name: Name of the server.
        timeout_s: Seconds that were granted.
        redacted: Takes secrets out of a text.
        reason: Tells what else is known of it, without secrets; "" for nothing.
    """
    first = innermost(error)
    if isinstance(first, UpstreamError):
        return first
    if isinstance(first, httpx2.HTTPStatusError):
        return UpstreamError(refused_with(first.response.status_code), server=name)
    more = f"; {reason()}" if reason() else ""
    if isinstance(first, TimeoutError) or (isinstance(first, MCPError) and first.error.code == REQUEST_TIMEOUT):
        return UpstreamTimeout(
            f"did not answer within {timeout_s:g} s; wait longer with --timeout{more}",
            server=name,
        )
    return UpstreamError(f"{_what(first, redacted)}{more}", server=name)


def innermost(error: BaseException) -> BaseException:
    """Return the first error inside groups that is not a mere cancellation."""
    while isinstance(error, BaseExceptionGroup):
        inner = [one for one in error.exceptions if not isinstance(one, asyncio.CancelledError)] or error.exceptions
        error = inner[0]
    return error


def _what(error: BaseException, redacted: Callable[[str], str]) -> str:
    if isinstance(error, httpx2.TransportError):
        return f"cannot be reached ({redacted(_short(error))}); start it, or mend its url"
    if isinstance(error, MCPError):
        if error.error.code == CONNECTION_CLOSED:
            return "ended the connection; start it by hand to see why"
        return f"answers with error {error.error.code}: {redacted(_short(error.error.message))}"
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = "/".join(map(str, first["loc"]))
        return f"answers what MCP does not allow, at {place or '/'}: {first['msg']}"
    if isinstance(error, FileNotFoundError):
        return "cannot be started: its command or folder does not exist; install it, or mend its entry"
    if isinstance(error, OSError):
        return f"cannot be started or reached: {error.strerror or type(error).__name__}"
    return f"cannot be used: {redacted(_short(error))}"


def refused_with(status: int) -> str:
    """Return what an HTTP status that is an error means, and what to do."""
    if status in (401, 403):
        return f"refuses the credentials with HTTP status {status}; mend its headers"
    if 300 <= status < 400:
        return f"leads elsewhere with HTTP status {status}, which is not followed; write the url it leads to"
    return f"answers with HTTP status {status}; mend its url, or look at it"


def _short(error: object) -> str:
    text = str(error) or type(error).__name__
    return "".join(character if character.isprintable() else " " for character in text)[:_MAX_TEXT]
