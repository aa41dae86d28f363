"""The endpoints of learnt models: list them, install one trained elsewhere, choose what serves. For administrators.

A server does not train: it would hold up searches for minutes.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Path, Query, Response

from toolsearch.engine.models import LearntModel, ModelEntry
from toolsearch.serve.auth import require_admin
from toolsearch.serve.http.routes import ALWAYS, WITH_BODY, StrictRoute, answers, json_response
from toolsearch.serve.sidecar import InCall

router = APIRouter(route_class=StrictRoute)
Number = Annotated[int, Path(ge=1, le=2**31 - 1)]


@router.get("/v1/models", response_model=list[ModelEntry], responses=answers(*ALWAYS, 403))
async def models(call: InCall) -> Response:
    """Return the learnt models, which of them serve, and what they were worth on their hold-out."""
    require_admin(call.principal)
    return json_response(await call.read(lambda index: index.models.list()))


@router.post("/v1/models", response_model=ModelEntry, responses=answers(*WITH_BODY, 403, 409))
async def install_model(
    model: Annotated[LearntModel, Body()],
    call: InCall,
    activate: Annotated[bool, Query(description="Whether to put it into service.")] = True,
) -> Response:
    """Install a model that `toolsearch train --out` wrote."""
    require_admin(call.principal)
    return json_response(await call.write(lambda index: index.models.install(model, activate=activate)))


@router.post("/v1/models/rollback", response_model=ModelEntry | None, responses=answers(*ALWAYS, 403, 422))
async def rollback_model(call: InCall) -> Response:
    """Take the newest change of what serves back; the answer is what serves in its place, or null."""
    require_admin(call.principal)
    return json_response(await call.write(lambda index: index.models.rollback()))


@router.post("/v1/models/{number}/activate", response_model=ModelEntry, responses=answers(*ALWAYS, 403, 409, 422))
async def activate_model(number: Number, call: InCall) -> Response:
    """Put an installed model into service for those it is for."""
    require_admin(call.principal)
    return json_response(await call.write(lambda index: index.models.activate(number)))
