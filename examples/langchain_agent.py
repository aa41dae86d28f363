"""A LangChain agent whose tools come from toolsearch. The model follows a script, so no key is needed.

pip install 'toolsearch[langchain]' && python examples/langchain_agent.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import Field

from toolsearch import Principal
from toolsearch.adapters.langchain import ToolSearchMiddleware
from toolsearch.adapters.source import on_behalf_of
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


class ScriptedModel(BaseChatModel):
    """Calls the tool of the turn; once its result is there, answers with it."""

    calls: list[tuple[str, dict[str, Any]]]
    sent: list[list[dict[str, Any]]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **options: Any) -> Runnable[Any, AIMessage]:
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools])

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **options: Any) -> Any:
        self.sent.append(options["tools"])
        last = messages[-1]
        if isinstance(last, ToolMessage):
            reply = AIMessage(f"The tool says: {last.text}")
        else:
            name, arguments = self.calls.pop(0)
            reply = AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call_{name}"}])
        return ChatResult(generations=[ChatGeneration(message=reply)])


def run(ref: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Run a tool. A real harness calls its own functions here, an MCP server, or toolsearch's gateway."""
    return {"ran": ref, **arguments}


def main() -> None:
    model = ScriptedModel(calls=[(name, arguments) for _, name, arguments in SCRIPT])
    with open_catalogue(STARTER) as index:
        tools = ToolSearchMiddleware(on_behalf_of(index, ANN), run=run)
        agent = create_agent(model, middleware=[tools], checkpointer=InMemorySaver())
        thread: Any = {"configurable": {"thread_id": "conversation-42"}}
        for text, _, _ in SCRIPT:
            state = agent.invoke({"messages": [{"role": "user", "content": text}]}, thread)
            names = [tool["function"]["name"] for tool in model.sent[-1]]
            print(json.dumps({"user": text, "tools": names, "answer": state["messages"][-1].text}, ensure_ascii=False))


if __name__ == "__main__":
    main()
