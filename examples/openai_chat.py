"""OpenAI Chat Completions, searched before each turn. The API is a stub with a script, so no key is needed.

pip install 'toolsearch[openai]' && python examples/openai_chat.py
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import openai
from starter import ANN, CALLS, QUESTIONS, open_starter, run
from stub_api import Body, StubApi, twice

from toolsearch.adapters.openai_chat import ChatTools
from toolsearch.adapters.source import on_behalf_of

MODEL = "gpt-5.4"


def converse(client: openai.OpenAI, tools: ChatTools, messages: list[Any]) -> str | None:
    """Let the model answer, running what it calls on the way."""
    tools.turn(messages)
    while True:
        answer = client.chat.completions.create(model=MODEL, messages=messages, tools=tools.tool_block())
        message = answer.choices[0].message
        messages.append(message)
        results = tools.results(message)
        if not results:
            return message.content
        messages += results


def main() -> StubApi:
    api = StubApi(script(), refuses=refuses)
    client = openai.OpenAI(api_key="none", http_client=openai.DefaultHttpxClient(transport=api.transport))
    messages: list[Any] = []
    with open_starter() as index:
        tools = ChatTools(on_behalf_of(index, ANN), run=run, session="conversation-42")
        for question in QUESTIONS:
            messages.append({"role": "user", "content": question})
            answer = converse(client, tools, messages)
            names = [tool["function"]["name"] for tool in tools.tool_block()]
            print(json.dumps({"user": question, "tools": names, "answer": answer}, ensure_ascii=False))
    return api


def script() -> Iterator[Body]:
    """Call the tool of each question, then answer."""
    for number, (name, arguments) in enumerate(CALLS):
        function = {"name": name, "arguments": json.dumps(arguments)}
        yield reply({"content": None, "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}]})
        yield reply({"content": f"{name} has answered."})


def reply(message: Body) -> Body:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}
    return {"id": "chat_1", "object": "chat.completion", "created": 0, "model": MODEL, "choices": [choice]}


def refuses(body: Body) -> str | None:
    """Refuse what the API refuses: names that stand twice, a result without a call."""
    called = {call["id"] for message in body["messages"] for call in message.get("tool_calls") or ()}
    for message in body["messages"]:
        if message["role"] == "tool" and message["tool_call_id"] not in called:
            return f"no tool_call with id {message['tool_call_id']!r}"
    return twice(tool["function"]["name"] for tool in body["tools"])


if __name__ == "__main__":
    main()
