from __future__ import annotations

import json

import pytest

from toolsearch.contracts.enrich.refs import MAX_REF_NODES, inline_refs
from toolsearch.contracts.read import read_data
from toolsearch.model.contract import MAX_TEXT, Origin, SideEffect, ToolRef
from toolsearch.model.errors import UnresolvedReference, UnsupportedFormat

SCHEMA = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
MCP = {
    "name": "get_order",
    "title": "Get order",
    "description": "Get one order.",
    "inputSchema": SCHEMA,
    "outputSchema": {"type": "object", "properties": {"status": {"type": "string"}}},
    "annotations": {"readOnlyHint": True, "idempotentHint": True},
    "_meta": {"fastmcp": {"tags": ["orders"]}},
}
CHAT = {
    "type": "function",
    "function": {"name": "get_order", "description": "Get one order.", "parameters": SCHEMA, "strict": True},
}
RESPONSES = {
    "type": "function",
    "name": "get_order",
    "description": "Get one order.",
    "parameters": SCHEMA,
    "strict": None,
}
ANTHROPIC = {"name": "get_order", "description": "Get one order.", "input_schema": SCHEMA, "defer_loading": True}
LINE = {
    "id": "shop.get_order",
    "name": "get order",
    "description": "Get one order.",
    "input_schema": SCHEMA,
    "server": "Shop/Orders",
    "output": "status (string): where it is",
    "annotations": None,
}


@pytest.mark.parametrize(
    ("data", "source"),
    [(MCP, "mcp"), (CHAT, "openai"), (RESPONSES, "openai"), (ANTHROPIC, "anthropic"), (LINE, "dataset")],
)
@pytest.mark.parametrize(
    "wrap",
    [
        lambda tool: tool,
        lambda tool: [tool],
        lambda tool: {"tools": [tool]},
        lambda tool: {"jsonrpc": "2.0", "id": 1, "result": {"tools": [tool], "nextCursor": "x"}},
    ],
)
def test_each_format_is_recognised_in_each_envelope(data, source, wrap):
    report = read_data(json.dumps(wrap(data)))
    assert report.refused == ()
    (contract,) = report.contracts
    assert contract.provenance.source == source
    assert contract.provenance.trusted is False
    assert contract.capability.does == "Get one order."
    assert contract.required_inputs == ("order_id",)
    assert contract.execution.side_effect is SideEffect.READ_ONLY
    assert contract.provenance.fields["execution.side_effect"] is Origin.INFERRED


def test_mcp_keeps_title_output_tags_and_idempotency():
    (contract,) = read_data(MCP, server="shop").contracts
    assert contract.ref == ToolRef("shop", "get_order", 1)
    assert contract.identity.title == "Get order"
    assert contract.capability.tags == ("orders",)
    assert contract.output.schema_ == MCP["outputSchema"]
    assert contract.execution.idempotency == "idempotent"


def test_an_openai_namespace_is_the_server():
    data = [{"type": "namespace", "name": "crm", "description": "x", "tools": [CHAT, RESPONSES]}]
    report = read_data(data)
    assert [str(contract.ref) for contract in report.contracts] == ["crm/get_order@1"]


def test_a_dataset_line_keeps_its_id_and_its_name_as_title():
    report = read_data(json.dumps(LINE))
    (contract,) = report.contracts
    assert str(contract.ref) == "Shop_Orders/get_order@1"
    assert contract.identity.title == "get order"
    assert contract.output.schema_ == {"description": "status (string): where it is"}
    assert report.ids == {contract.ref: "shop.get_order"}


def test_dataset_names_that_collide_are_numbered_by_id_whatever_the_order():
    lines = [
        {**LINE, "id": "c", "name": "get@order", "description": "Third."},
        {**LINE, "id": "a", "description": "First."},
        {**LINE, "id": "b", "name": "get/order", "description": "Second."},
        {**LINE, "id": "d", "name": "get_order_2", "description": "Taken."},
    ]
    forward, backward = read_data(lines), read_data(lines[::-1])
    assert forward.refused == ()
    assert forward.ids == backward.ids
    assert {ref.name: id_ for ref, id_ in forward.ids.items()} == {
        "get_order": "a",
        "get_order_3": "b",
        "get_order_4": "c",
        "get_order_2": "d",
    }


def test_one_bad_tool_does_not_lose_the_others():
    tools = [
        MCP,
        {"name": 3, "description": "x"},
        {"name": "b", "inputSchema": []},
        "x",
        {"what": 1},
        {"name": " ", "description": ""},
    ]
    report = read_data(json.dumps({"tools": tools}), source="tools.json")
    assert len(report.contracts) == 1
    assert [error.path for error in report.refused] == [
        "/tools/1 (line 1)/name",
        "/tools/2 (line 1)/inputSchema",
        "/tools/3 (line 1)",
        "/tools/4 (line 1)",
        "/tools/5 (line 1)/name",
    ]
    assert all(error.source == "tools.json" for error in report.refused)
    assert isinstance(report.refused[3], UnsupportedFormat)


def test_long_texts_are_cut_with_a_note():
    (contract,) = read_data({**MCP, "description": "word " * MAX_TEXT, "title": "t" * (MAX_TEXT + 1)}).contracts
    assert len(contract.capability.does) <= MAX_TEXT
    assert len(contract.identity.title) == MAX_TEXT
    assert any("description: cut from 100000" in note for note in contract.provenance.notes)


def test_declared_parts_are_not_marked_inferred():
    (contract,) = read_data(MCP).contracts
    assert not {"identity.name", "input.schema", "input.required", "capability.does"} & set(contract.provenance.fields)


def test_a_ref_is_replaced_and_its_siblings_win():
    schema = {
        "properties": {"a": {"$ref": "#/$defs/x~1y", "description": "mine"}, "$ref": {"type": "string"}},
        "default": {"$ref": "data"},
        "$defs": {"x/y": {"type": "integer", "description": "theirs"}},
    }
    assert inline_refs(schema, source="s") == {
        "properties": {"a": {"type": "integer", "description": "mine"}, "$ref": {"type": "string"}},
        "default": {"$ref": "data"},
    }


def test_a_schema_without_refs_is_the_same_object():
    assert inline_refs(SCHEMA, source="s") is SCHEMA


def test_a_recursive_schema_is_expanded_once():
    schema = {
        "$ref": "#/$defs/node",
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
    }
    result = inline_refs(schema, source="s")
    assert result["properties"]["next"].keys() == {"$comment"}
    assert inline_refs({"items": {"$ref": "#"}}, source="s")["items"].keys() == {"$comment"}


@pytest.mark.parametrize(
    ("reference", "part"),
    [
        ("https://example.com/s.json", "out of its document"),
        ("#/$defs/none", "leads nowhere"),
        ("other.json#/a", "out of"),
        ("#anchor", "out of"),
    ],
)
def test_a_ref_out_of_the_document_or_to_nothing_is_refused(reference, part):
    report = read_data([{**MCP, "inputSchema": {"properties": {"a": {"$ref": reference}}}}, {**MCP, "name": "ok"}])
    (error,) = report.refused
    assert isinstance(error, UnresolvedReference)
    assert part in str(error)
    assert error.path.endswith("#/properties/a")
    assert len(report.contracts) == 1


def test_refs_that_double_at_each_level_stay_bounded():
    defs = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 8} for n in range(11)} | {"d11": {"type": "string"}}
    result = inline_refs({"$ref": "#/$defs/d0", "$defs": defs}, source="s")
    assert len(json.dumps(result)) < 200 * MAX_REF_NODES
