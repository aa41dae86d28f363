"""OpenAI function tools: the nested shape of Chat Completions, the flat one of Responses and what carries it there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolsearch.contracts.export.draft import Draft
from toolsearch.contracts.export.names import safe_names
from toolsearch.model.request import Detail


def openai_definition(draft: Draft) -> dict[str, Any]:
    """Return `{type: function, function: {...}}`; at detail `name` without parameters, which the API permits."""
    function: dict[str, Any] = {"name": draft.api_name, "description": draft.description}
    if draft.detail is not Detail.NAME:
        schema, strict = draft.strict_or_not()
        function |= {"description": draft.description, "parameters": schema}
        if draft.strict:
            function["strict"] = strict
    return {"type": "function", "function": function}


def openai_responses_definition(draft: Draft) -> dict[str, Any]:
    """Return a flat function tool. `strict` is always said, as the API decides by itself where it is not."""
    schema, strict = draft.strict_or_not()
    made: dict[str, Any] = {
        "type": "function",
        "name": draft.api_name,
        "description": draft.description,
        "parameters": schema,
        "strict": strict,
    }
    if (output := draft.output_schema()) is not None:
        made["output_schema"] = output
    if draft.deferred:
        made["defer_loading"] = True
    return made


def namespace(name: str, *, description: str, tools: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return Responses function tools as one namespace.

    Args:
        name: Of the namespace, e.g. the server; unsafe characters are the caller's to replace.
        description: What the model reads of it.
        tools: Definitions in the format `openai_responses`.
    """
    return {"type": "namespace", "name": name, "description": description, "tools": [dict(tool) for tool in tools]}


def by_namespace(tools: Sequence[Mapping[str, Any]], *, servers: Sequence[str]) -> list[dict[str, Any]]:
    """Return Responses function tools as one namespace for each server, sorted by server.

    Args:
        tools: Definitions in the format `openai_responses`.
        servers: Of each tool.
    """
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for server, tool in sorted(zip(servers, tools, strict=True), key=lambda pair: pair[0]):
        groups.setdefault(server, []).append(tool)
    names = safe_names(list(groups))
    return [
        namespace(names[server], description=f"Tools of {server}.", tools=found) for server, found in groups.items()
    ]


def tool_search_output(tools: Sequence[Mapping[str, Any]], *, call_id: str | None) -> dict[str, Any]:
    """Return the Responses input item that answers a tool search which the client executes.

    Args:
        tools: Definitions in the format `openai_responses`, or namespaces of them.
        call_id: Of the `tool_search_call` item that the model sent.
    """
    return {
        "type": "tool_search_output",
        "call_id": call_id,
        "execution": "client",
        "status": "completed",
        "tools": [dict(tool) for tool in tools],
    }
