"""Make benchmarks/report.html from the result files.

python -m benchmarks.report_html                       benchmarks/results -> benchmarks/report.html
python -m benchmarks.report_html --results R --out P   others
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path

from benchmarks.measures.outcomes import CASES_SUFFIX, CaseOutcome, read_outcomes
from toolsearch.eval.qrels import file_sha256
from toolsearch.eval.results import read_results

HERE = Path(__file__).resolve().parent
MODE = "hybrid"
"""The mode whose cases are shown: that of the product."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=HERE / "results", help="folder of result files")
    parser.add_argument("--out", type=Path, default=HERE / "report.html")
    options = parser.parse_args(arguments)
    write_page(options.results, options.out)
    print(f"written: {options.out}")
    return 0


def write_page(results: Path, out: Path) -> None:
    # Plots need matplotlib, which measuring does not.
    from benchmarks.html.page import report_page

    page = report_page(read_results(results), outcomes_below(results), made_from=digest(results))
    out.write_text(page, encoding="utf-8")


def digest(folder: Path) -> str:
    """Return the sha256 of everything a page is made from; it stands in the page, which tells whether that is stale."""
    found = hashlib.sha256()
    for path in [*sorted(folder.rglob("*.json")), *sorted(folder.rglob(f"*.{MODE}{CASES_SUFFIX}"))]:
        found.update(f"{path.relative_to(folder).as_posix()} {file_sha256(path)}\n".encode())
    return found.hexdigest()


def outcomes_below(folder: Path) -> tuple[CaseOutcome, ...]:
    return tuple(found for path in sorted(folder.rglob(f"*.{MODE}{CASES_SUFFIX}")) for found in read_outcomes(path))


if __name__ == "__main__":
    sys.exit(main())
