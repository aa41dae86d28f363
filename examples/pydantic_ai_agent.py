"""A pydantic-ai agent whose tools come from toolsearch. The model is pydantic-ai's own test model, with a script.

pip install 'toolsearch[pydantic-ai]' && python examples/pydantic_ai_agent.py
"""

from __future__ import annotations

import asyncio
import json

from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolDefinition
from pydantic_ai.models.function import AgentInfo, FunctionModel
from starter import ANN, CALLS, QUESTIONS, open_starter, run

from toolsearch.adapters.pydantic_ai import ConversationToolset
from toolsearch.adapters.source import on_behalf_of


async def main() -> list[list[ToolDefinition]]:
    sent: list[list[ToolDefinition]] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        """Call the tool of each question, then answer."""
        number, answered = divmod(len(sent), 2)
        sent.append(info.function_tools)
        name, arguments = CALLS[number]
        part = TextPart(f"{name} has answered.") if answered else ToolCallPart(name, arguments)
        return ModelResponse(parts=[part])

    history: list[ModelMessage] = []
    with open_starter() as index:
        tools = ConversationToolset(on_behalf_of(index, ANN), run=run, session="conversation-42")
        agent = Agent(FunctionModel(model), toolsets=[tools])
        for question in QUESTIONS:
            result = await agent.run(question, message_history=history)
            history = result.all_messages()
            names = [tool["name"] for tool in tools.tool_block()]
            print(json.dumps({"user": question, "tools": names, "answer": result.output}, ensure_ascii=False))
    return sent


if __name__ == "__main__":
    asyncio.run(main())
