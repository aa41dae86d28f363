"""The shapes beyond the first ones, what carries them, and the export of what a principal can see."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from toolsearch.contracts.export import ExportedTools, LossKind, api_names, export
from toolsearch.contracts.export.anthropic import tool_reference, tool_search_result
from toolsearch.contracts.export.carried import Carriage, carriage, contract_fields
from toolsearch.contracts.export.description import describe, statements
from toolsearch.contracts.export.openai import tool_search_output
from toolsearch.engine.search import ToolIndex
from toolsearch.model.contract import ToolContract
from toolsearch.model.errors import RequestError, UnknownTool
from toolsearch.model.request import DefinitionFormat, Detail, Principal
from toolsearch.search.visibility.rules import PrincipalScope, Rule, RuleBook, RuleEffect, ToolScope

F = DefinitionFormat


def contract(name: str = "orders.get", schema: dict[str, Any] | None = None, **parts: Any) -> ToolContract:
    data: dict[str, Any] = {
        "identity": {"name": name, "server": parts.pop("server", "shop"), "title": "Read an order"},
        "capability": {"does": "Reads one order."},
        "input": {"schema": schema or {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}},
        "execution": {"side_effect": "read_only"},
    }
    return ToolContract.model_validate({**data, **parts})


def shape(format_: F, schema: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    return export(contract(schema=schema), format=format_, api_name="orders_get", **options).definition


def test_openai_chat_is_another_word_for_openai() -> None:
    assert F("openai_chat") is F.OPENAI
    with pytest.raises(ValueError, match="openai_batch"):
        F("openai_batch")


def test_responses_says_strict_always_and_deferred_when_asked() -> None:
    assert shape(F.OPENAI_RESPONSES) == {
        "type": "function",
        "name": "orders_get",
        "description": "Reads one order.\nSide effect: read only.",
        "parameters": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
        "strict": False,
    }
    strict = shape(F.OPENAI_RESPONSES, strict=True, deferred=True)
    assert strict["strict"] is True
    assert strict["defer_loading"] is True
    assert strict["parameters"]["additionalProperties"] is False


def test_a_tool_that_cannot_be_strict_is_exported_without_and_listed() -> None:
    loose = {"type": "object", "properties": {"a": {}}}
    for format_ in (F.OPENAI, F.OPENAI_RESPONSES, F.ANTHROPIC):
        found = export(contract(schema=loose), format=format_, api_name="x", strict=True)
        assert '"strict": false' in json.dumps(found.definition)
        (loss,) = [loss for loss in found.lost if loss.kind is LossKind.NOT_STRICT]
        assert (loss.ref, loss.path) == ("shop/orders.get@1", "/properties/a")


def test_tool_search_output_carries_responses_tools() -> None:
    item = tool_search_output([shape(F.OPENAI_RESPONSES)], call_id="call_1")
    assert item["type"] == "tool_search_output"
    assert (item["execution"], item["call_id"]) == ("client", "call_1")
    assert item["tools"][0]["name"] == "orders_get"


def test_tool_search_result_carries_references() -> None:
    block = tool_search_result([tool_reference("orders_get")], tool_use_id="toolu_1")
    assert block["content"] == [{"type": "tool_reference", "tool_name": "orders_get"}]


def test_anthropic_takes_examples_that_the_schema_takes() -> None:
    schema = {
        "type": "object",
        "properties": {"id": {"type": "string"}, "n": {"type": "number"}},
        "required": ["id"],
        "examples": [{"id": "O-1", "n": 2}],
    }
    found = shape(F.ANTHROPIC, schema)
    assert found["input_examples"] == [{"id": "O-1", "n": 2}]
    assert "examples" not in found["input_schema"]
    for wrong in ([{"n": 2}], [{"id": 1}], [{"id": "x", "other": 1}], ["text"]):
        kept = shape(F.ANTHROPIC, {**schema, "examples": wrong})
        assert "input_examples" not in kept
        assert kept["input_schema"]["examples"] == wrong


@pytest.mark.parametrize("format_", [F.OPENAI, F.OPENAI_RESPONSES, F.ANTHROPIC, F.GEMINI_JSON_SCHEMA])
def test_a_choice_at_the_root_becomes_words(format_: F) -> None:
    schema = {
        "type": "object",
        "properties": {"id": {"type": "string"}},
        "anyOf": [{"required": ["id"]}, {"properties": {"number": {"type": "string"}}, "required": ["number"]}],
    }
    found = export(contract(schema=schema), format=format_, api_name="x")
    body = found.definition.get("function", found.definition)
    sent = next(body[key] for key in ("parameters", "input_schema", "parametersJsonSchema") if key in body)
    assert "anyOf" not in sent
    assert list(sent["properties"]) == ["id", "number"]
    assert "Parameters: at least one of these sets: id; number." in body["description"]
    assert next((loss.path, loss.kind) for loss in found.lost) == ("/anyOf", LossKind.MOVED)


def test_openai_arrays_state_their_items() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "array"}, "b": {"anyOf": [{"type": "array"}]}}}
    sent = shape(F.OPENAI, schema)["function"]["parameters"]["properties"]
    assert sent == {"a": {"type": "array", "items": {}}, "b": {"anyOf": [{"type": "array", "items": {}}]}}
    assert schema["properties"]["a"] == {"type": "array"}


def test_gemini_speaks_the_openapi_subset() -> None:
    schema = {
        "type": "object",
        "properties": {
            "kind": {"type": ["string", "null"], "enum": ["a", "b", None]},
            "level": {"type": "integer", "enum": [1, 2]},
            "when": {"type": "string", "format": "date"},
            "at": {"type": "string", "format": "date-time"},
            "either": {"oneOf": [{"type": "string"}, {"type": "null"}]},
            "two": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "node": {"$ref": "#/$defs/Node"},
            "free": {"type": "object", "additionalProperties": {"type": "string"}},
            "any": {"description": "Anything."},
            "fixed": {"const": "x"},
            "bad-name": {"type": "boolean"},
        },
        "required": ["kind"],
        "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}},
    }
    found = export(contract(schema=schema), format=F.GEMINI, api_name="x")
    sent = found.definition["parameters"]
    assert sent["type"] == "OBJECT"
    assert sent["required"] == ["kind"]
    assert sent["properties"] == {
        "kind": {"type": "STRING", "enum": ["a", "b"], "nullable": True},
        "level": {"type": "INTEGER", "description": "(enum: [1, 2])"},
        "when": {"type": "STRING", "description": '(format: "date")'},
        "at": {"type": "STRING", "format": "date-time"},
        "either": {"type": "STRING", "nullable": True},
        "two": {"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}]},
        "node": {"type": "OBJECT", "properties": {"next": {"type": "OBJECT"}}},
        "free": {"type": "OBJECT", "description": '(additionalProperties: {"type": "string"})'},
        "any": {
            "anyOf": [{"type": "STRING"}, {"type": "NUMBER"}, {"type": "BOOLEAN"}],
            "description": "Anything.",
        },
        "fixed": {"type": "STRING", "enum": ["x"]},
        "bad-name": {"type": "BOOLEAN"},
    }
    kinds = {loss.path: loss.kind for loss in found.lost if loss.path.startswith("/")}
    assert kinds["/properties/bad-name"] is LossKind.REFUSED
    assert kinds["/properties/level/enum"] is LossKind.MOVED
    assert kinds["/properties/node/properties/next"] is LossKind.CHANGED
    assert kinds["/properties/any"] is LossKind.CHANGED


def test_gemini_leaves_parameters_out_where_there_are_none() -> None:
    empty = {"type": "object", "properties": {}}
    assert set(shape(F.GEMINI, empty)) == {"name", "description"}
    assert shape(F.GEMINI_JSON_SCHEMA, empty)["parametersJsonSchema"] == empty


def test_a_description_too_long_for_the_api_is_listed() -> None:
    long = contract(capability={"does": "x" * 1_100})
    (loss,) = [loss for loss in export(long, format=F.OPENAI, api_name="x").lost if loss.kind is LossKind.REFUSED]
    assert "1124 characters; the API takes 1024" in loss.text


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"format": F.MCP, "strict": True}, "strict"),
        ({"format": F.OPENAI, "strict": True, "detail": Detail.SIGNATURE}, "detail"),
        ({"format": F.OPENAI, "deferred": True}, "defer_loading"),
    ],
)
def test_what_a_format_cannot_do_is_refused(options: dict[str, Any], field: str) -> None:
    with pytest.raises(RequestError) as error:
        export(contract(), api_name="x", **options)
    assert error.value.field == field


def test_names_begin_as_every_provider_wants() -> None:
    refs = [contract(name).ref for name in ("3d", "_3d", "-x", "get")]
    names = api_names(refs)
    assert len(set(names.values())) == 4
    assert all(name[0].isalpha() or name[0] == "_" for name in names.values())
    assert names[refs[3]] == "get"


def test_every_contract_field_has_a_carriage_in_every_format() -> None:
    fields = contract_fields()
    assert "selection.use_when" in fields
    assert "input.schema" in fields
    for format_ in F:
        for field in fields:
            assert isinstance(carriage(field, format=format_), Carriage)
        assert carriage("access.scopes_all", format=format_) is Carriage.NEVER


def test_what_a_format_has_no_place_for_is_listed_and_private_fields_are_not() -> None:
    full = contract(
        output={"produces": {"order_id": "id"}},
        operational={"owner": "secret", "cost_class": "low"},
        access={"scopes_all": ["secret"]},
    )
    lost = {loss.path for loss in export(full, format=F.OPENAI, api_name="x").lost}
    assert lost == {"identity.title", "output.produces", "operational.cost_class"}
    assert export(full, format=F.MCP, api_name="x").lost == ()
    assert "secret" not in json.dumps(export(full, format=F.MCP, api_name="x").definition)


def test_a_description_is_taken_apart_again() -> None:
    full = contract(
        capability={"does": "Reads it.\nTwo lines.", "does_not": ["write"]},
        selection={
            "use_when": ["the id is known", "it is recent"],
            "do_not_use_when": ["a list is wanted, use orders.search"],
            "adjacent_tools": {"orders.search": "a list is wanted, use orders.search", "b": "for b; or c"},
        },
        execution={"side_effect": "irreversible", "approval": "always"},
        operational={"freshness": "one minute; at most two"},
    )
    said = statements(describe(full))
    assert said is not None
    assert said.does == "Reads it.\nTwo lines."
    assert said.use_when == full.selection.use_when
    assert said.do_not_use_when == full.selection.do_not_use_when
    assert said.adjacent == full.selection.adjacent_tools
    assert said.fresh == "one minute; at most two"
    assert said.side_effect is full.execution.side_effect
    assert said.required_when == "always"
    assert statements("Reads it. Use when: x.") is None
    assert statements("") is None


RULES = RuleBook(
    rules=(
        Rule(id="all", effect=RuleEffect.ALLOW, reason="shown", tools=ToolScope(servers=("shop", "mall"))),
        Rule(
            id="admins",
            effect=RuleEffect.ALLOW,
            reason="theirs",
            tools=ToolScope(servers=("hidden",)),
            principals=PrincipalScope(roles_any=("boss",)),
        ),
    )
)


def catalogue(*, hidden: bool) -> ToolIndex:
    index = ToolIndex.create(None, rules=RULES, encoder="hashed")
    adjacent = {"adjacent_tools": {"hidden/orders.get": "for theirs", "orders.list": "for many"}}
    shown = [
        contract("orders.get", selection=adjacent),
        contract("orders.list"),
        contract("pay", server="mall"),
        contract("pay", server="shop"),
    ]
    index.add(
        [*shown, *([contract("orders.get", server="hidden"), contract("pay", server="hidden")] if hidden else [])]
    )
    return index


def exported(index: ToolIndex, **options: Any) -> ExportedTools:
    with index:
        return index.export(principal=options.pop("principal", Principal()), **options)


@pytest.mark.parametrize("format_", list(F))
def test_hidden_tools_change_nothing_in_an_export(format_: F) -> None:
    with_hidden = exported(catalogue(hidden=True), format=format_)
    assert with_hidden.model_dump_json() == exported(catalogue(hidden=False), format=format_).model_dump_json()
    assert "hidden" not in with_hidden.model_dump_json()


def test_names_are_shared_out_among_the_visible_tools_and_lead_back() -> None:
    found = exported(catalogue(hidden=True), format=F.OPENAI, tools=["mall/pay", "shop/orders.get@1"])
    assert found.names == {"mall__pay": "mall/pay@1", "orders_get": "shop/orders.get@1"}
    assert [tool["function"]["name"] for tool in found.tools] == ["mall__pay", "orders_get"]
    assert "Other tools: orders_list: for many." in found.tools[1]["function"]["description"]
    boss = exported(
        catalogue(hidden=True), format=F.OPENAI, tools=["shop/orders.get"], principal=Principal(roles=["boss"])
    )
    assert boss.names == {"shop__orders_get": "shop/orders.get@1"}


def test_a_hidden_tool_is_unknown_to_an_export() -> None:
    with pytest.raises(UnknownTool):
        exported(catalogue(hidden=True), format=F.MCP, tools=["hidden/pay"])


def test_namespaces_group_the_tools_of_a_server() -> None:
    found = exported(catalogue(hidden=False), format=F.OPENAI_RESPONSES, namespaces=True)
    assert [(part["type"], part["name"], len(part["tools"])) for part in found.tools] == [
        ("namespace", "mall", 1),
        ("namespace", "shop", 3),
    ]
    with pytest.raises(RequestError, match="has no namespaces"):
        exported(catalogue(hidden=False), format=F.ANTHROPIC, namespaces=True)


def test_the_table_of_what_is_carried_is_that_of_the_docs() -> None:
    text = (Path(__file__).parents[2] / "docs" / "export.md").read_text(encoding="utf-8")
    head, _, *rows = text.split("<!-- carried -->\n")[1].split("\n<!-- /carried -->")[0].splitlines()
    formats = [F(cell.strip(" `")) for cell in head.strip("|").split("|")[1:]]
    assert set(formats) == set(F) - {F.ANTHROPIC_REFERENCE}
    shown = {}
    for row in rows:
        field, *cells = (cell.strip(" `") for cell in row.strip("|").split("|"))
        shown[field] = {form: Carriage(cell) for form, cell in zip(formats, cells, strict=True)}
    fields = [field for field in contract_fields() if not field.startswith(("access.", "provenance."))]
    assert shown == {field: {form: carriage(field, format=form) for form in formats} for field in fields}


def test_the_docs_name_every_format_and_every_kind_of_loss() -> None:
    text = (Path(__file__).parents[2] / "docs" / "export.md").read_text(encoding="utf-8")
    assert all(f"| `{form.value}` |" in text for form in F)
    assert all(f"| `{kind.value}` |" in text for kind in LossKind)
