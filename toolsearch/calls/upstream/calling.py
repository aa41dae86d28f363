"""One `tools/call` over an open connection: the answer as plain data, or a fault that says whether it went out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import httpx2
from mcp import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    REQUEST_TIMEOUT,
    CallToolResult,
    RequestParamsMeta,
)

from toolsearch.calls.upstream.connect import Connection
from toolsearch.calls.upstream.faults import innermost, upstream_error
from toolsearch.model.errors import ToolSearchError

FaultKind = Literal["timeout", "lost", "unreachable", "refused", "error", "invalid"]
Progress = Callable[[float, float | None, str | None], Awaitable[None]]
"""Called with (done, in all, what is being done)."""

_NOT_RUN = frozenset({METHOD_NOT_FOUND, INVALID_PARAMS, INVALID_REQUEST})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a tool answered. Untrusted.

    Attributes:
        content: Blocks of the content, as the protocol writes them.
        structured: The structured content, or None.
        is_error: Whether the tool says that it failed.
        size: Bytes of all of it as JSON.
    """

    content: tuple[dict[str, Any], ...]
    structured: Any
    is_error: bool
    size: int


class CallFault(Exception):
    """A call that brought no usable answer. The text holds no value of the server's configuration.

    Attributes:
        kind: `timeout`, `lost` (the connection ended), `unreachable` (it never went out), `refused` (the server says
            that it did not run it), `error` (it answered with another error), `invalid` (an unusable answer).
        sent: Whether the server may have got it.
    """

    def __init__(self, message: str, *, kind: FaultKind, sent: bool) -> None:
        super().__init__(message)
        self.kind, self.sent = kind, sent

    @property
    def breaks(self) -> bool:
        """Tell whether the connection is not to be used any more."""
        return self.kind in ("lost", "unreachable")


async def call_tool(
    connection: Connection,
    name: str,
    arguments: Mapping[str, Any],
    *,
    timeout_s: float,
    progress: Progress | None = None,
    meta: Mapping[str, Any] | None = None,
) -> Answer:
    """Call a tool. Cancelling the caller's task tells the server so.

    Args:
        connection: An open connection.
        name: The tool, as the server calls it.
        arguments: Sent as they are.
        timeout_s: Seconds for the whole answer; progress does not extend them.
        progress: Called with what the server tells of its progress.
        meta: Keys for `_meta` of the request.

    Raises:
        CallFault: If there is no answer, or one that MCP does not allow.
    """
    try:
        # The client's own limit is the later one: it also cancels the request on the other side.
        async with asyncio.timeout(timeout_s + 1):
            result = await _unless_ended(
                connection,
                connection.client.call_tool(
                    name,
                    dict(arguments),
                    read_timeout_seconds=timeout_s,
                    progress_callback=cast(Any, progress),  # the same three, which the client passes by place
                    meta=cast("RequestParamsMeta | None", dict(meta) if meta else None),
                ),
            )
    except CallFault:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a server provokes is the server's fault
        raise _fault(error, connection=connection, timeout_s=timeout_s) from None
    return _answer(result)


async def _unless_ended(connection: Connection, call: Awaitable[CallToolResult]) -> CallToolResult:
    """Return the result, or fail as soon as the server is gone."""
    calling = asyncio.ensure_future(call)
    ending = asyncio.create_task(connection.ended.wait())
    try:
        await asyncio.wait([calling, ending], return_when=asyncio.FIRST_COMPLETED)
        if not calling.done():
            # The client is told of the end too; its own error is better, if it comes.
            await asyncio.wait([calling], timeout=0.5)
        if not calling.done():
            raise CallFault(f"server {connection.name!r} ended the connection", kind="lost", sent=True)
        return calling.result()
    finally:
        ending.cancel()
        if not calling.done():
            calling.cancel()
            await asyncio.wait([calling], timeout=5)


def _answer(result: CallToolResult) -> Answer:
    plain = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    content = tuple(plain.get("content") or ())
    structured = result.structured_content
    text = json.dumps([content, structured], ensure_ascii=False)
    try:
        size = len(text.encode())
    except UnicodeEncodeError:  # half a character, which no answer of ours could hold
        text = text.encode("utf-8", "replace").decode()
        (content, structured), size = json.loads(text), len(text)
    return Answer(content=tuple(content), structured=structured, is_error=bool(result.is_error), size=size)


def _fault(error: Exception, *, connection: Connection, timeout_s: float) -> CallFault:
    first = innermost(error)
    told = upstream_error(error, name=connection.name, timeout_s=timeout_s, redacted=connection.redacted)
    message = str(told if isinstance(told, ToolSearchError) else first)
    code = first.error.code if isinstance(first, MCPError) else None
    if isinstance(first, TimeoutError) or code == REQUEST_TIMEOUT:
        text = f"server {connection.name!r} did not answer within {timeout_s:g} s"
        return CallFault(text, kind="timeout", sent=True)
    if isinstance(first, httpx2.ConnectError | httpx2.ConnectTimeout):
        return CallFault(message, kind="unreachable", sent=False)
    if code == CONNECTION_CLOSED or isinstance(first, httpx2.HTTPError | OSError):
        return CallFault(message, kind="lost", sent=True)
    if code is not None:
        refused = code in _NOT_RUN
        return CallFault(message, kind="refused" if refused else "error", sent=not refused)
    if type(first).__name__ in ("ClosedResourceError", "BrokenResourceError", "EndOfStream"):
        return CallFault(f"server {connection.name!r} ended the connection", kind="lost", sent=True)
    return CallFault(message, kind="invalid", sent=True)
