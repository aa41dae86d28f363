"""The starter catalogue and its labelled requests agree with each other.

Read with plain YAML and judged by a visibility oracle of this file's own, so that neither the loader nor the visibility
stage is needed, and a mistake in one of them cannot hide a mistake in the labels.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from toolsearch.model.contract import SideEffect, ToolContract
from toolsearch.model.request import Principal

ROOT = Path(__file__).resolve().parents[2]
STARTER = ROOT / "indexes" / "starter"
CASES = ROOT / "tests" / "cases"
HAN = re.compile(r"[\u4e00-\u9fff]")
KINDS = {
    "single": 60,
    "multi": 15,
    "none": 20,
    "permission": 15,
    "missing_input": 15,
    "freshness": 12,
    "boundary": 12,
    "confusable": 13,
    "confirm": 10,
}
"""Kind of case -> how many there must be at least."""


@cache
def contracts() -> tuple[ToolContract, ...]:
    """Return every contract of the starter catalogue."""
    found: list[ToolContract] = []
    for path in sorted((STARTER / "contracts").glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            entries = document if isinstance(document, list) else [document]
            found.extend(ToolContract.model_validate(entry) for entry in entries)
    return tuple(found)


@cache
def rules() -> tuple[Mapping[str, Any], ...]:
    """Return the rules of the starter catalogue as plain data."""
    return tuple(yaml.safe_load((STARTER / "rules.yaml").read_text(encoding="utf-8"))["rules"])


@cache
def principals() -> Mapping[str, Principal]:
    """Return the shared principals by key."""
    data = yaml.safe_load((CASES / "principals.yaml").read_text(encoding="utf-8"))["principals"]
    return {key: Principal.model_validate(value) for key, value in data.items()}


@cache
def cases() -> tuple[Mapping[str, Any], ...]:
    """Return the labelled requests of every case file over the starter catalogue."""
    found: list[Mapping[str, Any]] = []
    for path in sorted(CASES.glob("*.yaml")):
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        if data.get("catalog") == "starter":
            found.extend(data["cases"])
    return tuple(found)


def matches(rule: Mapping[str, Any], *, contract: ToolContract, principal: Principal) -> bool:
    """Tell whether a rule speaks of this contract and this principal: all stated conditions must hold."""
    tools, who = rule.get("tools", {}), rule.get("principals", {})
    effect = contract.assumed_side_effect
    conditions = [
        "servers" not in tools or any(fnmatchcase(contract.identity.server, p) for p in tools["servers"]),
        "names" not in tools or any(fnmatchcase(contract.identity.name, p) for p in tools["names"]),
        "max_side_effect" not in tools or effect <= SideEffect[tools["max_side_effect"].upper()],
        "min_side_effect" not in tools or effect >= SideEffect[tools["min_side_effect"].upper()],
        "tenants" not in who or principal.tenant in who["tenants"],
        "environments" not in who or principal.environment in who["environments"],
        "roles_any" not in who or bool(set(who["roles_any"]) & set(principal.roles)),
    ]
    unknown = (set(tools) | set(who)) - {
        "servers",
        "names",
        "max_side_effect",
        "min_side_effect",
        "tenants",
        "environments",
        "roles_any",
    }
    assert not unknown, f"the oracle does not know {sorted(unknown)}: teach it before using it in rules.yaml"
    return all(conditions)


def visible(contract: ToolContract, *, principal: Principal) -> bool:
    """Decide by the truth table: access, then deny rules, then declared access or an allow rule."""
    access, scopes = contract.access, set(principal.scopes)
    holds = (
        set(access.scopes_all) <= scopes
        and (not access.scopes_any or bool(set(access.scopes_any) & scopes))
        and (not access.roles_any or bool(set(access.roles_any) & set(principal.roles)))
        and (not access.tenants or principal.tenant in access.tenants)
        and (not access.environments or principal.environment in access.environments)
    )
    effects = {rule["effect"] for rule in rules() if matches(rule, contract=contract, principal=principal)}
    return holds and "deny" not in effects and (access.declared or "allow" in effects)


def named(name: str) -> tuple[ToolContract, ...]:
    """Return the contracts that `name` or `server/name` stands for."""
    server, _, bare = name.rpartition("/")
    return tuple(
        contract
        for contract in contracts()
        if contract.identity.name == bare and server in ("", contract.identity.server)
    )


def seen(name: str, *, principal: Principal) -> tuple[ToolContract, ...]:
    """Return those contracts of that name that the principal may see."""
    return tuple(contract for contract in named(name) if visible(contract, principal=principal))


def wanted(expect: Mapping[str, Any]) -> list[str]:
    """Return the tools that a case names as right."""
    names: list[str] = []
    for key in ("tool", "tools"):
        value = expect.get(key)
        names += value if isinstance(value, list) else [value] if value is not None else []
    return names


def rivals(expect: Mapping[str, Any]) -> list[str]:
    """Return the tools that a case compares in rank or names as producers."""
    above = expect.get("above", {})
    return [*above, *above.values(), *expect.get("obtain_from", {}).values()]


def by_id(all_cases: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Make one test parameter of each case."""
    return [pytest.param(case, id=case["id"]) for case in all_cases]


