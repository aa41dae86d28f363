"""`toolsearch mcp`: the MCP server, over stdio or HTTP."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolsearch.cli import options as o

if TYPE_CHECKING:
    from toolsearch import Principal, ToolIndex
    from toolsearch.calls.upstream import UpstreamServer
    from toolsearch.serve.settings import Settings


def mcp(
    index: o.IndexOption = None,
    mcp_config: Annotated[
        Path | None,
        typer.Option(
            help="JSON file of MCP servers (mcpServers): their tools are followed, and calls forwarded to them.",
            show_default=False,
        ),
    ] = None,
    http: Annotated[bool, typer.Option("--http", help="Serve over streamable HTTP at /mcp, not over stdio.")] = False,
    host: Annotated[str | None, typer.Option(help="With --http: address to bind.", show_default=False)] = None,
    port: Annotated[
        int | None, typer.Option(help="With --http: port to bind; 0 takes any.", show_default=False)
    ] = None,
    config: Annotated[Path | None, typer.Option(help="TOML file of settings.", show_default=False)] = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning or error.", show_default=False)] = None,
    subject: o.SubjectOption = None,
    tenant: o.TenantOption = None,
    environment: o.EnvironmentOption = None,
    role: o.RoleOption = None,
    scope: o.ScopeOption = None,
    principal: o.PrincipalOption = None,
    api_key: o.ApiKeyOption = None,
) -> None:
    """Serve MCP: four tools that find, describe and call all the others."""
    from toolsearch.model.errors import MissingExtraError, RequestError
    from toolsearch.serve.settings import load_settings

    who = o.principal_from(
        subject=subject, tenant=tenant, environment=environment, role=role, scope=scope, file=principal
    )
    settings = load_settings(
        index=index,
        mcp_config=mcp_config,
        host=host,
        port=port,
        config=config,
        log_level=log_level,
        local_principal=who,
        serve_mcp=True if http else None,
    )
    if not http and (host is not None or port is not None):
        raise RequestError("--host and --port are for --http", field="http")
    try:
        if http:
            _over_http(settings)
        else:
            _over_stdio(settings, who=who, api_key=api_key)
    except ImportError as error:
        package = (error.name or "mcp").partition(".")[0].removesuffix("_types")
        raise MissingExtraError(package=package, extra="serve" if http and package != "mcp" else "mcp") from None


def _over_http(settings: Settings) -> None:
    from toolsearch.serve.run import run_server

    def announce(url: str, text: str) -> None:
        print(f"toolsearch serves {settings.index} over MCP at {url}/mcp (stop with Ctrl-C)", flush=True)

    run_server(settings, announce=announce)


def _over_stdio(settings: Settings, *, who: Principal | None, api_key: str | None) -> None:
    import asyncio

    from toolsearch.cli.connect import server_of
    from toolsearch.model.errors import RequestError
    from toolsearch.serve.mcp.over_stdio import hand_on, serve_stdio
    from toolsearch.serve.upstreams import configured_servers

    remote = server_of(settings.index, api_key=api_key)
    if remote is not None:
        if who is not None or settings.mcp_config is not None:
            raise RequestError(
                f"the server at {remote.url} owns {settings.index}: it takes the principal from the credentials and "
                "has MCP servers of its own; leave --mcp-config and the principal options out, or stop it",
                field="principal" if who is not None else "mcp_config",
            )
        _log_to_stderr(settings)
        asyncio.run(hand_on(remote.url, api_key=api_key))
        return
    servers = configured_servers(settings)
    with _opened(settings, servers=servers) as found:
        _log_to_stderr(settings)
        asyncio.run(
            serve_stdio(
                found,
                principal=settings.local_principal,
                servers=servers,
                timeout_s=settings.import_timeout_s,
                settings=settings,
            )
        )


def _log_to_stderr(settings: Settings) -> None:
    """Send log lines where they do not mix with messages."""
    import logging

    logging.basicConfig(level=settings.log_level.upper(), stream=sys.stderr, force=True)


def _opened(settings: Settings, *, servers: tuple[UpstreamServer, ...]) -> ToolIndex:
    """Open the index, or one in memory where there is none and the configured servers bring all tools."""
    from toolsearch import RuleBook, ToolIndex
    from toolsearch.model.errors import IndexMissing

    try:
        return ToolIndex.open(
            settings.index,
            limits=settings.search_limits,
            remember_requests=settings.remember_requests,
            session_limits=settings.session_limits,
            reranker=settings.reranker,
        )
    except IndexMissing:
        if not servers:
            raise
        return ToolIndex.create(
            None,
            rules=RuleBook.public(),
            limits=settings.search_limits,
            session_limits=settings.session_limits,
            reranker=settings.reranker,
        )
