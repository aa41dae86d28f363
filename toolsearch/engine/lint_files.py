"""Files of contracts -> what is to be mended in them, without an index on disk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from toolsearch.contracts.lint.check import LintOptions, lint
from toolsearch.contracts.lint.finding import LintReport
from toolsearch.contracts.lint.places import located
from toolsearch.contracts.read import read_path
from toolsearch.contracts.read.envelopes import Found
from toolsearch.engine.search import ToolIndex
from toolsearch.model.contract import Access, ToolContract, ToolRef
from toolsearch.model.errors import ContractError
from toolsearch.model.request import Principal
from toolsearch.search.visibility.rules import RuleBook

_EVERYTHING = RuleBook.public()
_READER = Principal(subject="lint")


@dataclass(frozen=True, slots=True, kw_only=True)
class LintedFiles:
    """What lint says of files.

    Attributes:
        report: The findings, each with its place.
        refused: What could not be read, and is not in the report.
        found: Contract -> where it was read from.
    """

    report: LintReport
    refused: tuple[ContractError, ...]
    found: dict[ToolRef, Found]


def lint_files(
    sources: Sequence[Path], *, options: LintOptions | None = None, server: str | None = None
) -> LintedFiles:
    """Check every definition in files and folders, of any known format, as one catalogue.

    Args:
        sources: Files and folders.
        options: Which rules speak.
        server: Server of definitions that name none.

    Raises:
        ContractError: If a source does not exist or cannot be read at all, or two define one tool differently.
        RequestError: If an option names no rule.
    """
    reads = [read_path(source, server=server) for source in sources]
    found = {ref: one for read in reads for ref, one in read.found.items()}
    report = lint_catalogue([contract for read in reads for contract in read.contracts], options=options)
    return LintedFiles(
        report=located(report, found), refused=tuple(error for read in reads for error in read.refused), found=found
    )


def lint_catalogue(contracts: Iterable[ToolContract], *, options: LintOptions | None = None) -> LintReport:
    """Check contracts that are a whole catalogue: neighbours that are not in it do not exist.

    Rules that compare by meaning read the vectors of an index in memory, whose examples are ranked as in a search.

    Args:
        contracts: The catalogue.
        options: Which rules speak.

    Raises:
        RequestError: If an option names no rule.
        ContractError: If one ref is given twice with different content.
    """
    chosen = options or LintOptions()
    given = tuple(contracts)
    plain = lint(given, options=chosen, whole=True)
    by_meaning = tuple(rule.id for rule, _ in chosen.rules() if rule.needs_vectors)
    if not by_meaning:
        return plain
    with ToolIndex.create(None, rules=_EVERYTHING) as index:
        # Who may call a tool is not looked at, and would hide it from the reader.
        index.add(contract.model_copy(update={"access": Access()}) for contract in given)
        compared = index.lint(principal=_READER, options=replace(chosen, select=by_meaning))
    order = {ref: at for at, ref in enumerate(sorted({str(contract.ref) for contract in given}))}
    findings = sorted((*plain.findings, *compared.findings), key=lambda finding: (order[finding.ref], finding.rule))
    return LintReport(tools=plain.tools, findings=tuple(findings))