def test_the_catalogue_is_large_and_its_names_are_unique() -> None:
    refs = Counter((contract.identity.server, contract.identity.name) for contract in contracts())
    assert len(contracts()) >= 60
    assert max(refs.values()) == 1


def test_the_catalogue_covers_effects_tenants_environments_and_languages() -> None:
    chinese = sum(1 for contract in contracts() if HAN.search(contract.capability.does))
    assert {contract.execution.side_effect for contract in contracts()} == set(SideEffect)
    assert {tenant for c in contracts() for tenant in c.access.tenants} >= {"acme", "globex"}
    assert {env for c in contracts() for env in c.access.environments} >= {"production", "staging"}
    assert 0.35 <= chinese / len(contracts()) <= 0.65


def test_exactly_one_tool_is_always_on() -> None:
    assert [c.identity.name for c in contracts() if "always-on" in c.capability.tags] == ["ask_user"]


@pytest.mark.parametrize("contract", [pytest.param(c, id=str(c.ref)) for c in contracts()])
def test_a_contract_is_whole_and_speaks_of_things_that_exist(contract: ToolContract) -> None:
    Draft202012Validator.check_schema(contract.input_schema)
    properties = contract.input_schema.get("properties", {})
    fields = {
        *contract.required_inputs,
        *contract.input.clarification_fields,
        *contract.input.forbidden_inference_fields,
        *contract.input.semantics,
    }
    assert fields <= set(properties)
    for neighbour in contract.selection.adjacent_tools:
        assert named(neighbour), f"adjacent tool {neighbour} is not in the catalogue"
    assert contract.capability.does
    assert contract.capability.does_not
    assert contract.capability.examples
    assert contract.selection.use_when
    assert contract.selection.do_not_use_when
    assert contract.operational.freshness.text
    assert contract.operational.cost_class is not None
    if contract.assumed_side_effect is SideEffect.IRREVERSIBLE:
        assert contract.execution.approval is not None
        assert contract.execution.idempotency


@pytest.mark.parametrize("contract", [pytest.param(c, id=str(c.ref)) for c in contracts()])
def test_schema_examples_satisfy_their_own_schema(contract: ToolContract) -> None:
    for name, schema in contract.input_schema.get("properties", {}).items():
        validator = Draft202012Validator(schema)
        for example in schema.get("examples", ()):
            assert validator.is_valid(example), f"{name}: {example!r}"


def test_every_tool_is_visible_to_somebody_and_none_to_all_but_the_public_ones() -> None:
    for contract in contracts():
        watchers = [key for key, who in principals().items() if visible(contract, principal=who)]
        assert watchers, f"nobody sees {contract.ref}"
        assert contract.identity.server in {"utility", "weather"} or "anonymous" not in watchers


def test_every_rule_decides_something() -> None:
    for rule in rules():
        assert any(
            matches(rule, contract=contract, principal=who) for contract in contracts() for who in principals().values()
        ), f"rule {rule['id']} matches nothing"


def test_there_are_enough_cases_of_every_kind_and_language() -> None:
    kinds = Counter(case["kind"] for case in cases())
    assert len(cases()) >= 170
    assert set(kinds) == set(KINDS)
    assert {kind: count for kind, count in kinds.items() if count < KINDS[kind]} == {}
    assert min(Counter(case["lang"] for case in cases()).values()) >= 50


