from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.contracts.read import read_data
from toolsearch.contracts.read.gemini import from_gemini
from toolsearch.model.contract import SideEffect, ToolContract
from toolsearch.model.errors import ContractError, UnsupportedFormat

DECLARATION = {
    "name": "get_order",
    "description": "Get one order.",
    "parameters": {
        "type": "OBJECT",
        "properties": {
            "order_id": {"type": "STRING", "example": "ORD-1", "minLength": "3"},
            "lines": {"type": "ARRAY", "items": {"type": "OBJECT", "properties": {"sku": {"type": "STRING"}}}},
            "kind": {"type": "STRING", "format": "enum", "enum": ["a", "b"], "nullable": True},
            "limit": {"anyOf": [{"type": "INTEGER"}, {"type": "TYPE_UNSPECIFIED"}], "nullable": True, "default": 3},
        },
        "required": ["order_id"],
        "propertyOrdering": ["limit", "order_id"],
    },
    "response": {"type": "OBJECT", "properties": {"total": {"type": "NUMBER"}}},
}
PLAIN = {
    "type": "object",
    "properties": {
        "limit": {"anyOf": [{"type": "integer"}, {}, {"type": "null"}], "default": 3},
        "order_id": {"type": "string", "minLength": 3, "examples": ["ORD-1"]},
        "lines": {"type": "array", "items": {"type": "object", "properties": {"sku": {"type": "string"}}}},
        "kind": {"type": ["string", "null"], "format": "enum", "enum": ["a", "b", None]},
    },
    "required": ["order_id"],
}


@pytest.mark.parametrize(
    "wrap",
    [
        lambda tool: tool,
        lambda tool: {"functionDeclarations": [tool]},
        lambda tool: {"tools": [{"function_declarations": [tool]}]},
        lambda tool: [{"functionDeclarations": [tool]}],
    ],
)
def test_a_gemini_declaration_is_json_schema_afterwards(wrap: Any) -> None:
    report = read_data(json.dumps(wrap(DECLARATION)))
    assert report.refused == ()
    (contract,) = report.contracts
    assert contract.provenance.source == "gemini"
    assert contract.input_schema == PLAIN
    assert list(contract.input_schema["properties"]) == list(PLAIN["properties"])
    assert contract.output.schema_ == {"type": "object", "properties": {"total": {"type": "number"}}}
    assert contract.execution.side_effect is SideEffect.READ_ONLY


@pytest.mark.parametrize("key", ["parametersJsonSchema", "parameters_json_schema"])
def test_gemini_json_schemas_are_taken_as_they_are(key: str) -> None:
    (contract,) = read_data({"name": "f", key: PLAIN, "responseJsonSchema": {"type": "string"}}).contracts
    assert contract.input_schema == PLAIN
    assert contract.output.schema_ == {"type": "string"}


def test_snake_case_is_read_like_camel_case() -> None:
    spelled = {
        "type": "OBJECT",
        "properties": {
            "b": {"type": "STRING", "max_length": "9"},
            "a": {"any_of": [{"type": "STRING"}], "title": None},
        },
        "property_ordering": ["a", "b", "gone"],
        "additional_properties": {"type": "STRING"},
    }
    assert list(from_gemini(spelled)["properties"].items()) == [
        ("a", {"anyOf": [{"type": "string"}]}),
        ("b", {"type": "string", "maxLength": 9}),
    ]
    assert from_gemini(spelled)["additionalProperties"] == {"type": "string"}


def test_a_declaration_without_parameters_is_gemini_by_what_is_around_it() -> None:
    report = read_data(
        {"functionDeclarations": [{"name": "ping"}, {"name": "pong", "parameters": 3}], "googleSearch": {}}
    )
    (contract,) = report.contracts
    assert (contract.identity.name, contract.provenance.source) == ("ping", "gemini")
    wrong, built_in = report.refused
    assert "parameters is a int" in str(wrong)
    assert "Gemini's own tool 'googleSearch'" in str(built_in)


def test_two_dialects_at_once_are_refused() -> None:
    (error,) = read_data([{**DECLARATION, "parametersJsonSchema": PLAIN}]).refused
    assert error.path == "/0/parametersJsonSchema"
    assert "has both parameters and parametersJsonSchema" in str(error)


