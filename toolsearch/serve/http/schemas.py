"""Wire models that only HTTP has, and the examples of the OpenAPI document."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi.exceptions import RequestValidationError
from fastapi.openapi.models import Example
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from toolsearch import Principal, SearchRequest, ToolContract
from toolsearch.model.request import Label

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


class ForgetRequest(BaseModel):
    """Whose requests to forget."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    subject: Label
    tenant: Label | None = None


class Forgotten(BaseModel):
    """How much was forgotten."""

    model_config = ConfigDict(frozen=True)

    forgotten: int = Field(description="Past requests and decision records that were deleted.")


class Health(BaseModel):
    """Whether the sidecar answers requests."""

    model_config = ConfigDict(frozen=True)

    status: Literal["ready", "starting", "stopping", "failed"]
    vectors_ready: bool = Field(description="False while only the lexical lane answers.")
    instance: str = Field(description="Random id of this server process.")


_CONTRACTS = TypeAdapter(list[ToolContract])


def read_contracts(data: object) -> list[ToolContract]:
    """Read the body of `PUT /v1/tools`: one contract, or a list of them.

    Raises:
        RequestValidationError: Naming every wrong field; in a list, after its position.
    """
    one = not isinstance(data, list)
    try:
        return _CONTRACTS.validate_python([data] if one else data)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False)
        raise RequestValidationError([{**entry, "loc": entry["loc"][1 if one else 0 :]} for entry in found]) from None


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

_CONTRACT = {"$ref": "#/components/schemas/ToolContract"}
CONTRACTS_BODY: dict[str, Any] = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {"anyOf": [_CONTRACT, {"type": "array", "items": _CONTRACT}], "title": "Contracts"},
            "examples": {
                "one": {"summary": "One contract", "value": CONTRACT_EXAMPLE},
                "many": {"summary": "A list of contracts", "value": [CONTRACT_EXAMPLE]},
            },
        }
    },
}
"""How the OpenAPI document describes the body that `read_contracts` reads."""

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

LEARN_EXAMPLES: dict[str, Example] = {
    "plain": Example(
        summary="One request that a tool served",
        value=[{"text": "where is my parcel", "ref": "orders/orders.get", "subject": "ann"}],
    )
}

FORGET_EXAMPLES: dict[str, Example] = {
    "plain": Example(summary="Forget what one person asked", value={"subject": "ann", "tenant": "acme"})
}
