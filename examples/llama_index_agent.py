"""A LlamaIndex agent whose tools come from toolsearch. The model follows a script, so no key is needed.

pip install 'toolsearch[llama-index]' && python examples/llama_index_agent.py
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.workflow import Context
from starter import ANN, CALLS, QUESTIONS, open_starter, run

from toolsearch.adapters.llama_index import FORMAT, LlamaIndexRetriever
from toolsearch.adapters.source import on_behalf_of
from toolsearch.adapters.toolset import ToolSet


class Script:
    """Calls the tool of the turn; once its result is there, answers with it. Keeps what it was sent."""

    def __init__(self) -> None:
        self.calls = list(CALLS)
        self.sent: list[list[dict[str, Any]]] = []

    def __call__(self, messages: Sequence[ChatMessage], **options: Any) -> ChatMessage:
        """Return the next message."""
        self.sent.append([tool.metadata.to_openai_tool(skip_length_check=True) for tool in options["tools"]])
        last = messages[-1]
        if last.role == MessageRole.TOOL:
            return ChatMessage(role="assistant", content=f"The tool says: {last.content}")
        name, arguments = self.calls.pop(0)
        call = ToolCallBlock(tool_call_id=f"call_{name}", tool_name=name, tool_kwargs=arguments)
        return ChatMessage(role="assistant", blocks=[call])


async def main() -> None:
    script = Script()
    with open_starter() as index:
        tools = ToolSet(on_behalf_of(index, ANN), format=FORMAT, run=run)
        agent = FunctionAgent(
            llm=MockFunctionCallingLLM(response_generator=script, is_chat_model=True),
            tool_retriever=LlamaIndexRetriever(tools),
            streaming=False,
        )
        memory = Context(agent)
        for text in QUESTIONS:
            answer = await agent.run(text, ctx=memory)
            names = [tool["function"]["name"] for tool in script.sent[-1]]
            print(json.dumps({"user": text, "tools": names, "answer": str(answer)}, ensure_ascii=False))


if __name__ == "__main__":
    asyncio.run(main())
