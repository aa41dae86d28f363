from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from openapi_documents import DOCUMENTS, OPENAPI_3_0, OPENAPI_3_1, OPENAPI_3_2, SWAGGER_2_0

from toolsearch.contracts.enrich.foreign import clean_name
from toolsearch.contracts.read import ReadReport, read_data, read_path
from toolsearch.model.contract import SideEffect, ToolContract
from toolsearch.model.errors import ContractError, UnresolvedReference


def read(document: Any, **options: Any) -> ReadReport:
    return read_data(json.dumps(document), **options)


def tools(document: Any, **options: Any) -> dict[str, ToolContract]:
    report = read(document, **options)
    assert report.refused == ()
    return {contract.identity.name: contract for contract in report.contracts}


def notes(contract: ToolContract) -> str:
    return "\n".join(contract.provenance.notes)


@pytest.mark.parametrize(
    ("version", "names"),
    [
        ("2.0", ["listOrders", "createOrder", "post_orders_id_receipt"]),
        ("3.0", ["orders_get", "replaceOrder", "removeIt", "touch", "post_orders_search"]),
        ("3.1", ["addOrder"]),
        ("3.2", ["findOrders", "purgeOrders", "filterOrders"]),
    ],
)
def test_each_version_gives_one_tool_an_operation_in_json_and_yaml(version: str, names: list[str], tmp_path: Path):
    found = tools(DOCUMENTS[version])
    assert list(found) == names
    assert {contract.identity.server for contract in found.values()} == {"shop_api"}
    assert {contract.provenance.source for contract in found.values()} == {"openapi"}
    (tmp_path / "api.yaml").write_text(yaml.safe_dump(DOCUMENTS[version], sort_keys=False))
    assert read_path(tmp_path).contracts == tuple(found.values())
    assert {c.identity.server for c in tools([DOCUMENTS[version]], server="mine").values()} == {"mine"}


def test_swagger_parameters_are_schemas():
    listed = tools(SWAGGER_2_0)["listOrders"]
    assert listed.input_schema == {
        "type": "object",
        "properties": {
            "limit": {
                "type": "integer", "minimum": 1, "maximum": 100, "default": 20, "description": "How many at most",
            },
            "status": {"type": "array", "items": {"type": "string", "enum": ["open", "sent"]}},
            "created_after": {"type": "string", "format": "date"},
        },
    }  # fmt: skip
    assert listed.identity.title == "List orders"
    assert listed.capability.does == "List orders"
    assert (listed.identity.domain, listed.capability.tags) == ("orders", ("orders",))
    assert listed.access.scopes_all == ("orders.read",)
    assert listed.output.error_taxonomy == ("400: Bad filter",)
    assert listed.provenance.notes[0] == "call: GET http://api.example.com/v1/orders"


def test_a_read_only_property_is_no_input_and_a_recursive_one_is_expanded_once():
    made = tools(SWAGGER_2_0)["createOrder"]
    properties = made.input_schema["properties"]
    assert list(properties) == ["customer", "total", "parent"]
    assert properties["total"] == {"type": ["number", "null"], "exclusiveMinimum": 0}
    assert list(properties["parent"]["properties"]) == ["customer", "total", "parent"]
    assert properties["parent"]["properties"]["parent"].keys() == {"$comment"}
    assert made.input_schema["required"] == ["customer"]
    assert made.output.schema_["properties"]["id"]["examples"] == ["ORD-1"]


def test_what_all_alternatives_demand_is_needed_and_the_rest_is_a_choice():
    access = tools(SWAGGER_2_0)["createOrder"].access
    assert access.scopes_all == ("orders.read",)
    assert access.scopes_any == ("orders.write", "orders.admin")


def test_a_form_is_an_object_and_a_file_a_binary_string():
    attached = tools(SWAGGER_2_0)["post_orders_id_receipt"]
    assert attached.input_schema["properties"] == {
        "id": {"type": "string"},
        "file": {"type": "string", "format": "binary", "description": "The scan"},
        "note": {"type": "string"},
    }
    assert attached.input_schema["required"] == ["id", "file"]
    assert "body: multipart/form-data" in attached.provenance.notes


