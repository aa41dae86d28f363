"""From labels and rankings to tables, and the records they are kept in."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np
import pytest

from toolsearch.eval.qrels import Qrels, Query
from toolsearch.eval.results import (
    Measure,
    SystemResult,
    environment,
    latencies,
    read_result,
    read_results,
    write_result,
    write_rows,
)
from toolsearch.eval.run import Run
from toolsearch.eval.score import RANKING_METRICS, SET_METRICS, compare, measures, refusal_figures, score_queries
from toolsearch.model.errors import DataError


def query(number, *relevant, kind=None, lang="en", **more):
    kind = kind or ("multi" if len(relevant) > 1 else "single" if relevant else "none")
    return Query(id=f"q{number}", text="?", relevant=relevant, kind=kind, split="test", lang=lang, **more)


def qrels_of(*queries):
    return Qrels(name="shop", tool_ids=("a", "b", "c", "d"), queries=queries, sha256=MappingProxyType({}))


QRELS = qrels_of(
    query(1, "a"),
    query(2, "a", "b", lang="zh", alternatives=MappingProxyType({"b": ("c",)})),
    query(3),
    query(4, "d"),
)
RUN = Run("s", {"q1": (("b", 0.9), ("a", 0.8)), "q2": (("c", 0.7), ("a", 0.6)), "q3": (("b", 0.2),), "q4": ()})


def test_every_query_that_needs_a_tool_is_scored_in_order():
    scores = score_queries(QRELS, RUN)
    assert [one.id for one in scores.queries] == ["q1", "q2", "q4"]
    assert scores.names == tuple(RANKING_METRICS)
    assert scores.column("recall@1").tolist() == [0.0, 0.5, 0.0]
    assert scores.column("complete@5").tolist() == [1.0, 1.0, 0.0]
    assert scores.column("mrr@10").tolist() == [0.5, 1.0, 0.0]


def test_a_query_the_run_lacks_counts_as_found_nothing():
    scores = score_queries(QRELS, Run("s", {}))
    assert not scores.values.any()


def test_answers_add_set_metrics():
    answers = Run("s", {"q1": (("a", 1.0),), "q2": (("b", 1.0), ("c", 0.5), ("d", 0.1))})
    scores = score_queries(QRELS, RUN, answers=answers)
    assert scores.names[-4:] == SET_METRICS
    assert scores.values[:, -4:].tolist() == [[1.0, 1.0, 0.0, 1.0], [0.5, pytest.approx(1 / 3), 1.0, 3.0], [0, 0, 0, 0]]


def test_measures_have_a_slice_for_each_value_that_is_not_the_only_one():
    table = measures(score_queries(QRELS, RUN))
    assert sorted(table) == ["all", "kind=multi", "kind=single", "lang=en", "lang=zh"]
    overall = table["all"]["recall@10"]
    assert (overall.mean, overall.n) == (0.666667, 3)
    assert 0.0 <= overall.low <= overall.mean <= overall.high <= 1.0
    assert table["lang=zh"]["recall@10"].mean == 1.0
    assert table == measures(score_queries(QRELS, RUN))


def test_no_query_that_needs_a_tool_gives_no_table():
    assert measures(score_queries(qrels_of(query(3)), RUN)) == {}


def test_refusal_figures():
    figures = refusal_figures(QRELS, RUN, refused={"q3": True, "q4": True})
    assert (figures.none, figures.answerable) == (1, 3)
    assert (figures.refusal_rate, figures.false_refusal_rate) == (1.0, pytest.approx(1 / 3))
    # q4 returned nothing: a third is refused falsely at every floor, more than 2 %.
    assert (figures.refusal_at_limit, figures.false_refusal_at_limit) == (0.0, pytest.approx(1 / 3))
    assert figures.floor_at_limit is None
    assert figures.separation == pytest.approx(2 / 3)
    assert figures.curve[-1] == (1.0, 1.0)


def test_refusal_figures_with_a_floor():
    better = Run("s", {**RUN.rankings, "q4": (("d", 0.5),)})
    figures = refusal_figures(QRELS, better)
    assert (figures.refusal_at_limit, figures.floor_at_limit, figures.refusal_rate) == (1.0, 0.5, None)


def test_a_long_curve_is_thinned_and_keeps_its_ends():
    queries = [query(number, *(["a"] if number % 2 else [])) for number in range(400)]
    run = Run("s", {one.id: (("a", (place + 1) / 400),) for place, one in enumerate(queries)})
    figures = refusal_figures(qrels_of(*queries), run)
    assert len(figures.curve) == 101
    assert (figures.curve[0], figures.curve[-1]) == ((0.0, 0.0), (1.0, 1.0))


def test_refusal_figures_need_requests_without_a_tool():
    assert refusal_figures(qrels_of(query(1, "a")), RUN) is None
    only_some = refusal_figures(qrels_of(query(1, "a"), query(2, "b")), RUN, refused={"q1": True})
    assert (only_some.refusal_rate, only_some.false_refusal_rate, only_some.curve) == (None, 0.5, ())
    only_none = refusal_figures(qrels_of(query(3)), RUN, refused={"q3": False})
    assert (only_none.refusal_rate, only_none.separation) == (0.0, None)


def test_compare_pairs_by_query():
    ours, theirs = score_queries(QRELS, RUN), score_queries(qrels_of(*reversed(QRELS.queries[:2])), Run("t", {}))
    test = compare(ours, theirs, "recall@10")
    assert (test.delta, test.n) == (1.0, 2)
    with pytest.raises(ValueError, match="share no query"):
        compare(ours, score_queries(qrels_of(query(9, "a")), RUN), "recall@10")
    with pytest.raises(ValueError, match="set_size"):
        compare(ours, theirs, "set_size")


def test_latencies_count_a_skipped_stage_as_no_time():
    table = latencies([{"encode": 4.0, "total": 5.0}, {"total": 1.0}])
    assert list(table) == ["encode", "total"]
    assert (table["encode"].p50, table["encode"].mean, table["total"].n) == (2.0, 2.0, 2)
    assert latencies([]) == {}


def result(system="ours", dataset="shop", **more):
    return SystemResult(system=system, dataset=dataset, **more)


def test_results_round_trip_and_are_read_in_order(tmp_path):
    measured = result(
        metrics={"all": {"recall@5": Measure(mean=0.5, low=0.4, high=0.6, n=9)}},
        refusal=refusal_figures(QRELS, RUN),
        environment=environment(),
        latency_ms=latencies([{"total": 1.0}]),
    )
    write_result(measured, tmp_path / "ours" / "shop.json")
    write_result(result("theirs", failure="does not start"), tmp_path / "theirs.json")
    write_result(result("ours", "alpha"), tmp_path / "z.json")
    assert read_result(tmp_path / "ours" / "shop.json") == measured
    assert [(one.dataset, one.system) for one in read_results(tmp_path)] == [
        ("alpha", "ours"),
        ("shop", "ours"),
        ("shop", "theirs"),
    ]
    assert '"format": 1' in (tmp_path / "z.json").read_text()
    assert measured.mean("recall@5") == 0.5
    assert measured.mean("recall@5", part="lang=zh") is None


def test_two_files_with_the_same_result_are_an_error(tmp_path):
    write_result(result(), tmp_path / "a.json")
    write_result(result(), tmp_path / "b.json")
    with pytest.raises(DataError, match=r"b\.json: holds ours on shop, as .*a\.json does"):
        read_results(tmp_path)


@pytest.mark.parametrize("body", [b"", b"{}", b'{"system": "s", "dataset": "d", "extra": 1}', b"\xff"])
def test_another_file_is_no_result(tmp_path, body):
    (tmp_path / "a.json").write_bytes(body)
    with pytest.raises(DataError, match="not a benchmark result"):
        read_result(tmp_path / "a.json")
    with pytest.raises(DataError, match="cannot be read"):
        read_result(tmp_path / "b.json")


def test_rows_are_one_object_a_line(tmp_path):
    write_rows([{"id": "问"}, {"id": "b"}], tmp_path / "deep" / "rows.jsonl")
    assert (tmp_path / "deep" / "rows.jsonl").read_text(encoding="utf-8") == '{"id": "问"}\n{"id": "b"}\n'


def test_environment_names_what_numbers_depend_on():
    here = environment(["numpy", "no-such-package"])
    assert here.packages == {"numpy": np.__version__}
    assert here.cpu
    assert here.cores >= 1
