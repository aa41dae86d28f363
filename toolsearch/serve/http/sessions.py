"""The endpoints of sessions: begin one, look at it again, move it to newer revisions, end it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Path, Response
from fastapi.openapi.models import Example
from pydantic import BaseModel, ConfigDict, Field

from toolsearch.model.answer import SessionList, SessionRefresh
from toolsearch.model.request import Detail, SessionId
from toolsearch.serve.http.routes import ALWAYS, WITH_BODY, StrictRoute, answers, json_response
from toolsearch.serve.http.schemas import GivenRef
from toolsearch.serve.sidecar import InCall

router = APIRouter(route_class=StrictRoute)
GivenId = Annotated[str, Path(min_length=1, max_length=128)]


class OpenRequest(BaseModel):
    """Which session to begin."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    session: SessionId | None = Field(default=None, description="Its id; null = a random one.")


class RefreshRequest(BaseModel):
    """Which tools of a session to move to their current revisions."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    refs: list[GivenRef] = Field(default=[], description="`server/name@version` of its list; none = all.")
    detail: Detail | None = Field(default=None, description="How much of each definition; null = as much as before.")


_OPEN_EXAMPLES = {"plain": Example(summary="A session of one conversation", value={"session": "conversation-42"})}
_REFRESH_EXAMPLES = {"plain": Example(summary="One tool", value={"refs": ["orders/orders.get@1"]})}


@router.post("/v1/sessions", response_model=SessionList, responses=answers(*WITH_BODY))
async def open_session(wanted: Annotated[OpenRequest, Body(openapi_examples=_OPEN_EXAMPLES)], call: InCall) -> Response:
    """Begin a session, or return the caller's session of that id."""
    return json_response(await call.read(lambda index: index.sessions.open(wanted.session, principal=call.principal)))


@router.get("/v1/sessions/{session_id}", response_model=SessionList, responses=answers(*ALWAYS, 404, 422))
async def get_session(session_id: GivenId, call: InCall) -> Response:
    """Return a session of the caller with its definitions, byte for byte as they were handed out."""
    return json_response(await call.read(lambda index: index.sessions.get(session_id, principal=call.principal)))


@router.post("/v1/sessions/{session_id}/refresh", response_model=SessionRefresh, responses=answers(*WITH_BODY, 404))
async def refresh_session(
    session_id: GivenId,
    wanted: Annotated[RefreshRequest, Body(openapi_examples=_REFRESH_EXAMPLES)],
    call: InCall,
) -> Response:
    """Move tools of a session to the revisions that are current now, and say what changed."""
    return json_response(
        await call.read(
            lambda index: index.sessions.refresh(
                session_id, wanted.refs, detail=wanted.detail, principal=call.principal
            )
        )
    )


@router.delete("/v1/sessions/{session_id}", status_code=204, responses=answers(*ALWAYS, 404, 422))
async def end_session(session_id: GivenId, call: InCall) -> Response:
    """End a session of the caller."""
    await call.read(lambda index: index.sessions.end(session_id, principal=call.principal))
    return Response(status_code=204)
