"""OpenAI Agents SDK: a server in the SDK's sense (`mcp_servers`) whose tools are those of the conversation.

The SDK asks its servers for their tools before each turn of the model. This one then searches for what the user said
last, and lists what the conversation found so far, in that order. It needs no process and no connection.
"""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from typing import Any

from toolsearch.model.errors import MissingExtraError, RequestError

if find_spec("agents") is None:
    raise MissingExtraError(package="openai-agents", extra="openai-agents")

from agents.agent import AgentBase
from agents.mcp import MCPServer
from agents.run_context import RunContextWrapper
from mcp.types import CallToolResult, GetPromptResult, ListPromptsResult, TextContent, Tool

from toolsearch.adapters.calling import Run, nothing_runs
from toolsearch.adapters.reading import user_texts
from toolsearch.adapters.search_tool import DESCRIPTION, parameters
from toolsearch.adapters.source import ToolSource
from toolsearch.adapters.toolset import ToolSet
from toolsearch.model.request import DefinitionFormat


class AgentTools(MCPServer):
    """The tools of one conversation over the Agents SDK: `Agent(mcp_servers=[AgentTools(...)])`."""

    def __init__(
        self,
        source: ToolSource,
        *,
        run: Run = nothing_runs,
        session: str | None = None,
        search_each_turn: bool = True,
        **options: Any,
    ) -> None:
        """Begin a conversation's tools, or go on with them.

        Args:
            source: A `Client`, or `on_behalf_of(index, principal)`.
            run: Runs a tool that the model called; may be async.
            session: Id of the conversation; None = a random one.
            search_each_turn: Search for each new message of the user; otherwise the model searches by `search_tools`.
            **options: Of `ToolSet`: k, detail, always_on, restrict, search_name.
        """
        super().__init__()
        self.toolset = ToolSet(source, format=DefinitionFormat.MCP, run=run, session=session, **options)
        self._search_each_turn = search_each_turn
        self._said: list[str] = []

    @property
    def name(self) -> str:
        """Return the server's name."""
        return "toolsearch"

    async def connect(self) -> None:
        """Do nothing: there is no connection."""

    async def cleanup(self) -> None:
        """Do nothing: there is no connection."""

    async def list_tools(
        self, run_context: RunContextWrapper[Any] | None = None, agent: AgentBase[Any] | None = None
    ) -> list[Tool]:
        """Return the tools of the turn, after a search where the user said something new."""
        said = user_texts(run_context.turn_input if run_context else (), text_types=("input_text", "text"))
        if self._search_each_turn and said and said != self._said:
            await asyncio.to_thread(self._turn, said)
            self._said = said
        return [Tool.model_validate(definition) for definition in self.tool_block()]

    def tool_block(self) -> list[dict[str, Any]]:
        """Return the tools of the next turn as MCP definitions: `search_tools`, then what the conversation found."""
        search = {"name": self.toolset.search_name, "description": DESCRIPTION, "inputSchema": parameters()}
        return [search, *self.toolset.definitions]

    async def call_tool(
        self, tool_name: str, arguments: dict[str, Any] | None, meta: dict[str, Any] | None = None
    ) -> CallToolResult:
        """Run a call of the model."""
        result = await self.toolset.acall(tool_name, arguments)
        return CallToolResult(content=[TextContent(type="text", text=result.text)], is_error=not result.ok)

    async def list_prompts(self) -> ListPromptsResult:
        """Return no prompts."""
        return ListPromptsResult(prompts=[])

    async def get_prompt(self, name: str, arguments: dict[str, Any] | None = None) -> GetPromptResult:
        """Refuse: there are none.

        Raises:
            RequestError: Always.
        """
        raise RequestError("there are no prompts here, only tools", field="name")

    def _turn(self, said: list[str]) -> None:
        self.toolset.turn(said)
