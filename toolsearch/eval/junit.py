"""Case results for machines: JUnit XML for continuous integration, JSON for everything else.

Both hold no times, so that the same results give the same bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

from toolsearch.eval.judge import CaseResult, tallies

RESULTS_FORMAT = 1
"""Version of the JSON form."""


_NOT_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
"""What XML 1.0 cannot hold."""


def junit_xml(suites: Mapping[str, Sequence[CaseResult]]) -> str:
    """Return a JUnit document: one test suite for each name, one test case for each result."""
    root = ElementTree.Element("testsuites", name="toolsearch")
    for name, results in suites.items():
        failed = sum(not result.verdict.passed for result in results)
        attributes = {"name": _xml_text(name), "tests": str(len(results)), "failures": str(failed), "errors": "0"}
        suite = ElementTree.SubElement(root, "testsuite", attributes)
        for result in results:
            case = ElementTree.SubElement(
                suite, "testcase", classname=_xml_text(f"{name}.{result.case.kind}"), name=_xml_text(result.case.id)
            )
            if not result.verdict.passed:
                failures = [_xml_text(text) for text in result.verdict.failures]
                failure = ElementTree.SubElement(case, "failure", message=failures[0])
                failure.text = "\n".join([f"input: {_xml_text(result.case.input)}", *failures])
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def results_json(suites: Mapping[str, Sequence[CaseResult]]) -> dict[str, Any]:
    """Return plain data: counts over all suites by slice, and every case with its failures and what was offered."""
    everything = [result for results in suites.values() for result in results]
    counts = {name: {"passed": tally.passed, "total": tally.total} for name, tally in tallies(everything).items()}
    return {
        "format": RESULTS_FORMAT,
        "counts": counts,
        "suites": {name: [_case(result) for result in results] for name, results in suites.items()},
    }


def results_text(suites: Mapping[str, Sequence[CaseResult]]) -> str:
    """Return `results_json` as indented JSON text."""
    return json.dumps(results_json(suites), ensure_ascii=False, indent=1) + "\n"


def _case(result: CaseResult) -> dict[str, Any]:
    case = result.case
    return {
        "id": case.id,
        "kind": case.kind,
        "split": case.split,
        "lang": case.lang,
        "risk": case.risk,
        "passed": result.verdict.passed,
        "failures": list(result.verdict.failures),
        "offered": list(result.offered),
    }


def _xml_text(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
