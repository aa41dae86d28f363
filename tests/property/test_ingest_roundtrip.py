"""Any contract survives being written and read; any bytes give a report or a ContractError, never another exception."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolsearch.contracts.export import api_names, definition, estimate_tokens
from toolsearch.contracts.read import ReadReport, dump_contract, read_data, read_path
from toolsearch.model.contract import SideEffect, ToolContract
from toolsearch.model.errors import ContractError
from toolsearch.model.request import DefinitionFormat, Detail

# No lone surrogates, which no UTF-8 file can hold. YAML is dumped escaped: PyYAML prints U+0085 as a line break.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=24)
LOOK_ALIKES = st.sampled_from(
    [
        "no",
        "on",
        "Yes",
        "null",
        "~",
        "",
        "2026-09-17",
        "12:30",
        "010",
        "0x1F",
        "0o17",
        "1e3",
        "1_000",
        ".inf",
        "<<",
        "=",
        "*a",
        "&a",
        "!t",
        "- x",
        "1.0",
        "#",
        "订单",
    ]
)
WORDS = TEXT | LOOK_ALIKES
NAME = st.from_regex(r"[^\s/@\x00-\x1f\ud800-\udfff]{1,12}", fullmatch=True).filter(
    lambda text: not re.search(r"\s", text)
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | WORDS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(WORDS.filter(lambda key: key != "$ref"), inner, max_size=3)
    ),
    max_leaves=8,
)
SCHEMA = st.dictionaries(WORDS.filter(lambda key: key != "$ref"), JSON, max_size=3)
TEXTS = st.lists(WORDS, max_size=2)
CONTRACT = st.fixed_dictionaries(
    {
        "identity": st.fixed_dictionaries(
            {"name": NAME}, optional={"server": NAME, "version": st.integers(1, 99), "title": WORDS, "aliases": TEXTS}
        )
    },
    optional={
        "capability": st.fixed_dictionaries({}, optional={"does": WORDS, "does_not": TEXTS, "examples": TEXTS}),
        "selection": st.fixed_dictionaries(
            {}, optional={"use_when": TEXTS, "adjacent_tools": st.dictionaries(WORDS, WORDS, max_size=2)}
        ),
        "input": st.fixed_dictionaries(
            {},
            optional={
                "schema": SCHEMA | WORDS,
                "required": TEXTS,
                "semantics": st.dictionaries(WORDS, WORDS, max_size=2),
            },
        ),
        "execution": st.fixed_dictionaries(
            {},
            optional={
                "side_effect": st.sampled_from([effect.label for effect in SideEffect]),
                "timeout_ms": st.integers(1, 1000),
                "approval": WORDS,
            },
        ),
        "operational": st.fixed_dictionaries(
            {}, optional={"freshness": WORDS, "typical_latency_ms": st.floats(0, 1e9)}
        ),
        "access": st.fixed_dictionaries({}, optional={"scopes_all": TEXTS, "tenants": TEXTS}),
    },
).map(ToolContract.model_validate)

TOOL_LIKE = st.dictionaries(
    st.sampled_from(
        [
            "name",
            "description",
            "inputSchema",
            "input_schema",
            "parameters",
            "function",
            "type",
            "tools",
            "result",
            "id",
            "annotations",
            "identity",
            "capability",
            "inputs",
            "input",
            "_meta",
            "server",
            "http",
            "title",
            "operational",
            "execution",
        ]
    )
    | WORDS,
    JSON
    | st.dictionaries(
        st.sampled_from(["name", "parameters", "side_effect", "readOnlyHint", "$ref", "properties", "schema"]),
        JSON,
        max_size=3,
    ),
    max_size=5,
)


@given(CONTRACT)
def test_a_contract_is_read_back_equal_from_json_jsonl_and_yaml(contract):
    texts = {
        "json": dump_contract(contract),
        "jsonl": contract.stored_json,
        "yaml": yaml.safe_dump(contract.canonical(), sort_keys=False),
    }
    for syntax, text in texts.items():
        report = read_data(text, syntax=syntax)
        assert report.refused == ()
        assert report.contracts == (contract,)
        assert report.contracts[0].fingerprint == contract.fingerprint


@given(st.lists(CONTRACT, max_size=3, unique_by=lambda contract: contract.ref))
def test_several_documents_are_read_back_in_order(contracts):
    text = yaml.safe_dump_all([contract.canonical() for contract in contracts])
    assert read_data(text, syntax="yaml").contracts == tuple(contracts)


@given(st.binary(max_size=200) | TEXT | st.sampled_from(["json", "yaml"]).flatmap(lambda _: JSON.map(json.dumps)))
def test_any_bytes_give_a_report_or_a_contract_error(data):
    for syntax in (None, "json", "jsonl", "yaml"):
        try:
            report = read_data(data, syntax=syntax)
        except ContractError:
            continue
        assert isinstance(report, ReadReport)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(TOOL_LIKE | st.lists(TOOL_LIKE, max_size=3) | JSON, st.booleans())
def test_any_data_give_a_report_or_a_contract_error(data, trusted):
    try:
        report = read_data(data, trusted=trusted)
    except ContractError:
        return
    assert all(isinstance(error, ContractError) and str(error) for error in report.refused)
    for contract in report.contracts:
        assert read_data(contract.canonical()).contracts == (contract,)


SENTENCES = st.lists(
    st.sampled_from(
        [
            "Get an order.",
            "Use this tool when the id is known.",
            "Do not use it to search; use orders.search instead.",
            "Not for secrets - use vault_get.",
            "It does not return prices, but never fails.",
            "- an item (use other_tool)",
            "## When to use",
            "When not to use: batch",
            "Args:",
            "    amount (int): how much",
            "```\ncode(x)\n```",
            "只在用户要求时调用；取消请用 cancel_order。",
            "返回日线，不返回盘口，不提供资金。",
            "如果没有，则不返回。",
            "何时不用：统计",
            "",
        ]
    )
    | WORDS,
    max_size=8,
)


@given(SENTENCES, st.sampled_from(["\n", " ", "\n\n"]))
def test_every_word_of_a_description_ends_up_in_a_field(sentences, glue):
    description = glue.join(sentences)
    schema = {"properties": {"amount": {"type": "integer"}}}
    report = read_data({"name": "get_order", "description": description, "inputSchema": schema})
    (contract,) = report.contracts
    kept = contract.canonical_json
    parts = [word for word in re.findall(r"\w{4,}", description) if word.isascii()]
    headings = {"When", "when", "Args"}
    lost = [word for word in parts if word not in kept and word not in headings]
    assert lost == []


@given(st.text("'\"`*-_.,;:!?()<>#\n 用不时 adeimnoOrstu", max_size=3000))
def test_strange_prose_is_read(description):
    (contract,) = read_data({"name": "x", "description": description}).contracts
    assert contract.ref.name == "x"


@pytest.mark.parametrize(
    "piece",
    ["use ", "- ", "not ", "，不", "when.", "`a", "( ", "**", "do not use ", "a_b ", "如果", "x:\n", "!) ", "…"],
)
def test_long_monotonous_prose_is_read_in_bounded_time(piece):
    (contract,) = read_data({"name": "x", "description": piece * 20_000}).contracts
    assert contract.ref.name == "x"


@given(st.lists(CONTRACT, max_size=6))
def test_api_names_are_safe_distinct_and_order_free(contracts):
    refs = [contract.ref for contract in contracts]
    names = api_names(refs)
    assert len(set(names.values())) == len(set(refs))
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names.values())
    assert api_names(refs[::-1]) == names


@given(CONTRACT, st.sampled_from(list(DefinitionFormat)), st.sampled_from(list(Detail)))
def test_every_contract_has_every_definition(contract, format_, detail):
    tool = definition(contract, format=format_, detail=detail, api_name="x")
    text = json.dumps(tool, allow_nan=False)
    assert text == json.dumps(definition(contract, format=format_, detail=detail, api_name="x"), allow_nan=False)
    assert "scopes_all" not in tool
    assert "access" not in tool
    assert "provenance" not in tool


@given(TEXT, TEXT)
def test_token_estimates_are_monotone_and_almost_additive(left, right):
    together = estimate_tokens(left + right)
    assert max(estimate_tokens(left), estimate_tokens(right)) <= together
    assert abs(together - estimate_tokens(left) - estimate_tokens(right)) <= 2


DATA = Path(os.environ.get("TOOLSEARCH_DATA", Path(__file__).parents[3] / "shared" / "data"))
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"no data sets in {DATA}: set TOOLSEARCH_DATA")
SCALE = {"scale_aws", "scale_google"}
SETS = sorted(path.parent.name for path in DATA.glob("*/tools.jsonl")) if DATA.is_dir() else []


@pytest.mark.data
@pytest.mark.slow
@needs_data
@pytest.mark.parametrize("name", [name for name in SETS if name not in SCALE] or ["none"])
def test_every_catalogue_is_read_whole_with_its_ids(name):
    path = DATA / name / "tools.jsonl"
    report = read_path(path)
    ids = [json.loads(line)["id"] for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    assert report.refused == ()
    assert sorted(report.ids.values()) == sorted(ids)


@pytest.mark.data
@pytest.mark.slow
@needs_data
def test_what_is_inferred_from_real_servers():
    contracts = read_path(DATA / "real_servers" / "tools.jsonl").contracts
    share = {
        "side_effect": sum(contract.execution.side_effect is not None for contract in contracts) / len(contracts),
        "read_only": sum(contract.execution.side_effect is SideEffect.READ_ONLY for contract in contracts)
        / len(contracts),
        "use_when": sum(bool(contract.selection.use_when) for contract in contracts) / len(contracts),
        "boundary": sum(
            bool(contract.capability.does_not or contract.selection.do_not_use_when) for contract in contracts
        )
        / len(contracts),
    }
    assert share["side_effect"] > 0.9, share
    assert 0.4 < share["read_only"] < 0.8, share
    assert share["use_when"] > 0.1, share
    assert share["boundary"] > 0.02, share
    assert all(contract.capability.does for contract in contracts)
