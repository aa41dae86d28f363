"""Results -> benchmarks/RESULTS.md, made from the result files and nothing else; a test tells when it is stale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from types import MappingProxyType

from benchmarks.report.instruments import Instruments, is_ours, main_value, sorted_out
from benchmarks.report.markdown import table
from benchmarks.report.others import (
    ablation_section,
    cost_section,
    experience_section,
    guarantee_sections,
    latency_section,
)
from benchmarks.report.quality import case_sections, dataset_sections, overview, refusals
from benchmarks.report.readme_table import readme_table
from toolsearch.eval.positions import read_with_positions
from toolsearch.eval.results import SystemResult
from toolsearch.model.errors import DataError

_HEAD = """\
# Results

Made by `make bench` from `benchmarks/results/`; do not edit. [report.html](report.html) shows the same as plots.

R@K is the share of needed tools among the first K, MRR and nDCG look at the first 10, C@K is the share of requests
whose needed tools are all among the first K. In brackets the 95 % interval over requests. The best value of a column is
bold. Nothing was fitted or tuned on data marked test. Systems stand in one table only where they answered the same
requests.
"""

_REFUSALS = """\
Refused is what a system does by itself; the figure at <= 2 % false refusals is what a floor on its best score would
reach. Separation is the chance that a request with a tool scores above one without. Systems that give no scores have no
curve.
"""


def results_markdown(results: Sequence[SystemResult], *, reasons: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the whole of RESULTS.md.

    Args:
        results: In any order; sections come by instrument, tables by data set, rows by system, ours first.
        reasons: Data set -> why another system is better than ours there, as far as it is known.
    """
    found = sorted_out(results)
    sections = (
        ("Overview", "", overview(found.quality), "make bench"),
        ("Side by side", "", _others(found, reasons), "make bench-peers"),
        ("Cases over the starter catalogue", "", case_sections(found.cases), "make bench"),
        ("Requests that no tool fits", _REFUSALS, refusals(found.quality), "make bench"),
        ("Guarantees", "", guarantee_sections(found.guarantees), "python -m benchmarks.guarantees"),
        ("What each part is worth", "", _ablations(found), "python -m benchmarks.ablation"),
        ("Learning from past requests", "", experience_section(found.experience), "python -m benchmarks.experience"),
        ("Cost by size of the catalogue", "", _costs(found), "python -m benchmarks.peers --scale"),
        ("Latency", "", latency_section(found.latency), "python -m benchmarks.latency"),
        ("Every data set", "", dataset_sections(found.quality), "make bench"),
    )
    parts = [_HEAD]
    parts += [_section(title, about, body, command=command) for title, about, body, command in sections]
    parts += [_failures(results), _environments(results)]
    return "\n".join(part for part in parts if part)


def read_reasons(path: Path) -> dict[str, str]:
    """Read why another system is better than ours: a YAML file of data set -> sentence. No file, no reasons.

    Raises:
        DataError: If the file has another form.
    """
    if not path.is_file():
        return {}
    found = read_with_positions(path)[0]
    if not isinstance(found, dict) or not all(isinstance(text, str) for pair in found.items() for text in pair):
        raise DataError("is not a mapping of data set to sentence", source=str(path))
    return found


def _section(title: str, about: str, body: str, *, command: str) -> str:
    if not body:
        return f"## {title}\n\nNot measured here: `{command}`.\n"
    return f"## {title}\n\n" + (f"{about}\n" if about else "") + body


def _others(found: Instruments, reasons: Mapping[str, str]) -> str:
    if all(is_ours(result) for result in found.quality):
        return ""
    return readme_table(found.quality) + _beaten(found, reasons)


def _beaten(found: Instruments, reasons: Mapping[str, str]) -> str:
    """Return where another system is better than ours by more than chance explains, and why.

    The tests were made against our ranking with the same vectors as the others'; what our own encoder does better since
    is no loss.
    """
    ours = {
        (result.dataset, result.queries): max(
            main_value(other)
            for other in found.quality
            if is_ours(other) and (other.dataset, other.queries) == (result.dataset, result.queries)
        )
        for result in found.quality
        if is_ours(result)
    }
    better = [
        (result.dataset, f"{result.system} by {test.delta:+.3f} (p {test.p_value:.3f})")
        for result in found.quality
        if not is_ours(result)
        for test in result.comparisons
        if test.metric == "recall@5" and test.delta > 0 and test.p_value < 0.05
        if main_value(result) > ours.get((result.dataset, result.queries), 0.0)
    ]
    lines = []
    for dataset in dict.fromkeys(dataset for dataset, _ in better):
        told = ", ".join(text for name, text in better if name == dataset)
        lines.append(
            fill(f"- {dataset}: {told}. {reasons.get(dataset, 'Why is not known.')}", 120, subsequent_indent="  ")
        )
    return "\nBetter than ours by Recall@5 (p < 0.05):\n\n" + ("\n".join(lines) or "- none") + "\n"


def _ablations(found: Instruments) -> str:
    return ablation_section(found.ablations) if found.ablations else ""


def _costs(found: Instruments) -> str:
    return cost_section(found.costs) if found.costs else ""


def _failures(results: Sequence[SystemResult]) -> str:
    ordered = sorted(results, key=lambda result: (result.dataset, result.system))
    rows = [[result.dataset, result.system, result.failure] for result in ordered if result.failure]
    return "## What did not run\n\n" + table(["data set", "system", "reason"], rows) if rows else ""


def _environments(results: Sequence[SystemResult]) -> str:
    lines = []
    for result in sorted(results, key=lambda result: (result.dataset, result.system)):
        here = result.environment
        if here is not None:
            packages = ", ".join(f"{name} {version}" for name, version in sorted(here.packages.items()))
            lines.append(
                f"- {here.cpu}, {here.cores} cores, {here.platform}, Python {here.python}"
                + (f"; {packages}" if packages else "")
            )
    versions = {
        result.system: str(result.settings["version"])
        for result in sorted(results, key=lambda result: result.system)
        if result.settings.get("version") and not is_ours(result)
    }
    others = ", ".join(f"{system} {version}" for system, version in versions.items())
    tail = f"\nOther systems: {others}.\n" if others else ""
    return "## Measured on\n\n" + "\n".join(dict.fromkeys(lines)) + "\n" + tail if lines else ""
