"""`toolsearch lint`: what is to be mended in tool definitions."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolsearch.cli import options as o
from toolsearch.model.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolsearch.contracts.lint.check import LintOptions
    from toolsearch.contracts.lint.finding import LintReport
    from toolsearch.engine.lint_files import LintedFiles

EXIT_FOUND, EXIT_REFUSED = 1, 3


class Format(StrEnum):
    """How findings are printed."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"


class LintFailOn(StrEnum):
    """From which severity on the command fails."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    NEVER = "never"


def lint(
    sources: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[SOURCE]...", help="Files or folders of definitions; none = an index.", show_default=False
        ),
    ] = None,
    index: o.IndexOption = None,
    select: Annotated[
        list[str] | None, typer.Option(help="Only this rule: TS301, TS3 or a name; repeat.", show_default=False)
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(help="Not this rule; wins over --select; repeat.", show_default=False)
    ] = None,
    severity: Annotated[
        list[str] | None,
        typer.Option(help="Another severity, RULE=error|warning|note; repeat.", show_default=False),
    ] = None,
    format: Annotated[Format, typer.Option(help="How findings are printed.")] = Format.TEXT,
    fail_on: Annotated[LintFailOn, typer.Option(help="Exit with 1 if a finding is that grave.")] = LintFailOn.ERROR,
    least: Annotated[
        LintFailOn | None, typer.Option(help="Print no finding of less weight.", show_default=False)
    ] = None,
    fix: Annotated[
        bool, typer.Option("--fix", help="Correct what is mechanical in our own contract files; print other changes.")
    ] = False,
    server: Annotated[
        str | None, typer.Option(help="Server of definitions that name none.", show_default=False)
    ] = None,
    rules: Annotated[bool, typer.Option("--rules", help="List the rules and exit.")] = False,
    subject: o.SubjectOption = None,
    tenant: o.TenantOption = None,
    environment: o.EnvironmentOption = None,
    role: o.RoleOption = None,
    scope: o.ScopeOption = None,
    principal: o.PrincipalOption = None,
    api_key: o.ApiKeyOption = None,
) -> None:
    """Check tool definitions against the rules of good design: files, or the visible tools of an index."""
    if rules:
        _print_rules(format)
        return
    chosen = _options(select, ignore, severity)
    who = o.principal_from(
        subject=subject, tenant=tenant, environment=environment, role=role, scope=scope, file=principal
    )
    if not sources:
        if fix or server:
            raise RequestError("--fix and --server belong to files: name the files to correct", field="sources")
        from toolsearch.cli.connect import connected

        with connected(index, principal=who, api_key=api_key) as (found, on_behalf_of):
            report = found.lint(principal=on_behalf_of, options=chosen)
        _finish(report, chosen, format=format, fail_on=fail_on, least=least)
        return
    if index is not None or who is not None:
        raise RequestError("name files, or an index and on whose behalf, not both", field="sources")
    from toolsearch.engine.lint_files import lint_files

    linted = lint_files(sources, options=chosen, server=server)
    if fix:
        linted = _fixed(linted, sources, chosen, server=server)
    for error in linted.refused:
        print(f"error: not checked: {_line(str(error))}", file=sys.stderr)
    _finish(linted.report, chosen, format=format, fail_on=fail_on, least=least, refused=bool(linted.refused))


def _options(select: list[str] | None, ignore: list[str] | None, severity: list[str] | None) -> LintOptions:
    from toolsearch.contracts.lint.check import LintOptions
    from toolsearch.contracts.lint.finding import Severity

    severities = {}
    for text in severity or ():
        name, _, level = text.partition("=")
        if level not in set(Severity):
            raise RequestError(f"--severity {text[:80]!r}: write RULE=error, warning or note", field="severity")
        severities[name] = Severity(level)
    return LintOptions(select=_split(select), ignore=_split(ignore), severities=severities)


def _split(values: list[str] | None) -> tuple[str, ...]:
    return tuple(name.strip() for value in values or () for name in value.split(",") if name.strip())


def _finish(
    report: LintReport,
    options: LintOptions,
    *,
    format: Format,
    fail_on: LintFailOn,
    least: LintFailOn | None,
    refused: bool = False,
) -> None:
    from toolsearch.contracts.lint.finding import Severity

    failed = fail_on is not LintFailOn.NEVER and bool(report.at_least(Severity(fail_on.value)))
    if least is LintFailOn.NEVER:
        report = report.model_copy(update={"findings": ()})
    elif least is not None:
        report = report.model_copy(update={"findings": report.at_least(Severity(least.value))})
    if format is Format.JSON:
        print(report.model_dump_json())
    elif format is Format.SARIF:
        from toolsearch import __version__
        from toolsearch.contracts.lint.sarif import sarif

        log = sarif(report, rules=[rule for rule, _ in options.rules()], version=__version__)
        print(json.dumps(log, ensure_ascii=False, indent=2))
    else:
        from toolsearch.cli.render_lint import print_report

        print_report(report)
    if refused:
        raise typer.Exit(EXIT_REFUSED)
    if failed:
        raise typer.Exit(EXIT_FOUND)


def _fixed(linted: LintedFiles, sources: Sequence[Path], options: LintOptions, *, server: str | None) -> LintedFiles:
    """Write corrections of our own contract files, print those of others, and check again what was written."""
    from toolsearch.contracts.lint.fix import corrections
    from toolsearch.engine.lint_files import lint_files
    from toolsearch.search.index.atomic import replace_durably

    written = False
    for correction in corrections(linted.report.findings, linted.found):
        if not correction.made:
            pass
        elif Path(correction.source).read_bytes() != correction.before.encode("utf-8"):
            # Changed since, or with a byte order mark, which would be lost.
            print(f"not fixed: {_line(correction.source)}: its bytes are not what was read", file=sys.stderr)
        elif correction.own:
            replace_durably(Path(correction.source), correction.after.encode("utf-8"))
            written = True
            for finding in correction.made:
                edit = finding.edit
                assert edit is not None
                text = f"{correction.source}: {finding.ref} {edit.pointer}: {edit.key} added ({finding.rule})"
                print(f"fixed: {_line(text)}", file=sys.stderr)
        else:
            print(f"not ours, so not written; the change would be: {_line(correction.source)}", file=sys.stderr)
            print(correction.diff(), end="", file=sys.stderr)
        for finding, why in correction.refused:
            print(f"not fixed: {_line(f'{finding.ref} {finding.pointer}: {why}')}", file=sys.stderr)
    return lint_files(sources, options=options, server=server) if written else linted


def _print_rules(format: Format) -> None:
    from toolsearch.contracts.lint.check import RULES

    if format is not Format.TEXT:
        keys = ("id", "name", "severity", "summary", "fixable")
        print(json.dumps([{key: getattr(rule, key) for key in keys} for rule in RULES], ensure_ascii=False, indent=2))
        return
    for rule in RULES:
        mark = " (--fix)" if rule.fixable else ""
        print(f"{rule.id}  {rule.severity.value:7}  {rule.name}{mark}: {rule.summary}")


def _line(text: str) -> str:
    from toolsearch.cli.render import one_line

    return one_line(text)
