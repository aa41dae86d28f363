"""The errors of a server, read back: a problem document (RFC 9457) -> the library's own error."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from toolsearch.model.errors import (
    ContractError,
    DataError,
    IndexStateError,
    MissingExtraError,
    RequestError,
    ServerUnreachable,
    ToolSearchError,
    UpstreamConfigError,
    UpstreamError,
)

# What a problem document does not carry of an error: the attributes are there all the same.
_BLANK: dict[type[ToolSearchError], dict[str, Any]] = {
    ContractError: {"source": "", "path": "", "hint": ""},
    RequestError: {"field": ""},
    IndexStateError: {"found": "", "expected": ""},
    DataError: {"source": "", "line": None},
    UpstreamError: {"server": ""},
    UpstreamConfigError: {"source": "", "path": ""},
    ServerUnreachable: {"url": ""},
    MissingExtraError: {"extra": ""},
}


def as_error(status: int, body: bytes) -> ToolSearchError:
    """Return the error that a server answered with.

    A problem of the transport, which the library has no class for (too large, too many at once), is a plain
    `ToolSearchError` with the `code` and `status` of the answer.

    Args:
        status: HTTP status.
        body: The answer's body; whatever is no problem document is told as such.
    """
    problem = json_or_none(body)
    if not isinstance(problem, dict):
        return _made(ToolSearchError, f"the server answered {status} without a problem document", status=status)
    detail, code = str(problem.get("detail", f"status {status}")), problem.get("code")
    for kind in _kinds(ToolSearchError):
        if kind.code == code:
            return _made(kind, detail, status=status, field=_field(problem))
    return _made(ToolSearchError, detail, status=status, code=str(code or "error"))


def json_or_none(body: bytes) -> Any:
    """Return parsed JSON, or None where the bytes are something else."""
    try:
        return json.loads(body)
    except ValueError:
        return None


def _made(
    kind: type[ToolSearchError], detail: str, *, status: int, code: str | None = None, field: str = ""
) -> ToolSearchError:
    error = kind.__new__(kind)  # the text is complete; the constructors would add to it
    Exception.__init__(error, detail)
    for base, blanks in _BLANK.items():
        if isinstance(error, base):
            vars(error).update(blanks)
    if isinstance(error, RequestError):
        error.field = field
    if kind is ToolSearchError:
        vars(error).update({"status": status} | ({} if code is None else {"code": code}))
    return error


def _field(problem: Mapping[str, Any]) -> str:
    """Return the first field at fault that the problem names."""
    errors = problem.get("errors")
    first = errors[0] if isinstance(errors, list) and errors else None
    return str(first.get("field", "")) if isinstance(first, dict) else ""


def _kinds(base: type[ToolSearchError]) -> Iterator[type[ToolSearchError]]:
    for kind in base.__subclasses__():
        yield kind
        yield from _kinds(kind)
