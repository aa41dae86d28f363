"""Run every suite and instrument whose data are there, check expected values, and write results, tables and plots.

python -m benchmarks.run                 everything -> benchmarks/results, RESULTS.md, report.html, README.md
python -m benchmarks.run --quick         the quick suites and forms -> benchmarks/quick (not kept)
python -m benchmarks.run --only SUITE    some suites -> benchmarks/quick
python -m benchmarks.run --report        only tables and plots, from the results that are there
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from benchmarks.instruments import INSTRUMENTS, run_instrument
from benchmarks.measures.suite import CasesSuite, DatasetSuite, SuiteOutcome, load_suites, run_suite
from benchmarks.report.accept import with_expected
from benchmarks.report.readme_table import readme_table, with_table
from benchmarks.report.results_page import read_reasons, results_markdown
from benchmarks.report_html import write_page
from toolsearch.eval.results import read_results
from toolsearch.model.errors import ToolSearchError

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


def main(arguments: list[str] | None = None) -> int:
    options = parsed(arguments)
    kept = not (options.quick or options.only)
    out = HERE if kept else HERE / "quick"
    failed: list[str] = []
    if not options.report:
        suites = load_suites(HERE / "suites")
        unknown = sorted(set(options.only) - {suite.name for suite in suites})
        if unknown:
            print(f"no such suite: {', '.join(unknown)}; there are {', '.join(suite.name for suite in suites)}")
            return 2
        chosen = [suite for suite in suites if suite.name in options.only] if options.only else suites
        for suite in chosen:
            if suite.quick or not options.quick:
                failed += [] if passed(suite, options=options, out=out / "results") else [suite.name]
        for instrument in () if options.only or options.suites else INSTRUMENTS:
            done = run_instrument(instrument, data=options.data, out=out, quick=options.quick)
            failed += [] if done else [instrument.name]
    write_report(out, readme=ROOT / "README.md" if kept else None)
    print(f"failed: {', '.join(failed)}" if failed else "everything passed")
    return 1 if failed else 0


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("TOOLSEARCH_DATA", str(ROOT.parent / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=Path(default), help="data root; default TOOLSEARCH_DATA")
    parser.add_argument("--quick", action="store_true", help="only the quick suites, instruments in their quick form")
    parser.add_argument("--only", action="append", default=[], metavar="SUITE", help="only this suite; repeat for more")
    parser.add_argument("--suites", action="store_true", help="suites, no other instrument")
    parser.add_argument("--accept", action="store_true", help="write the measured values into the suite files")
    parser.add_argument("--report", action="store_true", help="run nothing, write the tables and plots")
    return parser.parse_args(arguments)


def passed(suite: DatasetSuite | CasesSuite, *, options: argparse.Namespace, out: Path) -> bool:
    """Run one suite, say what came of it, and tell whether nothing fell below its expected value."""
    started = time.perf_counter()
    try:
        outcome = run_suite(suite, root=ROOT, data=options.data, out=out, progress=shown)
    except ToolSearchError as error:
        print(f"{suite.name}: FAILED: {error}", flush=True)
        return False
    tell(outcome, seconds=time.perf_counter() - started)
    if options.accept and outcome.results:
        accept(outcome)
        return True
    return outcome.passed


def shown(what: str, done: int, total: int) -> None:
    if sys.stderr.isatty() and (done % 20 == 0 or done == total):
        print(f"\r{what}: {done}/{total} ", end="" if done < total else "\n", file=sys.stderr, flush=True)


def tell(outcome: SuiteOutcome, *, seconds: float) -> None:
    if outcome.skipped:
        print(f"{outcome.suite}: skipped, {outcome.skipped}", flush=True)
        return
    print(f"{outcome.suite}: {'ok' if outcome.passed else 'FAILED'} in {seconds:.0f} s")
    for result in outcome.results:
        values = [f"{name} {result.mean(name):.3f}" for name in ("recall@5", "ndcg@10", "passed") if result.mean(name)]
        print(f"  {result.system}: {', '.join(values) or 'refusals only'}", flush=True)
    for check in outcome.checks:
        if check.verdict != "equal":
            measured = "nothing" if check.measured is None else f"{check.measured:.4f}"
            print(f"  {check.verdict}: {check.system} {check.metric}: {measured}, expected {check.expected:.4f}")


def accept(outcome: SuiteOutcome) -> None:
    for file in sorted((HERE / "suites").glob("*.yaml")):
        text = file.read_text(encoding="utf-8")
        if f"name: {outcome.suite}\n" in text:
            file.write_text(with_expected(text, suite=outcome.suite, results=outcome.results), encoding="utf-8")


def write_report(out: Path, *, readme: Path | None) -> None:
    """Write RESULTS.md and report.html beside the results of a folder, and the table of the README if it is named."""
    results = read_results(out / "results")
    reasons = read_reasons(HERE / "reasons.yaml")
    (out / "RESULTS.md").write_text(results_markdown(results, reasons=reasons), encoding="utf-8")
    if readme is not None and readme.is_file():
        readme.write_text(with_table(readme.read_text(encoding="utf-8"), readme_table(results)), encoding="utf-8")
    try:
        write_page(out / "results", out / "report.html")
    except ModuleNotFoundError as error:
        print(f"report.html: skipped, {error.name} is not installed: pip install 'toolsearch[bench]'")


if __name__ == "__main__":
    sys.exit(main())
