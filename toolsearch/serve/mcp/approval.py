"""A person approves a call through the client that shows it: elicitation, in both protocol eras.

The confirmation that the gateway signed goes with the question and comes back with the answer, so an approval holds for
the tool and the arguments that were shown, and for no others. A model has no part in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolsearch.calls.gateway.call import CallError, CallResult

KEY = "approval"
MAX_SHOWN = 4_000
"""Characters of arguments that a person is shown; a longer call is approved outside of MCP only."""

_ASKED: dict[str, Any] = {
    "type": "object",
    "properties": {"approve": {"type": "boolean", "title": "Approve exactly this call"}},
    "required": ["approve"],
}
_DECLINED = CallError(
    code="approval_declined",
    message="the person who was asked did not approve this call",
    hint="Do not repeat it: ask the user what they want instead.",
    layer="precondition",
)

Context = ServerRequestContext[Any, Any]


def may_ask(context: Context, result: CallResult, *, arguments: Mapping[str, Any]) -> bool:
    """Tell whether a refused call waits for an approval that this client can ask its user for."""
    error, capabilities = result.error, context.session.client_capabilities
    return (
        error is not None
        and error.approval == "approve"
        and error.confirmation is not None
        and len(_shown(arguments)) <= MAX_SHOWN
        and capabilities is not None
        and capabilities.elicitation is not None
        and (context.protocol_version in MODERN_PROTOCOL_VERSIONS or context.session.can_send_request)
    )


async def ask(
    context: Context, result: CallResult, *, arguments: Mapping[str, Any]
) -> types.InputRequiredResult | types.ElicitResult:
    """Put the question: in the newest protocol as the result of this round, else as a request to the client."""
    assert result.error is not None
    message = f"Approve a call of {result.meta.ref} with {_shown(arguments)}?"
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        params = types.ElicitRequestFormParams(message=message, requested_schema=_ASKED)
        return types.InputRequiredResult(
            input_requests={KEY: types.ElicitRequest(params=params)}, request_state=result.error.confirmation
        )
    return await context.session.elicit_form(message, _ASKED, related_request_id=context.request_id)


def answered(params: types.CallToolRequestParams) -> types.ElicitResult | None:
    """Return what the person said in the round before, None where nobody was asked."""
    found = (params.input_responses or {}).get(KEY)
    return found if isinstance(found, types.ElicitResult) and params.request_state else None


def agreed(said: types.ElicitResult) -> bool:
    """Tell whether the person approved."""
    return said.action == "accept" and (said.content or {}).get("approve") is True


def declined(result: CallResult | None = None) -> CallResult:
    """Return the answer to a call that the person did not approve."""
    return CallResult(ok=False, error=_DECLINED) if result is None else result.model_copy(update={"error": _DECLINED})


def _shown(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False)
