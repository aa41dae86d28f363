"""Access rules of a catalogue: who may see which tools, and why.

A rule never grants past a contract's own `access` section; see `decide` for the whole truth table.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Annotated

from pydantic import AfterValidator, StringConstraints

from toolsearch.model.contract import Frozen, SideEffect, SideEffectField
from toolsearch.model.errors import PolicyError
from toolsearch.model.request import Principal

ADMIN_ROLE = "toolsearch-admin"
"""The role that may change the catalogue and ask `why-not`."""

Pattern = Annotated[str, StringConstraints(min_length=1, max_length=256)]
"""A shell-style glob (`*`, `?`, `[...]`), case-sensitive."""


class RuleEffect(StrEnum):
    """What a matching rule does. Deny beats allow."""

    ALLOW = "allow"
    DENY = "deny"


class ToolScope(Frozen):
    """Which tools a rule speaks of. Every stated field must match; nothing stated = all tools."""

    servers: tuple[Pattern, ...] = ()
    names: tuple[Pattern, ...] = ()
    domains: tuple[Pattern, ...] = ()
    tags: tuple[Pattern, ...] = ()
    min_side_effect: SideEffectField | None = None
    max_side_effect: SideEffectField | None = None

    def matches(self, *, server: str, name: str, domain: str, tags: tuple[str, ...], side_effect: SideEffect) -> bool:
        """Tell whether a tool is in scope."""
        return (
            _any_glob(self.servers, (server,))
            and _any_glob(self.names, (name,))
            and _any_glob(self.domains, (domain,))
            and _any_glob(self.tags, tags)
            and (self.min_side_effect is None or side_effect >= self.min_side_effect)
            and (self.max_side_effect is None or side_effect <= self.max_side_effect)
        )


class PrincipalScope(Frozen):
    """Whom a rule speaks of. Every stated field must match; nothing stated = everyone."""

    subjects: tuple[Pattern, ...] = ()
    roles_any: tuple[Pattern, ...] = ()
    scopes_any: tuple[Pattern, ...] = ()
    tenants: tuple[Pattern, ...] = ()
    environments: tuple[Pattern, ...] = ()

    def matches(self, principal: Principal) -> bool:
        """Tell whether a principal is in scope. A missing tenant or environment matches no pattern."""
        return (
            _any_glob(self.subjects, (principal.subject,))
            and _any_glob(self.roles_any, principal.roles)
            and _any_glob(self.scopes_any, principal.scopes)
            and _any_glob(self.tenants, () if principal.tenant is None else (principal.tenant,))
            and _any_glob(self.environments, () if principal.environment is None else (principal.environment,))
        )


def _any_glob(patterns: tuple[str, ...], values: tuple[str, ...]) -> bool:
    return not patterns or any(fnmatchcase(value, pattern) for pattern in patterns for value in values)


class Rule(Frozen):
    """One access rule."""

    id: Annotated[str, StringConstraints(min_length=1, max_length=128)]
    effect: RuleEffect
    reason: Annotated[str, StringConstraints(min_length=1, max_length=1000)]
    tools: ToolScope = ToolScope()
    principals: PrincipalScope = PrincipalScope()


def _distinct(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    seen: set[str] = set()
    for rule in rules:
        if rule.id in seen:
            raise ValueError(f"rule id {rule.id!r} stands twice; ids must be unique")
        seen.add(rule.id)
    return rules


class RuleBook(Frozen):
    """All access rules of a catalogue. Their order does not matter. The empty book allows nothing by itself."""

    rules: Annotated[tuple[Rule, ...], AfterValidator(_distinct)] = ()

    @classmethod
    def public(cls, *, reason: str = "the catalogue is declared public") -> RuleBook:
        """Return a book that allows every tool without an `access` section to everyone."""
        return cls(rules=(Rule(id="public", effect=RuleEffect.ALLOW, reason=reason),))

    @cached_property
    def by_id(self) -> dict[str, Rule]:
        """Return the rules by id."""
        return {rule.id: rule for rule in self.rules}

    def about(self, principal: Principal) -> tuple[Rule, ...]:
        """Return the rules that speak of this principal, sorted by id."""
        return tuple(sorted((rule for rule in self.rules if rule.principals.matches(principal)), key=lambda r: r.id))


def require_admin(principal: Principal) -> None:
    """Check that a principal may administer.

    Raises:
        PolicyError: If it lacks the role.
    """
    if ADMIN_ROLE not in principal.roles:
        roles = ", ".join(principal.roles) or "none"
        raise PolicyError(f"this call needs the role {ADMIN_ROLE}; the principal's roles: {roles}")


def restrictions_allow(principal: Principal, *, server: str, name: str, domain: str, side_effect: SideEffect) -> bool:
    """Tell whether every restriction of the principal leaves a tool visible."""
    own_names: Iterable[str] = (name, f"{server}/{name}")
    for limit in principal.restrictions:
        if limit.servers and server not in limit.servers:
            return False
        if limit.domains and domain not in limit.domains:
            return False
        if limit.tools and not any(own in limit.tools for own in own_names):
            return False
        if any(own in limit.exclude_tools for own in own_names):
            return False
        if limit.max_side_effect is not None and side_effect > limit.max_side_effect:
            return False
    return True
