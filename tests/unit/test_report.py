"""Tables from results: side by side, ordered, and never stale."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.report.readme_table import BEGIN, END, readme_table, with_table
from benchmarks.report.results_page import read_reasons, results_markdown
from benchmarks.report_html import digest
from toolsearch.eval.results import (
    Latency,
    Measure,
    PairedComparison,
    RefusalFigures,
    SystemResult,
    environment,
    read_results,
)
from toolsearch.model.errors import DataError

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


def test_the_readme_table_has_a_row_for_each_mode_and_the_best_of_a_column_is_bold():
    table = readme_table([*ours(), result("toolsearch hybrid", "alpha", value=0.5)])
    assert table.splitlines()[:6] == [
        "| R@5 | alpha | shop | MRR | ms p50 | MB |",
        "| :-- | --: | --: | --: | --: | --: |",
        "| tools / requests | 9 / 40 | 9 / 40 |  |  |  |",
        "| toolsearch lexical |  | 0.800 |  |  |  |",
        "| toolsearch vector |  | 0.700 |  |  |  |",
        "| toolsearch hybrid | **0.500** | **0.900** | 0.700 | 3.2 |  |",
    ]
    assert "other systems" not in table


def test_the_best_others_stand_below_ours_also_where_they_win():
    speed = {"total": Latency(p50=7.0, p95=8.0, p99=9.0, mean=7.0, n=40)}
    peers = [result(f"peer {n}", value=0.8 - n / 10, memory_mb=50.0 + n, latency_ms=speed) for n in range(7)]
    peers += [result("odd", "alpha", value=0.99), result("broken", failure="does not start")]
    peers += [result("toolsearch hybrid", "only ours", value=0.4)]
    table = readme_table([*ours(), result("toolsearch hybrid", "alpha", value=0.5), *peers])
    rows = [line.split(" | ")[0].strip("| ") for line in table.splitlines() if line.startswith("| ")][3:]
    # The best five by their mean, and whoever is the best on some data set; a failed one is not among them.
    best = ["odd", "peer 0", "peer 1", "peer 2", "peer 3"]
    assert rows == ["toolsearch lexical", "toolsearch vector", "toolsearch hybrid", *best]
    assert "| odd | **0.990** |  |  |  |  |" in table
    assert "| peer 1 |  | 0.700 |  | 7.0 | 51 |" in table
    assert "8 other systems were run" in table
    assert "only ours" not in table


def test_our_time_and_memory_are_those_of_a_process_of_its_own_where_there_is_one():
    speed = {"total": Latency(p50=1.5, p95=2.0, p99=3.0, mean=1.6, n=40)}
    alone = result("toolsearch ranked", value=0.9, latency_ms=speed, memory_mb=200.0)
    table = readme_table([*ours(), alone])
    assert "| toolsearch hybrid | **0.900** | 0.900 | 1.5 | 200 |" in table
    assert "toolsearch ranked" not in table


def test_systems_that_answered_other_requests_are_no_comparison():
    sample = result("peer", value=0.99, queries=20)
    assert "peer" not in readme_table([*ours(), sample])
    beside = [
        result("toolsearch ranked", value=0.85, queries=20),
        *(result(f"p{n}", value=0.1, queries=20) for n in "ab"),
    ]
    both = readme_table([*ours(), sample, *beside])
    assert "| tools / requests | 9 / 20 |" in both
    assert "| toolsearch ranked | 0.850 |" in both
    assert "toolsearch hybrid" not in both
    text = results_markdown([*ours(), sample])
    tables = text.split("requests over 9 tools")[1:]
    assert ["| peer |" in table for table in tables] == [False, True]
    assert text.count("### shop") == 1


def test_the_report_has_everything_and_its_order_does_not_depend_on_the_input():
    refusal = RefusalFigures(none=5, answerable=40, refusal_rate=0.75, false_refusal_rate=0.02, separation=0.9)
    comparison = PairedComparison(other="toolsearch lexical", metric="recall@5", delta=0.1, p_value=0.0001, n=40)
    back = PairedComparison(other="toolsearch hybrid", metric="recall@5", delta=-0.1, p_value=0.0001, n=40)
    results = ours(refusal=refusal, comparisons=(comparison,), environment=environment(["numpy"]))
    results[1] = results[1].model_copy(update={"comparisons": (back,)})
    results += [result("peer | odd", value=0.6, note="at most 10"), result("broken", failure="no wheel")]
    passed = {"all": {"passed": Measure(mean=0.8, low=0.7, high=0.9, n=50)}}
    results.append(result("toolsearch hybrid", "starter cases", metrics=passed, queries=50, tools=60))
    text = results_markdown(results)
    assert text == results_markdown(results[::-1])
    shop = text[text.index("### shop") :]
    assert shop.index("| toolsearch hybrid |") < shop.index("| peer \\| odd (at most 10) |")
    assert "**0.900 [0.800, 0.950]**" in text
    assert text.count("| toolsearch hybrid | toolsearch lexical | recall@5 | +0.100 | < 0.001 | 40 |") == 1
    assert "| toolsearch lexical | toolsearch hybrid |" not in text
    assert "| shop | toolsearch hybrid | 5 | 40 | 0.750 | 0.020 |  |  | 0.900 |" in text
    assert "| shop | broken | no wheel |" in text
    assert "| lang=zh | 40 |" in text
    assert "### starter cases" in text
    assert "| all | 50 | 0.800 [0.700, 0.900] |" in text
    assert "## Measured on" in text


def test_figures_published_without_interval_are_shown_without_one():
    published = {"all": {"recall@5": Measure(mean=0.985, n=473)}}
    text = results_markdown([result("published", metrics=published)])
    assert "| published |  |  | **0.985** |" in text


def test_past_requests_stand_by_their_number():
    results = [
        result(f"toolsearch with {size}", "d experience", value=0.5, settings={"past_requests_a_tool": size})
        for size in (10, 0, 3)
    ]
    section = results_markdown(results).split("## Learning from past requests")[1].split("##")[0]
    assert [line.split("|")[2].strip() for line in section.splitlines() if line.startswith("| d [test] ")] == [
        "0",
        "3",
        "10",
    ]


def test_no_results_make_an_empty_report():
    assert results_markdown([]).startswith("# Results")
    assert results_markdown([]).count("Not measured here") == 10
    assert readme_table([]) == ""


def test_with_table_replaces_what_stands_between_the_markers():
    text = f"before\n{BEGIN}\nold\n{END}\nafter"
    once = with_table(text, "| new |\n")
    assert once == f"before\n{BEGIN}\n| new |\n{END}\nafter"
    assert with_table(once, "| new |\n") == once


@pytest.mark.parametrize("text", ["", BEGIN, f"{END}{BEGIN}", f"{BEGIN}{END}{BEGIN}{END}"])
def test_with_table_needs_one_pair_of_markers(text):
    with pytest.raises(DataError, match="bench:begin"):
        with_table(text, "")


def part(mean, low=None, high=None, n=30):
    return Measure(mean=mean, low=low, high=high, n=n)


def test_hybrid_stands_against_the_better_of_the_two_with_its_test():
    tests = [
        PairedComparison(other=f"toolsearch {mode}", metric="recall@5", delta=delta, p_value=0.04, n=40)
        for mode, delta in (("lexical", 0.1), ("vector", 0.2))
    ]
    text = results_markdown(ours(comparisons=tuple(tests)))
    assert "| shop | 9 | 40 | 0.800 | 0.700 | **0.900** | +0.100 (lexical) | 0.040 | 3.2 |" in text


def test_a_system_that_beats_ours_by_more_than_chance_is_named():
    better = PairedComparison(other="toolsearch ranked", metric="recall@5", delta=0.05, p_value=0.01, n=40)
    other = PairedComparison(other="toolsearch ranked", metric="recall@5", delta=0.02, p_value=0.4, n=40)
    text = results_markdown(
        [*ours(), result("good", value=0.95, comparisons=(better,)), result("fair", value=0.92, comparisons=(other,))]
    )
    assert "- shop: good by +0.050 (p 0.010). Why is not known." in text
    assert "fair by" not in text


def test_the_reason_stands_beside_the_loss(tmp_path):
    path = tmp_path / "reasons.yaml"
    assert read_reasons(path) == {}
    path.write_text("shop: >-\n  It knows\n  more.\n")
    better = PairedComparison(other="toolsearch ranked", metric="recall@5", delta=0.05, p_value=0.01, n=40)
    text = results_markdown([*ours(), result("good", value=0.95, comparisons=(better,))], reasons=read_reasons(path))
    assert "- shop: good by +0.050 (p 0.010). It knows more.\n" in text
    path.write_text("- shop\n")
    with pytest.raises(DataError, match="mapping of data set to sentence"):
        read_reasons(path)


def test_guarantees_show_what_must_be_zero_and_what_knowledge_is_worth():
    measures = {
        "leaks": part(0.0),
        "order_sensitivity": part(0.1, 0.0, 0.2),
        "boundary_accuracy": part(0.8, 0.7, 0.9),
        "boundary_accuracy_without": part(0.6, 0.5, 0.7),
    }
    gain = PairedComparison(other="without does_not", metric="boundary_accuracy", delta=0.2, p_value=0.002, n=30)
    guarantee = result("toolsearch hybrid", "x guarantees", metrics={"all": measures}, comparisons=(gain,))
    text = results_markdown([guarantee])
    assert "| leaks | 0 | 30 | 0 | yes |" in text
    assert "| order sensitivity | 0.100 [0.000, 0.200] | 30 | 0 | **no** |" in text
    wanted = (
        "| boundary accuracy (without does_not) | 0.800 [0.700, 0.900] | 0.600 [0.500, 0.700] | +0.200 | 0.002 | 30 |"
    )
    assert wanted in text


def test_parts_that_earn_their_place_nowhere_are_named():
    table = {
        "usual": {"ndcg@10": part(0.8)},
        "no lexical": {"ndcg@10": part(0.7), "ndcg@10 gain": part(0.1, 0.05, 0.15)},
        "no cost": {"ndcg@10": part(0.8), "ndcg@10 gain": part(0.0, -0.01, 0.01)},
        "no vector": {"ndcg@10": part(0.9), "ndcg@10 gain": part(-0.1, -0.2, -0.05)},
    }
    text = results_markdown([result("toolsearch hybrid", "x ablation", metrics=table, role="dev")])
    assert "| lexical | **+0.100** |" in text
    assert "| cost | +0.000 |" in text
    assert "Earn their place on no set: cost, vector." in text
    assert "Stand in the way somewhere: vector on x." in text


def test_costs_and_latency_have_tables_by_size_and_budget():
    speed = {"total": Latency(p50=2.0, p95=3.0, p99=4.0, mean=2.1, n=50)}
    costs = [
        result("toolsearch ranked", "scale-250", latency_ms=speed, build_seconds=0.5, memory_mb=90.0),
        result("toolsearch ranked", "scale-2500", latency_ms=speed, build_seconds=5.0, memory_mb=120.0),
        result("peer", "scale-250", failure="too slow"),
    ]
    figures = {"latency": {"search p50 [ms]": part(7.0)}, "budget": {"search p50 [ms]": part(6.0)}}
    large = result("toolsearch hybrid", "10000 pooled tools", metrics=figures, tools=10_000, latency_ms=speed)
    text = results_markdown([*costs, large])
    assert "| system | 250 tools | 2500 tools |" in text
    assert "| toolsearch ranked | 0.50 | 5.00 |" in text
    assert "| peer | failed |  |" in text
    assert "| search p50 [ms] | 7 | <= 6 | **no** |" in text
    assert "| total | 2.00 | 3.00 | 4.00 | 50 |" in text


def test_the_tables_in_the_repository_are_not_stale():
    results = read_results(ROOT / "benchmarks" / "results")
    if not results:
        pytest.skip("no results in benchmarks/results: make bench")
    stale = "run: python -m benchmarks.run --report"
    reasons = read_reasons(ROOT / "benchmarks" / "reasons.yaml")
    assert kept("benchmarks/RESULTS.md") == results_markdown(results, reasons=reasons), stale
    assert kept("README.md") == with_table(kept("README.md"), readme_table(results)), stale
    # The page says what it was made from: its plots need not be drawn to tell.
    assert digest(ROOT / "benchmarks" / "results") in kept("benchmarks/report.html"), stale


def kept(name):
    path = ROOT / name
    return path.read_text(encoding="utf-8") if path.is_file() else ""
