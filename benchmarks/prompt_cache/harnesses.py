"""What each adapter sends to its provider, turn by turn, with its SDK where it stands between.

A harness says something and returns the calls of the model that follow: one, or two where the model has to search by
itself. Calls of the tools that were found are left out; they would cost every harness the same.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Protocol

from benchmarks.prompt_cache.cost import Prompt
from benchmarks.prompt_cache.world import World
from toolsearch import SearchRequest
from toolsearch.model.request import DefinitionFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One request to the provider.

    Attributes:
        block: The entries of its `tools`, each as JSON.
        prompt: What the model reads of it.
    """

    block: tuple[str, ...]
    prompt: Prompt


class Harness(Protocol):
    """One conversation by way of one adapter."""

    def say(self, text: str) -> list[ModelCall]:
        """Return the calls of the model that a message of the user leads to."""

    def answered(self, text: str) -> None:
        """Put the model's answer and the results of its tools at the end of the conversation."""


class InFront:
    """Definitions stand before the conversation: `block` returns them for what was said."""

    def __init__(self, block: Callable[[list[str]], Iterable[Any]]) -> None:
        """Ask a function for the block.

        Args:
            block: What the user said so far, oldest first -> the entries of `tools`.
        """
        self._block, self._said, self._messages = block, [], []  # type: ignore[var-annotated]

    def say(self, text: str) -> list[ModelCall]:
        """Return the one call of the turn."""
        self._said.append(text)
        self._messages.append(text)
        block = tuple(map(as_json, self._block(self._said)))
        return [ModelCall(block=block, prompt=Prompt(tools=block, messages=tuple(self._messages)))]

    def answered(self, text: str) -> None:
        """Go on."""
        self._messages.append(text)


def as_json(entry: Any) -> str:
    """Return an entry as the bytes that are sent."""
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":"))


def all_tools(world: World) -> Harness:
    """Every tool that the principal sees, each turn."""
    return InFront(lambda said: world.definitions())


def fresh(world: World) -> Harness:
    """What a search for the newest message finds, each turn, and nothing else."""

    def block(said: list[str]) -> list[Any]:
        answer = world.search(SearchRequest(text=said[-1], format=DefinitionFormat.OPENAI))
        return [entry.definition for entry in (*answer.always_on, *answer.candidates)]

    return InFront(block)


def chat_completions(world: World) -> Harness:
    """`ChatTools`."""
    from toolsearch.adapters.openai_chat import ChatTools

    tools = ChatTools(world)

    def block(said: list[str]) -> list[Any]:
        tools.turn([{"role": "user", "content": text} for text in said])
        return tools.tool_block()

    return InFront(block)


def responses_plain(world: World) -> Harness:
    """`ResponsesTools(deferred=False)`."""
    from toolsearch.adapters.openai_responses import ResponsesTools

    tools = ResponsesTools(world, deferred=False)

    def block(said: list[str]) -> list[Any]:
        tools.turn([{"role": "user", "content": text} for text in said])
        return tools.tool_block()

    return InFront(block)


def messages_plain(world: World) -> Harness:
    """`AnthropicTools(deferred=False)`."""
    from toolsearch.adapters.anthropic import AnthropicTools

    tools = AnthropicTools(world, deferred=False)

    def block(said: list[str]) -> list[Any]:
        tools.turn([{"role": "user", "content": text} for text in said])
        return tools.tool_block()

    return InFront(block)


def agents_sdk(world: World) -> Harness:
    """`AgentTools`, by way of what the Agents SDK makes of a server's tools."""
    from agents import Agent, RunContextWrapper
    from agents.mcp import MCPUtil

    from toolsearch.adapters.openai_agents import AgentTools

    server = AgentTools(world)
    agent: Any = Agent(name="agent", mcp_servers=[server])

    def block(said: list[str]) -> list[Any]:
        context = RunContextWrapper(context=None)
        context.turn_input = [{"role": "user", "content": text} for text in said]
        made = asyncio.run(MCPUtil.get_function_tools(server, False, context, agent))
        return [{"name": t.name, "description": t.description, "parameters": t.params_json_schema} for t in made]  # type: ignore[union-attr]

    return InFront(block)


def pydantic_ai(world: World) -> Harness:
    """`ConversationToolset` in a pydantic-ai agent."""
    from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    from toolsearch.adapters.pydantic_ai import ConversationToolset

    sent: list[Any] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        sent[:] = [
            {"name": t.name, "description": t.description, "parameters": t.parameters_json_schema}
            for t in info.function_tools
        ]
        return ModelResponse(parts=[TextPart("done")])

    agent = Agent(FunctionModel(model), toolsets=[ConversationToolset(world)])
    history: list[ModelMessage] = []

    def block(said: list[str]) -> list[Any]:
        history[:] = asyncio.run(agent.run(said[-1], message_history=list(history))).all_messages()
        return sent

    return InFront(block)


