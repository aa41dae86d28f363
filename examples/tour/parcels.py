"""A parcel desk as an MCP server over stdio. The tour releases a change of it while a conversation is open."""

from typing import Annotated, Literal

from mcp.server import MCPServer
from mcp.types import ToolAnnotations
from pydantic import Field

server = MCPServer("parcels", version="1")
Number = Annotated[str, Field(pattern="[A-Z]{2}[0-9]{6}", description="Parcel number on the label, e.g. PX104211.")]
Carrier = Annotated[Literal["dhl", "gls", "ups"], Field(description="Company that carries the parcel.")]


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def track_parcel(number: Number, carrier: Carrier = "dhl") -> str:
    """Tells where a parcel is and when it arrives.

    Use it when the user asks about a delivery. Do not use it to change the address of a parcel.
    """
    return f"{number} ({carrier}): out for delivery"


if __name__ == "__main__":
    server.run("stdio")
