"""The gateway of a server process: opened with the first call, closed with the process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from toolsearch import ToolIndex
from toolsearch.calls.upstream import UpstreamServer
from toolsearch.serve.settings import Settings

if TYPE_CHECKING:
    from toolsearch.calls.gateway.gateway import Gateway


class LateGateway:
    """One gateway, made when it is first asked for."""

    def __init__(
        self, index: Callable[[], ToolIndex], *, servers: Sequence[UpstreamServer], settings: Settings | None = None
    ) -> None:
        """Prepare.

        Args:
            index: Returns the open index; may raise while there is none.
            servers: Where calls may be forwarded to.
            settings: The bounds of the gateway, and what it signs with; None = the defaults.
        """
        self._index, self._servers, self._settings = index, servers, settings
        self._lock = asyncio.Lock()
        self._gateway: Gateway | None = None

    async def get(self) -> Gateway:
        """Return the open gateway.

        Raises:
            MissingExtraError: If the package mcp is not installed.
        """
        async with self._lock:
            if self._gateway is None:
                from toolsearch.calls.gateway.gateway import Gateway

                settings = self._settings
                secret = None if settings is None else settings.gateway_secret
                made = Gateway(
                    self._index(),
                    {server.name: server for server in self._servers},
                    limits=None if settings is None else settings.gateway_limits,
                    secret=None if secret is None else secret.get_secret_value().encode(),
                )
                self._gateway = await made.__aenter__()
            return self._gateway

    async def close(self) -> None:
        """Close the connections and record what is still to be recorded."""
        async with self._lock:
            if self._gateway is not None:
                await self._gateway.__aexit__(None, None, None)
                self._gateway = None
