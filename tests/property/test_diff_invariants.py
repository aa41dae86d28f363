"""What a difference must be for any two contracts."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from toolsearch.contracts.change.change import ChangeClass, worst
from toolsearch.contracts.change.diff import diff_catalogues, diff_contracts
from toolsearch.model.contract import ToolContract

names = st.sampled_from(["id", "city", "day", "日期", "a/b~c"])
texts = st.sampled_from(["", "read", "Reads one order.", "查询订单"])
numbers = st.sampled_from([0, 1, 1.0, 2, -3, 2.5, True])
values = st.one_of(texts, st.just("\ud800"), numbers, st.none(), st.lists(texts, max_size=2))


def schemas(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keywords = {
        "type": st.sampled_from(["string", "integer", "number", ["string", "null"], ["string"], "object"]),
        "enum": st.lists(values, max_size=3),
        "const": values,
        "properties": st.dictionaries(names, children, max_size=3),
        "required": st.lists(names, max_size=3),
        "items": st.one_of(children, st.lists(children, max_size=2)),
        "anyOf": st.lists(children, max_size=3),
        "allOf": st.lists(children, max_size=2),
        "not": children,
        "additionalProperties": children,
        "minimum": numbers,
        "maxLength": numbers,
        "format": texts,
        "pattern": texts,
        "default": values,
        "description": texts,
        "$ref": st.sampled_from(["#/$defs/a", "#/$defs/b", "#", "#/nowhere", "other.json"]),
        "$defs": st.dictionaries(st.sampled_from(["a", "b"]), children, max_size=2),
        "x-ours": values,
        "uniqueItems": st.booleans(),
        "patternProperties": values,
    }
    return st.one_of(st.booleans(), st.fixed_dictionaries({}, optional=keywords))


any_schema = st.recursive(st.just({}), schemas, max_leaves=6)
roots = any_schema.filter(lambda schema: isinstance(schema, dict))
lists = st.lists(texts, max_size=3)
contracts = st.builds(
    lambda identity, capability, selection, given, output, execution, operational, access, provenance: (
        ToolContract.model_validate(
            {
                "identity": {"name": "t", **identity},
                "capability": capability,
                "selection": selection,
                "input": given,
                "output": output,
                "execution": execution,
                "operational": operational,
                "access": access,
                "provenance": provenance,
            }
        )
    ),
    st.fixed_dictionaries({}, optional={"version": st.integers(1, 3), "title": texts, "aliases": lists}),
    st.fixed_dictionaries({}, optional={"does": texts, "does_not": lists, "tags": lists}),
    st.fixed_dictionaries(
        {}, optional={"use_when": lists, "adjacent_tools": st.dictionaries(names, texts, max_size=2)}
    ),
    st.fixed_dictionaries({}, optional={"schema": st.one_of(roots, texts), "required": st.lists(names, max_size=2)}),
    st.fixed_dictionaries(
        {}, optional={"schema": roots, "produces": st.dictionaries(names, st.just("$.id")), "error_taxonomy": lists}
    ),
    st.fixed_dictionaries(
        {},
        optional={
            "side_effect": st.sampled_from([None, "none", "read_only", "reversible", "irreversible"]),
            "approval": st.just("always"),
            "retry": st.dictionaries(names, st.sampled_from([1, 1.0, True, "x"]), max_size=1),
            "timeout_ms": st.integers(1, 3),
        },
    ),
    st.fixed_dictionaries(
        {},
        optional={"freshness": st.fixed_dictionaries({}, optional={"max_staleness": st.sampled_from(["P1D", "PT0S"])})},
    ),
    st.fixed_dictionaries({}, optional={"scopes_all": lists, "roles_any": lists}),
    st.fixed_dictionaries({}, optional={"trusted": st.booleans(), "notes": lists}),
)


@given(contracts, contracts)
def test_there_are_no_changes_exactly_if_the_fingerprints_are_equal(before: ToolContract, after: ToolContract) -> None:
    changes = diff_contracts(before, after)
    assert (not changes) == (before.fingerprint == after.fingerprint)
    # The same difference, the other way round, is there too; and it is the same bytes each time.
    assert bool(diff_contracts(after, before)) == bool(changes)
    assert diff_contracts(before, after) == changes


@given(contracts)
def test_a_contract_does_not_differ_from_itself(contract: ToolContract) -> None:
    assert diff_contracts(contract, ToolContract.from_stored(contract.stored_json)) == ()


@given(contracts, contracts)
def test_a_difference_is_as_bad_as_its_worst_part(before: ToolContract, after: ToolContract) -> None:
    """Changing section after section, the worst step is the verdict of the whole; nothing is lost between."""
    step, verdicts = before, []
    for section in ("capability", "selection", "output", "operational", "provenance"):
        moved = step.model_copy(update={section: getattr(after, section)})
        verdicts += [change.verdict for change in diff_contracts(step, moved)]
        step = moved
    whole = diff_contracts(before, step)
    assert sorted(change.verdict.rank for change in whole) == sorted(verdict.rank for verdict in verdicts)
    assert worst(whole) == max(verdicts, key=lambda each: each.rank, default=None)


@given(roots, names)
def test_a_new_required_field_breaks_and_its_reverse_is_safe(schema: dict[str, Any], name: str) -> None:
    before = {**schema, "required": [each for each in schema.get("required", ()) if each != name]}
    after = {**before, "required": [*before["required"], name]}
    old, new = (
        ToolContract.model_validate({"identity": {"name": "t"}, "input": {"schema": each}}) for each in (before, after)
    )
    assert worst(diff_contracts(old, new)) is ChangeClass.BREAKING
    assert worst(diff_contracts(new, old)) is ChangeClass.SAFE


@given(st.lists(contracts, max_size=4, unique_by=lambda each: each.ref), contracts)
def test_a_catalogue_differs_where_its_tools_do(catalogue: list[ToolContract], other: ToolContract) -> None:
    assert diff_catalogues(catalogue, reversed(catalogue)).verdict is None
    more = [each for each in catalogue if each.ref != other.ref] + [other]
    diff = diff_catalogues(catalogue, more)
    assert diff.unchanged + len(diff.tools) >= len(catalogue)
    json.dumps(diff.model_dump(mode="json"))
