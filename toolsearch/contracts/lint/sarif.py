"""Findings as SARIF 2.1.0 (OASIS, errata 01), which code hosts and editors show beside the lines."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from toolsearch.contracts.lint.finding import Finding, LintReport
from toolsearch.contracts.lint.rule import LintRule

SCHEMA_URI = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif(report: LintReport, *, rules: Iterable[LintRule], version: str) -> dict[str, Any]:
    """Return a SARIF log with one run.

    Args:
        report: The findings.
        rules: Every rule that took part, whether or not it found something.
        version: Of this program.
    """
    listed = tuple(rules)
    number = {rule.id: at for at, rule in enumerate(listed)}
    return {
        "$schema": SCHEMA_URI,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {"name": "toolsearch lint", "version": version, "rules": [_rule(rule) for rule in listed]}
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(finding, number) for finding in report.findings],
            }
        ],
    }


def _rule(rule: LintRule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": "".join(map(str.capitalize, rule.name.split("-"))),
        "shortDescription": {"text": rule.summary},
        "defaultConfiguration": {"level": rule.severity.value},
    }


def _result(finding: Finding, number: dict[str, int]) -> dict[str, Any]:
    advice = f" Instead: {finding.suggestion}" if finding.suggestion else ""
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "level": finding.severity.value,
        "message": {"text": f"{finding.message}.{advice}"},
        "locations": [_location(finding)],
        # The same fault of the same tool, wherever its file moves its lines to.
        "partialFingerprints": {"toolsearchFinding/v1": f"{finding.rule}:{finding.ref}:{finding.pointer}"},
        "properties": finding.model_dump(
            mode="json", include={"ref", "pointer", "related", "misrouted", "measures"}, exclude_defaults=True
        ),
    }
    if finding.rule in number:
        result["ruleIndex"] = number[finding.rule]
    return result


def _location(finding: Finding) -> dict[str, Any]:
    location: dict[str, Any] = {
        "logicalLocations": [{"fullyQualifiedName": f"{finding.ref}{finding.pointer}", "kind": "member"}]
    }
    if finding.place is not None:
        location["physicalLocation"] = {
            "artifactLocation": {"uri": _uri(finding.place.source)},
            "region": {"startLine": finding.place.line, "startColumn": finding.place.column},
        }
    return location


def _uri(source: str) -> str:
    path = PurePath(source)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
