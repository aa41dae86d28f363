"""The strict subset: what is kept, what becomes words, what makes a tool not strict; the way back of arguments."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolsearch.contracts.export import export
from toolsearch.contracts.export.arguments import without_nulls
from toolsearch.contracts.export.limits import ANTHROPIC_STRICT, OPENAI_STRICT, StrictSubset, plain_pattern
from toolsearch.contracts.export.losses import LossKind
from toolsearch.contracts.export.shapes import STRICT_FORMATS
from toolsearch.contracts.export.strict import StrictSchema, strict_schema
from toolsearch.model.contract import ToolContract
from toolsearch.model.request import DefinitionFormat


def obj(properties: dict[str, Any], *required: str, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), **more}


def openai(schema: dict[str, Any]) -> StrictSchema:
    return strict_schema(schema, subset=OPENAI_STRICT)


def anthropic(schema: dict[str, Any]) -> StrictSchema:
    return strict_schema(schema, subset=ANTHROPIC_STRICT)


def made(schema: dict[str, Any], *, subset: StrictSubset = OPENAI_STRICT) -> dict[str, Any]:
    found = strict_schema(schema, subset=subset)
    assert found.schema is not None, found.lost
    return found.schema


def refusal(found: StrictSchema) -> str:
    assert found.schema is None
    assert found.lost[-1].kind is LossKind.NOT_STRICT
    return f"{found.lost[-1].path}: {found.lost[-1].text}"


def test_openai_requires_everything_and_makes_optionals_nullable() -> None:
    schema = obj({"id": {"type": "string"}, "n": {"type": "integer"}, "kind": {"enum": ["a", "b"]}}, "id")
    found = openai(schema)
    assert found.schema == {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "n": {"type": ["integer", "null"]},
            "kind": {"type": ["string", "null"], "enum": ["a", "b", None]},
        },
        "required": ["id", "n", "kind"],
        "additionalProperties": False,
    }
    assert [(loss.path, loss.kind) for loss in found.lost] == [
        ("/properties/n", LossKind.CHANGED),
        ("/properties/kind", LossKind.CHANGED),
    ]


def test_anthropic_keeps_optionals_optional() -> None:
    schema = obj({"id": {"type": "string"}, "n": {"type": "integer"}}, "id")
    assert made(schema, subset=ANTHROPIC_STRICT) == {**schema, "additionalProperties": False}


def test_constraints_move_into_descriptions_according_to_the_provider() -> None:
    node = {
        "type": "string",
        "description": "Order.",
        "minLength": 3,
        "pattern": "^O-",
        "format": "date",
        "default": "O-1",
    }
    schema = obj({"a": node}, "a")
    assert made(schema)["properties"]["a"] == {
        "type": "string",
        "description": 'Order. (minLength: 3; default: "O-1")',
        "pattern": "^O-",
        "format": "date",
    }
    assert made(schema, subset=ANTHROPIC_STRICT)["properties"]["a"] == {
        "type": "string",
        "description": 'Order. (minLength: 3; pattern: "^O-"; default: "O-1")',
        "format": "date",
    }
    moved = {(loss.path, loss.kind) for loss in anthropic(schema).lost}
    assert moved == {(f"/properties/a/{key}", LossKind.MOVED) for key in ("minLength", "pattern", "default")}


def test_a_pattern_that_providers_refuse_becomes_words() -> None:
    assert plain_pattern("^[a-z]+(x|y)$")
    assert not any(map(plain_pattern, [r"(?=a)", r"(?<!a)b", r"(a)\1", r"\bword"]))
    node = made(obj({"a": {"type": "string", "pattern": "^(?!x)"}}, "a"))["properties"]["a"]
    assert "pattern" not in node
    assert node["description"] == '(pattern: "^(?!x)")'


def test_one_of_becomes_any_of_and_null_is_an_alternative() -> None:
    schema = obj({"a": {"oneOf": [{"type": "string"}, obj({"b": {"type": "integer"}}, "b")], "description": "Either."}})
    node = made(schema)["properties"]["a"]
    assert node["anyOf"][0] == {"type": "string"}
    assert node["anyOf"][1]["additionalProperties"] is False
    assert node["anyOf"][2] == {"type": "null"}
    assert node["description"] == "Either."


def test_several_types_become_alternatives_with_their_own_constraints() -> None:
    schema = obj({"a": {"type": ["string", "integer"], "minimum": 1, "pattern": "^x", "description": "Both."}}, "a")
    assert made(schema)["properties"]["a"] == {
        "anyOf": [{"type": "string", "pattern": "^x"}, {"type": "integer", "minimum": 1}],
        "description": "Both.",
    }


def test_null_is_one_alternative_however_it_is_said() -> None:
    for node in ({"type": ["string", "integer"], "nullable": True}, {"type": ["string", "integer", "null"]}):
        alternatives = made(obj({"a": node}))["properties"]["a"]["anyOf"]
        assert [part["type"] for part in alternatives] == ["string", "integer", "null"]


def test_a_recursion_that_says_more_is_refused() -> None:
    more = obj({"a": {"$ref": "#", "properties": {"b": {"type": "string"}}}}, "a")
    assert "contains itself (#) and says more of it" in refusal(openai(more))


def test_all_of_is_joined_or_refused() -> None:
    parts = [obj({"a": {"type": "string"}}, "a"), obj({"b": {"type": "integer"}}, "b")]
    node = made(obj({"x": {"allOf": parts}}, "x"))["properties"]["x"]
    assert list(node["properties"]) == ["a", "b"]
    clash = obj({"x": {"allOf": [{"type": "string"}, {"type": "integer"}]}}, "x")
    assert refusal(openai(clash)) == "/properties/x/allOf: the parts of allOf cannot be told as one schema"


def test_references_are_written_out() -> None:
    schema = {
        **obj({"a": {"$ref": "#/$defs/A", "description": "Mine."}}, "a"),
        "$defs": {"A": {"type": "string", "description": "Theirs.", "enum": ["x"]}},
    }
    for subset in (OPENAI_STRICT, ANTHROPIC_STRICT):
        found = made(schema, subset=subset)
        assert found["properties"]["a"] == {"type": "string", "description": "Mine.", "enum": ["x"]}
        assert "$defs" not in found


TREE = {
    **obj({"root": {"$ref": "#/$defs/Node"}}, "root"),
    "$defs": {
        "Node": obj(
            {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
            "name",
            "children",
        )
    },
}


def test_recursion_is_kept_where_it_is_compiled() -> None:
    found = made(TREE)
    inner = found["properties"]["root"]["properties"]["children"]["items"]
    assert inner == {"$ref": "#/$defs/Node"}
    assert found["$defs"]["Node"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}
    assert found["$defs"]["Node"]["additionalProperties"] is False
    assert "contains itself" in refusal(anthropic(TREE))


def test_an_optional_recursion_takes_null() -> None:
    schema = obj({"name": {"type": "string"}, "next": {"$ref": "#", "description": "The next."}}, "name")
    assert made(schema)["properties"]["next"] == {
        "anyOf": [{"$ref": "#"}, {"type": "null"}],
        "description": "The next.",
    }


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (obj({"a": {}}, "a"), "/properties/a: takes any value: it states no type"),
        (obj({"a": True}, "a"), "/properties/a: takes any value"),
        (obj({"a": {"type": "object"}}, "a"), "/properties/a: is an object with free keys"),
        (obj({"a": {"type": "object", "additionalProperties": {"type": "string"}}}, "a"), "free keys"),
        ({"type": "object", "additionalProperties": True}, ": is an object with free keys"),
        (obj({"a": {"type": "array"}}, "a"), "/properties/a: is a list of any values"),
        (obj({"a": {"enum": [{"x": 1}]}}, "a"), "/properties/a/enum: lists values"),
        (obj({"a": {"$ref": "https://example.com/x.json"}}, "a"), "not part of the schema"),
        (obj({"a": {"$ref": "#/$defs/Absent"}}, "a"), "not part of the schema"),
        ({"type": "string"}, ": the input is not one object"),
        ({"$ref": "#"}, ""),
    ],
)
def test_what_cannot_be_said_is_refused_with_the_place(schema: dict[str, Any], why: str) -> None:
    for found in (openai(schema), anthropic(schema)):
        assert why in refusal(found)


def test_references_that_only_lead_to_each_other_are_refused() -> None:
    schema = {
        **obj({"a": {"$ref": "#/$defs/A"}}, "a"),
        "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}},
    }
    assert openai(schema).schema is None
    assert anthropic(schema).schema is None


def test_references_that_multiply_are_refused_in_bounded_time() -> None:
    defs: dict[str, Any] = {"D0": {"type": "string"}}
    for at in range(1, 40):
        inner = {"$ref": f"#/$defs/D{at - 1}"}
        defs[f"D{at}"] = obj({"l": inner, "r": inner}, "l", "r")
    found = openai({**obj({"a": {"$ref": "#/$defs/D39"}}, "a"), "$defs": defs})
    assert "parts" in refusal(found)


def test_size_limits_of_the_providers() -> None:
    wide = obj({f"p{at}": {"type": "string"} for at in range(25)})
    assert made(wide)
    assert "has 25 properties that may be left out; the provider compiles at most 24" in refusal(anthropic(wide))
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(11):
        deep = obj({"a": deep}, "a")
    assert "has 11 levels of objects" in refusal(openai(deep))
    many = obj({"a": {"type": "string", "enum": [f"v{at}" for at in range(1_001)]}}, "a")
    assert "has 1001 enum values" in refusal(openai(many))
    long = obj({"a": {"type": "string", "enum": [f"{at:060}" for at in range(251)]}}, "a")
    assert "an enum of 251 values has 15060 characters" in refusal(openai(long))


def test_nothing_of_the_schema_is_lost_in_silence() -> None:
    schema = obj(
        {
            "a": {
                "type": "object",
                "properties": {"b": {"type": "string", "maxLength": 9, "x-internal": 1, "deprecated": True}},
                "additionalProperties": {"type": "integer"},
                "patternProperties": {"^z": {"type": "string"}},
                "if": {"required": ["b"]},
            }
        },
        "a",
        minProperties=1,
    )
    found = openai(schema)
    paths = {loss.path for loss in found.lost}
    assert paths >= {
        "/minProperties",
        "/properties/a/additionalProperties",
        "/properties/a/patternProperties",
        "/properties/a/if",
        "/properties/a/properties/b/maxLength",
        "/properties/a/properties/b/x-internal",
        "/properties/a/properties/b/deprecated",
    }
    text = json.dumps(found.schema)
    assert "maxLength: 9" in text
    assert "x-internal" not in text


def test_nulls_that_mean_not_given_are_taken_out_before_the_call() -> None:
    schema = obj(
        {
            "id": {"type": "string"},
            "n": {"type": "integer"},
            "gap": {"type": ["string", "null"]},
            "items": {"type": "array", "items": obj({"x": {"type": "string"}, "y": {"type": "string"}}, "x")},
            "any": {},
        },
        "id",
    )
    sent = {"id": "1", "n": None, "gap": None, "items": [{"x": "a", "y": None}], "any": None}
    assert without_nulls(sent, schema=schema) == {"id": "1", "gap": None, "items": [{"x": "a"}], "any": None}


def test_strict_schemas_do_not_depend_on_anything_but_the_schema() -> None:
    once, again = openai(TREE), openai(json.loads(json.dumps(TREE)))
    assert json.dumps(once.schema) == json.dumps(again.schema)


@pytest.mark.parametrize("key", ["properties", "items", "anyOf", "allOf"])
@pytest.mark.parametrize("format_", list(DefinitionFormat))
def test_schemas_nested_deeper_than_writers_follow_are_written_all_the_same(
    key: str, format_: DefinitionFormat
) -> None:
    node: dict[str, Any] = {"type": "string"}
    for _ in range(90):
        inner = {"properties": {"a": node}, "items": node, "anyOf": [node], "allOf": [node]}[key]
        node = {key: inner}
    contract = ToolContract.model_validate(
        {
            "identity": {"name": "deep"},
            "input": {"schema": {"type": "object", "properties": {"x": node}, "allOf": [node]}},
        }
    )
    strict = format_ in STRICT_FORMATS
    assert export(contract, format=format_, api_name="deep", strict=strict).definition
    assert export(contract, format=format_, api_name="deep").definition
