"""A call that the model made: run, timed, told in words that the model can act on."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

from pydantic_core import to_json

from toolsearch.model.answer import SessionTool
from toolsearch.model.errors import RequestError, ToolSearchError, UnknownTool
from toolsearch.model.request import OutcomeStatus

MAX_ERROR_CHARS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSetResult:
    """How a call ended.

    Attributes:
        text: What the model reads.
        status: As reported; `rejected` = the tool was not run.
        ref: Of the tool; None = the model called by a name that no tool of the session has.
        value: What the tool returned, before it became text.
        found: What a call of the search tool found: always-on tools first, then best first.
    """

    text: str
    status: OutcomeStatus
    ref: str | None = None
    value: Any = None
    found: tuple[SessionTool, ...] = ()

    @property
    def ok(self) -> bool:
        """Return whether the tool ran and succeeded; a search that found nothing did."""
        return self.status is OutcomeStatus.SUCCESS


@runtime_checkable
class Forwards(Protocol):
    """A `run` that is told more of a call and reports its outcome itself; see `GatewayRun`."""

    async def forward(
        self, ref: str, arguments: dict[str, Any], *, session: str, trace_id: str | None
    ) -> ToolSetResult:
        """Return what became of a call, which is no reason to raise."""


Run: TypeAlias = Callable[[str, dict[str, Any]], Any] | Forwards
"""Runs a tool: `(ref, arguments) -> result`. It may be async where the adapter is."""


def by_ref(functions: Mapping[str, Callable[..., Any]]) -> Callable[[str, dict[str, Any]], Any]:
    """Return a `Run` over functions that take a tool's parameters by name.

    Args:
        functions: `server/name@version`, or `server/name` for every version -> function.
    """

    def run(ref: str, arguments: dict[str, Any]) -> Any:
        function = functions.get(ref) or functions.get(ref.rpartition("@")[0])
        if function is None:
            raise UnknownTool(f"no function runs {ref!r}")
        return function(**arguments)

    return run


def nothing_runs(ref: str, arguments: dict[str, Any]) -> Any:
    """Refuse: the `Run` of a ToolSet that was given none."""
    raise UnknownTool(f"nothing runs {ref!r}: give the adapter a function to run tools with (`run=`)")


def parsed(arguments: str | Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the arguments of a call; a model sends them as JSON text or as an object.

    Raises:
        RequestError: If they are no JSON object.
    """
    if arguments is None or arguments == "":
        return {}
    if isinstance(arguments, Mapping):
        return dict(arguments)
    try:
        data = json.loads(arguments)
    except ValueError as error:
        raise RequestError(f"the arguments are not JSON ({error}); send one JSON object", field="arguments") from None
    if not isinstance(data, dict):
        raise RequestError(f"the arguments are a {type(data).__name__}; send one JSON object", field="arguments")
    return data


def succeeded(ref: str, value: Any) -> ToolSetResult:
    """Return the result of a call that returned a value."""
    text = value if isinstance(value, str) else to_json(value, fallback=str).decode()
    return ToolSetResult(text=text, status=OutcomeStatus.SUCCESS, ref=ref, value=value)


def failed(ref: str, error: Exception) -> ToolSetResult:
    """Return the result of a call that raised; the model reads the error's text, as the tool's owner wrote it."""
    if isinstance(error, TimeoutError):
        return ToolSetResult(
            text="the tool did not answer in time; whether it had an effect is unknown: look before calling it again",
            status=OutcomeStatus.TIMEOUT,
            ref=ref,
        )
    text = str(error) if isinstance(error, ToolSearchError) else f"{type(error).__name__}: {error}"
    status = OutcomeStatus.REJECTED if isinstance(error, RequestError | UnknownTool) else OutcomeStatus.TOOL_ERROR
    return ToolSetResult(text=f"the call failed: {text[:MAX_ERROR_CHARS]}", status=status, ref=ref)
