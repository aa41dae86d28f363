"""ToolDocument: which words of a contract are searched, and which never are."""

from __future__ import annotations

from typing import Any

from toolsearch.contracts.enrich.parameters import parameter_names
from toolsearch.model.contract import ToolContract
from toolsearch.model.limits import Bm25Parameters
from toolsearch.search.index.document import (
    FIELD_NAMES,
    MAX_PARAMETER_TEXT,
    VIEW_WEIGHTS,
    tool_document,
)


def contract(**sections: Any) -> ToolContract:
    identity = {"name": "refund.create", **sections.pop("identity", {})}
    return ToolContract.model_validate({"identity": identity, **sections})


REFUND = contract(
    identity={"title": "发起退款", "aliases": ["issue_refund"], "domain": "orders", "server": "shop"},
    capability={
        "does": "Pays a paid order back to the buyer.",
        "does_not": ["cancels unshipped parcels"],
        "examples": ["退掉订单 ORD-20260917"],
        "tags": ["after-sales"],
    },
    selection={
        "use_when": ["the buyer returned the goods"],
        "do_not_use_when": ["the invoice is disputed"],
        "adjacent_tools": {"voucher.grant": "a gesture of goodwill"},
    },
    input={
        "schema": {
            "type": "object",
            "description": "root text",
            "properties": {
                "order_id": {"type": "string", "description": "number of the order"},
                "lines": {"type": "array", "items": {"properties": {"sku": {"description": "article"}}}},
                "reason": {"anyOf": [{"enum": ["damaged", "late", 7]}, {"const": "other"}]},
            },
            "required": ["reason"],
        },
        "required": ["order_id"],
        "semantics": {"amount": "minor units of the currency"},
    },
)


def test_every_field_has_its_text() -> None:
    fields = tool_document(REFUND).fields
    assert tuple(fields) == tuple(name for name in FIELD_NAMES if name != "returns")
    assert fields["name"] == "refund.create"
    assert fields["domain"] == "orders\nshop"
    assert fields["parameters"].split("\n") == [
        "order_id", "reason", "lines", "amount", "minor units of the currency", "number of the order",
        "damaged", "late", "other", "sku", "article",
    ]  # fmt: skip


def test_field_names_are_those_that_have_a_weight() -> None:
    assert set(FIELD_NAMES) == set(Bm25Parameters().fields)


def test_negative_sentences_and_neighbours_are_no_positive_text() -> None:
    document = tool_document(REFUND)
    positive = "\n".join([*document.fields.values(), document.positive_text])
    for word in ("unshipped", "disputed", "voucher", "goodwill"):
        assert word not in positive
    assert document.negatives == ("cancels unshipped parcels", "the invoice is disputed")


def test_examples_are_apart_from_the_embedded_text() -> None:
    document = tool_document(REFUND)
    assert document.examples == ("退掉订单 ORD-20260917",)
    assert "ORD-20260917" not in document.positive_text


def test_embedded_text_starts_with_the_best_content() -> None:
    assert tool_document(REFUND).positive_text == (
        "shop: refund create; 发起退款; issue_refund. Pays a paid order back to the buyer. "
        "the buyer returned the goods. order id, reason, lines, amount"
    )


def test_views_are_the_main_text_what_is_returned_and_the_name() -> None:
    returning = contract(
        output={
            "schema": {
                "description": "The refund.",
                "properties": {"refund_id": {"description": "its number"}, "at": {}},
            },
            "produces": {"refund_id": "$.refund_id", "receipt": "$.receipt"},
        }
    )
    document = tool_document(returning)
    assert dict(document.views) == {
        document.positive_text: VIEW_WEIGHTS["positive"],
        "refund create: The refund.; refund id: its number; at; refund id; receipt": VIEW_WEIGHTS["returns"],
        "refund create": VIEW_WEIGHTS["name"],
    }
    assert document.fields["returns"] == "The refund.; refund id: its number; at; refund id; receipt"
    assert [weight for _, weight in tool_document(REFUND).views] == [VIEW_WEIGHTS["positive"], VIEW_WEIGHTS["name"]]


def test_long_texts_leave_room_for_each_other() -> None:
    long = contract(capability={"does": "Does this. " * 1000}, selection={"use_when": ["when money goes back"]})
    text = tool_document(long).positive_text
    assert len(text) < 1400
    assert "when money goes back" in text
    assert "Does this. when money" in text


def test_the_default_server_and_empty_texts_are_not_indexed() -> None:
    assert dict(tool_document(contract(capability={"does": "  ", "tags": ["", " "]})).fields) == {
        "name": "refund.create"
    }


def test_parameter_names_are_required_first_and_once() -> None:
    assert parameter_names(REFUND) == ("order_id", "reason", "lines", "amount")


def test_odd_schemas_are_read_as_far_as_they_go() -> None:
    deep: dict[str, Any] = {}
    for level in range(50):
        deep = {"properties": {f"p{level}": deep, "q": True}, "items": [1], "anyOf": "x", "enum": {}}
    wide = {"properties": {f"w{i}": {"description": "d" * 5000} for i in range(3000)}}
    assert "p49" in tool_document(contract(input={"schema": deep})).fields["parameters"]
    assert "p40" not in tool_document(contract(input={"schema": deep})).fields["parameters"]
    lines = tool_document(contract(input={"schema": wide})).fields["parameters"].split("\n")
    assert max(map(len, lines)) == MAX_PARAMETER_TEXT
    assert contract(input={"schema": "some_name"}).input_schema == {}