def langchain(world: World) -> Harness:
    """`ToolSearchMiddleware` in a LangChain agent with a checkpointer."""
    from langchain.agents import create_agent
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from langgraph.checkpoint.memory import InMemorySaver

    from toolsearch.adapters.langchain import ToolSearchMiddleware

    sent: list[Any] = []

    class Model(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "scripted"

        def bind_tools(self, tools: Any, **options: Any) -> Any:
            return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools])

        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **options: Any) -> ChatResult:
            sent[:] = options["tools"]
            return ChatResult(generations=[ChatGeneration(message=AIMessage("done"))])

    agent = create_agent(Model(), middleware=[ToolSearchMiddleware(world)], checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "one"}}

    def block(said: list[str]) -> list[Any]:
        agent.invoke({"messages": [("user", said[-1])]}, thread)
        return sent

    return InFront(block)


def llama_index(world: World) -> Harness:
    """`ToolRetriever`, as LlamaIndex's agents ask it."""
    from toolsearch.adapters.llama_index import FORMAT, LlamaIndexRetriever
    from toolsearch.adapters.toolset import ToolSet

    retriever = LlamaIndexRetriever(ToolSet(world, format=FORMAT))
    return InFront(
        lambda said: [tool.metadata.to_openai_tool(skip_length_check=True) for tool in retriever.retrieve(said[-1])]
    )


class MessagesDeferred:
    """`AnthropicTools`: the model searches; the API expands the references in the result."""

    def __init__(self, world: World) -> None:
        """Begin a conversation."""
        from toolsearch.adapters.anthropic import AnthropicTools

        self._tools = AnthropicTools(world)
        self._messages: list[dict[str, Any]] = []

    def say(self, text: str) -> list[ModelCall]:
        """Return the call in which the model searches, and the one after it."""
        self._messages.append({"role": "user", "content": text})
        calls = [self._call()]
        use = {"type": "tool_use", "id": f"toolu_{len(self._messages)}", "name": "search_tools"}
        asked = {"role": "assistant", "content": [{**use, "input": {"query": text}}]}
        results = self._tools.results(asked)
        assert results is not None
        self._messages += [asked, results]
        return [*calls, self._call()]

    def answered(self, text: str) -> None:
        """Go on."""
        self._messages.append({"role": "assistant", "content": text})

    def _call(self) -> ModelCall:
        block = self._tools.tool_block(self._messages)
        known = {entry["name"]: as_json(entry) for entry in block}
        front = tuple(as_json(entry) for entry in block if not entry.get("defer_loading"))
        read = tuple(piece for message in self._messages for piece in _expanded(message, known))
        return ModelCall(block=tuple(map(as_json, block)), prompt=Prompt(tools=front, messages=read))


def _expanded(message: dict[str, Any], definitions: dict[str, str]) -> list[str]:
    """Return what the model reads of a message."""
    if isinstance(message["content"], str):
        return [message["content"]]
    inner = [part for block in message["content"] for part in _parts(block)]
    return [definitions[part["tool_name"]] if part["type"] == "tool_reference" else as_json(part) for part in inner]


def _parts(block: dict[str, Any]) -> list[dict[str, Any]]:
    return block["content"] if isinstance(block.get("content"), list) else [block]


class ResponsesDeferred:
    """`ResponsesTools`: the model searches; the result brings the definitions."""

    def __init__(self, world: World) -> None:
        """Begin a conversation."""
        from toolsearch.adapters.openai_responses import ResponsesTools

        self._tools = ResponsesTools(world)
        self._messages: list[str] = []

    def say(self, text: str) -> list[ModelCall]:
        """Return the call in which the model searches, and the one after it."""
        self._messages.append(text)
        calls = [self._call()]
        asked = {"type": "tool_search_call", "call_id": f"call_{len(self._messages)}", "execution": "client"}
        item = SimpleNamespace(**asked, arguments={"query": text})
        results = self._tools.results(SimpleNamespace(output=[item]))
        self._messages += [as_json({**asked, "arguments": {"query": text}}), *map(as_json, results)]
        return [*calls, self._call()]

    def answered(self, text: str) -> None:
        """Go on."""
        self._messages.append(text)

    def _call(self) -> ModelCall:
        block = tuple(map(as_json, self._tools.tool_block()))
        return ModelCall(block=block, prompt=Prompt(tools=block, messages=tuple(self._messages)))


BASELINES: dict[str, Callable[[World], Harness]] = {"all tools": all_tools, "fresh top-k each turn": fresh}
ADAPTERS: dict[str, Callable[[World], Harness]] = {
    "Anthropic Messages": messages_plain,
    "Anthropic Messages, deferred": MessagesDeferred,
    "OpenAI Chat Completions": chat_completions,
    "OpenAI Responses": responses_plain,
    "OpenAI Responses, deferred": ResponsesDeferred,
    "OpenAI Agents SDK": agents_sdk,
    "pydantic-ai": pydantic_ai,
    "LangChain": langchain,
    "LlamaIndex": llama_index,
}
