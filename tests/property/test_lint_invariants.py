"""Any contract lints without a crash, and the same catalogue in any order gives the same bytes."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from strategies import catalogues

from toolsearch.contracts.lint.check import lint
from toolsearch.contracts.lint.places import path_of
from toolsearch.contracts.read.places import pointer
from toolsearch.model.contract import ToolContract

_WORDS = (
    "get",
    "order",
    "limit",
    "date",
    "Default 5",
    "between 1 and 9",
    "one of: a, b",
    "不可撤销",
    "订单",
    "$",
    "",
    " ",
    "(",
    "e.g. 'x'",
)
texts = st.lists(st.sampled_from(_WORDS) | st.text(max_size=12), max_size=5).map(" ".join)
names = st.sampled_from(("limit", "action", "start_date", "id", "amount", "状态", "q", "a-b", "$top")) | st.text(
    min_size=1, max_size=8
)
leaves = st.none() | st.booleans() | st.integers(-3, 300) | st.floats(allow_nan=False, allow_infinity=False) | texts
keys = st.sampled_from(
    [
        "type",
        "enum",
        "const",
        "default",
        "description",
        "minimum",
        "maximum",
        "pattern",
        "format",
        "required",
        "items",
        "properties",
        "anyOf",
        "oneOf",
        "allOf",
        "additionalProperties",
        "$ref",
        "title",
        "examples",
    ]
)
values = st.recursive(
    leaves | st.sampled_from(("string", "integer", "object", "array", "null")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys | names, inner, max_size=4),
    max_leaves=25,
)
schemas = st.dictionaries(keys, values, max_size=6) | st.builds(
    lambda properties, required: {"type": "object", "properties": properties, "required": required},
    st.dictionaries(names, st.dictionaries(keys, values, max_size=5), max_size=5),
    st.lists(names, max_size=3),
)


@st.composite
def contracts(draw: st.DrawFn) -> ToolContract:
    name = draw(
        st.sampled_from(("get_order", "delete-user", "process_data", "search", "查询订单", "x", "orders.get", "A"))
    )
    sections: dict[str, Any] = {
        "identity": {"name": name, "server": draw(st.sampled_from(("shop", "bank")))},
        "capability": {
            "does": draw(texts),
            "does_not": draw(st.lists(texts, max_size=2)),
            "examples": draw(st.lists(texts, max_size=2)),
        },
        "selection": {
            "use_when": draw(st.lists(texts, max_size=2)),
            "adjacent_tools": draw(st.dictionaries(names, texts, max_size=2)),
        },
        "input": {"schema": draw(schemas), "required": draw(st.lists(names, max_size=2))},
        "output": {"schema": draw(schemas)},
        "execution": {"side_effect": draw(st.sampled_from(("none", "read_only", "reversible", "irreversible")))},
    }
    return ToolContract.model_validate(sections)


@given(contract=contracts())
def test_any_contract_lints(contract: ToolContract) -> None:
    report = lint([contract], whole=True, rank=lambda text: [str(contract.ref)])
    assert report == lint([contract], whole=True, rank=lambda text: [str(contract.ref)])
    for finding in report.findings:
        assert pointer(path_of(finding.pointer)) == finding.pointer
        assert finding.message
        finding.model_dump_json()


@given(catalogue=catalogues(most=8), seed=st.integers(0, 99))
def test_order_changes_nothing(catalogue: tuple[ToolContract, ...], seed: int) -> None:
    shuffled = list(catalogue)
    Random(seed).shuffle(shuffled)
    assert lint(shuffled).model_dump_json() == lint(catalogue).model_dump_json()
