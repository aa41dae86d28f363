"""A LlamaIndex agent whose tools come from toolsearch. The model follows a script, so no key is needed.

pip install 'toolsearch[llama-index]' && python examples/llama_index_agent.py
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.workflow import Context

from toolsearch import Principal
from toolsearch.adapters.llama_index import FORMAT, ToolRetriever
from toolsearch.adapters.source import on_behalf_of
from toolsearch.adapters.toolset import ToolSet
from toolsearch.eval.catalogue import open_catalogue

STARTER = Path(__file__).resolve().parent.parent / "indexes" / "starter"
ANN = Principal(
    subject="ann", tenant="acme", environment="production", roles=("support",), scopes=("orders.read", "crm.read")
)
SCRIPT = (
    ("Where is the parcel of order ORD-20260917?", "orders_track_shipment", {"order_id": "ORD-20260917"}),
    ("杭州现在天气怎么样？", "weather_current", {"location": "杭州"}),
    ("And what was the payment status of that order?", "orders_get", {"order_id": "ORD-20260917"}),
)


class Script:
    """Calls the tool of the turn; once its result is there, answers with it. Keeps what it was sent."""

    def __init__(self) -> None:
        self.calls = [(name, arguments) for _, name, arguments in SCRIPT]
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


def run(ref: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Run a tool. A real harness calls its own functions here, an MCP server, or toolsearch's gateway."""
    return {"ran": ref, **arguments}


async def main() -> None:
    script = Script()
    with open_catalogue(STARTER) as index:
        tools = ToolSet(on_behalf_of(index, ANN), format=FORMAT, run=run)
        agent = FunctionAgent(
            llm=MockFunctionCallingLLM(response_generator=script, is_chat_model=True),
            tool_retriever=ToolRetriever(tools),
            streaming=False,
        )
        memory = Context(agent)
        for text, _, _ in SCRIPT:
            answer = await agent.run(text, ctx=memory)
            names = [tool["function"]["name"] for tool in script.sent[-1]]
            print(json.dumps({"user": text, "tools": names, "answer": str(answer)}, ensure_ascii=False))


if __name__ == "__main__":
    asyncio.run(main())
