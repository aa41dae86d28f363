"""The endpoint that checks the caller's tools against the rules of good design."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from toolsearch.contracts.lint.finding import LintReport, Severity
from toolsearch.serve.http.routes import ALWAYS, StrictRoute, answers, json_response
from toolsearch.serve.sidecar import InCall

router = APIRouter(route_class=StrictRoute)

GivenRule = Annotated[str, Query(min_length=1, max_length=64)]


@router.get("/v1/lint", response_model=LintReport, responses=answers(*ALWAYS, 422))
async def lint(
    call: InCall,
    select: Annotated[list[GivenRule], Query(description="A rule: `TS301`, `TS3` or a name. None = all.")] = [],  # noqa: B006
    ignore: Annotated[list[GivenRule], Query(description="A rule that does not speak; wins over `select`.")] = [],  # noqa: B006
    least: Annotated[Severity, Query(description="Leave out findings of less weight.")] = Severity.NOTE,
) -> Response:
    """Return what is to be mended in the tools that the caller can see."""
    from toolsearch.contracts.lint.check import LintOptions

    options = LintOptions(select=tuple(select), ignore=tuple(ignore))
    report = await call.read(lambda index: index.lint(principal=call.principal, options=options))
    return json_response(report.model_copy(update={"findings": report.at_least(least)}))
