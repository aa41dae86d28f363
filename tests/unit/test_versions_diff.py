"""The classes of changes, row by row: the rules of schema evolution, and what this project adds to them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from toolsearch.contracts.change.change import ChangeClass, ChangeKind, FieldChange, worst
from toolsearch.contracts.change.diff import _SPECIAL, FIELDS, diff_catalogues, diff_contracts, diff_tools
from toolsearch.model.contract import ToolContract

SAFE, BEHAVIOUR, HALF, BREAKING = ChangeClass
STRING: dict[str, Any] = {"type": "string"}


def contract(**sections: Any) -> ToolContract:
    return ToolContract.model_validate({"identity": {"name": "t"}, **sections})


def taking(schema: dict[str, Any]) -> ToolContract:
    return contract(input={"schema": schema})


def giving(schema: dict[str, Any]) -> ToolContract:
    return contract(output={"schema": schema})


def properties(required: tuple[str, ...] = (), **fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, **({"required": list(required)} if required else {})}


def enum(*values: Any) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


P = properties
INPUT_RULES = [
    # what, before, after, class forward, class backward
    ("optional field", P(), P(a=STRING), SAFE, BREAKING),
    ("required field", P(), P(("a",), a=STRING), BREAKING, BREAKING),
    ("required now", P(a=STRING), P(("a",), a=STRING), BREAKING, SAFE),
    ("type", P(a=STRING), P(a={"type": "integer"}), BREAKING, BREAKING),
    ("wider type", P(a={"type": "integer"}), P(a={"type": ["number", "null"]}), SAFE, BREAKING),
    ("enum value", P(a=enum("x")), P(a=enum("x", "y")), SAFE, BREAKING),
    ("enum swapped", P(a=enum("x", "z")), P(a=enum("x", "y")), BREAKING, BREAKING),
    ("enum at all", P(a=STRING), P(a=enum("x")), HALF, BEHAVIOUR),
    ("enum order", P(a=enum("x", "y")), P(a=enum("y", "x")), SAFE, SAFE),
    ("const is an enum of one", P(a={"const": "x"}), P(a={"enum": ["x", "y"]}), SAFE, BREAKING),
    ("true is not 1", P(a={"enum": [1]}), P(a={"enum": [True]}), BREAKING, BREAKING),
    ("lower bound", P(a={"minimum": 1}), P(a={"minimum": 2}), HALF, SAFE),
    ("upper bound", P(a={"maxLength": 20}), P(a={"maxLength": 10}), HALF, SAFE),
    ("first bound", P(a=STRING), P(a={"type": "string", "maxLength": 9}), HALF, SAFE),
    ("format", P(a={"format": "date"}), P(a={"format": "date-time"}), BREAKING, BREAKING),
    ("first pattern", P(a=STRING), P(a={"type": "string", "pattern": "^a"}), HALF, BEHAVIOUR),
    ("default", P(a={"default": 1}), P(a={"default": 2}), HALF, HALF),
    ("closed object", P(), {**P(), "additionalProperties": False}, HALF, SAFE),
    ("prose of a field", P(a={"description": "x"}), P(a={"description": "y"}), BEHAVIOUR, BEHAVIOUR),
    ("one more form", P(a={"anyOf": [STRING]}), P(a={"anyOf": [STRING, {"type": "null"}]}), SAFE, HALF),
    ("inside a list", P(a={"items": enum("x", "y")}), P(a={"items": enum("x")}), BREAKING, SAFE),
    ("comment", P(a={"$comment": "x"}), P(a={"$comment": "y"}), SAFE, SAFE),
    ("unknown keyword", P(a={"x-unit": "m"}), P(a={"x-unit": "km"}), HALF, HALF),
    ("true for {}", P(a=True), P(a={}), SAFE, SAFE),
    ("properties that are none", {"properties": []}, {"properties": {}}, BREAKING, BREAKING),
]


@pytest.mark.parametrize(
    ("what", "before", "after", "forward", "backward"), INPUT_RULES, ids=lambda each: str(each)[:24]
)
def test_input_schemas(what: str, before: Any, after: Any, forward: ChangeClass, backward: ChangeClass) -> None:
    assert worst(diff_contracts(taking(before), taking(after))) is forward, what
    assert worst(diff_contracts(taking(after), taking(before))) is backward, what


OUTPUT_RULES = [
    ("new field", P(), P(a=STRING), SAFE, BREAKING),
    ("always there", P(a=STRING), P(("a",), a=STRING), SAFE, BREAKING),
    ("another value comes back", P(a=enum("x")), P(a=enum("x", "y")), HALF, SAFE),
    ("wider type", P(a=STRING), P(a={"type": ["string", "null"]}), BREAKING, SAFE),
    ("tighter bound", P(a={"maximum": 9}), P(a={"maximum": 5}), SAFE, HALF),
]


@pytest.mark.parametrize(
    ("what", "before", "after", "forward", "backward"), OUTPUT_RULES, ids=lambda each: str(each)[:24]
)
def test_output_schemas(what: str, before: Any, after: Any, forward: ChangeClass, backward: ChangeClass) -> None:
    assert worst(diff_contracts(giving(before), giving(after))) is forward, what
    assert worst(diff_contracts(giving(after), giving(before))) is backward, what


FIELD_RULES = [
    ("renamed", {"identity": {"name": "u"}}, {}, BREAKING, BREAKING),
    ("does", {}, {"capability": {"does": "Reads."}}, BEHAVIOUR, BEHAVIOUR),
    ("boundary", {}, {"capability": {"does_not": ["Writes."]}}, BEHAVIOUR, BEHAVIOUR),
    (
        "riskier",
        {"execution": {"side_effect": "read_only"}},
        {"execution": {"side_effect": "irreversible"}},
        BREAKING,
        HALF,
    ),
    ("unsaid is irreversible", {}, {"execution": {"side_effect": "irreversible"}}, BEHAVIOUR, BEHAVIOUR),
    ("hint from nothing", {}, {"execution": {"side_effect": "read_only"}}, HALF, BREAKING),
    ("approval", {}, {"execution": {"approval": "always"}}, HALF, HALF),
    ("one more scope", {"access": {"scopes_all": ["a"]}}, {"access": {"scopes_all": ["a", "b"]}}, BREAKING, HALF),
    ("one more role", {"access": {"roles_any": ["a"]}}, {"access": {"roles_any": ["a", "b"]}}, HALF, BREAKING),
    ("granted at all", {}, {"access": {"roles_any": ["a"]}}, HALF, BREAKING),
    (
        "one more kind",
        {"access": {"roles_any": ["a"]}},
        {"access": {"roles_any": ["a"], "tenants": ["t"]}},
        BREAKING,
        HALF,
    ),
    ("required beside the schema", {}, {"input": {"required": ["a"]}}, BREAKING, SAFE),
    ("produces", {}, {"output": {"produces": {"order_id": "$.id"}}}, SAFE, BREAKING),
    (
        "staleness",
        {"operational": {"freshness": {"max_staleness": "PT1H"}}},
        {"operational": {"freshness": {"max_staleness": "P1D"}}},
        HALF,
        BEHAVIOUR,
    ),
    ("owner", {}, {"operational": {"owner": "a"}}, SAFE, SAFE),
]


@pytest.mark.parametrize(
    ("what", "before", "after", "forward", "backward"), FIELD_RULES, ids=lambda each: str(each)[:24]
)
def test_fields(what: str, before: Any, after: Any, forward: ChangeClass, backward: ChangeClass) -> None:
    assert worst(diff_contracts(contract(**before), contract(**after))) is forward, what
    assert worst(diff_contracts(contract(**after), contract(**before))) is backward, what


def test_each_enum_value_and_each_sentence_is_a_change_of_its_own() -> None:
    before = contract(input={"schema": P(city=enum("paris", "rome"))}, capability={"does_not": ["Books.", "Pays."]})
    after = contract(input={"schema": P(city=enum("paris", "oslo"))}, capability={"does_not": ["Books.", "Cancels."]})
    assert [
        (each.verdict, each.kind, each.path, each.before, each.after) for each in diff_contracts(before, after)
    ] == [
        (BREAKING, ChangeKind.ENUM, "/input/schema/properties/city/enum", "rome", None),
        (BEHAVIOUR, ChangeKind.BOUNDARY, "/capability/does_not/1", "Pays.", None),
        (BEHAVIOUR, ChangeKind.BOUNDARY, "/capability/does_not/1", None, "Cancels."),
        (SAFE, ChangeKind.ENUM, "/input/schema/properties/city/enum", None, "oslo"),
    ]


def test_a_field_that_seems_renamed_says_so() -> None:
    changes = diff_contracts(taking(P(order=STRING)), taking(P(order_id=STRING)))
    assert "perhaps renamed to 'order_id'" in changes[0].why


def test_required_in_one_place_or_the_other_is_the_same() -> None:
    beside = contract(input={"schema": P(a=STRING), "required": ["a"]})
    inside = contract(input={"schema": P(("a",), a=STRING)})
    assert worst(diff_contracts(beside, inside)) is SAFE
    assert worst(diff_contracts(inside, beside)) is SAFE


def test_references_are_followed() -> None:
    inline = P(a=enum("x", "y"))
    referring = {**P(a={"$ref": "#/$defs/kind"}), "$defs": {"kind": enum("x", "y")}}
    narrower = {**referring, "$defs": {"kind": enum("x")}}
    assert worst(diff_contracts(taking(inline), taking(referring))) is SAFE
    assert worst(diff_contracts(taking(referring), taking(narrower))) is BREAKING
    assert worst(diff_contracts(taking(inline), taking(narrower))) is BREAKING
    assert worst(diff_contracts(taking(referring), taking(P(a={"$ref": "#/$defs/kind"})))) is BREAKING


def test_references_that_go_round_end() -> None:
    def tree(name: str) -> dict[str, Any]:
        node = P(children={"items": {"$ref": f"#/$defs/{name}"}})
        return {"$ref": f"#/$defs/{name}", "$defs": {name: node}}

    assert worst(diff_contracts(taking(tree("a")), taking(tree("b")))) is SAFE


def test_what_is_too_deep_counts_as_breaking() -> None:
    def nested(leaf: dict[str, Any]) -> dict[str, Any]:
        for _ in range(80):
            leaf = P(a=leaf)
        return leaf

    (change,) = diff_contracts(taking(nested(enum("x"))), taking(nested(enum("x", "y"))))
    assert (change.verdict, change.why) == (BREAKING, "nested too deeply to be compared")


def test_every_field_of_a_contract_has_a_rule() -> None:
    def fields(model: type[BaseModel], prefix: str) -> list[str]:
        return [f"{prefix}{field.alias or name}" for name, field in model.model_fields.items()]

    known = {*FIELDS, *_SPECIAL}
    for name, field in ToolContract.model_fields.items():
        assert isinstance(field.annotation, type)
        for path in fields(field.annotation, f"{name}."):
            assert path in known or path == "operational.freshness", path
    assert {"operational.freshness.text", "operational.freshness.max_staleness"} <= known


def test_catalogues_are_matched_by_ref_then_by_tool() -> None:
    one, two, three = (contract(identity={"name": name}) for name in ("a", "b", "c"))
    raised = contract(identity={"name": "b", "version": 2}, capability={"does": "x"})
    diff = diff_catalogues([one, two], [one, raised, three])
    assert [(each.ref, each.verdict) for each in diff.tools] == [("local/b@2", BEHAVIOUR), ("local/c@1", SAFE)]
    assert diff.unchanged == 1
    gone = diff_catalogues([one, two], [one])
    assert gone.verdict is BREAKING
    assert gone.tools[0].changes == (
        FieldChange(verdict=BREAKING, kind=ChangeKind.TOOL, path="", why="the tool is gone"),
    )


def test_two_single_tools_are_compared_whatever_their_names() -> None:
    diff = diff_catalogues([contract()], [contract(identity={"name": "u"})])
    assert diff.tools[0].changes[0].path == "/identity/name"


def test_nothing_to_compare_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="neither"):
        diff_tools(None, None)
