"""A server over stdio whose list of tools changes: `grow` and `shrink` do it and say so, in both protocol eras."""

import os
import sys
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context


def growing(*names: str) -> MCPServer:
    """Return a server with tools of these names, which grows when asked."""
    server = MCPServer("growing", version="1")

    def add(name: str) -> None:
        server.add_tool(lambda: name, name=name, description=f"Count the {name} in the garden.")

    for name in names:
        add(name)

    async def announce(context: Context[Any, Any]) -> None:
        await context.notify_tools_changed()
        await context.session.send_tool_list_changed()

    @server.tool(description="Add a tool.")
    async def grow(name: str, context: Context[Any, Any]) -> str:
        add(name)
        await announce(context)
        return name

    @server.tool(description="Take a tool away.")
    async def shrink(name: str, context: Context[Any, Any]) -> str:
        server.remove_tool(name)
        await announce(context)
        return name

    @server.tool(description="End the process, as a crash does.")
    def crash() -> str:
        os._exit(3)

    return server


if __name__ == "__main__":
    growing(*sys.argv[1:]).run("stdio")
