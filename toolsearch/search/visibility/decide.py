"""Principal and rules -> Decision, for one tool and for all.

Truth table, first line that applies (documented in docs/visibility.md, tested row by row):

| # | condition | decision | rule |
|---|---|---|---|
| 1 | a stated `access` requirement does not hold | denied | `access.<field>` |
| 2 | a deny rule matches | denied | its id |
| 3 | a restriction of the principal or the request excludes the tool | denied | `restriction` |
| 4 | `access` states requirements (all hold) | allowed | `access` |
| 5 | an allow rule matches | allowed | its id |
| 6 | otherwise | denied | `default-deny` |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toolsearch.model.contract import Access, SideEffect, ToolContract
from toolsearch.model.request import Principal
from toolsearch.search.visibility.rules import Rule, RuleBook, RuleEffect, restrictions_allow


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """What a decision looks at of one tool.

    Attributes:
        side_effect: The assumed side effect: irreversible where nothing is known.
    """

    server: str
    name: str
    domain: str
    tags: tuple[str, ...]
    side_effect: SideEffect
    access: Access

    @classmethod
    def of(cls, contract: ToolContract) -> PolicyRow:
        """Return the row of a contract."""
        identity = contract.identity
        return cls(
            identity.server,
            identity.name,
            identity.domain,
            contract.capability.tags,
            contract.assumed_side_effect,
            contract.access,
        )


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a tool is visible, by which rule, and the reason in words."""

    allowed: bool
    rule: str
    reason: str


def unmet_requirement(access: Access, principal: Principal) -> Decision | None:
    """Return the denial by the first stated requirement that does not hold, or None."""
    missing = [scope for scope in access.scopes_all if scope not in principal.scopes]
    if missing:
        return Decision(False, "access.scopes_all", f"the principal lacks the scopes {', '.join(missing)}")
    if access.scopes_any and not any(scope in principal.scopes for scope in access.scopes_any):
        return Decision(
            False, "access.scopes_any", f"the principal has none of the scopes {', '.join(access.scopes_any)}"
        )
    if access.roles_any and not any(role in principal.roles for role in access.roles_any):
        return Decision(False, "access.roles_any", f"the principal has none of the roles {', '.join(access.roles_any)}")
    if access.tenants and principal.tenant not in access.tenants:
        return Decision(False, "access.tenants", f"tenant {principal.tenant!r} is not one of {access.tenants}")
    if access.environments and principal.environment not in access.environments:
        return Decision(
            False,
            "access.environments",
            f"environment {principal.environment!r} is not one of {access.environments}",
        )
    return None


def decide(row: PolicyRow, *, principal: Principal, rules: RuleBook) -> Decision:
    """Decide about one tool, by the truth table above."""
    return _decide(row, principal=principal, rules=rules.about(principal), access=None)


def _decide(
    row: PolicyRow,
    *,
    principal: Principal,
    rules: tuple[Rule, ...],
    access: dict[Access, Decision | None] | None,
) -> Decision:
    """Decide with the principal's rules at hand; `access` remembers requirement checks, as tools share sections."""
    if access is None:
        unmet = unmet_requirement(row.access, principal)
    elif row.access in access:
        unmet = access[row.access]
    else:
        unmet = access[row.access] = unmet_requirement(row.access, principal)
    if unmet is not None:
        return unmet
    matching = [
        rule
        for rule in rules
        if rule.tools.matches(
            server=row.server, name=row.name, domain=row.domain, tags=row.tags, side_effect=row.side_effect
        )
    ]
    for rule in matching:
        if rule.effect is RuleEffect.DENY:
            return Decision(False, rule.id, rule.reason)
    if not restrictions_allow(
        principal, server=row.server, name=row.name, domain=row.domain, side_effect=row.side_effect
    ):
        return Decision(False, "restriction", "a restriction of the principal or the request excludes it")
    if row.access.declared:
        return Decision(True, "access", "every stated access requirement holds")
    for rule in matching:
        return Decision(True, rule.id, rule.reason)
    return Decision(False, "default-deny", "no access is declared and no allow rule matches")


def visible_mask(rows: Sequence[PolicyRow], *, principal: Principal, rules: RuleBook) -> NDArray[np.bool_]:
    """Decide about all tools.

    Returns:
        bool[len(rows)], True = the principal may see the tool.
    """
    about = rules.about(principal)
    access: dict[Access, Decision | None] = {}
    return np.fromiter(
        (_decide(row, principal=principal, rules=about, access=access).allowed for row in rows),
        dtype=np.bool_,
        count=len(rows),
    )