@pytest.mark.parametrize(
    ("tool", "part"),
    [
        ({"type": "web_search"}, "OpenAI's own tool 'web_search'"),
        ({"type": "web_search_preview_2025_03_11"}, "OpenAI's own tool"),
        ({"type": "mcp", "server_label": "x", "server_url": "https://example.com"}, "OpenAI's own tool 'mcp'"),
        ({"type": "tool_search"}, "OpenAI's own tool 'tool_search'"),
        ({"type": "custom", "name": "sql", "description": "Runs SQL.", "format": {"type": "text"}}, "free text"),
        ({"type": "custom", "custom": {"name": "sql"}}, "free text"),
        ({"type": "bash_20250124", "name": "bash"}, "Anthropic's own tool 'bash_20250124'"),
        ({"type": "tool_search_tool_bm25_20251119", "name": "t"}, "Anthropic's own tool"),
        ({"type": "mcp_toolset", "mcp_server_name": "x"}, "Anthropic's own tool 'mcp_toolset'"),
        ({"codeExecution": {}}, "Gemini's own tool 'codeExecution'"),
        ({"url_context": {}, "google_search": {}}, "Gemini's own tool 'url_context, google_search'"),
    ],
)
def test_what_only_the_provider_can_run_is_refused_with_the_reason(tool: dict[str, Any], part: str) -> None:
    fine = {"type": "custom", "name": "mine", "input_schema": {"type": "object"}}
    report = read_data({"tools": [tool, fine]})
    assert [contract.identity.name for contract in report.contracts] == ["mine"]
    (error,) = report.refused
    assert isinstance(error, UnsupportedFormat)
    assert part in str(error)
    assert "hand it to the provider" in str(error)


def test_how_a_tool_is_sent_is_noted_and_not_kept() -> None:
    chat = {"type": "function", "function": {"name": "a", "strict": True, "parameters": {}}, "defer_loading": True}
    flat = {"type": "function", "name": "b", "strict": False, "parameters": None, "output_schema": {"type": "string"}}
    claude = {
        "name": "c", "input_schema": {}, "strict": True, "cache_control": {"type": "ephemeral"},
        "input_examples": [{"x": 1}],
    }  # fmt: skip
    first, second, third = read_data([chat, flat, claude]).contracts
    assert [note.partition(":")[0] for note in first.provenance.notes] == ["strict", "defer_loading"]
    assert second.provenance.notes == ()
    assert second.output.schema_ == {"type": "string"}
    assert [note.partition(":")[0] for note in third.provenance.notes] == ["strict", "cache_control"]
    assert third.input_schema["examples"] == [{"x": 1}]


def test_a_namespace_is_the_server_of_its_functions() -> None:
    inside = [{"type": "function", "name": "a", "defer_loading": True}, {"type": "custom", "name": "b"}]
    report = read_data({"tools": [{"type": "namespace", "name": "crm", "description": "Customers.", "tools": inside}]})
    assert [str(contract.ref) for contract in report.contracts] == ["crm/a@1"]
    assert "/tools/0/tools/1" in str(report.refused[0])


def test_only_tools_of_providers_give_an_empty_report() -> None:
    report = read_data([{"type": "web_search"}, {"type": "code_interpreter", "container": "x"}])
    assert report.contracts == ()
    assert len(report.refused) == 2
    with pytest.raises(ContractError):
        read_data([{"type": "nothing"}])


KEYS = (
    "name description parameters parametersJsonSchema response type function strict properties items anyOf nullable "
    "enum propertyOrdering minLength required $ref example functionDeclarations googleSearch tools input_schema "
    "args_schema"
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.sampled_from(["", "a", "OBJECT", "custom", "function", "bash_20250124"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS.split()), inner, max_size=5),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(KEYS.split()), JSON, max_size=6), st.booleans())
def test_any_definition_gives_a_contract_or_a_clear_error(tool: dict[str, Any], wrapped: bool) -> None:
    try:
        report = read_data({"functionDeclarations": [tool]} if wrapped else [tool])
    except ContractError:
        return
    assert all(isinstance(error, ContractError) and str(error) for error in report.refused)
    assert all(ToolContract.from_stored(contract.stored_json) == contract for contract in report.contracts)
