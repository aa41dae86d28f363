from __future__ import annotations

import json
import re

import pytest

from toolsearch.contracts.export import api_names, definition, definition_tokens, estimate_tokens, refs_by_api_name
from toolsearch.contracts.read import read_data
from toolsearch.model.contract import ToolContract, ToolRef
from toolsearch.model.request import DefinitionFormat, Detail

REFUND = ToolContract.model_validate(
    {
        "identity": {"name": "orders.request_refund", "title": "创建退款申请", "server": "shop", "domain": "orders"},
        "capability": {"does": "Creates a refund request. Money moves later.", "does_not": ["cancel orders"]},
        "selection": {
            "use_when": ["the order is known"],
            "do_not_use_when": ["only the policy is asked for"],
            "adjacent_tools": {"orders.get": "to read an order", "orders.search": "to find one"},
        },
        "input": {
            "schema": {
                "type": "object",
                "properties": {"order_id": {"type": "string"}, "amount": {"type": ["number", "null"]}},
            },
            "required": ["order_id"],
            "semantics": {"order_id": "ORD- and 8 digits"},
        },
        "output": {"schema": {"type": "object"}},
        "execution": {"side_effect": "irreversible", "approval": "amount >= 200", "idempotency": "idempotent"},
        "operational": {"owner": "secret-owner", "support_runbook": "docs://secret", "cost_class": "low"},
        "access": {"scopes_all": ["secret.scope"]},
        "provenance": {"source": "secret-source"},
    }
)


def exported(format_, detail=Detail.FULL, contract=REFUND, **kwargs):
    return definition(contract, format=format_, detail=detail, api_name="orders_request_refund", **kwargs)


@pytest.mark.parametrize("format_", list(DefinitionFormat))
@pytest.mark.parametrize("detail", list(Detail))
def test_access_provenance_owner_and_runbook_never_leave(format_, detail):
    text = json.dumps(exported(format_, detail))
    assert "secret" not in text
    assert "orders_request_refund" in text


def test_openai_full():
    assert exported(DefinitionFormat.OPENAI) == {
        "type": "function",
        "function": {
            "name": "orders_request_refund",
            "description": "Creates a refund request. Money moves later.\nUse when: the order is known.\n"
            "Do not use when: only the policy is asked for.\nDoes not: cancel orders.\n"
            "Other tools: orders.get: to read an order; orders.search: to find one.\n"
            "Side effect: changes data; cannot be undone. Needs approval when: amount >= 200.",
            "parameters": {
                "type": "object",
                "properties": {
                    "order_id": {"type": "string", "description": "ORD- and 8 digits"},
                    "amount": {"type": ["number", "null"]},
                },
                "required": ["order_id"],
            },
        },
    }


def test_signature_has_names_types_and_required_only():
    tool = exported(DefinitionFormat.ANTHROPIC, Detail.SIGNATURE)
    assert tool == {
        "name": "orders_request_refund",
        "description": "Creates a refund request.",
        "input_schema": {
            "type": "object",
            "properties": {"order_id": {"type": "string"}, "amount": {"type": ["number", "null"]}},
            "required": ["order_id"],
        },
    }
    native = exported(DefinitionFormat.NATIVE, Detail.SIGNATURE)
    assert native["parameters"] == [
        {"name": "order_id", "type": "string", "required": True},
        {"name": "amount", "type": ["number", "null"], "required": False},
    ]


def test_name_is_one_line():
    assert exported(DefinitionFormat.OPENAI, Detail.NAME)["function"] == {
        "name": "orders_request_refund",
        "description": "Creates a refund request.",
    }
    assert exported(DefinitionFormat.MCP, Detail.NAME)["inputSchema"] == {"type": "object"}


def test_anthropic_reference():
    expected = {"type": "tool_reference", "tool_name": "orders_request_refund"}
    assert exported(DefinitionFormat.ANTHROPIC_REFERENCE, Detail.NAME) == expected


def test_mcp_annotations_and_meta():
    tool = exported(DefinitionFormat.MCP)
    assert tool["annotations"] == {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True}
    assert tool["_meta"]["io.toolsearch/contract"]["ref"] == "shop/orders.request_refund@1"
    unknown = exported(DefinitionFormat.MCP, contract=ToolContract.model_validate({"identity": {"name": "x"}}))
    assert unknown["annotations"] == {"readOnlyHint": False, "destructiveHint": True}


def test_adjacent_tools_that_are_not_shown_are_left_out():
    for format_ in DefinitionFormat:
        text = json.dumps(exported(format_, adjacent={"orders.get": "shop__orders_get"}))
        assert "orders.search" not in text
        assert ("shop__orders_get" in text) is (format_ is not DefinitionFormat.ANTHROPIC_REFERENCE)


def test_a_schema_known_by_name_is_built_from_what_is_declared():
    contract = ToolContract.model_validate(
        {"identity": {"name": "x"}, "input": {"schema": "V3", "required": ["a"], "semantics": {"b": "text"}}}
    )
    parameters = exported(DefinitionFormat.OPENAI, contract=contract)["function"]["parameters"]
    assert parameters == {"type": "object", "properties": {"a": {}, "b": {"description": "text"}}, "required": ["a"]}


@pytest.mark.parametrize("format_", [DefinitionFormat.OPENAI, DefinitionFormat.ANTHROPIC, DefinitionFormat.MCP])
def test_what_is_exported_is_read_back_with_its_schema(format_):
    tool = exported(format_)
    (contract,) = read_data([tool]).contracts
    assert contract.identity.name == "orders_request_refund"
    assert contract.required_inputs == ("order_id",)
    assert contract.assumed_side_effect.label == "irreversible"


def test_api_names_keep_what_is_safe_and_unique():
    refs = [ToolRef("a", "get", 1), ToolRef("b", "get", 1), ToolRef("a", "orders.list", 1), ToolRef("a", "other", 1)]
    names = api_names(refs)
    assert list(names.values()) == ["a__get", "orders_list", "other", "b__get"]
    assert api_names(refs[::-1]) == names
    assert refs_by_api_name(names)["a__get"] == refs[0]


def test_api_names_of_hard_cases_are_safe_and_distinct():
    refs = [
        ToolRef("a", "get", 1),
        ToolRef("a", "get", 2),
        ToolRef("a", "查询", 1),
        ToolRef("a", "退款", 1),
        ToolRef("a", "x" * 256, 1),
        ToolRef("a", "x" * 255 + "y", 1),
        ToolRef("a.b", "c.d", 1),
        ToolRef("a_b", "c_d", 1),
        ToolRef("z", "a__get", 1),
        ToolRef("-", "_", 1),
    ]
    refs += [ToolRef("q", name, 1) for name in api_names(refs).values()]
    names = api_names(refs)
    assert len(set(names.values())) == len(refs)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names.values())


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("word" * 10, 10), ("退款申请", 4), ("退款ab", 3), ("é" * 4, 2)]
)
def test_token_estimate(text, tokens):
    assert estimate_tokens(text) == tokens


def test_definition_tokens_count_the_compact_openai_shape():
    text = json.dumps(exported(DefinitionFormat.OPENAI), ensure_ascii=False, separators=(",", ":"))
    assert definition_tokens(REFUND, api_name="orders_request_refund") == estimate_tokens(text)