def test_a_path_parameter_that_nobody_described_is_a_required_string():
    document = {"openapi": "3.0.0", "paths": {"/a/{b}/{c}/{b}": {"get": {"parameters": [{"name": "c", "in": "path"}]}}}}
    (found,) = tools(document).values()
    assert found.input_schema["properties"] == {"c": {}, "b": {"type": "string"}}
    assert found.required_inputs == ("c", "b")


def test_parameters_are_inherited_and_overridden_and_transport_headers_left_out():
    got = tools(OPENAPI_3_0)["orders_get"]
    properties = got.input_schema["properties"]
    assert list(properties) == ["id", "trace", "filter", "session"]
    assert properties["trace"]["maxLength"] == 8
    assert properties["trace"]["description"] == "Overrides the one of the path"
    assert properties["filter"]["properties"] == {"lines": {"type": "boolean"}}
    assert properties["session"]["examples"] == ["abc"]
    assert got.identity.title == "One order"
    assert "call: GET https://eu.example.com/v2/orders/{id}" in notes(got)
    assert "arguments: path: id; query: filter; header: trace; cookie: session" in notes(got)
    assert "security: bearer" in notes(got)
    assert not got.access.declared


def test_the_result_is_the_json_of_the_first_success_without_what_only_goes_in():
    schema = tools(OPENAPI_3_0)["orders_get"].output.schema_
    assert list(schema["properties"]) == ["customer", "lines"]
    assert schema["description"] == "The order"
    assert "discriminator" not in schema
    assert tools(OPENAPI_3_0)["orders_get"].output.error_taxonomy == ("404: No such order",)
    assert tools(OPENAPI_3_2)["findOrders"].output.schema_["items"] == {
        "type": "object",
        "properties": {"id": {"type": "string"}},
    }
    assert tools(OPENAPI_3_2)["filterOrders"].output.schema_["type"] == "array"


def test_names_that_collide_are_told_apart_by_their_place():
    put = tools(OPENAPI_3_0)["replaceOrder"]
    properties = put.input_schema["properties"]
    assert list(properties) == ["id", "trace", "note", "customer", "secret", "lines", "body_id", "body_note"]
    assert put.input_schema["required"] == ["id", "customer", "body_note"]
    assert properties["body_note"] == {"type": ["string", "null"], "enum": ["a", "b", None]}
    assert "body_id (as id), body_note (as note)" in notes(put)
    assert "text/xml are not described" in notes(put)
    assert "deprecated" in notes(put)


def test_a_body_that_is_more_than_its_properties_stays_one_argument():
    touched = tools(OPENAPI_3_0)["touch"]
    assert touched.input_schema["properties"]["body"].keys() == {"oneOf"}
    assert touched.required_inputs == ("id",)


def test_a_closed_optional_form_says_what_it_would_need():
    added = tools(OPENAPI_3_1)["addOrder"]
    assert added.input_schema["additionalProperties"] is False
    assert "required" not in added.input_schema
    assert added.input_schema["examples"] == [{"customer": "acme"}]
    assert "where it is given it needs customer" in notes(added)
    # `a` alone is one of the alternatives, so nothing more is needed.
    assert (added.access.scopes_all, added.access.scopes_any) == (("a",), ())
    assert "security: oauth with a or key and oauth with a, b" in notes(added)


