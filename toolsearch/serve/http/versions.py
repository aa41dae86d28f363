"""The endpoints of versions: what changed, who changed it, what waits, and the decisions on it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Path, Response
from fastapi.openapi.models import Example
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from toolsearch import ToolContract
from toolsearch.contracts.change.diff import ToolDiff
from toolsearch.contracts.change.records import PendingReport, Revision
from toolsearch.serve.auth import require_admin
from toolsearch.serve.http.routes import ALWAYS, WITH_BODY, StrictRoute, answers, json_response
from toolsearch.serve.http.schemas import CONTRACT_EXAMPLE, GivenRef
from toolsearch.serve.sidecar import InCall

router = APIRouter(route_class=StrictRoute)
Reason = Annotated[str, StringConstraints(max_length=2000)]
Fingerprint = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{4,64})?$")]


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class DiffRequest(_Body):
    """Which two contracts to compare."""

    before: ToolContract | GivenRef
    after: ToolContract | GivenRef


class ApproveRequest(_Body):
    """What to let take effect, and for how many."""

    ref: GivenRef
    share: float = Field(default=1.0, gt=0, le=1, description="Share of new sessions; 1 = everyone.")
    fingerprint: Fingerprint = Field(default="", description="What was looked at; refused if something else waits.")
    reason: Reason = ""


class RejectRequest(_Body):
    """What to turn down."""

    ref: GivenRef
    fingerprint: Fingerprint = Field(default="", description="What was looked at; refused if something else waits.")
    reason: Reason = ""


class RollbackRequest(_Body):
    """Which tool to take back, and how far."""

    ref: GivenRef
    to: Fingerprint = Field(default="", description="Fingerprint of an earlier revision; empty = the last good one.")
    reason: Reason = ""


_DIFF_EXAMPLES = {
    "refs": Example(
        summary="Two versions of a tool", value={"before": "orders/orders.get@1", "after": "orders/orders.get@2"}
    ),
    "contract": Example(
        summary="What a new contract would change",
        value={"before": "orders/orders.get@1", "after": CONTRACT_EXAMPLE},
    ),
}
_APPROVE_EXAMPLES = {
    "all": Example(summary="For everyone", value={"ref": "orders/orders.get@1", "reason": "reviewed"}),
    "share": Example(summary="For a tenth of new sessions", value={"ref": "orders/orders.get@1", "share": 0.1}),
}
_REJECT_EXAMPLES = {"plain": Example(summary="Turn it down", value={"ref": "orders/orders.get@1"})}
_ROLLBACK_EXAMPLES = {
    "plain": Example(summary="Back to the last good revision", value={"ref": "orders/orders.get@1", "reason": "errors"})
}


@router.post("/v1/diff", response_model=ToolDiff, responses=answers(*WITH_BODY, 404))
async def diff(asked: Annotated[DiffRequest, Body(openapi_examples=_DIFF_EXAMPLES)], call: InCall) -> Response:
    """Return what changed between two contracts, and how much that breaks."""
    return json_response(
        await call.read(lambda index: index.versions.diff(asked.before, asked.after, principal=call.principal))
    )


@router.get("/v1/contracts", response_model=list[ToolContract], responses=answers(*ALWAYS, 403))
async def contracts(call: InCall) -> Response:
    """Return the current contract of every tool in canonical form, sorted by reference. For administrators."""
    require_admin(call.principal)
    texts = await call.write(lambda index: [each.canonical_json for each in index.versions.contracts()])
    return Response(f"[{','.join(texts)}]", media_type="application/json")


@router.get("/v1/history/{ref:path}", response_model=list[Revision], responses=answers(*ALWAYS, 404, 422))
async def history(
    ref: Annotated[str, Path(description="`server/name@version`, `server/name`, or a bare name.", max_length=1024)],
    call: InCall,
) -> Response:
    """Return the revisions of a visible tool, oldest first; who made them and why, to administrators only."""
    return json_response(await call.read(lambda index: index.versions.history(ref, principal=call.principal)))


@router.get("/v1/pending", response_model=PendingReport, responses=answers(*ALWAYS, 403))
async def pending(call: InCall) -> Response:
    """Return what waits for approval, is rolled out or has to be evaluated again. For administrators."""
    require_admin(call.principal)
    return json_response(await call.read(lambda index: index.versions.pending()))


@router.post("/v1/approve", response_model=Revision, responses=answers(*WITH_BODY, 403, 404))
async def approve(
    wanted: Annotated[ApproveRequest, Body(openapi_examples=_APPROVE_EXAMPLES)], call: InCall
) -> Response:
    """Let a waiting definition take effect, for everyone or a share of new sessions. For administrators."""
    require_admin(call.principal)
    return json_response(
        await call.write(
            lambda index: index.versions.approve(
                wanted.ref,
                share=wanted.share,
                fingerprint=wanted.fingerprint,
                author=call.principal.subject,
                reason=wanted.reason,
            )
        )
    )


@router.post("/v1/reject", response_model=Revision, responses=answers(*WITH_BODY, 403, 404))
async def reject(wanted: Annotated[RejectRequest, Body(openapi_examples=_REJECT_EXAMPLES)], call: InCall) -> Response:
    """Turn a waiting definition down, for good. For administrators."""
    require_admin(call.principal)
    return json_response(
        await call.write(
            lambda index: index.versions.reject(
                wanted.ref, fingerprint=wanted.fingerprint, author=call.principal.subject, reason=wanted.reason
            )
        )
    )


@router.post("/v1/rollback", response_model=Revision, responses=answers(*WITH_BODY, 403, 404))
async def rollback(
    wanted: Annotated[RollbackRequest, Body(openapi_examples=_ROLLBACK_EXAMPLES)], call: InCall
) -> Response:
    """Make an earlier revision current again, as a new one. For administrators."""
    require_admin(call.principal)
    return json_response(
        await call.write(
            lambda index: index.versions.rollback(
                wanted.ref, to=wanted.to, author=call.principal.subject, reason=wanted.reason
            )
        )
    )
