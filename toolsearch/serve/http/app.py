"""The application: `create_app(index, settings=...)`.

from toolsearch import ToolIndex
from toolsearch.serve.http.app import create_app
from toolsearch.serve.settings import load_settings

app = create_app(ToolIndex.open("indexes/starter"), settings=load_settings())
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.routing import Route

from toolsearch import ToolIndex, __version__
from toolsearch.model.errors import MissingExtraError
from toolsearch.serve.auth import authenticator
from toolsearch.serve.http.export import router as export_router
from toolsearch.serve.http.guard import MCP_PATH, Guard
from toolsearch.serve.http.importing import router as importing_router
from toolsearch.serve.http.learning import router as learning_router
from toolsearch.serve.http.limits import EngineThreads
from toolsearch.serve.http.lint import router as lint_router
from toolsearch.serve.http.metrics import SidecarMetrics
from toolsearch.serve.http.prepare import router as prepare_router
from toolsearch.serve.http.problems import Problem, install_handlers
from toolsearch.serve.http.routes import router
from toolsearch.serve.http.sessions import router as sessions_router
from toolsearch.serve.http.versions import router as versions_router
from toolsearch.serve.mcp.over_http import McpEndpoint
from toolsearch.serve.settings import Settings
from toolsearch.serve.sidecar import Sidecar
from toolsearch.serve.upstreams import configured_servers, follow_configured

_DESCRIPTION = (
    "Tools for a request: permitted, ranked, explained. The principal comes from the credentials; a request body can "
    "only narrow what it may see. Errors are application/problem+json (RFC 9457)."
)


def create_app(index: ToolIndex | Callable[[], ToolIndex], *, settings: Settings) -> FastAPI:
    """Return the ASGI application of one sidecar. It owns the index from now on and closes it at shutdown.

    Args:
        index: An open index, or a function that opens one; `/healthz` answers 503 until it has.
        settings: Limits, credentials and the local principal.

    Raises:
        PolicyError: If the credentials in the settings cannot be used, or are missing where others reach it.
        UpstreamConfigError: If the file of MCP servers cannot be read.
    """
    metrics = SidecarMetrics()
    sidecar = Sidecar(
        opened=(lambda: index) if isinstance(index, ToolIndex) else index,
        settings=settings,
        metrics=metrics,
        threads=EngineThreads(workers=settings.workers, queue=settings.queue),
        servers=configured_servers(settings),
    )
    app = FastAPI(
        title="toolsearch",
        version=__version__,
        description=_DESCRIPTION,
        docs_url=None,  # Swagger UI and ReDoc load scripts from another host
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_lifespan,
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    app.state.sidecar = sidecar
    app.state.mcp = _mcp_endpoint(sidecar)
    app.include_router(router)
    app.include_router(export_router)
    app.include_router(sessions_router)
    app.include_router(versions_router)
    app.include_router(importing_router)
    app.include_router(lint_router)
    app.include_router(prepare_router)
    app.include_router(learning_router)
    if app.state.mcp is not None:
        app.router.routes.append(Route(MCP_PATH, app.state.mcp))
    install_handlers(app)
    app.add_middleware(Guard, settings=settings, authenticator=authenticator(settings), metrics=metrics)
    app.openapi = _openapi(app)  # type: ignore[method-assign]  # FastAPI's documented way to extend the document
    if isinstance(index, ToolIndex):
        sidecar.index = index
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    sidecar: Sidecar = app.state.sidecar
    opening = None if sidecar.index else asyncio.create_task(asyncio.to_thread(sidecar.open))
    beside = [asyncio.create_task(sidecar.flush_regularly()), asyncio.create_task(follow_configured(sidecar))]
    try:
        yield
    finally:
        for task in beside:
            task.cancel()
        await asyncio.wait(beside)
        if app.state.mcp is not None:
            await app.state.mcp.close()
        if opening is not None:
            await opening
        await asyncio.to_thread(sidecar.close)


def _mcp_endpoint(sidecar: Sidecar) -> McpEndpoint | None:
    """Return what answers MCP, if the settings want it; None in them = if it can be.

    Raises:
        MissingExtraError: If they want it and the package mcp is not installed.
    """
    wanted, installed = sidecar.settings.serve_mcp, find_spec("mcp") is not None
    if wanted and not installed:
        raise MissingExtraError(package="mcp", extra="mcp")
    return McpEndpoint(sidecar) if installed and wanted is not False else None


def _openapi(app: FastAPI) -> Callable[[], dict[str, Any]]:
    """Return FastAPI's document with the error model and the ways to authenticate added, built once."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            components = schema.setdefault("components", {})
            template = "#/components/schemas/{model}"
            problem = Problem.model_json_schema(ref_template=template)
            components.setdefault("schemas", {}).update(problem.pop("$defs", {}), Problem=problem)
            components["securitySchemes"] = {
                "bearer": {"type": "http", "scheme": "bearer"},
                "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            }
            if app.state.sidecar.settings.authenticated:
                schema["security"] = [{"bearer": []}, {"apiKey": []}]
            app.openapi_schema = schema
        return app.openapi_schema

    return document
