"""A LangChain agent whose tools come from toolsearch. The model follows a script, so no key is needed.

pip install 'toolsearch[langchain]' && python examples/langchain_agent.py
"""

from __future__ import annotations

import json
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import Field
from starter import ANN, CALLS, QUESTIONS, open_starter, run

from toolsearch.adapters.langchain import ToolSearchMiddleware
from toolsearch.adapters.source import on_behalf_of


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


def main() -> None:
    model = ScriptedModel(calls=list(CALLS))
    with open_starter() as index:
        tools = ToolSearchMiddleware(on_behalf_of(index, ANN), run=run)
        agent = create_agent(model, middleware=[tools], checkpointer=InMemorySaver())
        thread: Any = {"configurable": {"thread_id": "conversation-42"}}
        for text in QUESTIONS:
            state = agent.invoke({"messages": [{"role": "user", "content": text}]}, thread)
            names = [tool["function"]["name"] for tool in model.sent[-1]]
            print(json.dumps({"user": text, "tools": names, "answer": state["messages"][-1].text}, ensure_ascii=False))


if __name__ == "__main__":
    main()
