"""Prints digests of many answers over the starter catalogue; run in processes with different hash seeds."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import yaml

from toolsearch.contracts.read.reader import load_contracts
from toolsearch.engine.search import ToolIndex
from toolsearch.eval.cases import load_cases
from toolsearch.model.request import SearchRequest
from toolsearch.search.visibility.rules import RuleBook

ROOT = Path(__file__).resolve().parents[2]
STARTER = ROOT / "indexes" / "starter"
NOW = "2026-09-17T10:00:00Z"


def main() -> None:
    """Answer every eighth labelled request and print one digest a line."""
    rules = RuleBook.model_validate(yaml.safe_load((STARTER / "rules.yaml").read_text(encoding="utf-8")))
    with ToolIndex.create(None, rules=rules, encoder="hashed") as index:
        index.add(load_contracts(STARTER / "contracts"))
        cases = [(suite, case) for suite in load_cases(ROOT / "tests" / "cases") for case in suite.cases]
        for number, (suite, case) in enumerate(cases):
            if number % 8 == 0:
                profile = "seed" if number % 16 else "default"
                request = SearchRequest(text=case.input, inputs=case.inputs, profile=profile, now=NOW)
                answer = index.search(request, principal=suite.principal(case))
                text = answer.model_dump_json(exclude={"trace_id", "timings_ms"})
                sys.stdout.write(f"{case.id} {hashlib.sha256(text.encode()).hexdigest()}\n")


if __name__ == "__main__":
    main()
