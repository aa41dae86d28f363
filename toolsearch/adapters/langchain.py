"""LangChain and LangGraph: agent middleware, a retriever, and the retrieving function of langgraph-bigtool."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, NotRequired, cast

from toolsearch.model.errors import MissingExtraError

if find_spec("langchain") is None:
    raise MissingExtraError(package="langchain", extra="langchain")

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.tools.tool_node import ToolCallRequest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool, ToolException
from langgraph.runtime import Runtime
from langgraph.types import Command
from pydantic import ConfigDict, Field

from toolsearch.adapters.calling import Run, nothing_runs
from toolsearch.adapters.search_tool import DESCRIPTION, SEARCH_TOOL, parameters
from toolsearch.adapters.source import ToolSource
from toolsearch.adapters.toolset import ToolSet
from toolsearch.model.answer import Candidate
from toolsearch.model.contract import ToolRef
from toolsearch.model.request import DefinitionFormat, Restriction, SearchRequest

KEPT = 1_000
"""Conversations whose tools a middleware keeps at hand; those of others are asked for again."""


class ToolSearchState(AgentState[Any]):
    """The state of an agent, and which session it goes on with; give it back where there is no checkpointer."""

    toolsearch_session: NotRequired[str]


class ToolSearchMiddleware(AgentMiddleware[ToolSearchState]):
    """Gives each model call the tools of its conversation: those of the agent, `search_tools`, and what was found.

    Each new message of the user is searched for. From call to call the list only grows at its end, except that a tool
    leaves it whose principal may not use it any more. One middleware serves many threads: the session is part of the
    agent's state, so a checkpointer keeps it with the thread.
    """

    state_schema = ToolSearchState

    def __init__(
        self,
        source: ToolSource,
        *,
        run: Run = nothing_runs,
        k: int | None = None,
        always_on: Sequence[str] = (),
        restrict: Restriction | None = None,
        search_name: str = SEARCH_TOOL,
    ) -> None:
        """Choose tools from a source.

        Args:
            source: A `Client`, or `on_behalf_of(index, principal)`.
            run: Runs a tool that the model called: `(ref, arguments) -> result`. See `calling.by_ref`.
            k: At most so many tools a search; None = by situation.
            always_on: Tools that are listed in any case, if visible.
            restrict: Narrows what is found.
            search_name: Name of the search tool.
        """
        super().__init__()
        self._source, self._run, self._k = source, run, k
        self._always_on, self._restrict, self._search_name = always_on, restrict, search_name
        self._toolset = lru_cache(maxsize=KEPT)(self._opened)

    def _opened(self, session: str) -> ToolSet:
        return ToolSet(
            self._source,
            format=DefinitionFormat.LANGCHAIN,
            run=self._run,
            session=session,
            k=self._k,
            always_on=self._always_on,
            restrict=self._restrict,
            search_name=self._search_name,
        )

    def before_agent(self, state: ToolSearchState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Begin a session, or go on with that of the thread."""
        session = state.get("toolsearch_session") or uuid.uuid4().hex
        return {"toolsearch_session": self._toolset(session).session}

    async def abefore_agent(self, state: ToolSearchState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Do the same without holding up the event loop."""
        return await asyncio.to_thread(self.before_agent, state, runtime)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Search where the user spoke last, and call the model with the tools of the conversation."""
        return handler(self._with_tools(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Do the same without holding up the event loop."""
        return await handler(await asyncio.to_thread(self._with_tools, request))

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Run a call of a tool that was found; the agent's own tools run as always."""
        return handler(self._with_tool(request))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """Do the same without holding up the event loop."""
        return await handler(await asyncio.to_thread(self._with_tool, request))

    def _with_tools(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        tools = self._of(request.state)
        if isinstance(request.messages[-1], HumanMessage):
            tools.turn(said(request.messages))
        else:
            tools.look()
        own = {tool.name for tool in request.tools if isinstance(tool, BaseTool)}
        found = [tool for tool in langchain_tools(tools) if tool.name not in own]
        return request.override(tools=[*request.tools, *found])

    def _with_tool(self, request: ToolCallRequest) -> ToolCallRequest:
        if request.tool is not None:
            return request
        name = request.tool_call["name"]
        return request.override(
            tool=LangChainTool(name=name, description="", args_schema={}, tools=self._of(request.state))
        )

    def _of(self, state: Any) -> ToolSet:
        return self._toolset(cast(ToolSearchState, state)["toolsearch_session"])


class LangChainTool(BaseTool):
    """A tool of a session as a LangChain tool: a result's content is what the model reads, its artifact the value."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    tools: ToolSet = Field(exclude=True, repr=False)
    response_format: Any = "content_and_artifact"
    handle_tool_error: Any = True

    # The parameters are positional-only where LangChain's own are not: a tool may have one named `config` or `self`.
    def _run(self, /, **arguments: Any) -> tuple[str, Any]:
        result = self.tools.call(self.name, arguments)
        if not result.ok:
            raise ToolException(result.text)
        return result.text, result.value

    async def _arun(self, /, **arguments: Any) -> tuple[str, Any]:
        result = await self.tools.acall(self.name, arguments)
        if not result.ok:
            raise ToolException(result.text)
        return result.text, result.value


def langchain_tools(tools: ToolSet) -> list[LangChainTool]:
    """Return the search tool and the tools of a session, in order.

    Args:
        tools: In the format `langchain`.
    """
    search = {"name": tools.search_name, "description": DESCRIPTION, "args_schema": parameters()}
    return [LangChainTool(**definition, tools=tools) for definition in (search, *tools.definitions)]


def said(messages: Sequence[BaseMessage]) -> list[str]:
    """Return what the user said, oldest first."""
    return [str(message.text) for message in messages if isinstance(message, HumanMessage)]


class LangChainRetriever(BaseRetriever):
    """Tools as documents: the text is what the model reads, the metadata tell which tool and why."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    source: Any
    k: int | None = None
    restrict: Restriction | None = None

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [_document(candidate, trace_id=trace_id) for trace_id, candidate in self._found(query)]

    def _found(self, query: str) -> list[tuple[str, Candidate]]:
        request = SearchRequest(text=query, k=self.k, restrict=self.restrict, format=DefinitionFormat.LANGCHAIN)
        answer = self.source.search(request)
        return [(answer.trace_id, candidate) for candidate in answer.candidates]


def _document(candidate: Candidate, *, trace_id: str) -> Document:
    definition = candidate.definition or {}
    return Document(
        id=candidate.ref,
        page_content=f"{definition['name']}: {definition['description']}",
        metadata={
            "ref": candidate.ref,
            "title": candidate.title,
            "score": candidate.score,
            "side_effect": candidate.side_effect.label,
            "reasons": [reason.text for reason in candidate.reasons],
            "definition": definition,
            "trace_id": trace_id,
        },
    )


def retrieve_tools_function(
    source: ToolSource, *, registry: Collection[str], k: int | None = None, restrict: Restriction | None = None
) -> Callable[[str], list[str]]:
    """Return the `retrieve_tools_function` of langgraph-bigtool's `create_agent`.

    Args:
        source: A `Client`, or `on_behalf_of(index, principal)`.
        registry: The agent's `tool_registry`, whose ids are `server/name@version`, or `server/name`. What is found and
            is not in it is left out.
        k: At most so many tools a search; None = by situation.
        restrict: Narrows what is found.
    """

    def retrieve_tools(query: str) -> list[str]:
        """Find tools for a task. Say in the query what is to be done, with the values at hand."""
        answer = source.search(SearchRequest(text=query, k=k, restrict=restrict))
        ids = [_registered(candidate.ref, registry) for candidate in answer.candidates]
        return list(dict.fromkeys(found for found in ids if found is not None))

    return retrieve_tools


def _registered(ref: str, registry: Collection[str]) -> str | None:
    """Return the id of a tool in the registry."""
    parts = ToolRef.parse(ref)
    return next((name for name in (ref, f"{parts.server}/{parts.name}") if name in registry), None)
