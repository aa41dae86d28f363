"""Generated access over real catalogues: who may see what, and what they ask, all from one seed.

A catalogue of public tool definitions says nothing about access. Here its tools get access sections, a book of allow
and deny rules and a handful of principals at random, so that permission can be measured on thousands of real, similar
tools instead of on hand-written ones. The same catalogue and seed give the same world.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from toolsearch.eval.scenes import changed
from toolsearch.model.contract import Access, SideEffect, ToolContract
from toolsearch.model.request import Principal
from toolsearch.search.visibility.rules import PrincipalScope, Rule, RuleBook, RuleEffect, ToolScope

TENANTS = ("acme", "globex", "initech")
ENVIRONMENTS = ("production", "staging")
ROLES = ("analyst", "engineer", "operator", "support", "auditor")
SCOPES = ("read", "write", "admin", "export", "billing", "deploy")

ACCESS_SHARE = 0.6
"""Share of the tools that declare access themselves; the rest are left to the rules."""

REQUEST_WORDS = 14
"""Longest request made of a tool's own text."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One generated request.

    Attributes:
        text: Made of the first words of the tool's own description, some of them dropped.
        ref: The tool it was made of: the one right answer.
        reads: Whether that tool is known to change nothing.
    """

    text: str
    ref: str
    reads: bool


@dataclass(frozen=True, slots=True)
class World:
    """A catalogue with random access.

    Attributes:
        contracts: With their access sections.
        rules: Allow and deny rules.
        principals: On whose behalf requests are asked.
        requests: Requests with known answers.
    """

    contracts: tuple[ToolContract, ...]
    rules: RuleBook
    principals: tuple[Principal, ...]
    requests: tuple[Asked, ...]


def generate_world(
    contracts: Sequence[ToolContract], *, seed: int = 0, principals: int = 6, requests: int = 60
) -> World:
    """Return a world over a catalogue.

    Args:
        contracts: The tools; access they declare is replaced.
        seed: Of everything random.
        principals: How many, at least 1.
        requests: How many at most; each is about another tool that has a description.
    """
    random = Random(seed)
    ordered = sorted(contracts, key=lambda contract: contract.ref)
    guarded = tuple(changed(contract, access=_access(random)) for contract in ordered)
    described = [contract for contract in guarded if len(contract.capability.does.split()) >= 4]
    chosen = random.sample(described, min(requests, len(described)))
    return World(
        contracts=guarded,
        rules=_rules(random, servers=sorted({contract.identity.server for contract in ordered})),
        principals=tuple(_principal(random, number) for number in range(principals)),
        requests=tuple(_asked(random, contract) for contract in chosen),
    )


def _access(random: Random) -> Access:
    if random.random() >= ACCESS_SHARE:
        return Access()
    kinds = random.sample(
        ("scopes_all", "scopes_any", "roles_any", "tenants", "environments"), random.choice((1, 1, 2))
    )
    pools = {"roles_any": ROLES, "tenants": TENANTS, "environments": ENVIRONMENTS}
    most = {"scopes_all": 1, "environments": 1, "tenants": 2}
    chosen = {
        kind: tuple(sorted(random.sample(pools.get(kind, SCOPES), random.randint(1, most.get(kind, 3)))))
        for kind in kinds
    }
    return Access.model_validate(chosen)


def _rules(random: Random, *, servers: Sequence[str]) -> RuleBook:
    """Return a rule for about every fourth server, two in three of them allowing, and one deny across all."""
    rules = [
        Rule(
            id="staging-changes-nothing-for-good",
            effect=RuleEffect.DENY,
            reason="no lasting effects from staging",
            tools=ToolScope(min_side_effect=SideEffect.IRREVERSIBLE),
            principals=PrincipalScope(environments=("staging",)),
        )
    ]
    for number, server in enumerate(random.sample(list(servers), max(1, len(servers) // 4))):
        allows = random.random() < 2 / 3
        whom = random.choice(
            (
                PrincipalScope(),
                PrincipalScope(roles_any=tuple(random.sample(ROLES, 2))),
                PrincipalScope(tenants=(random.choice(TENANTS),)),
                PrincipalScope(scopes_any=tuple(random.sample(SCOPES, 2))),
            )
        )
        rules.append(
            Rule(
                id=f"rule-{number:03}",
                effect=RuleEffect.ALLOW if allows else RuleEffect.DENY,
                reason="generated",
                tools=ToolScope(servers=(server,)),
                principals=whom,
            )
        )
    return RuleBook(rules=tuple(rules))


def _principal(random: Random, number: int) -> Principal:
    return Principal(
        subject=f"generated-{number}",
        tenant=random.choice(TENANTS),
        environment=random.choice(ENVIRONMENTS),
        roles=tuple(sorted(random.sample(ROLES, random.randint(1, 3)))),
        scopes=tuple(sorted(random.sample(SCOPES, random.randint(1, 4)))),
    )


def _asked(random: Random, contract: ToolContract) -> Asked:
    words = contract.capability.does.split()[:REQUEST_WORDS]
    kept = [word for word in words if random.random() >= 0.25] or words
    effect = contract.execution.side_effect
    return Asked(" ".join(kept), str(contract.ref), effect is not None and effect <= SideEffect.READ_ONLY)
