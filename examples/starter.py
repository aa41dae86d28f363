"""What the examples share: the starter catalogue, a principal, and tools that only say that they ran."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from toolsearch import Principal, ToolIndex
from toolsearch.eval.catalogue import open_catalogue

ANN = Principal(
    subject="ann", tenant="acme", environment="production", roles=("support",), scopes=("orders.read", "crm.read")
)
QUESTIONS = (
    "Where is the parcel of order ORD-20260917?",
    "杭州现在天气怎么样？",
    "And what was the payment status of that order?",
)
CALLS = (
    ("orders_track_shipment", {"order_id": "ORD-20260917"}),
    ("weather_current", {"location": "杭州"}),
    ("orders_get", {"order_id": "ORD-20260917"}),
)
"""What the scripted model calls for each question."""


def open_starter() -> ToolIndex:
    """Return the starter catalogue in memory. A real harness opens its own index, or a `Client` of a server."""
    return open_catalogue(Path(__file__).resolve().parent.parent / "indexes" / "starter")


def run(ref: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Run a tool. A real harness calls its own functions here, an MCP server, or toolsearch's gateway."""
    return {"ran": ref, **arguments}
