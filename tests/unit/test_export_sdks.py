"""The providers' own packages accept every tool that is exported: of the starter catalogue, and of real servers."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from toolsearch.contracts.export import Exported, api_names, export
from toolsearch.contracts.export.anthropic import tool_reference, tool_search_result
from toolsearch.contracts.export.limits import ANTHROPIC_STRICT, LIMITS
from toolsearch.contracts.export.openai import by_namespace, tool_search_output
from toolsearch.contracts.read import load_contracts, read_path
from toolsearch.model.contract import ToolContract
from toolsearch.model.request import DefinitionFormat

openai = pytest.importorskip("openai")
anthropic = pytest.importorskip("anthropic")
genai_types = pytest.importorskip("google.genai.types")
mcp_types = pytest.importorskip("mcp_types")
langchain_tools = pytest.importorskip("langchain_core.tools")

from openai.types.chat import ChatCompletionFunctionToolParam  # noqa: E402
from openai.types.responses import (  # noqa: E402
    FunctionToolParam,
    NamespaceToolParam,
    ResponseToolSearchOutputItemParamParam,
)
from pydantic import TypeAdapter  # noqa: E402

pytestmark = pytest.mark.extras

F = DefinitionFormat
ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("TOOLSEARCH_DATA", ROOT.parent / "shared" / "data"))
SETS = [
    "starter",
    pytest.param(
        "real_servers",
        marks=[
            pytest.mark.data,
            pytest.mark.slow,
            pytest.mark.skipif(not DATA.is_dir(), reason=f"no data sets in {DATA}: set TOOLSEARCH_DATA"),
        ],
    ),
]


@cache
def contracts(name: str) -> tuple[ToolContract, ...]:
    if name == "starter":
        return tuple(load_contracts(ROOT / "indexes" / "starter" / "contracts"))
    return read_path(DATA / name / "tools.jsonl").contracts


def exports(name: str, format_: F, *, strict: bool = False, deferred: bool = False) -> Iterator[Exported]:
    known = contracts(name)
    names = api_names([contract.ref for contract in known])
    for contract in known:
        yield export(contract, format=format_, api_name=names[contract.ref], strict=strict, deferred=deferred)


def no_more_keys(definition: dict[str, Any], kind: Any) -> None:
    assert set(definition) <= kind.__required_keys__ | kind.__optional_keys__, definition


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("strict", [False, True])
def test_openai_chat(name: str, strict: bool) -> None:
    check = TypeAdapter(ChatCompletionFunctionToolParam)
    for one in exports(name, F.OPENAI, strict=strict):
        assert check.validate_python(one.definition) == one.definition
        no_more_keys(one.definition["function"], openai.types.shared_params.FunctionDefinition)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("strict", [False, True])
def test_openai_responses(name: str, strict: bool) -> None:
    check = TypeAdapter(FunctionToolParam)
    made = [one.definition for one in exports(name, F.OPENAI_RESPONSES, strict=strict, deferred=True)]
    for definition in made:
        assert check.validate_python(definition) == definition
        no_more_keys(definition, FunctionToolParam)
    servers = [contract.identity.server for contract in contracts(name)]
    for part in by_namespace(made, servers=servers):
        TypeAdapter(NamespaceToolParam).validate_python(part)
    TypeAdapter(ResponseToolSearchOutputItemParamParam).validate_python(tool_search_output(made[:5], call_id="call_1"))


@pytest.mark.parametrize("name", SETS)
def test_openai_compiles_what_is_called_strict(name: str) -> None:
    """What the package's own transformer makes of the schema is the schema itself: nothing is left to close."""
    from openai.lib._pydantic import _ensure_strict_json_schema

    for one in exports(name, F.OPENAI, strict=True):
        function = one.definition["function"]
        if function["strict"]:
            copy = json.loads(json.dumps(function["parameters"]))
            assert _ensure_strict_json_schema(copy, path=(), root=copy) == function["parameters"]


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("strict", [False, True])
def test_anthropic(name: str, strict: bool) -> None:
    check = TypeAdapter(anthropic.types.ToolParam)
    made = [one.definition for one in exports(name, F.ANTHROPIC, strict=strict, deferred=True)]
    for definition in made:
        check.validate_python(definition)
        no_more_keys(definition, anthropic.types.ToolParam)
    references = [tool_reference(definition["name"]) for definition in made[:5]]
    TypeAdapter(anthropic.types.ToolResultBlockParam).validate_python(
        tool_search_result(references, tool_use_id="toolu_1")
    )


