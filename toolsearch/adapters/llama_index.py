"""LlamaIndex: a tool retriever for its agents, which gives each step the tools of one conversation."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from toolsearch.model.errors import MissingExtraError

if find_spec("llama_index") is None:
    raise MissingExtraError(package="llama-index-core", extra="llama-index")

from llama_index.core.objects import ObjectRetriever
from llama_index.core.schema import QueryBundle
from llama_index.core.tools import AsyncBaseTool, BaseTool, ToolMetadata, ToolOutput
from pydantic import BaseModel, ConfigDict

from toolsearch.adapters.calling import ToolSetResult
from toolsearch.adapters.search_tool import DESCRIPTION, parameters
from toolsearch.adapters.toolset import ToolSet
from toolsearch.model.request import DefinitionFormat

FORMAT = DefinitionFormat.OPENAI
"""Format of the session: what `ToolMetadata.to_openai_tool` makes has the same shape."""


class LlamaIndexRetriever(ObjectRetriever[BaseTool]):
    """`tool_retriever=` of an agent: `search_tools`, and the tools that one conversation was handed.

    From step to step the list only grows at its end, except that a tool leaves it whose principal may not use it any
    more. An agent retrieves again before each step and before each call, with the same text or with the name that is
    called: neither is searched for again.
    """

    def __init__(self, tools: ToolSet) -> None:
        """Retrieve for one conversation.

        Args:
            tools: Its tools, in the format `FORMAT`.
        """
        self._tools = tools
        self._said: list[str] = []

    def retrieve(self, str_or_query_bundle: str | QueryBundle) -> list[BaseTool]:
        """Return the tools of the conversation after a search for the text, which may be the name of one of them."""
        text = str_or_query_bundle
        query = text.query_str if isinstance(text, QueryBundle) else text
        names = {self._tools.search_name, *(tool.api_name for tool in self._tools.tools)}
        if not query.strip() or query in names or query in self._said:
            self._tools.look()
        else:
            self._tools.turn([*self._said, query])
            self._said = [query]  # the newest is enough: a short message is searched together with the one before it
        return llama_index_tools(self._tools)

    async def aretrieve(self, str_or_query_bundle: str | QueryBundle) -> list[BaseTool]:
        """Do the same without holding up the event loop."""
        return await asyncio.to_thread(self.retrieve, str_or_query_bundle)


@dataclass
class FoundMetadata(ToolMetadata):
    """What the model reads of a tool, as the session holds it.

    Attributes:
        parameters: JSON Schema of the arguments.
    """

    parameters: dict[str, Any] = field(default_factory=dict)

    def get_parameters_dict(self) -> dict[str, Any]:
        """Return the whole schema; the base class would leave out what it does not know."""
        return deepcopy(self.parameters)


class LlamaIndexTool(AsyncBaseTool):
    """A tool of a session as a LlamaIndex tool."""

    def __init__(self, tools: ToolSet, *, name: str, description: str, parameters: dict[str, Any]) -> None:
        """Describe the tool.

        Args:
            tools: Run its calls.
            name: What the model calls it by.
            description: What the model reads of it.
            parameters: JSON Schema of the arguments.
        """
        self._tools = tools
        schema = {"properties": {}, **parameters}  # LlamaIndex counts the properties of every tool
        self._metadata = FoundMetadata(
            name=name, description=description, fn_schema=_model(name, schema), parameters=schema
        )

    @property
    def metadata(self) -> ToolMetadata:
        """Return what the model reads."""
        return self._metadata

    # Arguments come by name, and one may be named `self` or `input`.
    def __call__(self, /, **arguments: Any) -> ToolOutput:  # type: ignore[override]
        """Run a call; a failure is told in the output."""
        return self.call(**arguments)

    def call(self, /, **arguments: Any) -> ToolOutput:  # type: ignore[override]
        """Run a call; a failure is told in the output."""
        return self._output(self._tools.call(self._metadata.get_name(), arguments), arguments)

    async def acall(self, /, **arguments: Any) -> ToolOutput:  # type: ignore[override]
        """Do the same without holding up the event loop."""
        return self._output(await self._tools.acall(self._metadata.get_name(), arguments), arguments)

    def _output(self, result: ToolSetResult, arguments: dict[str, Any]) -> ToolOutput:
        return ToolOutput(
            tool_name=self._metadata.get_name(),
            content=result.text,
            raw_input=arguments,
            raw_output=result.value,
            is_error=not result.ok,
        )


def llama_index_tools(tools: ToolSet) -> list[BaseTool]:
    """Return the search tool and the tools of a session, in order.

    Args:
        tools: In the format `FORMAT`.
    """
    search = {"name": tools.search_name, "description": DESCRIPTION, "parameters": parameters()}
    return [
        LlamaIndexTool(tools, **function) for function in (search, *(made["function"] for made in tools.definitions))
    ]


def _model(name: str, schema: dict[str, Any]) -> type[BaseModel]:
    """Return a model with a given schema, for the parts of LlamaIndex that ask for one; it takes any argument."""

    class Arguments(BaseModel):
        model_config = ConfigDict(extra="allow", title=name)

        @classmethod
        def model_json_schema(cls, *args: Any, **options: Any) -> dict[str, Any]:
            return deepcopy(schema)

    return Arguments
