"""What the second pass over a catalogue adds, what result schemas and names say, and how far each is trusted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.contracts.enrich.products import products_of
from toolsearch.contracts.enrich.relate import relate
from toolsearch.contracts.read import read_data
from toolsearch.model.contract import Origin, ToolContract


def tool(name: str, description: str = "", **schema: object) -> dict[str, object]:
    return {"name": name, "description": description, "inputSchema": schema}


def read(*tools: dict[str, object], server: str = "shop") -> dict[str, ToolContract]:
    report = read_data({"tools": list(tools)}, server=server)
    assert report.refused == ()
    return {contract.identity.name: contract for contract in report.contracts}


@pytest.mark.parametrize(
    "sentence",
    [
        "Use find_orders instead.",
        "For many orders use `find_orders`.",
        "Prefer find_orders when the number is unknown.",
        "Unlike find_orders, it returns one order.",
        "Searching is handled by find_orders.",
        "不要用于搜索，改用 find_orders。",
        "批量查询请用 find_orders。",
        "搜索订单时优先 find_orders。",
        "Use findOrders instead.",
    ],
)
def test_a_neighbour_on_the_same_server_becomes_adjacent(sentence):
    found = read(tool("get_order", f"Returns an order. {sentence}"), tool("find_orders", "Finds orders."))
    contract = found["get_order"]
    assert list(contract.selection.adjacent_tools) == ["find_orders"]
    assert contract.provenance.fields["selection.adjacent_tools"] is Origin.INFERRED
    assert contract.provenance.confidence["selection.adjacent_tools"] > 0.5


def test_what_is_no_tool_of_the_server_is_not_adjacent_and_is_noted():
    found = read(
        tool("get_order", "Returns an order. Use page_token instead of an offset. Use `next_page` to go on."),
        tool("find_orders", "Finds orders."),
    )
    assert found["get_order"].selection.adjacent_tools == {}
    assert "no such tool" in " ".join(found["get_order"].provenance.notes)
    assert "selection.adjacent_tools" not in found["get_order"].provenance.fields


def test_a_short_form_is_resolved_where_it_is_unique():
    found = read(
        tool("shop_get_order", "Use find_orders instead when the id is unknown."),
        tool("shop_find_orders", "Finds."),
        tool("shop_old_list", "Use list_all instead."),
        tool("a_list_all", "Lists."),
        tool("b_list_all", "Lists."),
    )
    assert list(found["shop_get_order"].selection.adjacent_tools) == ["shop_find_orders"]
    assert found["shop_old_list"].selection.adjacent_tools == {}


def test_a_plain_word_is_a_name_only_where_it_is_written_as_one():
    found = read(
        tool("get_order", "Returns an order. Use search terms to narrow it."),
        tool("get_refund", "Returns a refund. To look one up, use `search` first."),
        tool("search", "Searches."),
    )
    assert found["get_order"].selection.adjacent_tools == {}
    assert list(found["get_refund"].selection.adjacent_tools) == ["search"]


def test_a_tool_of_another_server_is_never_adjacent():
    here = read(tool("get_order", "Use find_orders instead."), tool("get_refund", "Refund."))
    there = read(tool("find_orders", "Finds."), server="other")
    related = relate([*here.values(), *there.values()])
    assert all(contract.selection.adjacent_tools == {} for contract in related)


def test_no_word_moves_in_the_second_pass():
    texts = "Returns an order. Use find_orders instead when the id is unknown. Prefer find_orders for lists."
    alone = read(tool("get_order", texts))["get_order"]
    beside = read(tool("get_order", texts), tool("find_orders", "Finds."))["get_order"]
    assert beside.capability == alone.capability
    assert beside.selection.do_not_use_when == alone.selection.do_not_use_when


def test_declared_contracts_are_left_alone():
    data = [
        {"identity": {"name": "get_order", "server": "shop"}, "capability": {"does": "Use find_orders instead."}},
        {"identity": {"name": "find_orders", "server": "shop"}, "capability": {"does": "Finds."}},
    ]
    report = read_data(data)
    assert report.contracts == relate(report.contracts)
    assert all(not contract.provenance.fields for contract in report.contracts)


@given(st.permutations(["get_order", "find_orders", "list_orders"]))
def test_the_order_of_the_tools_changes_nothing_and_twice_is_once(names):
    texts = {
        "get_order": "Use find_orders instead.",
        "find_orders": "Prefer list_orders when all are wanted.",
        "list_orders": "Then call get_order(order_id).",
    }
    schema = {"properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
    found = read(*(tool(name, texts[name], **(schema if name == "get_order" else {})) for name in names))
    expected = read(*(tool(name, texts[name], **(schema if name == "get_order" else {})) for name in sorted(texts)))
    assert found == expected
    assert {contract.identity.name: contract for contract in relate(found.values())} == found


def test_a_name_produces_what_another_tool_asks_for():
    wants = {"properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
    found = read(
        tool("get_order", "Returns it.", **wants),
        tool("search_orders", "Searches."),
        tool("list_refunds", "Lists."),
        tool("orders_report", "Reports."),
    )
    assert found["search_orders"].output.produces == {"order_id": ""}
    assert found["search_orders"].provenance.confidence["output.produces"] == 0.5
    for name in ("get_order", "list_refunds", "orders_report"):
        assert found[name].output.produces == {}


def test_a_result_schema_says_what_is_produced_and_where():
    order = {"type": "object", "properties": {"id": {}, "customerId": {}, "total": {}, "request_id": {}}}
    schema = {"properties": {"orders": {"type": "array", "items": order}, "next_page_token": {}}}
    assert products_of(schema, tool="search_orders", asked=()) == {
        "order_id": "orders[].id",
        "customerId": "orders[].customerId",
    }
    assert products_of({"properties": {"id": {}}}, tool="create_invoice", asked=()) == {"invoice_id": "id"}
    assert products_of({"properties": {"id": {}}}, tool="run", asked=()) == {}
    assert products_of({"properties": {"order_id": {}}}, tool="get_order", asked=("order_id",)) == {}


@given(
    st.recursive(
        st.none() | st.text(max_size=8),
        lambda inner: st.dictionaries(st.sampled_from(["properties", "items", "id", "order_id"]), inner, max_size=3),
        max_leaves=12,
    )
)
def test_any_result_schema_is_read(schema):
    found = products_of(schema if isinstance(schema, dict) else {}, tool="get_order", asked=())
    assert all(isinstance(path, str) and path for path in found.values())


def test_what_an_input_is_comes_from_schema_and_name():
    found = read(
        tool(
            "book",
            "Books.",
            properties={
                "order_id": {"type": "string"},
                "contact_email": {"type": "string"},
                "currency": {"type": "string"},
                "start": {"type": "string", "format": "date", "description": "First night"},
                "end": {"type": "string", "format": "date", "description": "Date of departure"},
                "amount_cents": {"type": "integer", "description": "What to charge"},
                "note": {"type": "string"},
            },
        )
    )
    assert found["book"].input.semantics == {
        "order_id": "id of the order",
        "contact_email": "e-mail address",
        "currency": "ISO 4217 currency code",
        "start": "First night (format: date)",
        "end": "Date of departure",
        "amount_cents": "What to charge (in cents)",
    }


def test_every_inferred_field_has_a_confidence_and_no_declared_one():
    contract = read(
        tool(
            "delete_order",
            "Deletes an order. Use this when it was never paid. Not for refunds. Do not guess the order_id. "
            "It does not notify anyone. Data is updated daily.",
            properties={"order_id": {"type": "string", "description": "(required) number"}},
        )
    )["delete_order"]
    assert contract.provenance.confidence.keys() == contract.provenance.fields.keys()
    assert all(0 < value < 1 for value in contract.provenance.confidence.values())


@pytest.mark.parametrize(
    ("name", "hints", "trusted", "confidence"),
    [
        ("get_order", {}, False, 0.7),
        ("get_order", {"readOnlyHint": True}, False, 0.9),
        ("frobnicate", {"readOnlyHint": True}, False, 0.5),
        ("delete_order", {"readOnlyHint": True}, False, 0.5),
        ("delete_order", {"readOnlyHint": True}, True, 0.9),
    ],
)
def test_the_confidence_of_a_side_effect_is_that_of_its_evidence(name, hints, trusted, confidence):
    data = {"name": name, "inputSchema": {}, "annotations": hints}
    contract = read_data(data, trusted=trusted).contracts[0]
    assert contract.provenance.confidence["execution.side_effect"] == confidence
