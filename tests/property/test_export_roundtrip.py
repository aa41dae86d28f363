"""Contract -> export -> reader -> contract, and foreign definition -> contract -> export: what is carried returns."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolsearch.contracts.export import LossKind, export
from toolsearch.contracts.export.carried import Carriage, carriage, contract_fields
from toolsearch.contracts.export.description import describe, statements
from toolsearch.contracts.export.schemas import full_schema
from toolsearch.contracts.read import read_data
from toolsearch.contracts.read.restored import restored
from toolsearch.model.contract import SideEffect, ToolContract
from toolsearch.model.request import DefinitionFormat as F

WHOLE = (F.MCP, F.LANGCHAIN)
WORDS = (F.OPENAI, F.OPENAI_RESPONSES, F.ANTHROPIC, F.GEMINI, F.GEMINI_JSON_SCHEMA)
# Enrichment is most of the time of a round trip.
FEW = settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
NAME = st.from_regex(r"[a-z]{2,8}_[a-z]{2,8}", fullmatch=True)

phrase = st.lists(
    st.sampled_from(
        [
            *(
                "order",
                "refund",
                "订单",
                "when",
                "not",
                "use",
                "the",
                "id",
                "known",
                "latest",
                "v2",
                "(a)",
                "50%",
                "e.g.",
            ),
            *("data", "rules", "does", "查询"),
        ]
    ),
    min_size=1,
    max_size=5,
).map(" ".join)
phrases = st.lists(phrase, max_size=3, unique=True).map(tuple)
any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


def typed(**more: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={"description": phrase, **more})


def scalar(type_: str, **more: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return typed(**more).map(lambda node: {"type": type_, **node})


scalars = st.one_of(
    scalar("string", minLength=st.integers(0, 9), pattern=st.just("^a"), default=phrase),
    scalar("string", enum=st.lists(st.sampled_from(["a", "b", "订"]), min_size=1, unique=True)),
    scalar("integer", minimum=st.integers(-5, 5), default=st.integers(0, 9)),
    scalar("number", maximum=st.integers(0, 9)),
    scalar("boolean"),
)
# Names that say what they hold get a meaning from enrichment, which is added to the schema.
property_names = st.sampled_from(["alpha", "beta", "gamma", "delta"])


def objects(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    @st.composite
    def drawn(draw: st.DrawFn) -> dict[str, Any]:
        properties = draw(st.dictionaries(property_names, inner, max_size=3))
        node: dict[str, Any] = {"type": "object", "properties": properties}
        if properties and draw(st.booleans()):
            node["required"] = draw(st.lists(st.sampled_from(sorted(properties)), min_size=1, unique=True))
        return node

    return drawn()


nodes = st.recursive(
    scalars, lambda inner: objects(inner) | inner.map(lambda node: {"type": "array", "items": node}), max_leaves=4
)
schemas = objects(nodes)


@st.composite
def contracts(draw: st.DrawFn, *, strange: bool = False) -> ToolContract:
    one = any_text if strange else phrase
    texts = st.lists(any_text, max_size=2).map(tuple) if strange else phrases
    schema = draw(schemas)
    names = sorted(schema["properties"])
    effect = draw(st.sampled_from([None, *SideEffect]))
    data: dict[str, Any] = {
        "identity": {
            "name": draw(NAME),
            "title": draw(phrase),
            "aliases": draw(phrases),
            "domain": draw(st.sampled_from(["", "orders"])),
            "server": "shop",
        },
        "capability": {
            "does": draw(one.filter(str.strip)),
            "does_not": draw(texts),
            "examples": draw(phrases),
            "tags": draw(st.sampled_from([(), ("a", "b")])),
        },
        "selection": {
            "use_when": draw(texts),
            "do_not_use_when": draw(texts),
            "adjacent_tools": draw(st.dictionaries(NAME, one, max_size=2)),
        },
        "input": {
            "schema": schema,
            "semantics": {name: draw(phrase) for name in draw(st.permutations(names))[:1]},
            "semantic_rules": draw(texts),
            "clarification_fields": names[:1],
            "forbidden_inference_fields": names[-1:],
        },
        "output": {
            "schema": draw(schemas | st.just({}) | st.just({"type": "string"})),
            "produces": draw(st.sampled_from([{}, {"order_id": "order.id"}])),
            "error_taxonomy": draw(phrases),
        },
        "execution": {
            "idempotency": draw(st.sampled_from(["", "idempotent", "not idempotent", "by key"])),
            "timeout_ms": draw(st.none() | st.integers(1, 9_999)),
            **({"side_effect": effect.label} if effect is not None else {}),
            **draw(st.sampled_from([{}, {"approval": "the amount is above 200"}])),
        },
        "operational": {
            "freshness": draw(st.sampled_from(["", "at most one minute", "live, never cached"])),
            "cost_class": draw(st.sampled_from([None, "low"])),
            "owner": "secret-owner",
        },
        "access": {"scopes_all": ["secret.scope"]},
    }
    return ToolContract.model_validate(data)


def sent(contract: ToolContract, format_: F) -> dict[str, Any]:
    return export(contract, format=format_, api_name=contract.identity.name).definition


def back(definition: dict[str, Any], *, trusted: bool = True) -> ToolContract:
    report = read_data(json.loads(json.dumps([definition])), trusted=trusted, server="shop")
    assert report.refused == ()
    (contract,) = report.contracts
    return contract


def shareable(contract: ToolContract) -> dict[str, Any]:
    """Return what may leave: the parts that never do are left out, and what the schema says stands in the schema."""
    data = contract.canonical()
    for never in ("access", "provenance"):
        data.pop(never, None)
    for field in ("owner", "support_runbook"):
        data.get("operational", {}).pop(field, None)
    inputs = {key: value for key, value in data.get("input", {}).items() if key not in ("required", "semantics")}
    data["input"] = {**inputs, "schema": full_schema(contract)}
    return {name: part for name, part in data.items() if part}


@FEW
@given(contracts(), st.sampled_from(WHOLE))
def test_formats_with_room_for_our_sections_carry_the_whole_contract(contract: ToolContract, format_: F) -> None:
    assert shareable(back(sent(contract, format_))) == shareable(contract)


@FEW
@given(contracts(strange=True), st.sampled_from(WHOLE))
def test_so_they_do_with_any_texts(contract: ToolContract, format_: F) -> None:
    assert shareable(back(sent(contract, format_))) == shareable(contract)


@FEW
@given(contracts(), st.sampled_from([*WORDS, *WHOLE]))
def test_what_is_exported_is_exported_again_word_for_word(contract: ToolContract, format_: F) -> None:
    once = sent(contract, format_)
    assert sent(back(once), format_) == once


@FEW
@given(contracts(), st.sampled_from(WORDS))
def test_words_come_back_as_statements(contract: ToolContract, format_: F) -> None:
    found = back(sent(contract, format_))
    assert found.capability.does == contract.capability.does
    assert found.execution.side_effect == contract.execution.side_effect
    assert found.execution.approval == contract.execution.approval
    assert set(found.selection.adjacent_tools) == set(contract.selection.adjacent_tools)
    if format_ not in (F.GEMINI,):
        assert full_schema(found) == full_schema(contract)


@FEW
@given(contracts(), contracts(), st.sampled_from([*WORDS, *WHOLE]))
def test_a_source_that_is_not_trusted_lowers_no_risk(known: ToolContract, claimed: ToolContract, format_: F) -> None:
    definition = sent(claimed, format_)
    found = restored(known, data=definition, description=describe(claimed), trusted=False)
    assert found.execution.side_effect == known.execution.side_effect
    assert found.operational.cost_class == known.operational.cost_class


@FEW
@given(contracts(strange=True))
def test_a_description_taken_apart_says_the_same(contract: ToolContract) -> None:
    text = describe(contract)
    said = statements(text)
    if said is None:  # a text of the contract itself looks like one of our lines
        return
    assert said.side_effect == contract.execution.side_effect


@FEW
@given(contracts(), st.sampled_from(list(F)))
def test_what_does_not_leave_is_listed(contract: ToolContract, format_: F) -> None:
    made = export(contract, format=format_, api_name=contract.identity.name)
    listed = {loss.path for loss in made.lost if loss.kind is LossKind.LEFT_OUT}
    canonical = contract.canonical()
    for field in contract_fields():
        section, name = field.split(".")
        says = name in canonical.get(section, {})
        if says and carriage(field, format=format_) is Carriage.NOT:
            assert field in listed
        if carriage(field, format=format_) is Carriage.NEVER:
            assert field not in listed
    assert "secret" not in json.dumps(made.definition) + " ".join(loss.text for loss in made.lost)


SHAPES = {
    F.OPENAI: lambda name, text, schema: {
        "type": "function",
        "function": {"name": name, "description": text, "parameters": schema},
    },
    F.OPENAI_RESPONSES: lambda name, text, schema: {
        "type": "function",
        "name": name,
        "description": text,
        "parameters": schema,
        "strict": False,
    },
    F.ANTHROPIC: lambda name, text, schema: {"name": name, "description": text, "input_schema": schema},
    F.GEMINI_JSON_SCHEMA: lambda name, text, schema: {
        "name": name,
        "description": text,
        "parametersJsonSchema": schema,
    },
    F.MCP: lambda name, text, schema: {"name": name, "description": text, "inputSchema": schema},
    F.LANGCHAIN: lambda name, text, schema: {"name": name, "description": text, "args_schema": schema},
}


@FEW
@given(NAME, phrase, schemas, st.sampled_from(list(SHAPES)))
def test_a_foreign_definition_is_given_back(name: str, text: str, schema: dict[str, Any], format_: F) -> None:
    foreign = SHAPES[format_](name, text, schema)
    given_back = sent(back(foreign), format_)
    inside, found = foreign.get("function", foreign), given_back.get("function", given_back)
    assert {**found, "description": ""} == {**inside, "description": ""} | {
        key: found[key] for key in ("annotations", "_meta", "metadata", "tags", "title") if key in found
    }
    words = re.findall(r"\w+", text)
    assert all(word in found["description"] for word in words)


@FEW
@given(
    NAME,
    st.sampled_from(
        [
            {"readOnlyHint": True},
            {"readOnlyHint": False, "destructiveHint": False},
            {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True},
            {"readOnlyHint": True, "idempotentHint": False},
        ]
    ),
    schemas,
)
def test_mcp_gives_title_hints_and_result_back(name: str, hints: dict[str, bool], output: dict[str, Any]) -> None:
    foreign = {
        "name": f"handle_{name}",
        "title": "A title",
        "description": "Handles it.",
        "inputSchema": {"type": "object", "properties": {}},
        "outputSchema": output,
        "annotations": hints,
    }
    found = sent(back(foreign), F.MCP)
    assert (found["title"], found["outputSchema"]) == ("A title", output)
    assert hints.items() <= found["annotations"].items()


@pytest.mark.parametrize("format_", list(SHAPES))
def test_references_come_back_written_out(format_: F) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A"}},
        "$defs": {"A": {"type": "string", "description": "An a."}},
    }
    found = json.dumps(sent(back(SHAPES[format_]("read_a", "Reads.", schema)), format_))
    assert '"a": {"type": "string", "description": "An a."}' in found
