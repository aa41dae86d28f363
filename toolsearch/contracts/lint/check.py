"""All rules over a catalogue: which are chosen, what they find, in an order that depends on the contracts alone."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from toolsearch.contracts.lint import (
    confusable,
    description,
    effects,
    granularity,
    naming,
    parameters,
    providers,
    structure,
    values,
)
from toolsearch.contracts.lint.finding import Edit, Finding, Flaw, LintReport, Severity
from toolsearch.contracts.lint.rule import LintLimits, LintRule, Rank, Surroundings, Vectors
from toolsearch.contracts.read.places import pointer
from toolsearch.model.contract import ToolContract, by_ref
from toolsearch.model.errors import RequestError

RULES: tuple[LintRule, ...] = tuple(
    sorted(
        (
            *naming.RULES,
            *description.RULES,
            *parameters.RULES,
            *values.RULES,
            *structure.RULES,
            *granularity.RULES,
            *effects.RULES,
            *providers.RULES,
            *confusable.RULES,
        ),
        key=lambda rule: rule.id,
    )
)
"""Every rule, in order of id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LintOptions:
    """Which rules speak, and how loud.

    A rule is named by its id (`TS301`), the beginning of one (`TS3` = all rules on parameters) or its name.

    Attributes:
        select: Rules that speak; () = all.
        ignore: Rules that do not; wins over `select`.
        severities: LintRule -> another severity.
        limits: Sizes.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severities: Mapping[str, Severity] = field(default_factory=lambda: MappingProxyType({}))
    limits: LintLimits = field(default_factory=LintLimits)

    def rules(self) -> tuple[tuple[LintRule, Severity], ...]:
        """Return the rules that speak, each with its severity.

        Raises:
            RequestError: If no rule has one of the names.
        """
        chosen = named(self.select, field="select") or frozenset(rule.id for rule in RULES)
        chosen -= named(self.ignore, field="ignore")
        severities = {
            rule: severity for name, severity in self.severities.items() for rule in named((name,), field="severity")
        }
        return tuple((rule, severities.get(rule.id, rule.severity)) for rule in RULES if rule.id in chosen)


def named(names: Iterable[str], *, field: str) -> frozenset[str]:
    """Return the ids of the rules that names speak of.

    Raises:
        RequestError: If no rule has one of them.
    """
    found: set[str] = set()
    for name in names:
        upper = name.strip().upper()
        ids = {
            rule.id
            for rule in RULES
            if (upper.startswith("TS") and rule.id.startswith(upper)) or rule.name.upper() == upper
        }
        if not ids:
            near = difflib.get_close_matches(name.lower(), [rule.name for rule in RULES], n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "; `toolsearch lint --rules` lists them"
            raise RequestError(f"no rule is named {name[:80]!r}{hint}", field=field)
        found |= ids
    return frozenset(found)


def needs_vectors(options: LintOptions) -> bool:
    """Tell whether a chosen rule compares by meaning."""
    return any(rule.needs_vectors for rule, _ in options.rules())


def lint(
    contracts: Iterable[ToolContract],
    *,
    options: LintOptions | None = None,
    vectors: Vectors | None = None,
    rank: Rank | None = None,
    requests: Mapping[str, Sequence[str]] | None = None,
    whole: bool = False,
) -> LintReport:
    """Check contracts against the rules. The same contracts in any order give the same report.

    Args:
        contracts: The catalogue.
        options: Which rules speak; None = all.
        vectors: Of the positive texts, in order of ref; None = no rule compares by meaning.
        rank: Where a request goes; None = no request is tried.
        requests: Past requests, ref -> texts.
        whole: Whether a tool that a contract names and that is not here does not exist.

    Raises:
        RequestError: If an option names no rule.
        ContractError: If one ref is given twice with different content.
    """
    chosen = options or LintOptions()
    rules = chosen.rules()
    around = Surroundings(
        contracts=tuple(by_ref(contracts).values()),
        limits=chosen.limits,
        vectors=vectors,
        rank=rank,
        requests=requests or {},
        whole=whole,
    )
    findings = [finding for rule, severity in rules for finding in _run(rule, severity, around)]
    order = {str(contract.ref): at for at, contract in enumerate(around.contracts)}
    findings.sort(key=lambda finding: (order[finding.ref], finding.rule))  # stable: positions in a rule's own order
    return LintReport(tools=len(around.contracts), findings=tuple(findings))


def _run(rule: LintRule, severity: Severity, around: Surroundings) -> Iterator[Finding]:
    if rule.contract is not None:
        for contract in around.contracts:
            yield from (_finding(rule, severity, contract, flaw) for flaw in rule.contract(contract, around.limits))
    if rule.catalogue is not None:
        yield from (_finding(rule, severity, contract, flaw) for contract, flaw in rule.catalogue(around))


def _finding(rule: LintRule, severity: Severity, contract: ToolContract, flaw: Flaw) -> Finding:
    edit = None
    if flaw.edit is not None:
        path, key, value = flaw.edit
        edit = Edit(pointer=pointer(path), key=key, value=value)
    return Finding(
        rule=rule.id,
        name=rule.name,
        severity=severity,
        ref=str(contract.ref),
        pointer=pointer(flaw.path),
        message=flaw.message,
        suggestion=flaw.suggestion,
        edit=edit,
        related=flaw.related,
        misrouted=flaw.misrouted,
        measures=flaw.measures,
    )
