"""OpenAI Responses: a `tool_search` that the client executes, and the plain list for models without it.

With `deferred=True` the request's `tools` never change: one `tool_search` with `execution: client`. What a search finds
comes back as a `tool_search_output` item, definitions included, at the end of the input, so everything before stays
cached. With `deferred=False` the tools themselves stand in `tools`, in the order in which the conversation found them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from toolsearch.adapters.calling import Run, ToolSetResult, nothing_runs
from toolsearch.adapters.reading import part, parts, user_texts
from toolsearch.adapters.search_tool import DESCRIPTION, parameters
from toolsearch.adapters.source import ToolSource
from toolsearch.adapters.toolset import ToolSet
from toolsearch.contracts.export.openai import by_namespace, tool_search_output
from toolsearch.model.answer import CandidateSet, SessionTool
from toolsearch.model.contract import ToolRef
from toolsearch.model.request import DefinitionFormat

_TEXTS = ("input_text", "text")


class ResponsesTools:
    """The tools of one conversation over the Responses API."""

    def __init__(
        self,
        source: ToolSource,
        *,
        run: Run = nothing_runs,
        session: str | None = None,
        deferred: bool = True,
        namespaces: bool = False,
        **options: Any,
    ) -> None:
        """Begin a conversation's tools, or go on with them.

        Args:
            source: A `Client`, or `on_behalf_of(index, principal)`.
            run: Runs a tool that the model called.
            session: Id of the conversation; None = a random one.
            deferred: Whether definitions are loaded by `tool_search`.
            namespaces: Hand deferred tools out as one namespace for each server.
            **options: Of `ToolSet`: k, detail, always_on, restrict, search_name.
        """
        self.toolset = ToolSet(source, format=DefinitionFormat.OPENAI_RESPONSES, run=run, session=session, **options)
        self._deferred, self._namespaces = deferred, namespaces

    def turn(self, items: str | Iterable[Any]) -> CandidateSet | None:
        """Search for what the user said last, before `tool_block`.

        It is for the plain list. Deferred tools are shown to the model by a search of its own only.

        Args:
            items: The request's `input`.
        """
        said = [items] if isinstance(items, str) else user_texts(items, text_types=_TEXTS)
        return self.toolset.turn(said)

    def tool_block(self) -> list[dict[str, Any]]:
        """Return `tools` of the next request."""
        if self._deferred:
            fixed = {"execution": "client", "description": DESCRIPTION, "parameters": parameters()}
            return [{"type": "tool_search", **fixed}]
        search = {"name": self.toolset.search_name, "description": DESCRIPTION, "parameters": parameters()}
        return [{"type": "function", **search, "strict": False}, *self.toolset.definitions]

    def results(self, response: Any) -> list[dict[str, Any]]:
        """Run the calls of a response, and return the input items that answer them.

        Args:
            response: What the API returned. Append its `output` to the input first, then these.
        """
        calls = self._calls(response)
        return [self._answer(call, self.toolset.call(*self._what(call))) for call in calls]

    async def aresults(self, response: Any) -> list[dict[str, Any]]:
        """Do what `results` does, with the calls of a response at the same time; `run` may be async."""
        calls = self._calls(response)
        ended = await asyncio.gather(*(self.toolset.acall(*self._what(call)) for call in calls))
        return [self._answer(call, result) for call, result in zip(calls, ended, strict=True)]

    def _calls(self, response: Any) -> list[Any]:
        return [
            item
            for item in parts(response, "output")
            if part(item, "type") == "function_call"
            or (part(item, "type") == "tool_search_call" and part(item, "execution") == "client")
        ]

    def _what(self, call: Any) -> tuple[str, Any]:
        searches = part(call, "type") == "tool_search_call"
        return self.toolset.search_name if searches else str(part(call, "name")), part(call, "arguments")

    def _answer(self, call: Any, result: ToolSetResult) -> dict[str, Any]:
        called = part(call, "call_id")
        if part(call, "type") == "tool_search_call":
            return tool_search_output(self._loaded(result.found), call_id=called)
        return {"type": "function_call_output", "call_id": called, "output": result.text}

    def _loaded(self, tools: Sequence[SessionTool]) -> list[dict[str, Any]]:
        definitions = [{**tool.definition, "defer_loading": True} for tool in tools]
        if not self._namespaces:
            return definitions
        return by_namespace(definitions, servers=[ToolRef.parse(tool.ref).server for tool in tools])
