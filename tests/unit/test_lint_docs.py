"""docs/lint.md has every rule as it is, and a run over real tools."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from toolsearch.contracts.lint.check import RULES
from toolsearch.contracts.lint.rule import LintRule

DOCS = (Path(__file__).parents[2] / "docs" / "lint.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_rule_is_documented_as_it_is(rule: LintRule) -> None:
    fix = " (`--fix`)" if rule.fixable else ""
    assert f"| {rule.id} | `{rule.name}`{fix} | {rule.severity.value} | {rule.summary} |" in DOCS


def test_no_other_rule_is_documented() -> None:
    assert set(re.findall(r"TS\d{3}", DOCS)) == {rule.id for rule in RULES}


def test_ten_findings_are_shown() -> None:
    section = DOCS.partition("## What it finds in 2,500 real tools")[2]
    assert len(re.findall(r"^\d+\. \*\*TS\d{3}\*\* `", section, re.MULTILINE)) == 10
    assert re.search(r"^\| all rules, vectors at hand \| [\d.]+ \| [\d,]+ \|$", section, re.MULTILINE)