@pytest.mark.parametrize("name", SETS)
def test_anthropic_compiles_what_is_called_strict(name: str) -> None:
    """The package's own transformer finds no constraint that it would have to move into a description."""
    from anthropic import transform_schema

    for one in exports(name, F.ANTHROPIC, strict=True):
        if one.definition["strict"]:
            schema = one.definition["input_schema"]
            assert _words(transform_schema(json.loads(json.dumps(_one_type(schema))))) == _words(_one_type(schema))


def _one_type(node: Any) -> Any:
    """Return a schema whose nullable nodes are alternatives, as the transformer reads no lists of types."""
    if isinstance(node, list):
        return [_one_type(part) for part in node]
    if not isinstance(node, dict):
        return node
    made = {key: _one_type(value) for key, value in node.items()}
    if isinstance(made.get("type"), list):
        types = made.pop("type")
        return {"anyOf": [*({**made, "type": name} for name in types if name != "null"), {"type": "null"}]}
    return made


def _words(node: Any) -> list[str]:
    """Return the descriptions of a schema, in order of place."""
    if isinstance(node, list):
        return [text for part in node for text in _words(part)]
    if not isinstance(node, dict):
        return []
    own = [node["description"]] if isinstance(node.get("description"), str) else []
    return own + [text for key in sorted(node) for text in _words(node[key])]


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("format_", [F.GEMINI, F.GEMINI_JSON_SCHEMA])
def test_gemini(name: str, format_: F) -> None:
    for one in exports(name, format_):
        declaration = genai_types.FunctionDeclaration.model_validate(one.definition)
        sent = declaration.model_dump(mode="json", by_alias=True, exclude_none=True)
        assert sent == json.loads(json.dumps(one.definition))


@pytest.mark.parametrize("name", SETS)
def test_mcp(name: str) -> None:
    for one in exports(name, F.MCP):
        tool = mcp_types.Tool.model_validate(one.definition)
        assert tool.model_dump(mode="json", by_alias=True, exclude_none=True) == one.definition


@pytest.mark.parametrize("name", SETS)
def test_langchain(name: str) -> None:
    for one in exports(name, F.LANGCHAIN):
        tool = langchain_tools.StructuredTool(func=lambda **_: None, **one.definition)
        assert tool.args == one.definition["args_schema"]["properties"]
        assert tool.metadata == one.definition["metadata"]


@pytest.mark.parametrize("name", SETS)
def test_strict_tools_are_within_the_limits(name: str) -> None:
    made = [one.definition for one in exports(name, F.ANTHROPIC, strict=True)]
    assert sum(definition["strict"] for definition in made) > len(made) / 2
    for definition in made:
        if definition["strict"]:
            assert _optional(definition["input_schema"]) <= (ANTHROPIC_STRICT.max_optional or 0)


def _optional(node: Any) -> int:
    if isinstance(node, Sequence) and not isinstance(node, str):
        return sum(map(_optional, node))
    if not isinstance(node, dict):
        return 0
    names = node.get("properties")
    own = len(set(names) - set(node.get("required", ()))) if isinstance(names, dict) and "type" in node else 0
    return own + sum(map(_optional, node.values()))


def test_every_limit_is_of_a_format() -> None:
    assert set(LIMITS) == set(F) - {F.NATIVE, F.ANTHROPIC_REFERENCE}
