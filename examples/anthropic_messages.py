"""Anthropic Messages with a tool search of our own. The API is a stub with a script, so no key is needed.

pip install 'toolsearch[anthropic]' && python examples/anthropic_messages.py
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import anthropic
from starter import ANN, CALLS, QUESTIONS, open_starter, run
from stub_api import Body, StubApi, twice

from toolsearch.adapters.anthropic import AnthropicTools
from toolsearch.adapters.source import on_behalf_of

MODEL = "claude-sonnet-4-6"


def converse(client: anthropic.Anthropic, tools: AnthropicTools, messages: list[Any]) -> str:
    """Let the model answer, running what it calls on the way."""
    while True:
        message = client.messages.create(
            model=MODEL, max_tokens=1024, messages=messages, tools=tools.tool_block(messages)
        )
        messages.append({"role": "assistant", "content": message.content})
        answers = tools.results(message)
        if answers is None:
            return "".join(block.text for block in message.content if block.type == "text")
        messages.append(answers)


def main() -> StubApi:
    api = StubApi(script(), refuses=refuses)
    client = anthropic.Anthropic(api_key="none", http_client=anthropic.DefaultHttpxClient(transport=api.transport))
    messages: list[Any] = []
    with open_starter() as index:
        tools = AnthropicTools(on_behalf_of(index, ANN), run=run, session="conversation-42")
        for question in QUESTIONS:
            messages.append({"role": "user", "content": question})
            answer = converse(client, tools, messages)
            names = [tool["name"] for tool in tools.tool_block()]
            print(json.dumps({"user": question, "tools": names, "answer": answer}, ensure_ascii=False))
    return api


def script() -> Iterator[Body]:
    """Search once for each new topic, call, answer. The last question needs no search: its tool was found before."""
    for number, (question, (name, arguments)) in enumerate(zip(QUESTIONS, CALLS, strict=True)):
        if number < 2:
            yield reply({"type": "tool_use", "id": f"s{number}", "name": "search_tools", "input": {"query": question}})
        yield reply({"type": "tool_use", "id": f"c{number}", "name": name, "input": arguments})
        yield reply({"type": "text", "text": f"{name} has answered."})


def reply(block: Body) -> Body:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [block],
        "stop_reason": "tool_use" if block["type"] == "tool_use" else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def refuses(body: Body) -> str | None:
    """Refuse what the API refuses: no tool in the prompt, a reference to none, a result without a call."""
    tools = body["tools"]
    if all(tool.get("defer_loading") for tool in tools):
        return "at least one tool must not be deferred"
    names = {tool["name"] for tool in tools}
    blocks = [
        block for message in body["messages"] if isinstance(message["content"], list) for block in message["content"]
    ]
    called = {block["id"] for block in blocks if block["type"] == "tool_use"}
    for result in (block for block in blocks if block["type"] == "tool_result"):
        if result["tool_use_id"] not in called:
            return f"unexpected tool_use_id {result['tool_use_id']!r}"
        inner = result["content"] if isinstance(result["content"], list) else []
        for reference in inner:
            if reference["type"] == "tool_reference" and reference["tool_name"] not in names:
                return f"Tool reference {reference['tool_name']!r} not found in available tools"
    return twice(tool["name"] for tool in tools)


if __name__ == "__main__":
    main()
