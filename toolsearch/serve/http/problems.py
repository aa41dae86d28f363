"""Every error over HTTP is `application/problem+json` (RFC 9457): what was wrong, the limit, the next step.

A problem never carries a stack trace, and it names a tool only as the caller named it. `code` is stable; `detail` is
for people.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from toolsearch.model.errors import AuthenticationError, RequestError, ToolSearchError

PROBLEM_JSON = "application/problem+json"
MAX_GIVEN_CHARS = 80
"""How much of a rejected value is echoed."""

MAX_FIELD_PROBLEMS = 20
"""How many field errors one answer lists."""

_LOG = logging.getLogger("toolsearch.serve")


class FieldProblem(BaseModel):
    """One field of the request that is wrong."""

    model_config = ConfigDict(frozen=True)

    field: str = Field(description="Dotted path in the body, or the parameter's name.")
    message: str = Field(description="What is wrong, with the limit.")
    given: str = Field(description="The value as given, shortened.")


class Problem(BaseModel):
    """The body of every error answer."""

    model_config = ConfigDict(frozen=True)

    type: str = Field(description="`urn:toolsearch:problem:` and the code.")
    title: str
    status: int
    detail: str
    code: str = Field(description="Stable and machine-readable, e.g. `tool_unknown`.")
    request_id: str = Field(description="The same as the X-Request-ID header.")
    errors: tuple[FieldProblem, ...] = ()


class HttpProblem(Exception):
    """An error of the transport, which the library does not know: too large, too slow, not JSON.

    Attributes:
        status: HTTP status.
        code: Stable code.
        headers: Extra response headers.
    """

    def __init__(self, detail: str, *, status: int, code: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.code, self.headers = status, code, dict(headers or {})


def problem_response(
    detail: str,
    *,
    status: int,
    code: str,
    request_id: str,
    errors: Sequence[FieldProblem] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return one error answer."""
    problem = Problem(
        type=f"urn:toolsearch:problem:{code}",
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        code=code,
        request_id=request_id,
        errors=tuple(errors),
    )
    return Response(problem.model_dump_json(), status_code=status, media_type=PROBLEM_JSON, headers=dict(headers or {}))


def response_for(error: Exception, *, request_id: str) -> Response:
    """Return the answer to an error; one that nobody raised on purpose is logged and becomes a bare 500."""
    if isinstance(error, HttpProblem):
        return problem_response(
            str(error), status=error.status, code=error.code, request_id=request_id, headers=error.headers
        )
    if isinstance(error, RequestValidationError):
        return _invalid(error.errors(), request_id=request_id)
    if isinstance(error, ToolSearchError):
        return _deliberate(error, request_id=request_id)
    if isinstance(error, HTTPException):
        return _routing(error, request_id=request_id)
    _LOG.error("request %s failed", request_id, exc_info=error)
    detail = "the server failed on this request; its log has the cause under this request_id"
    return problem_response(detail, status=500, code="internal", request_id=request_id)


def install_handlers(app: FastAPI) -> None:
    """Make the application answer its own errors (unknown paths, wrong methods, bad bodies) as problems."""

    async def handle(request: Request, error: Exception) -> Response:
        return response_for(error, request_id=request.state.request_id)

    for kind in (RequestValidationError, ToolSearchError, HTTPException, HttpProblem):
        app.add_exception_handler(kind, handle)


def _deliberate(error: ToolSearchError, *, request_id: str) -> Response:
    headers = {}
    if isinstance(error, AuthenticationError):
        headers["WWW-Authenticate"] = 'Bearer realm="toolsearch"'
    if error.status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers["Retry-After"] = "1"
    field = error.field if isinstance(error, RequestError) else ""
    errors = (FieldProblem(field=field, message=str(error), given=""),) if field else ()
    return problem_response(
        str(error),
        status=error.status,
        code=error.code,
        request_id=request_id,
        errors=errors,
        headers=headers,
    )


def _routing(error: HTTPException, *, request_id: str) -> Response:
    headers = dict(error.headers or {})
    if error.status_code == HTTPStatus.NOT_FOUND:
        return problem_response(
            "there is no such path; GET / lists the endpoints",
            status=404,
            code="path_unknown",
            request_id=request_id,
        )
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = headers.get("Allow", "")
        return problem_response(
            f"this path does not take that method; it takes {allowed}",
            status=405,
            code="method_not_allowed",
            request_id=request_id,
            headers=headers,
        )
    return problem_response(
        str(error.detail), status=error.status_code, code="http_error", request_id=request_id, headers=headers
    )


def _invalid(found: Sequence[Mapping[str, Any]], *, request_id: str) -> Response:
    errors = [_field_problem(entry) for entry in found[:MAX_FIELD_PROBLEMS]]
    first = errors[0]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    detail = f"{first.field}: {first.message}; given {first.given}{more}"
    return problem_response(detail, status=422, code="request_invalid", request_id=request_id, errors=errors)


def _field_problem(entry: Mapping[str, Any]) -> FieldProblem:
    where = [str(part) for part in entry["loc"]]
    if len(where) > 1 and where[0] in {"body", "query", "path", "header"}:
        where = where[1:]
    message = str(entry["msg"]).removeprefix("Value error, ")
    return FieldProblem(field=".".join(where)[:200] or "body", message=message[:500], given=_given(entry.get("input")))


def _given(value: object) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        text = "a value that cannot be shown"
    return text if len(text) <= MAX_GIVEN_CHARS else f"{text[: MAX_GIVEN_CHARS - 1]}…"
