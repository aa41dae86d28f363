"""Run the benchmark suites whose data are there, check their expected values, and write results and tables.

python benchmarks/run.py                 all suites -> benchmarks/results, RESULTS.md, README.md
python benchmarks/run.py --quick         the quick ones -> benchmarks/quick (not kept)
python benchmarks/run.py --report        only the tables, from the results that are there
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from toolsearch.errors import ToolSearchError
from toolsearch.eval.accept import with_expected
from toolsearch.eval.report import readme_table, results_markdown, with_table
from toolsearch.eval.results import read_results
from toolsearch.eval.suite import SuiteOutcome, load_suites, run_suite

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
RESULTS = HERE / "results"


def main(arguments: list[str] | None = None) -> int:
    options = parsed(arguments)
    suites = load_suites(HERE / "suites")
    wanted = [suite for suite in suites if suite.quick or not options.quick]
    if options.only:
        wanted = [suite for suite in suites if suite.name in options.only]
    failed = 0
    out = HERE / "quick" if options.quick or options.only else RESULTS
    for suite in () if options.report else wanted:
        started = time.perf_counter()
        try:
            outcome = run_suite(suite, root=ROOT, data=options.data, out=out, progress=shown)
        except ToolSearchError as error:
            print(f"{suite.name}: FAILED: {error}")
            failed += 1
            continue
        tell(outcome, seconds=time.perf_counter() - started)
        if options.accept and outcome.results:
            accept(outcome)
        else:
            failed += not outcome.passed
    if out == RESULTS:
        write_tables()
    print(f"{failed} suites failed" if failed else "all suites passed")
    return 1 if failed else 0


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("TOOLSEARCH_DATA", str(ROOT.parent / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=Path(default), help="data root; default TOOLSEARCH_DATA")
    parser.add_argument("--quick", action="store_true", help="only the quick suites")
    parser.add_argument("--only", action="append", metavar="SUITE", help="only this suite; repeat for more")
    parser.add_argument("--accept", action="store_true", help="write the measured values into the suite files")
    parser.add_argument("--report", action="store_true", help="run nothing, write the tables")
    return parser.parse_args(arguments)


def shown(what: str, done: int, total: int) -> None:
    if sys.stderr.isatty() and (done % 20 == 0 or done == total):
        print(f"\r{what}: {done}/{total} ", end="" if done < total else "\n", file=sys.stderr, flush=True)


def tell(outcome: SuiteOutcome, *, seconds: float) -> None:
    if outcome.skipped:
        print(f"{outcome.suite}: skipped, {outcome.skipped}")
        return
    print(f"{outcome.suite}: {'ok' if outcome.passed else 'FAILED'} in {seconds:.0f} s")
    for result in outcome.results:
        values = [f"{name} {result.mean(name):.3f}" for name in ("recall@5", "ndcg@10", "passed") if result.mean(name)]
        print(f"  {result.system}: {', '.join(values) or 'refusals only'}")
    for check in outcome.checks:
        if check.verdict != "equal":
            measured = "nothing" if check.measured is None else f"{check.measured:.4f}"
            print(f"  {check.verdict}: {check.system} {check.metric}: {measured}, expected {check.expected:.4f}")


def accept(outcome: SuiteOutcome) -> None:
    for file in sorted((HERE / "suites").glob("*.yaml")):
        text = file.read_text(encoding="utf-8")
        if f"name: {outcome.suite}\n" in text:
            file.write_text(with_expected(text, suite=outcome.suite, results=outcome.results), encoding="utf-8")


def write_tables() -> None:
    results = read_results(RESULTS)
    (HERE / "RESULTS.md").write_text(results_markdown(results), encoding="utf-8")
    readme = ROOT / "README.md"
    if readme.is_file():
        readme.write_text(with_table(readme.read_text(encoding="utf-8"), readme_table(results)), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
