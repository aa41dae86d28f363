"""OpenAI Chat Completions, and the many servers that speak it: one list of tools that grows at its end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from toolsearch.adapters.calling import Run, ToolSetResult, nothing_runs
from toolsearch.adapters.reading import part, parts, user_texts
from toolsearch.adapters.search_tool import DESCRIPTION, parameters
from toolsearch.adapters.source import ToolSource
from toolsearch.adapters.toolset import ToolSet
from toolsearch.model.answer import CandidateSet
from toolsearch.model.request import DefinitionFormat


class ChatTools:
    """The tools of one conversation over Chat Completions."""

    def __init__(
        self, source: ToolSource, *, run: Run = nothing_runs, session: str | None = None, **options: Any
    ) -> None:
        """Begin a conversation's tools, or go on with them.

        Args:
            source: A `Client`, or `on_behalf_of(index, principal)`.
            run: Runs a tool that the model called.
            session: Id of the conversation; None = a random one.
            **options: Of `ToolSet`: k, detail, always_on, restrict, search_name.
        """
        self.toolset = ToolSet(source, format=DefinitionFormat.OPENAI, run=run, session=session, **options)

    def turn(self, messages: Iterable[Any]) -> CandidateSet | None:
        """Search for what the user said last, before `tool_block`."""
        return self.toolset.turn(user_texts(messages, text_types=("text",)))

    def tool_block(self) -> list[dict[str, Any]]:
        """Return `tools` of the next request: the search tool, then what the conversation found, in that order."""
        search = {"name": self.toolset.search_name, "description": DESCRIPTION, "parameters": parameters()}
        return [{"type": "function", "function": search}, *self.toolset.definitions]

    def results(self, message: Any) -> list[dict[str, Any]]:
        """Run the calls of a message of the model, and return the messages that answer them.

        Args:
            message: `choices[0].message` of what the API returned, or a message of the conversation.
        """
        return [_answer(call, self.toolset.call(*_what(call))) for call in parts(message, "tool_calls")]

    async def aresults(self, message: Any) -> list[dict[str, Any]]:
        """Do what `results` does, with the calls of a message at the same time; `run` may be async."""
        calls = parts(message, "tool_calls")
        ended = await asyncio.gather(*(self.toolset.acall(*_what(call)) for call in calls))
        return [_answer(call, result) for call, result in zip(calls, ended, strict=True)]


def _what(call: Any) -> tuple[str, Any]:
    function = part(call, "function")
    return str(part(function, "name")), part(function, "arguments")


def _answer(call: Any, result: ToolSetResult) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": str(part(call, "id")), "content": result.text}
