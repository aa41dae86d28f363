"""One tiny data folder through the real engine."""

from __future__ import annotations

import json

import numpy as np
import pytest

from toolsearch.eval.bench import SharedDocumentVectors, bench_dataset
from toolsearch.eval.results import read_result
from toolsearch.eval.run import read_trec_run
from toolsearch.model.errors import DataError
from toolsearch.text.embed.hashed import HashedEncoder

TOOLS = {
    "shop::get order": "Look up one order by its number and show its delivery status.",
    "shop::refund": "Pay back the money of an order to the customer.",
    "trips::flights": "Search flights between two airports on a date.",
    "trips::hotels": "Search hotels in a city for some nights.",
    "weather": "Weather forecast for a city.",
}
QUERIES = [
    ("q1", "delivery status of my order", ["shop::get order"], "single"),
    ("q2", "search flights and hotels in the city", ["trips::flights", "trips::hotels"], "multi"),
    ("q3", "weather forecast for Paris", ["weather"], "single"),
]


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "tiny"
    place.mkdir()
    tools = [
        {
            "id": key,
            "name": key.rpartition(":")[2],
            "description": text,
            "input_schema": {},
            "server": None,
            "output": None,
        }
        for key, text in TOOLS.items()
    ]
    queries = [
        {"id": key, "query": text, "relevant": needed, "kind": kind, "split": "dev", "lang": "en"}
        for key, text, needed, kind in QUERIES
    ]
    none = {"id": "q4", "query": "weather forecast for Paris", "relevant": [], "kind": "none", "split": "dev"}
    queries.append({**none, "lang": "en", "candidates": ["shop::refund", "trips::hotels"]})
    for name, rows in (("tools", tools), ("queries", queries)):
        (place / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return place


def test_bench_measures_every_mode_and_writes_what_it_measured(folder, tmp_path):
    seen = []
    report = bench_dataset(
        folder,
        encoder="hashed",
        out=tmp_path / "out",
        progress=lambda what, done, total: seen.append((what, done, total)),
    )
    assert list(report.modes) == ["lexical", "vector", "hybrid"]
    assert report.refused_tools == ()
    assert seen[-1] == ("tiny hybrid", 4, 4)
    lexical = report.modes["lexical"].result
    assert lexical.mean("recall@1", part="kind=single") == 1.0
    assert (lexical.tools, lexical.queries, lexical.role) == (5, 4, "dev")
    assert lexical.refusal.none == 1
    assert lexical.latency_ms["total"].n == 4
    assert (lexical.build_seconds is None, report.modes["hybrid"].result.build_seconds) == (False, None)
    assert [(c.other, c.metric) for c in lexical.comparisons[:2]] == [
        ("toolsearch vector", "recall@5"),
        ("toolsearch vector", "ndcg@10"),
    ]
    assert read_result(tmp_path / "out" / "tiny.lexical.json") == lexical
    rows = [json.loads(line) for line in (tmp_path / "out" / "tiny.hybrid.queries.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == ["q1", "q2", "q3", "q4"]
    assert rows[0]["metrics"]["recall@10"] == 1.0
    assert "metrics" not in rows[3]
    run = read_trec_run(tmp_path / "out" / "tiny.vector.run.txt")
    assert run.ranked("q1") == report.modes["vector"].run.ranked("q1")


def test_a_none_case_is_asked_over_its_candidates_only(folder):
    report = bench_dataset(folder, encoder="hashed", modes=["hybrid"])
    hybrid = report.modes["hybrid"]
    assert set(hybrid.run.ranked("q4")) <= {"shop::refund", "trips::hotels"}
    assert "weather" in hybrid.run.ranked("q3")


def test_a_request_that_is_too_long_is_cut(folder):
    long = {"id": "q5", "query": "weather forecast " * 1_000, "relevant": ["weather"], "kind": "single"}
    with (folder / "queries.jsonl").open("a") as stream:
        stream.write(json.dumps({**long, "split": "dev", "lang": "en"}) + "\n")
    report = bench_dataset(folder, encoder="hashed", modes=["lexical"])
    assert report.modes["lexical"].run.ranked("q5")[0] == "weather"


def test_the_same_data_and_seed_give_the_same_figures(folder):
    first, second = (bench_dataset(folder, encoder="hashed", modes=["hybrid"], limit=3) for _ in range(2))
    assert first.modes["hybrid"].result.metrics == second.modes["hybrid"].result.metrics
    assert first.modes["hybrid"].run == second.modes["hybrid"].run
    assert first.modes["hybrid"].result.queries == 3


def test_a_folder_without_tools_is_an_error(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        bench_dataset(tmp_path)


def test_document_vectors_are_computed_once():
    class Counting(HashedEncoder):
        calls = 0

        def encode_documents(self, texts):
            self.calls += len(texts)
            return super().encode_documents(texts)

    inner = Counting()
    shared = SharedDocumentVectors(inner)
    first = shared.encode_documents(["a b", "c", "a b"])
    assert np.array_equal(first, HashedEncoder().encode_documents(["a b", "c", "a b"]))
    assert np.array_equal(shared.encode_documents(["c"]), first[1:2])
    assert inner.calls == 2
    assert shared.encode_documents([]).shape == (0, inner.info.dim)
    assert np.array_equal(shared.encode_queries(["c"]), inner.encode_queries(["c"]))


def test_a_request_that_is_no_text_counts_as_refused(folder):
    path = folder / "queries.jsonl"
    row = {"id": "q5", "query": "\x16", "relevant": [], "kind": "none", "split": "dev", "lang": "en"}
    row["candidates"] = ["weather"]
    path.write_text(path.read_text(encoding="utf-8") + json.dumps(row) + "\n", encoding="utf-8")
    report = bench_dataset(folder, encoder="hashed", modes=("lexical",))
    assert report.modes["lexical"].answers.rankings["q5"] == ()
    assert report.modes["lexical"].result.metrics["all"]
