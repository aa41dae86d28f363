"""A person approves a call through the client that shows it: elicitation, in both protocol eras.

That a person was asked is a state of its own. In the newest protocol the question is the result of one round and the
answer comes with the next: between them the server keeps the confirmation, under a random name that stands in no other
result. It is good once, for the same caller, the same call and a client that can ask. So the confirmation that a
refusal shows to a model approves nothing.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolsearch.calls.gateway.call import CallError, CallResult
from toolsearch.text.analysis.characters import visible_text

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


@dataclass(slots=True)
class OpenQuestions:
    """Questions that were put and not answered yet: each good once, for a while, and no more than a bounded number.

    Attributes:
        good_s: Seconds for which an answer counts.
        most: Questions kept at once; the oldest are dropped.
        clock: Seconds that never go back.
    """

    good_s: float = 600.0
    most: int = 1_000
    clock: Callable[[], float] = monotonic
    _open: OrderedDict[str, tuple[str, str, float]] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def put(self, confirmation: str, *, asked: str) -> str:
        """Keep the confirmation of a call that a person is asked about, and return the name of the question.

        Args:
            confirmation: Of the call.
            asked: Hash of who asks for which call.
        """
        name = f"q1.{secrets.token_urlsafe(24)}"
        with self._lock:
            self._open[name] = (confirmation, asked, self.clock() + self.good_s)
            while len(self._open) > self.most:
                self._open.popitem(last=False)
        return name

    def take(self, name: str, *, asked: str) -> str | None:
        """Return the confirmation of a question, which is answered then; None where it was not put for this call."""
        with self._lock:
            confirmation, known, until = self._open.pop(name, ("", "", 0.0))
        fits = secrets.compare_digest(known.encode(), asked.encode())
        return confirmation if confirmation and fits and self.clock() <= until else None


def can_ask(context: Context) -> bool:
    """Return True if this client can put a question to its user."""
    capabilities = context.session.client_capabilities
    return (
        capabilities is not None
        and capabilities.elicitation is not None
        and (context.protocol_version in MODERN_PROTOCOL_VERSIONS or context.session.can_send_request)
    )


def waits_for_a_person(result: CallResult, *, arguments: Mapping[str, Any]) -> bool:
    """Return True if a refused call only lacks an approval, and can be shown to a person as a whole."""
    error = result.error
    return (
        error is not None
        and error.approval == "approve"
        and error.confirmation is not None
        and len(_shown(arguments)) <= MAX_SHOWN
    )


async def ask(
    context: Context, result: CallResult, *, arguments: Mapping[str, Any], questions: OpenQuestions, asked: str
) -> types.InputRequiredResult | types.ElicitResult:
    """Put the question: in the newest protocol as the result of this round, else as a request to the client."""
    assert result.error is not None
    assert result.error.confirmation is not None
    message = f"Approve a call of {result.meta.ref} with {_shown(arguments)}?"
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        params = types.ElicitRequestFormParams(message=message, requested_schema=_ASKED)
        return types.InputRequiredResult(
            input_requests={KEY: types.ElicitRequest(params=params)},
            request_state=questions.put(result.error.confirmation, asked=asked),
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
    # What a person cannot see is written out, so that what is read is what is called.
    return visible_text(json.dumps(arguments, ensure_ascii=False))
