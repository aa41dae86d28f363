"""pydantic-ai: a toolset whose tools are those of the conversation, and a strategy for its `ToolSearch`.

`ConversationToolset` brings the tools of the catalogue. `search_strategy` ranks tools that the agent has already: those
marked `defer_loading=True`, where pydantic-ai hands definitions to the model in its provider's own way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from importlib.util import find_spec
from typing import Any

from toolsearch.model.errors import MissingExtraError

if find_spec("pydantic_ai") is None:
    raise MissingExtraError(package="pydantic-ai-slim", extra="pydantic-ai")

from pydantic_ai import ModelMessage, RunContext, ToolDefinition
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ModelRequest, UserPromptPart
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from toolsearch.adapters.calling import Run, nothing_runs
from toolsearch.adapters.search_tool import DESCRIPTION, parameters
from toolsearch.adapters.source import ToolSource
from toolsearch.adapters.toolset import ToolSet
from toolsearch.contracts.export import api_names
from toolsearch.model.contract import ToolRef
from toolsearch.model.request import DefinitionFormat, Restriction, SearchRequest

_ANY_OBJECT = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()))
"""Whether arguments fit is judged by what runs the tool; pydantic-ai only sees to it that they are an object."""


class ConversationToolset(AbstractToolset[Any]):
    """The tools of one conversation: `Agent(model, toolsets=[ConversationToolset(...)])`.

    pydantic-ai asks for them before each turn of the model. What the user said last is searched for then; the list
    holds `search_tools` and what the conversation found so far, in that order.
    """

    def __init__(
        self,
        source: ToolSource,
        *,
        run: Run = nothing_runs,
        session: str | None = None,
        search_each_turn: bool = True,
        id: str = "toolsearch",
        **options: Any,
    ) -> None:
        """Begin a conversation's tools, or go on with them.

        Args:
            source: A `Client`, or `on_behalf_of(index, principal)`.
            run: Runs a tool that the model called; may be async.
            session: Id of the conversation; None = a random one.
            search_each_turn: Search for each new message of the user; otherwise the model searches by `search_tools`.
            id: Of the toolset, unique in its agent.
            **options: Of `ToolSet`: k, detail, always_on, restrict, search_name.
        """
        self.toolset = ToolSet(source, format=DefinitionFormat.MCP, run=run, session=session, **options)
        self._search_each_turn, self._id = search_each_turn, id
        self._said: list[str] = []

    @property
    def id(self) -> str:
        """Return the id of the toolset."""
        return self._id

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Return the tools of the turn, after a search where the user said something new."""
        said = _user_texts(ctx.messages)
        if self._search_each_turn and said and said != self._said:
            await asyncio.to_thread(self._turn, said)
            self._said = said
        return {
            definition.name: ToolsetTool(
                toolset=self, tool_def=definition, max_retries=ctx.max_retries, args_validator=_ANY_OBJECT
            )
            for definition in self.definitions()
        }

    def definitions(self) -> list[ToolDefinition]:
        """Return the tools of the next turn: `search_tools`, then what the conversation found."""
        return [
            ToolDefinition(
                name=block["name"], description=block.get("description"), parameters_json_schema=block["inputSchema"]
            )
            for block in self.tool_block()
        ]

    def tool_block(self) -> list[dict[str, Any]]:
        """Return the tools of the next turn as MCP definitions."""
        search = {"name": self.toolset.search_name, "description": DESCRIPTION, "inputSchema": parameters()}
        return [search, *self.toolset.definitions]

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Run a call of the model.

        Raises:
            ToolFailed: If it failed; the model reads why.
        """
        result = await self.toolset.acall(name, tool_args)
        if not result.ok:
            raise ToolFailed(result.text)
        return result.text if result.value is None else result.value

    def _turn(self, said: list[str]) -> None:
        self.toolset.turn(said)


def search_strategy(
    source: ToolSource, *, k: int | None = None, restrict: Restriction | None = None
) -> Callable[[RunContext[Any], Sequence[str], Sequence[ToolDefinition]], Awaitable[list[str]]]:
    """Return a search for `ToolSearch(strategy=...)` that ranks an agent's deferred tools by toolsearch.

    The tools must be in the catalogue, under their names there or the names that `export` gives them: e.g. by
    `index.add(contracts_of(functions))`. One that the principal may not see is never found.

    Args:
        source: A `Client`, or `on_behalf_of(index, principal)`.
        k: At most so many tools a query; None = by situation.
        restrict: Narrows what is found.
    """

    def found(queries: Sequence[str], tools: Sequence[ToolDefinition]) -> list[str]:
        known = {tool.name for tool in tools}
        names: dict[str, None] = {}
        for query in queries:
            answer = source.search(SearchRequest(text=query, k=k, restrict=restrict))
            for candidate in answer.candidates:
                names |= dict.fromkeys(name for name in _names(candidate.ref) if name in known)
        return list(names)

    async def strategy(ctx: RunContext[Any], queries: Sequence[str], tools: Sequence[ToolDefinition]) -> list[str]:
        return await asyncio.to_thread(found, [query for query in queries if query.strip()], tools)

    return strategy


def _names(ref: str) -> list[str]:
    """Return the names by which an agent may have a tool."""
    parsed = ToolRef.parse(ref)
    return [parsed.name, api_names([parsed])[parsed]]


def _user_texts(messages: Sequence[ModelMessage]) -> list[str]:
    """Return what the user said, oldest first."""
    prompts = [
        part.content
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, UserPromptPart)
    ]
    return ["\n".join(_texts(content)) for content in prompts]


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    texts = (item if isinstance(item, str) else getattr(item, "content", None) for item in content)
    return [text for text in texts if isinstance(text, str)]
