"""The endpoints: one verb each, the same verb as the library's method and the command's name.

An answer is the library's own model as JSON, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Path, Query, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel
from pydantic_core import to_json

from toolsearch import (
    CandidateSet,
    ChangeReport,
    Outcome,
    PastRequest,
    RuleBook,
    SearchRequest,
    ToolContract,
    ToolIndex,
)
from toolsearch.engine.writer import LearnReport
from toolsearch.model.answer import ScoreExplanation, ToolSummary, VisibilityReport
from toolsearch.serve.auth import require_admin, require_role
from toolsearch.serve.http.limits import strict_json
from toolsearch.serve.http.page import index_page
from toolsearch.serve.http.problems import PROBLEM_JSON, HttpProblem
from toolsearch.serve.http.schemas import (
    CONTRACTS_BODY,
    EXPLAIN_EXAMPLES,
    FORGET_EXAMPLES,
    LEARN_EXAMPLES,
    OUTCOME_EXAMPLES,
    SEARCH_EXAMPLES,
    WHY_NOT_EXAMPLES,
    ExplainRequest,
    ForgetRequest,
    Forgotten,
    Health,
    WhyNotRequest,
    read_contracts,
)
from toolsearch.serve.settings import ADMIN_ROLE, METRICS_ROLE
from toolsearch.serve.sidecar import InCall, sidecar_of


class _StrictRequest(Request):
    """A request whose JSON means one thing only."""

    async def json(self) -> Any:
        """Return the parsed body; see `strict_json`."""
        if not hasattr(self, "_strict"):
            self._strict = strict_json(await self.body())
        return self._strict


class StrictRoute(APIRoute):
    """A route that takes JSON as UTF-8 under its own media type, and nothing else."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, with the body checked before FastAPI reads it."""
        handle = super().get_route_handler()

        async def strict(request: Request) -> Response:
            request = _StrictRequest(request.scope, request.receive)
            if self.body_field is not None:
                require_json(request)
                await request.json()  # here, as FastAPI would turn our error into one of its own
            return await handle(request)

        return strict


def require_json(request: Request) -> None:
    """Refuse a body that is not declared to be JSON in UTF-8.

    Raises:
        HttpProblem: 415.
    """
    media_type, _, parameters = request.headers.get("Content-Type", "").partition(";")
    charset = parameters.replace(" ", "").lower().removeprefix("charset=").strip('"')
    if media_type.strip().lower() != "application/json" or charset not in ("", "utf-8"):
        raise HttpProblem(
            "send the body as JSON in UTF-8 with the header 'Content-Type: application/json'",
            status=415,
            code="content_type_unsupported",
            headers={"Accept-Post": "application/json"},
        )


