"""The endpoints of imports: definitions as data, or live servers that the operator named. For administrators."""

from __future__ import annotations

import asyncio
from typing import Any, Self

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import Field, ValidationError, model_validator

from toolsearch import ToolIndex
from toolsearch.calls.importing import (
    DataSource,
    ImportReport,
    Reading,
    ServerSource,
    Source,
    import_readings,
    read_sources,
)
from toolsearch.model.contract import Frozen
from toolsearch.model.errors import PolicyError
from toolsearch.serve.auth import require_admin
from toolsearch.serve.http.limits import strict_json
from toolsearch.serve.http.routes import ALWAYS, WITH_BODY, StrictRoute, answers, json_response, require_json
from toolsearch.serve.sidecar import InCall, SidecarCall
from toolsearch.store.sources import SourceRow

router = APIRouter(route_class=StrictRoute)


class ImportRequest(Frozen):
    """What to import: one of `definitions`, `live` and `readings`. No command and no URL."""

    definitions: Any = Field(default=None, description="Data in any known format: a list, `tools/list`, OpenAPI ...")
    server: str | None = Field(
        default=None, min_length=1, max_length=256, description="Server of definitions that name none."
    )
    trusted: bool = Field(default=False, description="Whether hints of the definitions may lower an assumed risk.")
    live: tuple[str, ...] = Field(
        default=(), max_length=1_000, description="Names of servers that the setting `import_servers` allows."
    )
    readings: tuple[Reading, ...] = Field(
        default=(), description="What a client, such as `toolsearch import`, read from sources of its own."
    )

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.definitions is not None) + bool(self.live) + bool(self.readings) != 1:
            raise ValueError("give one of definitions, live and readings")
        if self.server is not None and self.definitions is None:
            raise ValueError("server belongs to definitions")
        return self


_BODY: dict[str, Any] = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "title": "ImportRequest",
                "properties": {
                    "definitions": {"description": "Data in any known format: a list, `tools/list`, OpenAPI ..."},
                    "server": {"type": "string", "description": "Server of definitions that name none."},
                    "trusted": {"type": "boolean", "default": False},
                    "live": {"type": "array", "items": {"type": "string"}},
                    "readings": {"type": "array", "items": {"type": "object"}},
                },
                "additionalProperties": False,
            },
            "examples": {
                "data": {
                    "summary": "All tools of one server, as its tools/list gives them",
                    "value": {
                        "server": "clock",
                        "definitions": [
                            {"name": "now", "description": "Tell the time.", "inputSchema": {"type": "object"}}
                        ],
                    },
                },
                "live": {"summary": "A live server that the settings allow", "value": {"live": ["git"]}},
            },
        }
    },
}


@router.post(
    "/v1/tools:import",
    response_model=ImportReport,
    responses=answers(*WITH_BODY, 403),
    openapi_extra={"requestBody": _BODY},
)
async def import_tools(request: Request, call: InCall) -> Response:
    """Import tools: each server that is read gets exactly what was read of it. For administrators."""
    require_admin(call.principal)
    require_json(request)
    # In a thread: a large body must not hold up the requests of others.
    wanted = await asyncio.to_thread(_import_request, await request.body())
    readings = wanted.readings
    if not readings:
        readings = await read_sources(
            _sources(wanted, call), trusted=wanted.trusted, timeout_s=call.sidecar.settings.import_timeout_s
        )
    author = call.principal.subject

    def take(index: ToolIndex) -> ImportReport:
        return import_readings(index, readings, author=author)

    return json_response(await call.write(take))


@router.get("/v1/sources", response_model=list[SourceRow], responses=answers(*ALWAYS, 403))
async def sources(call: InCall) -> Response:
    """Return where the tools of each imported server were last read, and whether they are stale. For administrators."""
    require_admin(call.principal)
    return json_response(await call.read(lambda index: index.sources()))


def _import_request(body: bytes) -> ImportRequest:
    try:
        return ImportRequest.model_validate(strict_json(body))
    except ValidationError as error:
        raise RequestValidationError(error.errors(include_url=False, include_context=False)) from None


def _sources(wanted: ImportRequest, call: SidecarCall) -> list[Source]:
    """Return the sources of a request; a live server must be listed and allowed by the operator.

    Raises:
        PolicyError: If one is not.
    """
    if wanted.definitions is not None:
        return [DataSource(data=wanted.definitions, server=wanted.server, label="request")]
    servers = {server.name: server for server in call.sidecar.servers}
    for name in wanted.live:
        if name not in call.sidecar.settings.import_servers or name not in servers:
            raise PolicyError(
                f"live server {name[:80]!r} is not allowed; the setting import_servers names those that are"
            )
    return [ServerSource(server=servers[name]) for name in sorted(set(wanted.live))]
