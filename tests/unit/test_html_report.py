"""report.html: plots that can be read without seeing them, escaped texts, the same bytes every time."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest

from benchmarks.measures.outcomes import CASES_SUFFIX, CaseOutcome, read_outcomes
from toolsearch.eval.results import (
    Latency,
    Measure,
    RefusalFigures,
    SystemResult,
    write_result,
    write_rows,
)

pytest.importorskip("matplotlib", reason="needs the [bench] extra")

from benchmarks import report_html
from benchmarks.html.confusion import confusion_body, first_offered
from benchmarks.html.elements import slug, table
from benchmarks.html.page import report_page
from benchmarks.html.speed import apart, spread, visible_costs

SVG = "{http://www.w3.org/2000/svg}"
METRICS = ("recall@1", "recall@3", "recall@5", "recall@10", "mrr@10", "ndcg@10", "complete@5", "complete@10")


def measure(mean):
    return Measure(mean=mean, low=mean - 0.05, high=mean + 0.05, n=40)


def ranked(system, value, *, dataset="shop", **more):
    metrics = {"all": {name: measure(value) for name in METRICS}}
    return SystemResult(system=system, dataset=dataset, role="test", tools=9, queries=40, metrics=metrics, **more)


def everything():
    curve = ((0.0, 0.0), (0.02, 0.5), (1.0, 1.0))
    refusal = RefusalFigures(none=10, answerable=30, refusal_rate=0.6, false_refusal_rate=0.1, curve=curve)
    speed = {"search": Latency(p50=2.0, p95=3.0, p99=4.0, mean=2.1, n=50)}
    figures = {f"search p50, processor time, {n} visible [ms]": measure(n / 100) for n in (100, 10)}
    total = {"total": speed["search"]}
    gains = {"no <cost>": {"ndcg@10 gain": measure(0.1)}, "only lexical": {"ndcg@10 gain": measure(0.0)}}
    return [
        ranked("toolsearch hybrid", 0.8, refusal=refusal),
        ranked("peer <b>&", 0.9),
        ranked("toolsearch lexical", 0.7),
        SystemResult(system="toolsearch hybrid", dataset="x guarantees", metrics={"all": {"leaks": measure(1.0)}}),
        SystemResult(system="toolsearch hybrid", dataset="x ablation", role="dev", metrics=gains),
        SystemResult(
            system="toolsearch hybrid",
            dataset="100 pooled tools",
            tools=100,
            metrics={"latency": figures},
            latency_ms=speed,
        ),
        SystemResult(system="toolsearch ranked", dataset="scale-250", latency_ms=total, memory_mb=90.0),
        SystemResult(system="peer <b>&", dataset="scale-250", latency_ms=total, memory_mb=50.0),
    ]


def outcome(name="c1", *, accepted=("orders.get",), offered=("shop/orders.list@1",), failures=("tool: wrong",), **more):
    values = {"kind": "single", "split": "dev", "lang": "en", "risk": "low", "request": "where <is> it?", **more}
    return CaseOutcome(id=name, accepted=accepted, offered=offered, failures=failures, **values)


CASES = [outcome("a"), outcome("b", offered=())]


@pytest.fixture(scope="module")
def page():
    return report_page(everything(), CASES)


def drawings(page):
    return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)]


def texts(drawing):
    return ["".join(found.itertext()) for found in drawing.iter(f"{SVG}text")]


def test_the_same_results_give_the_same_bytes_in_whatever_order(page):
    assert page == report_page(everything()[::-1], CASES)
    assert not re.search(r"20\d\d-\d\d-\d\d", page)


def test_nothing_is_fetched_and_nothing_is_run(page):
    assert "<script" not in page
    loaded = re.findall(r'(?:src|href)="([^"#][^"]*)"|url\(([^#)][^)]*)\)|@import', page)
    assert loaded == []


def test_every_plot_has_title_description_and_its_labels(page):
    found = drawings(page)
    assert len(found) == 9
    titles = []
    for drawing in found:
        assert drawing.get("role") == "img"
        title, about = drawing.find(f"{SVG}title"), drawing.find(f"{SVG}desc")
        assert drawing.get("aria-labelledby") == f"{title.get('id')} {about.get('id')}"
        assert len(about.text) > 10
        titles.append(title.text)
    assert len(set(titles)) == len(titles)
    bars = texts(found[titles.index("Recall@5 on shop")])
    assert {"toolsearch hybrid", "toolsearch lexical", "peer <b>&", "0.900", "0.800"} <= set(bars)


def test_ids_are_unique_and_links_lead_somewhere(page):
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(set(ids)) == len(ids)
    links = set(re.findall(r'href="#([^"]+)"', page)) | set(re.findall(r"url\(#([^)]+)\)", page))
    assert links <= set(ids)
    assert "taken-orders-get-for-orders-list" in links


def test_texts_from_data_are_escaped(page):
    assert "<b>" not in page
    assert "peer &lt;b&gt;&amp;" in page
    assert "<q>where &lt;is&gt; it?</q>" in page
    assert "&lt;cost&gt;" in page
    assert 'content="&quot;x"' in report_page([], [], made_from='"x')


def test_colours_follow_the_page(page):
    assert "#0303" not in page
    used = set(re.findall(r"var\(--([a-z0-9-]+)", page))
    defined = set(re.findall(r"--([a-z0-9-]+):", page))
    assert used <= defined | {"share"}
    assert "prefers-color-scheme:dark" in page


def test_instruments_that_were_not_run_are_named_with_their_command():
    page = report_page([], [])
    assert page.count('class="missing"') == 7
    assert "Run <code>python -m benchmarks.latency</code>" in page


def test_a_broken_duty_is_said_in_words(page):
    assert "BROKEN" in page


def test_other_samples_of_a_data_set_have_a_table_of_their_own():
    small = ranked("peer two", 0.9).model_copy(update={"queries": 20})
    page = report_page([everything()[0], small], [])
    assert "shop: 20 requests" in page[page.index("Further samples") :]


def test_the_first_offered_tool_is_right_if_named_or_if_the_case_passed():
    assert first_offered(outcome()) == "orders.list"
    assert first_offered(outcome(offered=())) == "(nothing)"
    assert first_offered(outcome(offered=("shop/orders.get@2",))) == "(right)"
    assert first_offered(outcome(failures=())) == "(right)"


def test_the_matrix_counts_cases_and_shows_each_of_them():
    body = confusion_body(
        [outcome("a"), outcome("b"), outcome("c", failures=()), outcome("d", accepted=("orders.put",))]
    )
    assert '<a href="#taken-orders-get-for-orders-list">2</a>' in body
    assert '<th scope="row">orders.get</th><td>1</td>' in body
    assert [f'id="case-{name}"' in body for name in "abcd"] == [True, True, False, True]
    assert "offered: orders.list" in body
    assert "All 1 cases" in confusion_body([outcome(failures=())])


def test_rows_that_are_ours_are_marked_and_heads_are_heads():
    text = table("a < b", ["system", "n"], [["x", "1"], ["y", "2"]], marked=frozenset({1}))
    assert "<caption>a &lt; b</caption>" in text
    assert '<tr><th scope="row">x</th><td>1</td></tr>' in text
    assert '<tr class=ours><th scope="row">y</th>' in text
    assert (slug("Recall@5 on A b"), slug("中文")) == ("recall-5-on-a-b", "x")


def test_labels_on_a_logarithmic_axis_keep_apart():
    assert apart({10_000.0, 100.0, 5_000.0, 120.0}) == [100.0, 5_000.0]
    assert spread("abcdefg", 3) == ["a", "d", "g"]
    assert spread("ab", 3) == ["a", "b"]
    assert visible_costs(everything()[5]) == [(10.0, 0.1), (100.0, 1.0)]


def test_the_command_writes_the_page_of_a_folder(tmp_path):
    for number, result in enumerate(everything()[:2]):
        write_result(result, tmp_path / "results" / f"{number}.json")
    rows = [outcome().model_dump(mode="json")]
    for mode in ("hybrid", "lexical"):
        write_rows(rows, tmp_path / "results" / f"starter.{mode}{CASES_SUFFIX}")
    arguments = ["--results", str(tmp_path / "results"), "--out", str(tmp_path / "page.html")]
    assert report_html.main(arguments) == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "1 of 1 cases" in page
    assert report_html.digest(tmp_path / "results") in page
    assert report_html.main(arguments) == 0
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    assert read_outcomes(tmp_path / "results" / f"starter.hybrid{CASES_SUFFIX}") == (outcome(),)
