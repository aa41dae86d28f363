"""The whole list of tools of a server, page by page, as plain definitions."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from mcp_types import Tool

from toolsearch.calls.upstream.connect import Connection
from toolsearch.calls.upstream.faults import upstream_error
from toolsearch.model.errors import UpstreamError, UpstreamTimeout

MAX_PAGES = 1_000
MAX_TOOLS = 100_000

# What the protocol defines. A key of another format must not change how a definition is read.
_FIELDS = ("name", "title", "description", "inputSchema", "outputSchema", "annotations", "_meta")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What a server offers at one moment.

    Attributes:
        server: Its name in the configuration.
        tools: Definitions as in `tools/list`, in its order.
        title: Name and version it gives itself; "" where it gives none. Untrusted.
        protocol: Protocol revision agreed on.
        announces: Whether it tells when its list changes.
    """

    server: str
    tools: tuple[dict[str, Any], ...]
    title: str
    protocol: str
    announces: bool


async def list_tools(connection: Connection, *, timeout_s: float | None = None) -> Listing:
    """Return all tools of a server; a server that has none to offer has an empty list.

    Args:
        connection: An open connection.
        timeout_s: Seconds for all pages together; None = the connection's for one answer.

    Raises:
        UpstreamError: If it answers with an error, with what MCP does not allow, or turns in circles.
        UpstreamTimeout: If it takes too long.
    """
    client, limit_s = connection.client, timeout_s or connection.timeout_s
    tools: list[dict[str, Any]] = []
    offered = client.server_capabilities.tools
    if offered is not None:
        try:
            async with asyncio.timeout(limit_s):
                await _read_pages(connection, tools)
        except UpstreamError:
            raise
        except TimeoutError:
            raise UpstreamTimeout(
                f"did not list its tools within {limit_s:g} s; wait longer with --timeout", server=connection.name
            ) from None
        except Exception as error:  # noqa: BLE001 - whatever a server provokes is the server's fault
            raise upstream_error(error, name=connection.name, timeout_s=limit_s, redacted=connection.redacted) from None
    info = client.server_info
    return Listing(
        server=connection.name,
        tools=tuple(tools),
        title=" ".join(part for part in (info.name, info.version) if part)[:200] if info is not None else "",
        protocol=client.protocol_version,
        announces=bool(offered is not None and offered.list_changed),
    )


async def _read_pages(connection: Connection, tools: list[dict[str, Any]]) -> None:
    cursor: str | None = None
    seen: set[str] = set()
    for _ in range(MAX_PAGES):
        page = await connection.client.list_tools(cursor=cursor)
        tools.extend(_definition(tool) for tool in page.tools)
        if len(tools) > MAX_TOOLS:
            raise UpstreamError(f"lists more than {MAX_TOOLS} tools; it is not read", server=connection.name)
        cursor = page.next_cursor
        if cursor is None:
            return
        if cursor in seen:
            raise UpstreamError("gives the same cursor twice, so its list never ends", server=connection.name)
        seen.add(cursor)
    raise UpstreamError(f"has more than {MAX_PAGES} pages of tools; it is not read", server=connection.name)


def _definition(tool: Tool) -> dict[str, Any]:
    given = tool.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return {key: given[key] for key in _FIELDS if given.get(key) is not None}
