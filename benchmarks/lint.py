"""Lint over 2,500 real tools: what each rule finds, the ten most telling findings, tools per second of CPU.

    python -m benchmarks.lint --data DIR [--write]

DIR holds `real_servers/tools.jsonl`. With --write the section "What it finds in 2,500 real tools" of docs/lint.md is
replaced by what was found.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from toolsearch.contracts.lint.check import RULES, LintOptions, lint
from toolsearch.contracts.lint.finding import Finding, LintReport
from toolsearch.contracts.lint.rule import Vectors
from toolsearch.contracts.read import read_path
from toolsearch.model.errors import ToolSearchError
from toolsearch.search.index.document import tool_document
from toolsearch.text.embed.catalog import load_encoder

DOCS = Path(__file__).resolve().parent.parent / "docs" / "lint.md"
BEGIN, END = "<!-- begin: python -m benchmarks.lint -->", "<!-- end -->"

TELLING = (
    ("TS501", "github/pull_request_read@1"),
    ("TS601", "mongodb/delete-many@1"),
    ("TS801", "aws-healthimaging/get_image_set@1"),
    ("TS801", "okta-mcp-server/activate_policy@1"),
    ("TS407", "grafana/get_annotation_tags@1"),
    ("TS317", "aws-cloudwatch/analyze_metric@1"),
    ("TS303", "azure-keyvault/keyvault_key_create@1"),
    ("TS503", "sentry/update_issue@1"),
    ("TS108", "grafana/query_influxdb@1"),
    ("TS702", "aws-redshift/list_columns@1"),
)
"""The ten findings that tell most, chosen by reading samples of each rule; their words come from the run."""

T = TypeVar("T")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with real_servers/tools.jsonl")
    parser.add_argument("--write", action="store_true", help="replace the section of docs/lint.md")
    options = parser.parse_args()
    try:
        section = measured(options.data / "real_servers" / "tools.jsonl")
    except ToolSearchError as error:
        print(error, file=sys.stderr)
        return 1
    if options.write:
        text = DOCS.read_text(encoding="utf-8")
        head, _, rest = text.partition(BEGIN)
        _, _, tail = rest.partition(END)
        DOCS.write_text(f"{head}{BEGIN}\n{section}\n{END}{tail}", encoding="utf-8")
    else:
        print(section)
    return 0


def measured(source: Path) -> str:
    """Return the section as Markdown."""
    contracts, read_s = timed(lambda: sorted(read_path(source).contracts, key=lambda contract: contract.ref))
    encoder = load_encoder("bundled")
    encoder.encode_documents(["warm up"])
    texts = [tool_document(contract).positive_text for contract in contracts]
    rows, encode_s = timed(lambda: encoder.encode_documents(texts))
    by_meaning = tuple(rule.id for rule in RULES if rule.needs_vectors)
    vectors = Vectors(rows=rows, encoder=encoder.info)
    _, plain_s = timed(lambda: lint(contracts, options=LintOptions(ignore=by_meaning)))
    _, pairs_s = timed(lambda: lint(contracts, options=LintOptions(select=by_meaning), vectors=vectors))
    report, whole_s = timed(lambda: lint(contracts, vectors=vectors))
    counts = report.counts()
    speed = [
        f"{len(contracts)} tools of {len({one.identity.server for one in contracts})} servers: "
        f"{counts['error']} errors, {counts['warning']} warnings, {counts['note']} notes.",
        "",
        "| step | CPU seconds | tools per second |",
        "|---|---:|---:|",
        *(
            f"| {step} | {seconds:.1f} | {len(contracts) / seconds:,.0f} |"
            for step, seconds in (
                ("read the definitions", read_s),
                ("embed them (an index has the vectors already)", encode_s),
                ("rules that read texts and schemas", plain_s),
                ("confusable pairs, vectors at hand", pairs_s),
                ("all rules, vectors at hand", whole_s),
            )
        ),
    ]
    return "\n".join([*speed, "", "The ten most telling findings:", "", *telling(report), "", *by_rule(report)])


def telling(report: LintReport) -> list[str]:
    """Return the chosen findings, numbered."""
    found: dict[tuple[str, str], Finding] = {}
    for finding in report.findings:
        found.setdefault((finding.rule, finding.ref), finding)
    lines = []
    for number, key in enumerate(TELLING, start=1):
        finding = found[key]
        lines.append(
            f"{number}. **{finding.rule}** `{finding.ref}`: {finding.message}. *Instead:* {finding.suggestion}"
        )
    return lines


def by_rule(report: LintReport) -> list[str]:
    """Return the table of findings by rule; rules that found nothing are named below it."""
    found: dict[str, list[Finding]] = defaultdict(list)
    for finding in report.findings:
        found[finding.rule].append(finding)
    rows = [
        f"| {rule.id} | `{rule.name}` | {rule.severity.value} | {len(found[rule.id])} "
        f"| {len({one.ref for one in found[rule.id]})} |"
        for rule in RULES
        if found[rule.id]
    ]
    silent = ", ".join(f"{rule.id} `{rule.name}`" for rule in RULES if not found[rule.id])
    return [
        "| rule | name | severity | findings | tools |",
        "|---|---|---|---:|---:|",
        *rows,
        "",
        f"No finding: {silent}.",
    ]


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """Return what work gives, and its CPU seconds, all threads together: what else the machine does is not counted."""
    start = time.process_time()
    return work(), time.process_time() - start


if __name__ == "__main__":
    sys.exit(main())
