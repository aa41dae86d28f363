"""`toolsearch eval`: labelled requests against a catalogue, for continuous integration."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from toolsearch.eval.baseline import CaseChange
    from toolsearch.eval.cases import CaseSuite
    from toolsearch.eval.gate import EvalGate
    from toolsearch.eval.judge import CaseResult, Searcher

EXIT_BELOW = 1
SHOWN_FAILURES = 20

_CASES = typer.Argument(help="Case file or folder of case files (YAML or JSON).", show_default=False)
_INDEX = typer.Option("--index", "-i", help="Folder of a built index to ask.", show_default=False)
_CATALOG = typer.Option(
    help="Folder with contracts/ and rules.yaml, or tool definitions, indexed in memory.", show_default=False
)
_BASELINE = typer.Option(help="JSON of an earlier run; what passed then must pass now.", show_default=False)
_FAIL_BELOW = typer.Option(
    help="Least share that passes: 0.9, or of a slice, risk=high=1.0; repeat. A bare number holds for high-risk cases "
    "apart.",
    show_default=False,
)


def eval_cases(
    cases: Annotated[Path, _CASES],
    index: Annotated[Path | None, _INDEX] = None,
    catalog: Annotated[Path | None, _CATALOG] = None,
    baseline: Annotated[Path | None, _BASELINE] = None,
    fail_below: Annotated[list[str] | None, _FAIL_BELOW] = None,
    split: Annotated[str | None, typer.Option(help="Only the cases of this split.", show_default=False)] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML to this file.", show_default=False)] = None,
    out: Annotated[Path | None, typer.Option(help="Write the JSON to this file.", show_default=False)] = None,
    encoder: Annotated[str, typer.Option(help="Encoder of a catalogue indexed in memory.")] = "bundled",
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Run labelled requests and say which fail.

    Exits with 1 below a floor, on a leak, or when a case of the earlier run fails now.
    """
    from toolsearch.eval.baseline import changes, read_baseline
    from toolsearch.eval.catalogue import of_split
    from toolsearch.eval.gate import decide_gate, read_floors
    from toolsearch.eval.judge import run_cases
    from toolsearch.eval.junit import junit_xml, results_text

    floors = read_floors(fail_below or ())
    earlier = None if baseline is None else read_baseline(baseline)
    suites = _some([of_split(suite, split) for suite in _loaded(cases)], cases=cases, split=split)
    with ExitStack() as stack:
        searcher = _searcher(stack, suites, index=index, catalog=catalog, encoder=encoder)
        results = {_label(suite, suites): run_cases(suite, searcher) for suite in suites}
    everything = [result for of_suite in results.values() for result in of_suite]
    change = None if earlier is None else changes(earlier, everything)
    gate = decide_gate(everything, floors=floors, change=change)
    if junit is not None:
        junit.write_text(junit_xml(results), encoding="utf-8")
    if out is not None:
        out.write_text(results_text(results), encoding="utf-8")
    if as_json:
        print(results_text(results), end="")
    else:
        _print(everything, change=change, gate=gate)
    if not gate.passed:
        raise typer.Exit(EXIT_BELOW)


def _loaded(cases: Path) -> tuple[CaseSuite, ...]:
    from toolsearch.eval.cases import load_cases
    from toolsearch.model.errors import DataError

    if not cases.exists():
        raise DataError("is not there; name a case file or a folder of them", source=str(cases))
    return load_cases(cases)


def _label(suite: CaseSuite, suites: Sequence[CaseSuite]) -> str:
    """Return the name of a suite; where several have it, with the file."""
    same = sum(other.name == suite.name for other in suites)
    return suite.name if same == 1 else f"{suite.name} ({suite.source.name})"


def _some(suites: Sequence[CaseSuite], *, cases: Path, split: str | None) -> list[CaseSuite]:
    from toolsearch.model.errors import DataError

    kept = [suite for suite in suites if suite.cases]
    if not kept:
        raise DataError(f"has no case of split {split!r}", source=str(cases))
    return kept


def _searcher(
    stack: ExitStack, suites: Sequence[CaseSuite], *, index: Path | None, catalog: Path | None, encoder: str
) -> Searcher:
    """Return what the cases are asked of: a built index, read only, or a catalogue in memory."""
    from toolsearch import ToolIndex
    from toolsearch.eval.selection import scene_of
    from toolsearch.model.errors import RequestError
    from toolsearch.serve.settings import load_settings

    if index is not None and catalog is not None:
        raise RequestError("give --index or --catalog, not both")
    if index is not None:
        settings = load_settings()
        opened = ToolIndex.open(index, read_only=True, limits=settings.search_limits, reranker=settings.reranker)
        return stack.enter_context(opened)
    return stack.enter_context(scene_of(suites, catalog=catalog, encoder=encoder).index())


def _print(results: Sequence[CaseResult], *, change: CaseChange | None, gate: EvalGate) -> None:
    from rich.table import Table

    from toolsearch.cli.render import console, one_line
    from toolsearch.eval.judge import tallies

    table = Table()
    for head, side in (("slice", "left"), ("passed", "right"), ("of", "right"), ("share", "right")):
        table.add_column(head, justify=side)  # type: ignore[arg-type]
    for name, tally in tallies(results).items():
        table.add_row(name, str(tally.passed), str(tally.total), f"{tally.share:.1%}")
    console().print(table)
    failed = [result for result in results if not result.verdict.passed]
    for result in failed[:SHOWN_FAILURES]:
        print(one_line(f"{result.case.id}: {result.case.input[:60]!r}: {result.verdict.failures[0]}"))
    if len(failed) > SHOWN_FAILURES:
        print(f"... and {len(failed) - SHOWN_FAILURES} more; --json tells all")
    if change is not None:
        print(f"against the earlier run: {len(change.broken)} broken, {len(change.repaired)} repaired, ", end="")
        print(f"{len(change.new)} new, {len(change.gone)} gone")
    for reason in gate.reasons:
        print(f"refused: {one_line(reason)}")
    print("passed" if gate.passed else "not passed")
