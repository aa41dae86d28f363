"""The gateway: a call of a tool that was found, forwarded to the MCP server it came from, after the gate.

`Gateway` reads like the way of a call: seen, pinned, checked, confirmed, forwarded, told.
"""

from toolsearch.calls.gateway.call import CallError, CallMeta, CallResult, CallStatus, Repair, ToolCall
from toolsearch.calls.gateway.gateway import Gateway
from toolsearch.calls.gateway.limits import GatewayLimits

__all__ = ["CallError", "CallMeta", "CallResult", "CallStatus", "Gateway", "GatewayLimits", "Repair", "ToolCall"]
