"""Who sees what: the truth table of docs/visibility.md row by row, rules, restrictions and views.

The rows are read from the document: a row that has no test here fails, and so does a test whose row is gone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from toolsearch.engine.search import ToolIndex
from toolsearch.model.contract import Access, SideEffect, ToolContract
from toolsearch.model.errors import PolicyError, UnknownTool
from toolsearch.model.request import Principal, Restriction
from toolsearch.search.visibility import decide as decide_module
from toolsearch.search.visibility.decide import Decision, PolicyRow, decide, visible_mask
from toolsearch.search.visibility.rules import (
    ADMIN_ROLE,
    PrincipalScope,
    Rule,
    RuleBook,
    RuleEffect,
    ToolScope,
    require_admin,
)

DOCUMENT = (Path(__file__).resolve().parents[2] / "docs" / "visibility.md").read_text(encoding="utf-8")
ANN = Principal(subject="ann", tenant="acme", environment="prod", roles=("support",), scopes=("o.read", "o.write"))
ALLOW = Rule(id="open", effect=RuleEffect.ALLOW, reason="all may")
DENY = Rule(id="shut", effect=RuleEffect.DENY, reason="none may")


def tables(text: str) -> list[list[list[str]]]:
    """Return the tables of a Markdown text as rows of cells, heading and ruler left out."""
    found: list[list[list[str]]] = []
    lines = [*text.splitlines(), ""]
    current: list[list[str]] = []
    for line in lines:
        if line.startswith("|"):
            current.append([cell.strip() for cell in line.strip("|").split("|")])
        elif current:
            found.append(current[2:])
            current = []
    return found


TRUTH, FIELDS, EXAMPLES = tables(DOCUMENT)


def row(**changes: Any) -> PolicyRow:
    plain: dict[str, Any] = {
        "server": "shop",
        "name": "orders.get",
        "domain": "orders",
        "tags": ("core", "pii"),
        "side_effect": SideEffect.READ_ONLY,
        "access": Access(),
    }
    return PolicyRow(**{**plain, **changes})


def decided(tool: PolicyRow, *rules: Rule, principal: Principal = ANN) -> Decision:
    return decide(tool, principal=principal, rules=RuleBook(rules=rules))


def only(**fields: Any) -> Principal:
    return ANN.narrowed(Restriction(**fields))


HELD, UNMET = row(access=Access(scopes_all=("o.read",))), row(access=Access(scopes_all=("o.read", "secret")))

ROWS: Mapping[str, Callable[[], list[tuple[Decision, bool, str]]]] = {
    "a stated `access` requirement does not hold": lambda: [
        (decided(UNMET), False, "access.scopes_all"),
        (decided(UNMET, ALLOW), False, "access.scopes_all"),
        (decided(UNMET, DENY), False, "access.scopes_all"),
        (decided(UNMET, ALLOW, principal=only(servers=("crm",))), False, "access.scopes_all"),
    ],
    "a deny rule matches": lambda: [
        (decided(row(), DENY), False, "shut"),
        (decided(HELD, DENY), False, "shut"),
        (decided(row(), ALLOW, DENY), False, "shut"),
        (decided(row(), DENY, ALLOW), False, "shut"),
        (decided(HELD, ALLOW, DENY, principal=only(servers=("crm",))), False, "shut"),
    ],
    "a restriction of the principal or the request excludes the tool": lambda: [
        (decided(row(), ALLOW, principal=only(servers=("crm",))), False, "restriction"),
        (decided(HELD, principal=only(domains=("crm",))), False, "restriction"),
        (decided(row(), principal=only(servers=("crm",))), False, "restriction"),
    ],
    "`access` states requirements (all hold)": lambda: [
        (decided(HELD), True, "access"),
        (decided(HELD, ALLOW), True, "access"),
        (decided(HELD, principal=only(servers=("shop",))), True, "access"),
    ],
    "an allow rule matches": lambda: [
        (decided(row(), ALLOW), True, "open"),
        (decided(row(), ALLOW, principal=only(servers=("shop",))), True, "open"),
    ],
    "otherwise": lambda: [
        (decided(row()), False, "default-deny"),
        (decided(row(), ALLOW.model_copy(update={"tools": ToolScope(servers=("crm",))})), False, "default-deny"),
        (decided(row(), principal=only(servers=("shop",))), False, "default-deny"),
    ],
}


@pytest.mark.parametrize(("number", "condition", "decision", "rule"), TRUTH, ids=lambda cell: cell[:30])
def test_each_row_of_the_truth_table(number: str, condition: str, decision: str, rule: str) -> None:
    for found, allowed, name in ROWS[condition]():
        assert (found.allowed, found.rule) == (allowed, name)
        assert found.allowed is (decision == "allowed")
        assert found.reason
        if rule == "its id":
            assert name in {"open", "shut"}
        else:
            assert re.fullmatch(rule.strip("`").replace("<field>", r"\w+"), name)


def test_the_table_is_complete_in_order_and_the_same_in_the_code() -> None:
    assert [int(cells[0]) for cells in TRUTH] == [1, 2, 3, 4, 5, 6]
    assert [cells[1] for cells in TRUTH] == list(ROWS)
    assert tables(decide_module.__doc__ or "")[0] == TRUTH


def test_the_documented_fields_are_those_of_access() -> None:
    assert [cells[0].strip("`") for cells in FIELDS] == list(Access.model_fields)


@pytest.mark.parametrize(
    ("access", "field"),
    [
        (Access(scopes_all=("o.read", "x")), "scopes_all"),
        (Access(scopes_any=("x", "y")), "scopes_any"),
        (Access(roles_any=("finance",)), "roles_any"),
        (Access(tenants=("globex",)), "tenants"),
        (Access(environments=("staging",)), "environments"),
        (Access(scopes_all=("o.read",), roles_any=("finance",)), "roles_any"),
    ],
)
def test_each_stated_requirement_must_hold(access: Access, field: str) -> None:
    found = decided(row(access=access), ALLOW)
    assert (found.allowed, found.rule) == (False, f"access.{field}")


@pytest.mark.parametrize(
    "access",
    [
        Access(scopes_all=("o.read", "o.write")),
        Access(scopes_any=("x", "o.write")),
        Access(roles_any=("finance", "support")),
        Access(tenants=("globex", "acme"), environments=("prod",)),
    ],
)
def test_requirements_that_hold_grant(access: Access) -> None:
    assert decided(row(access=access)) == Decision(True, "access", "every stated access requirement holds")


def test_absent_facts_satisfy_nothing() -> None:
    nobody = Principal()
    assert not decided(row(access=Access(tenants=("acme",))), ALLOW, principal=nobody).allowed
    assert not decided(row(access=Access(environments=("prod",))), ALLOW, principal=nobody).allowed
    scoped = ALLOW.model_copy(update={"principals": PrincipalScope(tenants=("*",))})
    assert decided(row(), scoped, principal=nobody).rule == "default-deny"


@pytest.mark.parametrize(
    ("scope", "matches"),
    [
        (ToolScope(), True),
        (ToolScope(names=("orders.*",)), True),
        (ToolScope(names=("order",)), False),
        (ToolScope(names=("ORDERS.*",)), False),
        (ToolScope(names=("orders.g?t",)), True),
        (ToolScope(names=("orders.[a-f]*",)), False),
        (ToolScope(names=("x", "orders.get")), True),
        (ToolScope(servers=("sh*",), domains=("orders",)), True),
        (ToolScope(servers=("sh*",), domains=("crm",)), False),
        (ToolScope(tags=("p*",)), True),
        (ToolScope(tags=("gdpr",)), False),
        (ToolScope(min_side_effect=SideEffect.READ_ONLY, max_side_effect=SideEffect.READ_ONLY), True),
        (ToolScope(min_side_effect=SideEffect.REVERSIBLE), False),
        (ToolScope(max_side_effect=SideEffect.NONE), False),
    ],
)
def test_tool_globs_and_bounds(scope: ToolScope, matches: bool) -> None:
    assert decided(row(), ALLOW.model_copy(update={"tools": scope})).allowed is matches


@pytest.mark.parametrize(
    ("scope", "matches"),
    [
        (PrincipalScope(subjects=("a*",)), True),
        (PrincipalScope(subjects=("bob",)), False),
        (PrincipalScope(roles_any=("sup*",)), True),
        (PrincipalScope(scopes_any=("*.write",)), True),
        (PrincipalScope(scopes_any=("*.delete",)), False),
        (PrincipalScope(tenants=("acme",), environments=("prod",)), True),
        (PrincipalScope(tenants=("acme",), environments=("staging",)), False),
    ],
)
def test_principal_globs(scope: PrincipalScope, matches: bool) -> None:
    assert decided(row(), ALLOW.model_copy(update={"principals": scope})).allowed is matches


@pytest.mark.parametrize(
    ("limit", "visible"),
    [
        ({}, True),
        ({"servers": ("shop", "crm")}, True),
        ({"domains": ("crm",)}, False),
        ({"tools": ("orders.get",)}, True),
        ({"tools": ("shop/orders.get",)}, True),
        ({"tools": ("crm/orders.get", "orders.*")}, False),
        ({"exclude_tools": ("shop/orders.get",)}, False),
        ({"exclude_tools": ("orders.cancel",)}, True),
        ({"tools": ("orders.get",), "exclude_tools": ("orders.get",)}, False),
        ({"max_side_effect": "none"}, False),
        ({"max_side_effect": "read_only"}, True),
    ],
)
def test_restrictions(limit: dict[str, Any], visible: bool) -> None:
    assert decided(row(), ALLOW, principal=only(**limit)).allowed is visible


def test_every_restriction_must_hold() -> None:
    both = only(servers=("shop",)).narrowed(Restriction(domains=("crm",)))
    assert not decided(row(), ALLOW, principal=both).allowed


def test_an_unknown_side_effect_counts_as_irreversible() -> None:
    silent = PolicyRow.of(ToolContract.model_validate({"identity": {"name": "x"}}))
    assert silent.side_effect is SideEffect.IRREVERSIBLE
    assert not decided(silent, ALLOW, principal=only(max_side_effect="reversible")).allowed
    assert not decided(silent, ALLOW.model_copy(update={"tools": ToolScope(max_side_effect="reversible")})).allowed


def test_the_order_of_rules_does_not_matter() -> None:
    other = ALLOW.model_copy(update={"id": "another"})
    assert decided(row(), ALLOW, other).rule == decided(row(), other, ALLOW).rule == "another"


def test_a_mask_agrees_with_single_decisions() -> None:
    rows = [row(), HELD, UNMET, row(server="crm"), row(side_effect=SideEffect.IRREVERSIBLE), UNMET]
    rules = RuleBook(rules=(ALLOW.model_copy(update={"tools": ToolScope(servers=("shop",))}),))
    mask = visible_mask(rows, principal=ANN, rules=rules)
    assert mask.tolist() == [decide(one, principal=ANN, rules=rules).allowed for one in rows]
    assert visible_mask([], principal=ANN, rules=rules).tolist() == []


def test_rule_books_refuse_what_is_wrong() -> None:
    with pytest.raises(ValidationError, match="stands twice"):
        RuleBook(rules=(ALLOW, ALLOW))
    with pytest.raises(ValidationError):
        RuleBook.model_validate({"rules": [{"id": "x", "effect": "maybe", "reason": "so"}]})
    with pytest.raises(ValidationError):
        RuleBook.model_validate({"rules": [{"id": "x", "effect": "allow", "reason": "so", "tool": {}}]})


def test_the_public_book_does_not_pass_access() -> None:
    book = RuleBook.public()
    assert decide(row(), principal=Principal(), rules=book) == Decision(
        True, "public", "the catalogue is declared public"
    )
    assert not decide(HELD, principal=Principal(), rules=book).allowed


def test_only_administrators_administer() -> None:
    require_admin(Principal(roles=(ADMIN_ROLE,)))
    with pytest.raises(PolicyError, match=ADMIN_ROLE):
        require_admin(ANN)


# The examples of the document ---------------------------------------------------------------------------------------

EXAMPLE_RULES = RuleBook.model_validate(yaml.safe_load(re.search(r"```yaml\n(.*?)```", DOCUMENT, re.DOTALL)[1]))  # type: ignore[index]
EXAMPLE_TOOLS = {
    "orders.get": row(),
    "orders.refund": row(
        name="orders.refund", side_effect=SideEffect.IRREVERSIBLE, access=Access(scopes_all=("orders.refund",))
    ),
    "mail.send": row(
        name="mail.send", domain="mail", side_effect=SideEffect.IRREVERSIBLE, access=Access(roles_any=("employee",))
    ),
}
EXAMPLE_PRINCIPALS = {
    "role support": Principal(roles=("support",)),
    "role employee, scope orders.refund": Principal(roles=("employee",), scopes=("orders.refund",)),
    "roles employee and contractor": Principal(roles=("employee", "contractor")),
    "role support, restricted to server `crm`": Principal(
        roles=("support",), restrictions=(Restriction(servers=("crm",)),)
    ),
}


@pytest.mark.parametrize("cells", EXAMPLES, ids=lambda cells: cells[0])
def test_the_examples_of_the_document(cells: list[str]) -> None:
    principal = EXAMPLE_PRINCIPALS[cells[0]]
    for tool, cell in zip(EXAMPLE_TOOLS.values(), cells[1:], strict=True):
        found = decide(tool, principal=principal, rules=EXAMPLE_RULES)
        assert f"{'allowed' if found.allowed else 'denied'}: `{found.rule}`" == cell


# Through the engine -------------------------------------------------------------------------------------------------


@pytest.fixture
def index() -> ToolIndex:
    index = ToolIndex.create(None, encoder="hashed")
    index.add(
        [
            ToolContract.model_validate({"identity": {"name": "open", "server": "a"}}),
            ToolContract.model_validate(
                {"identity": {"name": "secret", "server": "a"}, "access": {"scopes_all": ["o.admin"]}}
            ),
        ]
    )
    return index


def test_nothing_is_visible_by_default(index: ToolIndex) -> None:
    assert index.tools(principal=ANN) == ()
    index.set_rules(RuleBook.public())
    assert [tool.ref for tool in index.tools(principal=ANN)] == ["a/open@1"]


def test_only_administrators_are_told_why_not(index: ToolIndex) -> None:
    admin = Principal(roles=(ADMIN_ROLE,))
    report = index.why_not("secret", principal=ANN, asked_by=admin)
    assert (report.ref, report.allowed, report.rule) == ("a/secret@1", False, "access.scopes_all")
    assert "o.admin" in report.reason
    texts = []
    for name in ("secret", "absent"):
        with pytest.raises(UnknownTool) as caught:
            index.why_not(name, principal=ANN, asked_by=ANN)
        texts.append(str(caught.value).replace(name, "X"))
    assert texts[0] == texts[1]


def test_the_role_of_administrators_shows_no_tool(index: ToolIndex) -> None:
    assert index.tools(principal=Principal(roles=(ADMIN_ROLE,))) == ()