@pytest.mark.parametrize(
    ("security", "all_of", "any_of", "part"),
    [
        (None, (), (), ""),
        ([], (), (), "none is demanded"),
        ([{}, {"o": ["a"]}], (), (), "none is demanded"),
        ([{"k": []}], (), (), "security: k"),
        ([{"o": ["a", "b"], "p": ["c"]}], ("a", "b", "c"), (), "o with a, b and p with c"),
        ([{"o": ["a"]}, {"o": ["b"]}], (), ("a", "b"), "or"),
        ([{"o": ["a", "b"]}, {"o": ["c", "d"]}], ("a", "b"), (), "narrowed to the first alternative"),
        ([{"k": []}, {"o": ["a", "b"]}], ("a", "b"), (), "narrowed to the alternatives with scopes"),
        ([{"o": ["a"]}, {"o": ["a"]}], ("a",), (), ""),
        ([{"o": ["a", "b"]}, {"o": ["a"]}], ("a",), (), ""),
    ],
)
def test_security_never_demands_less_than_the_document(
    security: Any, all_of: tuple[str, ...], any_of: tuple[str, ...], part: str
):
    operation: dict[str, Any] = {"operationId": "f"} | ({} if security is None else {"security": security})
    found = tools({"openapi": "3.0.0", "paths": {"/f": {"get": operation}}})["f"]
    assert (found.access.scopes_all, found.access.scopes_any) == (all_of, any_of)
    assert part in notes(found)


@pytest.mark.parametrize(
    ("method", "name", "effect"),
    [
        ("get", "orders", SideEffect.READ_ONLY),
        ("get", "purge_cache", SideEffect.IRREVERSIBLE),  # a document may raise the risk, never lower it
        ("head", "orders", SideEffect.READ_ONLY),
        ("delete", "orders", SideEffect.IRREVERSIBLE),
        ("delete", "get_orders", SideEffect.IRREVERSIBLE),
        ("put", "orders", SideEffect.IRREVERSIBLE),
        ("put", "update_order", SideEffect.REVERSIBLE),
        ("patch", "orders", SideEffect.IRREVERSIBLE),
        ("post", "orders", None),
        ("post", "search_orders", SideEffect.READ_ONLY),
        ("post", "", None),  # the name made of `post` and the path is no evidence
    ],
)
def test_a_method_is_a_hint(method: str, name: str, effect: SideEffect | None):
    operation = {"operationId": name} if name else {}
    (found,) = tools({"openapi": "3.0.0", "paths": {"/orders": {method: operation}}}).values()
    assert found.execution.side_effect is effect
    assert found.assumed_side_effect is (effect or SideEffect.IRREVERSIBLE)


def test_a_trusted_document_may_lower_the_risk():
    document = {"openapi": "3.0.0", "paths": {"/cache": {"get": {"operationId": "purge_cache"}}}}
    assert tools(document, trusted=True)["purge_cache"].execution.side_effect is SideEffect.READ_ONLY


def test_the_query_method_and_further_methods_count_from_3_2():
    found = tools(OPENAPI_3_2)
    assert found["findOrders"].execution.side_effect is SideEffect.READ_ONLY
    assert found["purgeOrders"].execution.side_effect is SideEffect.IRREVERSIBLE
    assert "call: PURGE /orders" in notes(found["purgeOrders"])
    assert list(tools({**OPENAPI_3_2, "openapi": "3.1.0"})) == ["filterOrders"]


def test_names_are_unique_whatever_the_order_of_the_document():
    paths = {
        "/b": {"get": {"operationId": "twice"}, "put": {"operationId": "twice_2"}},
        "/a": {"get": {"operationId": "twice"}, "post": {"operationId": " "}},
        "/a/": {"post": {}},
    }
    backward = {path: dict(reversed(item.items())) for path, item in reversed(paths.items())}
    found = tools({"openapi": "3.0.0", "paths": paths})
    calls = {
        name: note for name, contract in found.items() for note in contract.provenance.notes if note.startswith("call:")
    }
    assert calls == {
        "twice": "call: GET /a",
        "twice_2": "call: PUT /b",
        "twice_3": "call: GET /b",
        "post_a": "call: POST /a",
        "post_a_2": "call: POST /a/",
    }
    assert tools({"openapi": "3.0.0", "paths": backward}) == found


