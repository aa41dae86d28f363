"""The application: `create_app(index, settings=...)`.

from toolsearch import ToolIndex
from toolsearch.serve.http import create_app
from toolsearch.settings import load_settings

app = create_app(ToolIndex.open("indexes/starter"), settings=load_settings())
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from toolsearch import ToolIndex, __version__
from toolsearch.serve.auth import authenticator
from toolsearch.serve.guard import Guard
from toolsearch.serve.limits import EngineThreads
from toolsearch.serve.metrics import SidecarMetrics
from toolsearch.serve.problems import Problem, install_handlers
from toolsearch.serve.routes import router
from toolsearch.serve.routes_export import router as export_router
from toolsearch.serve.routes_importing import router as importing_router
from toolsearch.serve.routes_learning import router as learning_router
from toolsearch.serve.routes_lint import router as lint_router
from toolsearch.serve.routes_prepare import router as prepare_router
from toolsearch.serve.routes_sessions import router as sessions_router
from toolsearch.serve.routes_versions import router as versions_router
from toolsearch.serve.sidecar import Sidecar
from toolsearch.serve.upstreams import configured_servers, follow_configured
from toolsearch.settings import Settings

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
    app.include_router(router)
    app.include_router(export_router)
    app.include_router(sessions_router)
    app.include_router(versions_router)
    app.include_router(importing_router)
    app.include_router(lint_router)
    app.include_router(prepare_router)
    app.include_router(learning_router)
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
        if opening is not None:
            await opening
        await asyncio.to_thread(sidecar.close)


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
