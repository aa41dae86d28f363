"""The endpoint of the second turn: one chosen tool, its whole definition and what is at hand for a call."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Response
from fastapi.openapi.models import Example

from toolsearch.model.prepared import Prepared, PrepareRequest
from toolsearch.serve.http.routes import WITH_BODY, StrictRoute, answers, json_response
from toolsearch.serve.sidecar import InCall

router = APIRouter(route_class=StrictRoute)

PREPARE_EXAMPLES: dict[str, Example] = {
    "conversation": Example(
        summary="What is at hand for a call, from two turns",
        value={
            "ref": "orders/orders.get",
            "text": "where is it now?",
            "conversation": [{"role": "user", "text": "I ordered a lamp, ORD-20260107"}],
        },
    )
}


@router.post("/v1/prepare", response_model=Prepared, responses=answers(*WITH_BODY, 404))
async def prepare(
    request: Annotated[PrepareRequest, Body(openapi_examples=PREPARE_EXAMPLES)], call: InCall
) -> Response:
    """Return the whole definition of one tool, the inputs that the conversation states, and what is missing."""
    return json_response(await call.read(lambda index: index.prepare(request, principal=call.principal)))
