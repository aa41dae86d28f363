"""OpenAI Responses with a tool search of our own. The API is a stub with a script, so no key is needed.

pip install 'toolsearch[openai]' && python examples/openai_responses.py
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import openai
from starter import ANN, CALLS, QUESTIONS, open_starter, run
from stub_api import Body, StubApi

from toolsearch.adapters.openai_responses import ResponsesTools
from toolsearch.adapters.source import on_behalf_of

MODEL = "gpt-5.4"


def converse(client: openai.OpenAI, tools: ResponsesTools, items: list[Any]) -> str:
    """Let the model answer, running what it calls on the way."""
    while True:
        response = client.responses.create(model=MODEL, input=items, tools=tools.tool_block())
        items += response.output
        answers = tools.results(response)
        if not answers:
            return response.output_text
        items += answers


def main() -> StubApi:
    api = StubApi(script(), refuses=refuses)
    client = openai.OpenAI(api_key="none", http_client=openai.DefaultHttpxClient(transport=api.transport))
    items: list[Any] = []
    with open_starter() as index:
        tools = ResponsesTools(on_behalf_of(index, ANN), run=run, session="conversation-42", namespaces=True)
        for question in QUESTIONS:
            items.append({"role": "user", "content": question})
            answer = converse(client, tools, items)
            names = [tool.api_name for tool in tools.toolset.tools]
            print(json.dumps({"user": question, "tools": names, "answer": answer}, ensure_ascii=False))
    return api


def script() -> Iterator[Body]:
    """Search once for each new topic, call, answer. The last question needs no search: its tool was found before."""
    for number, (question, (name, arguments)) in enumerate(zip(QUESTIONS, CALLS, strict=True)):
        if number < 2:
            search = {"id": f"ts{number}", "call_id": f"s{number}", "arguments": {"query": question}}
            yield reply({"type": "tool_search_call", "execution": "client", "status": "completed", **search})
        call = {"id": f"fc{number}", "call_id": f"c{number}", "name": name, "arguments": json.dumps(arguments)}
        yield reply({"type": "function_call", "namespace": name.partition("_")[0], "status": "completed", **call})
        text = {"type": "output_text", "text": f"{name} has answered.", "annotations": []}
        message = {"id": f"m{number}", "role": "assistant", "status": "completed", "content": [text]}
        yield reply({"type": "message", **message})


def reply(item: Body) -> Body:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 0,
        "model": MODEL,
        "output": [item],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "status": "completed",
    }


def refuses(body: Body) -> str | None:
    """Refuse what the API refuses: an answer to no call, and (as the model could not) a call of what is not loaded."""
    called: set[str] = set()
    loaded = {tool["name"] for tool in body["tools"] if tool["type"] == "function"}
    for item in body["input"]:
        kind = item.get("type")
        if kind in {"function_call", "tool_search_call"}:
            called.add(item["call_id"])
        if kind in {"function_call_output", "tool_search_output"} and item["call_id"] not in called:
            return f"no call with call_id {item['call_id']!r}"
        if kind == "tool_search_output":
            for tool in item["tools"]:
                loaded |= {inner["name"] for inner in tool.get("tools", [tool])}
        if kind == "function_call" and item["name"] not in loaded:
            return f"function {item['name']!r} was not loaded"
    return None


if __name__ == "__main__":
    main()