def test_ids_and_requests_are_unique() -> None:
    assert max(Counter(case["id"] for case in cases()).values()) == 1
    assert max(Counter(case["input"] for case in cases()).values()) == 1


@pytest.mark.parametrize("group", [("kind",), ("lang",), ("kind", "lang")])
def test_dev_and_test_halves_are_alike(group: tuple[str, ...]) -> None:
    totals: Counter[tuple[str, ...]] = Counter()
    dev: Counter[tuple[str, ...]] = Counter()
    for case in cases():
        key = tuple(case[name] for name in group)
        totals[key] += 1
        dev[key] += case["split"] == "dev"
    for key, total in totals.items():
        assert 0.4 * total <= dev[key] <= 0.6 * total or abs(2 * dev[key] - total) <= 1, key


def test_no_case_repeats_an_example_of_a_contract() -> None:
    examples = {text.casefold() for contract in contracts() for text in contract.capability.examples}
    assert [case["id"] for case in cases() if case["input"].casefold() in examples] == []


@pytest.mark.parametrize("case", by_id(cases()))
def test_a_case_is_right_for_its_principal(case: Mapping[str, Any]) -> None:
    principal, expect = principals()[case["principal"]], case["expect"]
    assert case["split"] in {"dev", "test"}
    assert case["risk"] in {"low", "high"}
    assert expect
    for name in [*wanted(expect), *rivals(expect)]:
        assert len(seen(name, principal=principal)) == 1, f"{name} is not one tool {case['principal']} may see"
    for name in expect.get("not", ()):
        assert named(name), f"{name} is not in the catalogue"
        assert not seen(name, principal=principal), f"{name} is visible to {case['principal']}"


@pytest.mark.parametrize("case", by_id([case for case in cases() if case["kind"] == "missing_input"]))
def test_a_missing_input_is_required_and_its_producer_produces_it(case: Mapping[str, Any]) -> None:
    principal, expect = principals()[case["principal"]], case["expect"]
    (tool,) = seen(expect["tool"], principal=principal)
    assert set(expect["missing"]) <= set(tool.required_inputs)
    for field, name in expect.get("obtain_from", {}).items():
        (producer,) = seen(name, principal=principal)
        assert field in expect["missing"]
        assert field in producer.output.produces
        assert producer.assumed_side_effect <= SideEffect.READ_ONLY


@pytest.mark.parametrize("case", by_id([case for case in cases() if "requiresConfirmation" in case["expect"]]))
def test_a_confirmed_tool_carries_an_approval(case: Mapping[str, Any]) -> None:
    principal, expect = principals()[case["principal"]], case["expect"]
    tools = [tool for name in wanted(expect) for tool in seen(name, principal=principal)]
    assert any(tool.execution.approval is not None for tool in tools)
    assert case["risk"] == "high"


@pytest.mark.parametrize("case", by_id([case for case in cases() if "inputs" in case]))
def test_given_inputs_satisfy_the_schema_of_the_expected_tool(case: Mapping[str, Any]) -> None:
    (tool,) = seen(case["expect"]["tool"], principal=principals()[case["principal"]])
    assert Draft202012Validator(tool.input_schema).is_valid(case["inputs"])


@pytest.mark.parametrize("case", by_id([case for case in cases() if wanted(case["expect"])]))
def test_language_mark_follows_request_and_contract(case: Mapping[str, Any]) -> None:
    request = "zh" if HAN.search(case["input"]) else "en"
    bilingual = {"ask_user", "kb_search"}
    languages = {
        "zh" if HAN.search(contract.capability.does) else "en"
        for name in wanted(case["expect"])
        for contract in named(name)[:1]
        if name not in bilingual
    }
    assert case["lang"] == (request if languages <= {request} else "mixed")


@pytest.mark.parametrize("case", by_id([case for case in cases() if "args" in case["expect"]]))
def test_expected_arguments_satisfy_the_schema_of_the_expected_tool(case: Mapping[str, Any]) -> None:
    expect = case["expect"]
    (tool,) = seen(expect["tool"], principal=principals()[case["principal"]])
    properties = tool.input_schema["properties"]
    for field, value in expect["args"].items():
        assert Draft202012Validator(properties[field]).is_valid(value)
        assert field not in expect.get("missing", ())
