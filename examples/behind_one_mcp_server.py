"""Four real MCP servers behind `toolsearch mcp`, and the official client in front of it.

`make servers`, then `python examples/behind_one_mcp_server.py`. What it prints is docs/gateway-tour.md.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import yaml
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from scratch import HERE, WIDTH, block, scratch_folder, shell

INTRODUCTION = """\
# Behind one MCP server

The reference servers `filesystem` and `everything` (npm), `git` and `time` (PyPI) behind one `toolsearch mcp`, called
by the official MCP client over standard input and output. `python examples/behind_one_mcp_server.py` does it and prints
this page, and a test compares the two. Answers are the structured content, written as YAML; times, signatures and ids
are `…`.
"""
PREPARE = """\
The servers may touch one folder, a git repository with the file `today.txt`.
[servers.json](../examples/tour/servers.json) is what would stand in the configuration of a client."""
LIST = """\
The client starts `toolsearch mcp --index behind --mcp-config servers.json`. It sees four tools, however many stand
behind."""
READ = """\
## A read

A search gives small cards; `call_with` says which of the two doors a tool is behind."""
PREPARED = """\
## A prepared call

`describe_tool` has the whole definition, and what the user's words say for its inputs. Here nothing is left to
write."""
MENDED = """\
## A mended argument

Form is mended, and `repairs` says so; a value is never guessed."""
WRITE = """\
## A write

A write does not pass through the door of reads. Through its own it needs a confirmation of exactly these arguments, so
that the first call only asks. Then it is made, and another server sees the new file."""
NONE = """\
## Nothing fits

That is an answer too."""
CLOSING = "More: [mcp.md](mcp.md), [gateway.md](gateway.md), [prepare.md](prepare.md)."

VARYING = {"trace_id", "fingerprint", "latency_ms", "upstream_ms", "confirmation", "idempotency_key"}


class Page(yaml.SafeDumper):
    """Writes texts of several lines as they look."""


Page.add_representer(
    str,
    lambda page, text: page.represent_scalar("tag:yaml.org,2002:str", text.expandtabs(), style="|" * ("\n" in text)),
)


def shown(value: Any) -> Any:
    """Return an answer with … for what differs each time."""
    if isinstance(value, list):
        return [shown(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: "…" if key in VARYING else shown(item) for key, item in value.items()}


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool of the MCP server, and print the call and the answer."""
    result = await client.call_tool(tool, arguments)
    answer = dict(result.structured_content or {})
    print(f"> {tool} {json.dumps(shown(arguments), ensure_ascii=False)}")
    print(yaml.dump(shown(answer), Dumper=Page, sort_keys=False, allow_unicode=True, width=WIDTH))
    return answer


async def converse(client: Client) -> None:
    """Do what a model would do, answer by answer."""
    session = {"session": "chat-1"}
    with block(LIST, kind="text"):
        for tool in (await client.list_tools()).tools:
            print(f"{tool.name}: {tool.title}")
    with block(READ, kind="text"):
        found = await call(client, "search_tools", query="Read the text file today.txt", limit=2, **session)
        await call(client, "call_tool", name=found["tools"][0]["ref"], arguments={"path": "today.txt"}, **session)
    with block(PREPARED, kind="text"):
        said = "Get structured content about the weather in Chicago"
        found = await call(client, "search_tools", query=said, limit=1, **session)
        ready = (await call(client, "describe_tool", name=found["tools"][0]["ref"], text=said, **session))["tool"]
        await call(client, "call_tool", name=ready["ref"], arguments=ready["arguments"], **session)
    with block(MENDED, kind="text"):
        mended = {"repo_path": "notes", "max_count": "1"}
        await call(client, "call_tool", name="git/git_log", arguments=mended, **session)
    with block(WRITE, kind="text"):
        found = await call(client, "search_tools", query="Write a new file tomorrow.txt", limit=1, **session)
        arguments = {"path": "tomorrow.txt", "content": "Fetch the parcel.\n"}
        write = {"name": found["tools"][0]["ref"], "arguments": arguments, **session}
        await call(client, "call_tool", **write)
        asked = await call(client, "call_write_tool", **write)
        await call(client, "call_write_tool", **write, confirmation=asked["error"]["confirmation"])
        await call(client, "call_tool", name="git/git_status", arguments={"repo_path": "notes"}, **session)
    with block(NONE, kind="text"):
        await call(client, "search_tools", query="Order a pizza", **session)


def make_repository(folder: Path, environment: dict[str, str]) -> None:
    """Make a git repository with one file and one commit that is the same each time."""
    folder.mkdir()
    (folder / "today.txt").write_text("Call the parcel desk.\n", encoding="utf-8")
    whose = {f"GIT_{role}_{part}": "ann" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    moment = {f"GIT_{role}_DATE": "2026-01-01T09:00:00Z" for role in ("AUTHOR", "COMMITTER")}
    alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for words in ("init --quiet --initial-branch=main", "add today.txt", "commit --quiet --message=Begin"):
        subprocess.run(["git", *words.split()], cwd=folder, env=environment | whose | moment | alone, check=True)


async def main() -> None:
    print(INTRODUCTION)
    with scratch_folder() as (folder, environment):
        shutil.copy(HERE / "tour" / "servers.json", folder)
        make_repository(folder / "notes", environment)
        with block(PREPARE):
            shell("toolsearch index behind --public", folder, environment)
            shell("toolsearch import servers.json --index behind", folder, environment)
        server = StdioServerParameters(
            command="toolsearch",
            args=["mcp", "--index", "behind", "--mcp-config", "servers.json", "--log-level", "error"],
            env=environment,
            cwd=str(folder),
        )
        async with Client(server) as client:
            await converse(client)
    print(CLOSING)


if __name__ == "__main__":
    asyncio.run(main())
