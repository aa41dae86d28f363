"""Wire models that only HTTP has, and the examples of the OpenAPI document."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi.openapi.models import Example
from pydantic import BaseModel, ConfigDict, Discriminator, Field, StringConstraints, Tag

from toolsearch import Principal, SearchRequest, ToolContract

GivenRef = Annotated[
    str,
    StringConstraints(min_length=1, max_length=1024),
    Field(description="`server/name@version`, `server/name`, or a bare name that is unique among the visible."),
]


class ExplainRequest(BaseModel):
    """How did this tool score for that request?"""

    model_config = ConfigDict(frozen=True, extra="forbid")

    request: SearchRequest
    ref: GivenRef


class WhyNotRequest(BaseModel):
    """May this principal see that tool, and which rule says so? For administrators."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ref: GivenRef
    principal: Principal


class Health(BaseModel):
    """Whether the sidecar answers requests."""

    model_config = ConfigDict(frozen=True)

    status: Literal["ready", "starting", "stopping", "failed"]
    vectors_ready: bool = Field(description="False while only the lexical lane answers.")
    instance: str = Field(description="Random id of this server process.")


def _one_or_many(value: object) -> str:
    return "many" if isinstance(value, list) else "one"


Contracts = Annotated[
    Annotated[ToolContract, Tag("one")] | Annotated[list[ToolContract], Tag("many")],
    Discriminator(_one_or_many),
]
"""One contract, or a list of them; chosen by the JSON type, so that an error speaks of one of the two."""

SEARCH_EXAMPLES: dict[str, Example] = {
    "plain": Example(summary="A request in words", value={"text": "where is my order ORD-20260917"}),
    "narrowed": Example(
        summary="Read-only tools of one server, in Chinese",
        value={
            "text": "订单 ORD-20260917 到哪了",
            "k": 3,
            "restrict": {"max_side_effect": "read_only"},
            "detail": "signature",
            "format": "openai",
        },
    ),
}

CONTRACT_EXAMPLE: dict[str, Any] = {
    "identity": {"name": "orders.get", "server": "orders", "title": "Get one order"},
    "capability": {
        "does": "Reads one order with its status and delivery.",
        "does_not": ["Changes or cancels an order."],
        "examples": ["where is my order ORD-20260917", "订单到哪了"],
    },
    "input": {
        "schema": {
            "type": "object",
            "properties": {"order_id": {"type": "string", "pattern": "^ORD-[0-9]{8}$"}},
            "required": ["order_id"],
        }
    },
    "execution": {"side_effect": "read_only"},
    "access": {"scopes_all": ["orders.read"]},
}

CONTRACT_EXAMPLES: dict[str, Example] = {
    "one": Example(summary="One contract", value=CONTRACT_EXAMPLE),
    "many": Example(summary="A list of contracts", value=[CONTRACT_EXAMPLE]),
}

EXPLAIN_EXAMPLES: dict[str, Example] = {
    "plain": Example(
        summary="How one tool scored",
        value={"request": {"text": "where is my order"}, "ref": "orders/orders.get"},
    )
}

WHY_NOT_EXAMPLES: dict[str, Example] = {
    "plain": Example(
        summary="Why a guest does not see a tool",
        value={"ref": "orders/orders.get", "principal": {"subject": "guest"}},
    )
}

OUTCOME_EXAMPLES: dict[str, Example] = {
    "plain": Example(
        summary="A call that worked",
        value={"ref": "orders/orders.get@1", "status": "success", "latency_ms": 84},
    )
}
