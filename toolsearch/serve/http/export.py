"""The endpoint that hands out the caller's tools in a provider's shape."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from toolsearch.contracts.export import ExportedTools
from toolsearch.model.request import DefinitionFormat, Detail
from toolsearch.serve.http.routes import ALWAYS, StrictRoute, answers, json_response
from toolsearch.serve.sidecar import InCall

router = APIRouter(route_class=StrictRoute)

GivenTool = Annotated[str, Query(min_length=1, max_length=1024)]


@router.get("/v1/export", response_model=ExportedTools, responses=answers(*ALWAYS, 404, 422))
async def export(
    call: InCall,
    format: Annotated[DefinitionFormat, Query(description="Shape of the definitions.")],
    tool: Annotated[list[GivenTool], Query(description="A visible tool; repeat for more. None = all.")] = [],  # noqa: B006
    detail: Annotated[Detail, Query(description="How much of each tool.")] = Detail.FULL,
    strict: Annotated[bool, Query(description="Strict schemas where the provider and the schema allow it.")] = False,
    defer_loading: Annotated[bool, Query(description="Loaded by a tool search only.")] = False,
    namespaces: Annotated[bool, Query(description="`openai_responses`: one namespace for each server.")] = False,
) -> Response:
    """Return definitions of visible tools, the way back from their names, and what the format does not say."""
    return json_response(
        await call.read(
            lambda index: index.export(
                principal=call.principal,
                format=format,
                tools=tool,
                detail=detail,
                strict=strict,
                defer_loading=defer_loading,
                namespaces=namespaces,
            )
        )
    )
