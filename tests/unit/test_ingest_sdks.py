"""What the official SDKs write is what the readers read."""

from __future__ import annotations

import typing
from typing import Annotated, Any

import pytest

from toolsearch.contracts.read import read_data
from toolsearch.contracts.read.functions import contract_of

genai = pytest.importorskip("google.genai.types", reason="google-genai is not installed: make test-all")
pytest.importorskip("openai", reason="openai is not installed: make test-all")
pytest.importorskip("anthropic", reason="anthropic is not installed: make test-all")
langchain = pytest.importorskip("langchain_core.tools", reason="langchain-core is not installed: make test-all")

pytestmark = pytest.mark.extras

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string", "maxLength": 20},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["order_id"],
}


@pytest.mark.parametrize("by_alias", [True, False])
def test_gemini_tools_dumped_by_the_sdk_are_read(by_alias: bool) -> None:
    schema = genai.Schema(
        type="OBJECT",
        properties={
            "order_id": genai.Schema(type="STRING", max_length=20),
            "tags": genai.Schema(type="ARRAY", items=genai.Schema(type="STRING")),
        },
        required=["order_id"],
    )
    tool = genai.Tool(
        function_declarations=[
            genai.FunctionDeclaration(name="get_order", description="Get one order.", parameters=schema),
            genai.FunctionDeclaration(name="get_line", description="Get a line.", parameters_json_schema=SCHEMA),
        ],
        google_search=genai.GoogleSearch(),
    )
    report = read_data({"tools": [tool.model_dump(mode="json", by_alias=by_alias, exclude_none=True)]})
    assert [contract.input_schema for contract in report.contracts] == [SCHEMA, SCHEMA]
    assert {contract.provenance.source for contract in report.contracts} == {"gemini"}
    assert "google" in str(report.refused[0])


def test_openai_tools_of_every_kind_are_read_or_refused_with_a_reason() -> None:
    from openai.types.responses import FunctionTool, NamespaceTool, Tool

    function = FunctionTool(type="function", name="a", description="Get a.", parameters=SCHEMA, strict=True)
    space = NamespaceTool.model_validate(
        {"type": "namespace", "name": "crm", "description": "x", "tools": [{**function.model_dump(), "name": "b"}]}
    )
    report = read_data([function.model_dump(), space.model_dump(by_alias=True)])
    assert report.refused == ()
    assert [str(contract.ref) for contract in report.contracts] == ["local/a@1", "crm/b@1"]
    assert all(contract.input_schema == SCHEMA for contract in report.contracts)
    members = typing.get_args(typing.get_args(Tool)[0])
    kinds = {kind for member in members for kind in typing.get_args(member.model_fields["type"].annotation)}
    built_in = sorted(kinds - {"function", "namespace"})
    assert len(built_in) >= 12
    refused = read_data([*({"type": kind} for kind in built_in), function.model_dump()]).refused
    assert len(refused) == len(built_in)
    assert all("hand it to the provider" in str(error) for error in refused)


def test_anthropic_tools_of_every_kind_are_read_or_refused_with_a_reason() -> None:
    from anthropic.types import ToolParam, ToolUnionParam

    own: ToolParam = {
        "name": "get_order",
        "input_schema": SCHEMA,
        "strict": True,
        "input_examples": [{"order_id": "x"}],
    }
    members = [member for member in typing.get_args(ToolUnionParam) if member is not ToolParam]
    built_in = [
        {"type": typing.get_args(hints["type"])[0], "name": "x"}
        for member in members
        if "type" in (hints := typing.get_type_hints(member))
    ]
    assert len(built_in) >= 8
    report = read_data([own, *built_in])
    assert [contract.input_schema for contract in report.contracts] == [{**SCHEMA, "examples": [{"order_id": "x"}]}]
    assert len(report.refused) == len(built_in)
    assert all("Anthropic's own tool" in str(error) for error in report.refused)


def test_a_langchain_tool_hides_what_the_framework_injects() -> None:
    @langchain.tool
    def find_orders(text: str, user: Annotated[str, langchain.InjectedToolArg], limit: int = 3) -> str:
        """Find orders."""
        return text + user + str(limit)

    contract = contract_of(find_orders, server="shop")
    assert str(contract.ref) == "shop/find_orders@1"
    assert contract.capability.does == "Find orders."
    assert contract.input_schema["properties"] == {
        "text": {"type": "string"},
        "limit": {"type": "integer", "default": 3},
    }
    assert contract.required_inputs == ("text",)
    assert contract.provenance.source == "langchain"
