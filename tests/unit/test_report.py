"""Tables from results: side by side, ordered, and never stale."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolsearch.errors import DataError
from toolsearch.eval.report import BEGIN, END, readme_table, results_markdown, with_table
from toolsearch.eval.results import (
    Comparison,
    Latency,
    Measure,
    RefusalFigures,
    SystemResult,
    environment,
    read_results,
)

ROOT = Path(__file__).parents[2]


def result(system, dataset="shop", value=None, **more):
    if value is not None:
        measure = Measure(mean=value, low=value - 0.1, high=value + 0.05, n=40)
        slices = {name: {"recall@5": measure, "mrr@10": measure} for name in ("all", "lang=zh")}
        more = {"metrics": slices, "tools": 9, "queries": 40, "role": "test", **more}
    return SystemResult(system=system, dataset=dataset, **more)


def ours(**more):
    speed = {"total": Latency(p50=3.25, p95=4.0, p99=5.5, mean=3.4, n=40)}
    return [
        result("toolsearch hybrid", value=0.9, latency_ms=speed, **more),
        result("toolsearch lexical", value=0.8),
        result("toolsearch vector", value=0.7),
    ]


def test_the_readme_table_has_one_row_a_data_set_and_the_best_is_bold():
    table = readme_table([*ours(), result("toolsearch hybrid", "alpha", value=0.5)])
    assert table.splitlines() == [
        "| data set | tools | requests | R@5 lexical | R@5 vector | R@5 hybrid | ms p50 |",
        "| :-- | --: | --: | --: | --: | --: | --: |",
        "| alpha | 9 | 40 |  |  | **0.500** |  |",
        "| shop | 9 | 40 | 0.800 | 0.700 | **0.900** | 3.2 |",
    ]


def test_the_best_other_system_stands_against_ours_also_where_it_wins():
    peers = [result("peer one", value=0.85), result("peer two", value=0.95), result("peer one", "alpha", value=0.2)]
    table = readme_table([*ours(), *peers, result("peer three", failure="does not start")])
    assert table.splitlines()[-1] == "| shop | 40 | 0.900 | **0.950** | peer two |"
    assert "alpha" not in table
    # A run of the product beside its peers is preferred to that of a mode.
    table = readme_table([*ours(), *peers, result("toolsearch", value=0.97)])
    assert table.splitlines()[-1] == "| shop | 40 | **0.970** | 0.950 | peer two |"


def test_systems_that_answered_other_requests_are_no_comparison():
    sample = result("peer", value=0.99, queries=20)
    assert "peer" not in readme_table([*ours(), sample])
    both = readme_table([*ours(), sample, result("toolsearch", value=0.9, queries=20)])
    assert both.splitlines()[-1] == "| shop | 20 | 0.900 | **0.990** | peer |"
    text = results_markdown([*ours(), sample])
    tables = text.split("requests over 9 tools")[1:]
    assert ["peer" in table for table in tables] == [False, True]
    assert text.count("## shop") == 1


def test_the_report_has_everything_and_its_order_does_not_depend_on_the_input():
    refusal = RefusalFigures(none=5, answerable=40, refusal_rate=0.75, false_refusal_rate=0.02, separation=0.9)
    comparison = Comparison(other="toolsearch lexical", metric="recall@5", delta=0.1, p_value=0.0001, n=40)
    back = Comparison(other="toolsearch hybrid", metric="recall@5", delta=-0.1, p_value=0.0001, n=40)
    results = ours(refusal=refusal, comparisons=(comparison,), environment=environment(["numpy"]))
    results[1] = results[1].model_copy(update={"comparisons": (back,)})
    results += [result("peer | odd", value=0.6, note="at most 10"), result("broken", failure="no wheel")]
    passed = {"all": {"passed": Measure(mean=0.8, low=0.7, high=0.9, n=50)}}
    results.append(result("toolsearch hybrid", "starter cases", metrics=passed, queries=50, tools=60))
    text = results_markdown(results)
    assert text == results_markdown(results[::-1])
    assert text.index("## shop") < text.index("| toolsearch hybrid |") < text.index("| peer \\| odd (at most 10) |")
    assert "**0.900 [0.800, 0.950]**" in text
    assert text.count("| toolsearch hybrid | toolsearch lexical | recall@5 | +0.100 | < 0.001 | 40 |") == 1
    assert "| toolsearch lexical | toolsearch hybrid |" not in text
    assert "| shop | toolsearch hybrid | 5 | 40 | 0.750 | 0.020 |  | 0.900 |" in text
    assert "| shop | broken | no wheel |" in text
    assert "| lang=zh | 40 |" in text
    assert "## starter cases" in text
    assert "| all | 50 | 0.800 [0.700, 0.900] |" in text
    assert "Measured on:" in text


def test_figures_published_without_interval_are_shown_without_one():
    published = {"all": {"recall@5": Measure(mean=0.985, n=473)}}
    text = results_markdown([result("published", metrics=published)])
    assert "| published |  |  | **0.985** |" in text


def test_no_results_make_an_empty_report():
    assert results_markdown([]).startswith("# Results")
    assert readme_table([]).startswith("| data set |")


def test_with_table_replaces_what_stands_between_the_markers():
    text = f"before\n{BEGIN}\nold\n{END}\nafter"
    once = with_table(text, "| new |\n")
    assert once == f"before\n{BEGIN}\n| new |\n{END}\nafter"
    assert with_table(once, "| new |\n") == once


@pytest.mark.parametrize("text", ["", BEGIN, f"{END}{BEGIN}", f"{BEGIN}{END}{BEGIN}{END}"])
def test_with_table_needs_one_pair_of_markers(text):
    with pytest.raises(DataError, match="bench:begin"):
        with_table(text, "")


def test_the_tables_in_the_repository_are_not_stale():
    results = read_results(ROOT / "benchmarks" / "results")
    if not results:
        pytest.skip("no results in benchmarks/results: make bench")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme == with_table(readme, readme_table(results)), "run: python benchmarks/run.py --report"
    kept = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    assert kept == results_markdown(results), "run: python benchmarks/run.py --report"
