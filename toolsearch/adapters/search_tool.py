"""The one tool that every turn carries: `search_tools`, with fixed bytes, and what it answers a model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from toolsearch.model.answer import Candidate, CandidateSet, SessionTool
from toolsearch.model.errors import RequestError

SEARCH_TOOL = "search_tools"
"""Its default name, the same as that of the MCP server's tool."""

DESCRIPTION = (
    "Finds tools for a task. Call it when no tool you have fits what is to be done next; say in the query what is to "
    "be done, with the values at hand, in the user's language. The tools it finds can be called right after. If it "
    "finds none, do not search again with the same words."
)
MAX_LIMIT = 20


def parameters() -> dict[str, Any]:
    """Return the JSON Schema of its arguments, each time the same bytes."""
    return {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What is to be done, e.g. 'cancel order ORD-20260917'."},
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_LIMIT,
                "description": "At most so many tools. Leave it out to get as many as the task needs.",
            },
        },
        "required": ["query"],
        "additionalProperties": False,
    }


def asked(arguments: Mapping[str, Any]) -> tuple[str, int | None]:
    """Return query and limit of a call.

    Raises:
        RequestError: If an argument is missing or of the wrong kind.
    """
    query, limit = arguments.get("query"), arguments.get("limit")
    if not isinstance(query, str):
        raise RequestError("query is missing: say as text what is to be done", field="query")
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        raise RequestError(f"limit is {str(limit)[:40]}; send a whole number from 1 to {MAX_LIMIT}", field="limit")
    return query, None if limit is None else min(limit, MAX_LIMIT)


def found_text(answer: CandidateSet, tools: Sequence[SessionTool]) -> str:
    """Return what the model reads of a search: names to call, and what to mind. Near misses are not for it.

    Args:
        answer: Of the search.
        tools: The session's tools of that answer.
    """
    names = {tool.ref: tool.api_name for tool in tools}
    cards = [_card(candidate, names[candidate.ref]) for candidate in answer.candidates if candidate.ref in names]
    message = answer.message if answer.clarify is None else answer.clarify.question
    found = {"outcome": answer.outcome.value, "message": message, "tools": cards}
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))


def _card(candidate: Candidate, name: str) -> dict[str, Any]:
    card: dict[str, Any] = {"name": name, "title": candidate.title, "side_effect": candidate.side_effect.label}
    missing = [entry.field for entry in candidate.inputs.missing]
    if missing:
        card["missing"] = missing
    if candidate.cautions:
        card["cautions"] = [caution.text for caution in candidate.cautions]
    if candidate.approval:
        card["approval"] = candidate.approval
    return card