def answers(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe the error answers of a route for the OpenAPI document."""
    content = {PROBLEM_JSON: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": HTTPStatus(status).phrase, "content": content} for status in statuses}


ALWAYS = (401, 403, 415, 421, 503)
"""Error statuses of every route with a principal; `WITH_BODY`: and of those that read a body."""
WITH_BODY = (*ALWAYS, 400, 408, 413, 422)

router = APIRouter(route_class=StrictRoute)
Reason = Annotated[str, Query(description="Why, for the history.", max_length=2000)]
Ref = Annotated[str, Path(description="`server/name@version`, `server/name`, or a bare name.", max_length=1024)]


def json_response(answer: object) -> Response:
    """Return a model, or data made of models, as the JSON that the library gives."""
    text = answer.model_dump_json() if isinstance(answer, BaseModel) else to_json(answer)
    return Response(text, media_type="application/json")


@router.post("/v1/search", response_model=CandidateSet, responses=answers(*WITH_BODY))
async def search(request: Annotated[SearchRequest, Body(openapi_examples=SEARCH_EXAMPLES)], call: InCall) -> Response:
    """Return the few permitted tools for a request, with reasons."""
    answer = await call.read(lambda index: index.search(request, principal=call.principal))
    call.sidecar.metrics.search(outcome=answer.outcome.value, timings_ms=answer.timings_ms)
    return json_response(answer)


@router.post("/v1/explain", response_model=ScoreExplanation, responses=answers(*WITH_BODY, 404))
async def explain(
    question: Annotated[ExplainRequest, Body(openapi_examples=EXPLAIN_EXAMPLES)], call: InCall
) -> Response:
    """Return how one visible tool scored for a request, whether or not it was returned."""
    return json_response(
        await call.read(lambda index: index.explain(question.request, ref=question.ref, principal=call.principal))
    )


@router.post("/v1/why-not", response_model=VisibilityReport, responses=answers(*WITH_BODY, 404))
async def why_not(
    question: Annotated[WhyNotRequest, Body(openapi_examples=WHY_NOT_EXAMPLES)], call: InCall
) -> Response:
    """Return which rule shows or hides a tool; to anyone but an administrator, the answer of an unknown tool."""
    return json_response(
        await call.read(
            lambda index: index.why_not(question.ref, principal=question.principal, asked_by=call.principal)
        )
    )


@router.get("/v1/tools", response_model=list[ToolSummary], responses=answers(*ALWAYS))
async def tools(call: InCall) -> Response:
    """Return the tools that the caller can see, sorted by reference."""
    return json_response(await call.read(lambda index: index.tools(principal=call.principal)))


@router.get("/v1/tools/{ref:path}", response_model=ToolContract, responses=answers(*ALWAYS, 404, 422))
async def tool(ref: Ref, call: InCall) -> Response:
    """Return one contract in canonical form; the ETag is its fingerprint, the sha256 of the body."""
    contract = await call.read(lambda index: index.tool(ref, principal=call.principal))
    return Response(
        contract.canonical_json,
        media_type="application/json",
        headers={"ETag": f'"{contract.fingerprint}"'},
    )


@router.put(
    "/v1/tools",
    response_model=ChangeReport,
    responses=answers(*WITH_BODY, 403),
    openapi_extra={"requestBody": CONTRACTS_BODY},
)
async def add(
    request: Request,
    call: InCall,
    others: Annotated[
        Literal["keep", "remove"], Query(description="What becomes of the tools that the body does not name.")
    ] = "keep",
    reason: Reason = "",
) -> Response:
    """Add or replace contracts. For administrators."""
    require_admin(call.principal)
    require_json(request)
    body = await request.body()

    def change(index: ToolIndex) -> ChangeReport:
        # Read here, in the engine's thread: a large catalogue must not hold up the requests of others.
        given = read_contracts(strict_json(body))
        verb = index.replace_all if others == "remove" else index.add
        return verb(given, author=call.principal.subject, reason=reason)

    return json_response(await call.write(change))


@router.delete("/v1/tools/{ref:path}", response_model=ChangeReport, responses=answers(*ALWAYS, 403, 404, 422))
async def remove(ref: Ref, call: InCall, reason: Reason = "") -> Response:
    """Remove one tool. For administrators."""
    require_admin(call.principal)
    author = call.principal.subject
    return json_response(await call.write(lambda index: index.remove([ref], author=author, reason=reason)))


@router.put("/v1/rules", response_model=RuleBook, responses=answers(*WITH_BODY, 403))
async def set_rules(rules: RuleBook, call: InCall) -> Response:
    """Replace the access rules of the catalogue. For administrators."""
    require_admin(call.principal)
    await call.write(lambda index: index.set_rules(rules))
    return json_response(rules)


@router.get("/v1/decisions/{trace_id}", response_model=dict[str, Any], responses=answers(*ALWAYS, 404, 422))
async def decision(trace_id: Annotated[str, Path(min_length=1, max_length=64)], call: InCall) -> Response:
    """Return the record kept of one search of the caller."""
    return json_response(await call.read(lambda index: index.decision(trace_id, principal=call.principal)))


@router.post("/v1/outcomes", status_code=204, responses=answers(*WITH_BODY, 404))
async def record_outcome(
    outcome: Annotated[Outcome, Body(openapi_examples=OUTCOME_EXAMPLES)], call: InCall
) -> Response:
    """Report how the call of a tool ended; it feeds the reliability signal."""
    await call.read(lambda index: index.record_outcome(outcome, principal=call.principal))
    call.sidecar.metrics.outcome(status=outcome.status.value)
    return Response(status_code=204)


@router.post("/v1/learn", response_model=LearnReport, responses=answers(*WITH_BODY, 403))
async def learn(
    requests: Annotated[list[PastRequest], Body(openapi_examples=LEARN_EXAMPLES)], call: InCall
) -> Response:
    """Learn from a log of past requests and the tools that served them. For administrators."""
    require_admin(call.principal)
    return json_response(await call.write(lambda index: index.learn(requests)))


@router.post("/v1/forget", response_model=Forgotten, responses=answers(*WITH_BODY, 403))
async def forget(whose: Annotated[ForgetRequest, Body(openapi_examples=FORGET_EXAMPLES)], call: InCall) -> Response:
    """Delete what a subject asked and was answered. For administrators."""
    require_admin(call.principal)
    forgotten = await call.write(lambda index: index.forget(whose.subject, tenant=whose.tenant))
    return json_response(Forgotten(forgotten=forgotten))


@router.get("/healthz", response_model=Health, responses={503: {"model": Health}})
async def healthz(request: Request) -> Response:
    """Answer 200 when requests are answered, 503 while the index is opened and while the server stops."""
    health = sidecar_of(request).health()
    response = json_response(health)
    response.status_code = 200 if health.status == "ready" else 503
    return response


@router.get("/livez", status_code=204)
async def livez() -> Response:
    """Answer as long as the process is alive."""
    return Response(status_code=204)


@router.get("/metrics", response_class=Response, responses=answers(*ALWAYS, 403))
async def metrics(call: InCall) -> Response:
    """Return the counters in Prometheus text format. They count the whole catalogue, so a role is needed."""
    require_role(call.principal, METRICS_ROLE, ADMIN_ROLE)
    call.sidecar.count_catalogue()
    return Response(call.sidecar.metrics.render(), media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get("/", include_in_schema=False)
async def front_page(request: Request) -> Response:
    """Return a plain page that lists the endpoints."""
    return index_page(request)
