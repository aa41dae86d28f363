"""An agent of the OpenAI Agents SDK whose tools come from toolsearch. The model is the SDK's own test model.

pip install 'toolsearch[openai-agents]' && python examples/openai_agents.py
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from agents import Agent, RunConfig, Runner
from agents.testing import ScriptedModel, assistant_message, function_call
from starter import ANN, CALLS, QUESTIONS, open_starter, run

from toolsearch.adapters.openai_agents import AgentTools
from toolsearch.adapters.source import on_behalf_of


async def main() -> ScriptedModel:
    model = ScriptedModel()
    for number, (name, arguments) in enumerate(CALLS):
        model.enqueue([function_call(name, arguments, call_id=f"c{number}")])
        model.enqueue([assistant_message(f"{name} has answered.")])
    history: list[Any] = []
    with open_starter() as index:
        tools = AgentTools(on_behalf_of(index, ANN), run=run, session="conversation-42")
        agent = Agent(name="support", model=model, mcp_servers=[tools])
        for question in QUESTIONS:
            history.append({"role": "user", "content": question})
            result = await Runner.run(agent, history, run_config=RunConfig(tracing_disabled=True))
            history = result.to_input_list()
            names = [tool["name"] for tool in tools.tool_block()]
            print(json.dumps({"user": question, "tools": names, "answer": result.final_output}, ensure_ascii=False))
    return model


if __name__ == "__main__":
    asyncio.run(main())
