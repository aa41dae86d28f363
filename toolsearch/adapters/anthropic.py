"""Anthropic Messages: a tool search that the client executes, and the plain list for models without it.

With `deferred=True` the model sees one tool, `search_tools`. What a search finds goes to the end of `tools` with
`defer_loading`, which keeps it out of the prompt, and the result names it in `tool_reference` blocks, which the API
expands where they stand. So nothing before the newest message ever changes. With `deferred=False` the tools
themselves stand in the prompt, in the order in which the conversation found them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from toolsearch.adapters.calling import Run, ToolSetResult, nothing_runs
from toolsearch.adapters.reading import part, parts, user_texts
from toolsearch.adapters.search_tool import DESCRIPTION, parameters
from toolsearch.adapters.source import ToolSource
from toolsearch.adapters.toolset import ToolSet
from toolsearch.contracts.export.anthropic import tool_reference, tool_search_result
from toolsearch.model.answer import CandidateSet
from toolsearch.model.request import DefinitionFormat

GONE = "This tool is not available any more."


class AnthropicTools:
    """The tools of one conversation over the Messages API."""

    def __init__(
        self,
        source: ToolSource,
        *,
        run: Run = nothing_runs,
        session: str | None = None,
        deferred: bool = True,
        **options: Any,
    ) -> None:
        """Begin a conversation's tools, or go on with them.

        Args:
            source: A `Client`, or `on_behalf_of(index, principal)`.
            run: Runs a tool that the model called.
            session: Id of the conversation; None = a random one.
            deferred: Whether definitions are loaded by `tool_reference` blocks.
            **options: Of `ToolSet`: k, detail, always_on, restrict, search_name.
        """
        self.toolset = ToolSet(source, format=DefinitionFormat.ANTHROPIC, run=run, session=session, **options)
        self._deferred = deferred

    def turn(self, messages: Iterable[Any]) -> CandidateSet | None:
        """Search for what the user said last, before `tool_block`.

        It is for the plain list. Deferred tools are shown to the model by a search of its own only.
        """
        return self.toolset.turn(user_texts(messages, text_types=("text",)))

    def tool_block(self, messages: Iterable[Any] = ()) -> list[dict[str, Any]]:
        """Return `tools` of the next request.

        Args:
            messages: Of that request. A tool that they refer to and that has left since is named as unavailable, as the
                API refuses a reference to nothing.
        """
        found = self.toolset.definitions
        if self._deferred:
            for definition in found:
                definition.pop("input_examples", None)  # the API takes no examples with tool search
                definition["defer_loading"] = True
        named = {definition["name"] for definition in found} | {self.toolset.search_name}
        gone = [_gone(name) for name in _referred(messages) if name not in named]
        return [_search_tool(self.toolset.search_name), *gone, *found]  # what is found from now on stands at the end

    def results(self, message: Any) -> dict[str, Any] | None:
        """Run the calls of a message of the model, and return the user message that answers them; None = it has none.

        Args:
            message: What the API returned, or a message of the conversation.
        """
        calls = _calls(message)
        return _answers([self._answer(call, self.toolset.call(*_what(call))) for call in calls])

    async def aresults(self, message: Any) -> dict[str, Any] | None:
        """Do what `results` does, with the calls of a message at the same time; `run` may be async."""
        calls = _calls(message)
        ended = await asyncio.gather(*(self.toolset.acall(*_what(call)) for call in calls))
        return _answers([self._answer(call, result) for call, result in zip(calls, ended, strict=True)])

    def _answer(self, call: Any, result: ToolSetResult) -> dict[str, Any]:
        called = str(part(call, "id"))
        if self._deferred and result.found:
            return tool_search_result([tool_reference(tool.api_name) for tool in result.found], tool_use_id=called)
        answer: dict[str, Any] = {"type": "tool_result", "tool_use_id": called, "content": result.text}
        return answer if result.ok else answer | {"is_error": True}


def _search_tool(name: str) -> dict[str, Any]:
    return {"name": name, "description": DESCRIPTION, "input_schema": parameters()}


def _gone(name: str) -> dict[str, Any]:
    return {"name": name, "description": GONE, "input_schema": {"type": "object"}, "defer_loading": True}


def _calls(message: Any) -> list[Any]:
    return [block for block in parts(message, "content") if part(block, "type") == "tool_use"]


def _what(call: Any) -> tuple[str, Any]:
    return str(part(call, "name")), part(call, "input")


def _answers(blocks: list[dict[str, Any]]) -> dict[str, Any] | None:
    return {"role": "user", "content": blocks} if blocks else None


def _referred(messages: Iterable[Any]) -> dict[str, None]:
    """Return the names in the `tool_reference` blocks of a conversation, in order."""
    results = (
        block for message in messages for block in parts(message, "content") if part(block, "type") == "tool_result"
    )
    inner = (block for result in results for block in parts(result, "content"))
    return dict.fromkeys(str(part(block, "tool_name")) for block in inner if part(block, "type") == "tool_reference")