def test_one_faulty_operation_does_not_lose_the_others():
    document = copy.deepcopy(OPENAPI_3_0)
    remote = {"schema": {"$ref": "https://example.com/order.json"}}
    document["paths"] |= {
        "/remote": {
            "post": {"requestBody": {"content": {"application/json": remote}}},
            "get": {"operationId": "fine"},
        },
        "/item": {"$ref": "other.yaml#/item"},
        "/round": {"$ref": "#/paths/~1round"},
        "/text": "x",
        "/parts": {"get": "x", "put": {"parameters": [{"in": "query"}]}, "post": {"parameters": {}}},
        "/place": {"get": {"parameters": [{"name": "a", "in": "sky"}]}, "put": {"security": {"a": []}}},
        "/nowhere": {"get": {"responses": {"200": {"$ref": "#/components/responses/None"}}}},
        "/id": {"get": {"operationId": 3}},
    }
    report = read(document, source="api.json")
    assert len(report.contracts) == 6
    told = {error.path.split(" ")[0]: str(error) for error in report.refused}
    assert {place: part for place, part in told.items() if not place.startswith("/paths/")} == {}
    for place, part in {
        "/paths/~1remote/post": "leads out of its document",
        "/paths/~1item": "nothing is ever fetched",
        "/paths/~1round": "references in a row",
        "/paths/~1text": "is a str, not an object",
        "/paths/~1parts/get": "is a str, not an operation",
        "/paths/~1parts/put": "a parameter without a name",
        "/paths/~1parts/post": "parameters is a dict, not a list",
        "/paths/~1place/get": "is in 'sky'",
        "/paths/~1place/put": "security is a dict, not a list",
        "/paths/~1nowhere/get": "leads nowhere",
        "/paths/~1id/get": "operationId is a int",
    }.items():
        assert part in told.pop(place), place
    assert told == {}
    assert any(isinstance(error, UnresolvedReference) for error in report.refused)


@pytest.mark.parametrize(
    ("document", "part"),
    [
        ({"openapi": "4.0.0", "paths": {}}, "OpenAPI '4.0.0'; read are 2.0, 3.0, 3.1, 3.2"),
        ({"swagger": 1.2, "paths": {}}, "OpenAPI '1.2'"),
        ({"openapi": "3.1.0", "info": {}}, "has no paths"),
        ({"openapi": "3.1.0", "paths": []}, "has no paths"),
    ],
)
def test_a_document_that_is_not_read_says_why(document: Any, part: str):
    (error,) = read(document).refused
    assert part in str(error)


def test_a_user_and_a_password_in_the_address_are_not_kept():
    document = {"openapi": "3.0.0", "servers": [{"url": "https://me:pw@example.com"}], "paths": {"/a": {"get": {}}}}
    assert "call: GET https://example.com/a" in notes(tools(document)["get_a"])


def test_references_that_double_at_each_level_stay_bounded():
    schemas: dict[str, Any] = {
        f"d{n}": {
            "type": "object",
            "properties": {f"p{m}": {"$ref": f"#/components/schemas/d{n + 1}"} for m in range(9)},
        }
        for n in range(12)
    }
    schemas["d12"] = {"type": "object", "allOf": [{"$ref": "#/components/schemas/d12"}] * 9}
    schemas["a0"] = {"allOf": [{"$ref": "#/components/schemas/a1"}] * 9}
    for n in range(1, 12):
        schemas[f"a{n}"] = {"allOf": [{"$ref": f"#/components/schemas/a{n + 1}"}] * 9}
    schemas["a12"] = {"properties": {"x": {}}}
    schemas["c"] = {"allOf": [{"$ref": "#/components/schemas/c"}] * 9}

    def takes(name: str) -> dict[str, Any]:
        body = {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}}
        return {"post": {"operationId": name, "requestBody": body, "responses": {"200": body}}}

    paths = {f"/{name}": takes(name) for name in ("d0", "d12", "a0", "c")}
    found = tools({"openapi": "3.0.0", "paths": paths, "components": {"schemas": schemas}})
    assert max(len(contract.stored_json) for contract in found.values()) < 1_000_000
    # Every property of the first level is there, and says what type it has: only depth was lost.
    outline = found["d0"].input_schema["properties"]["p8"]["properties"]["p8"]
    assert outline["type"] == "object"


