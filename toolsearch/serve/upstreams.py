"""MCP servers of the operator's own file: followed while the sidecar runs, or imported again by name."""

from __future__ import annotations

import asyncio
import logging
import os
from functools import partial
from typing import TYPE_CHECKING

from toolsearch.calls.importing import import_readings
from toolsearch.calls.upstream import UpstreamServer, read_config
from toolsearch.model.errors import MissingExtraError, RequestError
from toolsearch.serve.settings import Settings

if TYPE_CHECKING:
    from toolsearch.serve.sidecar import Sidecar

AUTHOR = "serve"
_OPENING_S = 0.05
_LOG = logging.getLogger("toolsearch.serve")


def configured_servers(settings: Settings) -> tuple[UpstreamServer, ...]:
    """Return the servers of `mcp_config`; entries that cannot be used are logged and left out.

    Raises:
        UpstreamConfigError: If the file cannot be read at all.
        RequestError: If `import_servers` names one that is not there.
        MissingExtraError: If there are any and the package mcp is not installed.
    """
    if settings.mcp_config is None:
        if settings.import_servers:
            raise RequestError("setting import_servers: mcp_config, which lists them, is not set", field="mcp_config")
        return ()
    report = read_config(settings.mcp_config, environment=dict(os.environ), allow_private=settings.mcp_allow_private)
    for refused in report.refused:
        _LOG.error("server left out: %s", refused)
    known = {server.name for server in report.servers}
    for name in settings.import_servers:
        if name not in known:
            raise RequestError(
                f"setting import_servers: {settings.mcp_config} has no usable server {name!r}", field="import_servers"
            )
    if report.servers:
        try:
            import toolsearch.calls.upstream.connect  # noqa: F401 - whether it can be, before the server starts
        except ImportError:
            raise MissingExtraError(package="mcp", extra="mcp") from None
    return report.servers


async def follow_configured(sidecar: Sidecar) -> None:
    """Keep the index at what the configured servers have, until cancelled."""
    if not sidecar.servers:
        return
    from toolsearch.calls.importing.following import follow_servers
    from toolsearch.calls.upstream.connect import connect

    while sidecar.index is None:
        if sidecar.failure is not None:
            return
        await asyncio.sleep(_OPENING_S)
    try:
        await follow_servers(
            partial(import_readings, sidecar.index, author=AUTHOR),
            sidecar.servers,
            connector=partial(connect, timeout_s=sidecar.settings.import_timeout_s),
        )
    except Exception:  # noqa: BLE001 - searches go on; the log has the cause
        _LOG.exception("the servers of %s are no longer followed", sidecar.settings.mcp_config)
