"""The gateway: a call of a tool that was found, forwarded to the MCP server it came from, after the gate.

`Gateway` reads like the way of a call: seen, pinned, checked, confirmed, forwarded, told.
"""

from toolsearch.gateway.call import Call, CallError, CallMeta, CallResult, CallStatus, Repair
from toolsearch.gateway.gateway import Gateway
from toolsearch.gateway.limits import GatewayLimits

__all__ = ["Call", "CallError", "CallMeta", "CallResult", "CallStatus", "Gateway", "GatewayLimits", "Repair"]