def test_the_servers_own_document_is_read_whole():
    fastapi = pytest.importorskip("fastapi", reason="needs the [serve] extra")
    from toolsearch import ToolIndex
    from toolsearch.serve.http.app import create_app
    from toolsearch.serve.settings import load_settings

    assert fastapi
    with ToolIndex.create(None, encoder="hashed") as index:
        document = create_app(index, settings=load_settings()).openapi()
    operations = sum(len(item) for item in document["paths"].values())
    found = tools(document)
    assert len(found) == operations
    search = next(contract for contract in found.values() if "POST /v1/search" in notes(contract))
    assert "text" in search.input_schema["properties"]


KEYS = (
    "$ref get post parameters name in schema type properties allOf required /a requestBody content application/json "
    "responses 200 security servers examples"
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "a", "object", "#/paths", "#/components/x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS.split()), inner, max_size=4),
    max_leaves=25,
)


@given(
    st.sampled_from(["openapi", "swagger"]), st.sampled_from(["2.0", "3.0.1", "3.1.0", "3.2.0", 3.1]), JSON, JSON, JSON
)
def test_any_document_gives_contracts_or_a_clear_error(key: str, version: Any, item: Any, operation: Any, parts: Any):
    document = {
        key: version,
        "paths": {"/a": item, "/b": {"post": operation, "get": {"operationId": "ok"}}, "/c": {"put": parts}},
        "components": {"x": parts},
        "security": parts if isinstance(parts, list) else [],
        "servers": parts,
    }
    try:
        report = read(document)
    except ContractError:
        return
    assert all(str(error) for error in report.refused)
    again = read(document)
    assert [contract.fingerprint for contract in report.contracts] == [c.fingerprint for c in again.contracts]
    assert all(ToolContract.from_stored(contract.stored_json) == contract for contract in report.contracts)


@given(st.sampled_from(sorted(DOCUMENTS)), st.data())
def test_a_document_with_one_value_replaced_gives_contracts_or_a_clear_error(version: str, data: st.DataObject):
    document = copy.deepcopy(DOCUMENTS[version])
    node: Any = document
    while isinstance(node, dict | list) and node:
        key = data.draw(st.sampled_from(sorted(node, key=str) if isinstance(node, dict) else range(len(node))))
        if not isinstance(node[key], dict | list) or not node[key] or data.draw(st.integers(0, 5)) == 0:
            node[key] = data.draw(JSON)
            break
        node = node[key]
    try:
        report = read(document)
    except ContractError:
        return
    assert all(isinstance(error, ContractError) and error.path for error in report.refused)


DATA = Path(os.environ.get("TOOLSEARCH_DATA", Path(__file__).parents[3] / "shared" / "data"))


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("name", ["gtc_github_full", "gtc_k8s"])
def test_a_whole_real_api_written_as_openapi_is_read_back(name: str):
    if not DATA.is_dir():
        pytest.skip(f"no data sets in {DATA}: set TOOLSEARCH_DATA")
    text = (DATA / name / "tools.jsonl").read_text(encoding="utf-8")
    lines = [line for line in map(json.loads, text.splitlines()) if line["http"]]
    paths: dict[str, Any] = {}
    for line in lines:
        method, _, path = line["http"].partition(" ")
        schema = line["input_schema"]
        required = schema.get("required", [])
        placed = [
            {
                "name": key,
                "in": "path" if f"{{{key}}}" in path else "query",
                "required": key in required,
                "schema": value,
            }
            for key, value in schema.get("properties", {}).items()
        ]
        operation = {"operationId": line["name"], "description": line["description"], "parameters": placed}
        paths.setdefault(path, {}).setdefault(method.lower(), operation)
    kept = {operation["operationId"] for item in paths.values() for operation in item.values()}
    found = tools({"openapi": "3.1.0", "info": {"title": name}, "paths": paths})
    by_name = {clean_name(line["name"]): line for line in lines if line["name"] in kept}
    assert found.keys() == by_name.keys()
    for key, contract in found.items():
        wanted = by_name[key]["input_schema"].get("properties", {})
        assert set(contract.input_schema["properties"]) == set(wanted), key
