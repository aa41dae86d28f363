"""Guarantees as tables: what must be 0, and what each piece of contract knowledge is worth."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.html.elements import escaped, table
from benchmarks.report.instruments import GUARANTEES
from benchmarks.report.markdown import number, p_value, signed, with_interval
from benchmarks.report.others import DUTIES, WITHOUT
from toolsearch.eval.results import SystemResult


def guarantees_body(results: Sequence[SystemResult]) -> str:
    """Return two tables for each catalogue."""
    parts = []
    for result in results:
        measures = result.metrics.get("all", {})
        pairs = [name for name in measures if f"{name}{WITHOUT}" in measures]
        single = [name for name in measures if name not in pairs and not name.endswith(WITHOUT)]
        name = result.dataset.removesuffix(GUARANTEES)
        about = f"{name}: {result.queries} requests over {result.tools} tools"
        rows = [[_words(one), with_interval(measures[one]), str(measures[one].n), _duty(result, one)] for one in single]
        parts.append(f"<h3>{escaped(name)}</h3>")
        parts.append(table(about, ["figure", "value [95 %]", "n", "must be 0"], rows))
        if pairs:
            heads = ["accuracy", "with", "without", "gain", "p"]
            parts.append(table(f"{name}: with and without", heads, [_effect(result, one) for one in pairs]))
    return "\n".join(parts)


def _duty(result: SystemResult, name: str) -> str:
    if name not in DUTIES:
        return ""
    return "holds" if result.mean(name) == 0 else "BROKEN"


def _effect(result: SystemResult, name: str) -> list[str]:
    test = next((found for found in result.comparisons if found.metric == name), None)
    label = _words(name) + ("" if test is None else f" ({test.other})")
    values = [number(result.mean(name)), number(result.mean(f"{name}{WITHOUT}"))]
    return [label, *values, *(["", ""] if test is None else [signed(test.delta), p_value(test.p_value)])]


def _words(name: str) -> str:
    return name.replace("_", " ")
