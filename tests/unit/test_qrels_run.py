"""Reading labelled requests and writing runs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from toolsearch.eval.qrels import from_trec_token, read_qrels, read_trec_qrels, trec_token
from toolsearch.eval.run import Run, read_json_run, read_trec_run
from toolsearch.model.errors import DataError

TOOLS = ["orders.get", "orders.refund", "trips.find flight"]
GOOD = {"id": "q1", "query": "where is my order", "relevant": ["orders.get"], "split": "test", "lang": "en"}


def query(**changes):
    return {**GOOD, "kind": "single", **changes}


def write(folder, queries, tools=TOOLS, name="queries.jsonl"):
    folder.mkdir(exist_ok=True)
    (folder / "tools.jsonl").write_text("".join(json.dumps({"id": tool}) + "\n" for tool in tools))
    lines = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in queries]
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_reads_every_field(tmp_path):
    folder = write(
        tmp_path / "shop",
        [
            query(alternatives={"orders.get": ["orders.refund"]}, group="g", extra=1),
            "",
            query(id="q2", query="讲个\u2028笑话", relevant=[], kind="none", lang="zh", candidates=["orders.get"] * 2),
        ],
    )
    qrels = read_qrels(folder)
    first, second = qrels.queries
    assert (qrels.name, qrels.tool_ids) == ("shop", tuple(TOOLS))
    assert first.golds == (("orders.get", "orders.refund"),)
    assert (first.group, first.candidates) == ("g", None)
    assert (second.text, second.golds, second.candidates) == ("讲个\u2028笑话", (), ("orders.get",))
    assert sorted(qrels.sha256) == ["queries.jsonl", "tools.jsonl"]
    assert [q.id for q in qrels.select(kind="none").queries] == ["q2"]
    assert [q.id for q in qrels.select(lang="en", split="test").queries] == ["q1"]
    assert qrels.sample(None) is qrels
    assert qrels.sample(2) is qrels


def test_a_sample_is_spread_over_the_file(tmp_path):
    qrels = read_qrels(write(tmp_path / "shop", [query(id=f"q{n}") for n in range(10)]))
    assert [q.id for q in qrels.sample(4).queries] == ["q0", "q2", "q5", "q7"]


def test_requests_can_be_asked_over_the_tools_of_another_folder(tmp_path):
    qrels = read_qrels(write(tmp_path / "zh", [query()]))
    other = write(tmp_path / "en", [query()], tools=["more", "orders.get"])
    moved = qrels.over(other)
    assert (moved.name, moved.tool_ids, moved.queries) == ("zh_over_en", ("more", "orders.get"), qrels.queries)
    assert moved.sha256 == {
        "zh/queries.jsonl": qrels.sha256["queries.jsonl"],
        "en/tools.jsonl": read_qrels(other).sha256["tools.jsonl"],
    }
    for needed in ({"alternatives": {"orders.get": ["orders.refund"]}}, {"candidates": ["orders.refund"]}):
        strange = read_qrels(write(tmp_path / "zh", [query(**needed)]))
        with pytest.raises(DataError, match=r"has no tool 'orders.refund', which 'q1' of zh names"):
            strange.over(other)


def test_another_queries_file_gives_another_name(tmp_path):
    folder = write(tmp_path / "shop", [query()], name="past.jsonl")
    assert read_qrels(folder, queries="past.jsonl").name == "shop/past"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "is not JSON"),
        ("[1]", "holds a list"),
        (query(id=""), "'id' is ''"),
        (query(query=7), "'query' is 7"),
        (query(kind="some"), "kind 'some' is not one of single, multi, none"),
        (query(kind="none"), "only 'none' has no tool"),
        (query(relevant=[]), "only 'none' has no tool"),
        (query(relevant="orders.get"), "relevant is not a list"),
        (query(relevant=["orders.put"]), "relevant names 'orders.put'"),
        (query(relevant=["orders.get", "orders.get"]), "names a tool twice"),
        (query(candidates=["nowhere"]), "candidates names 'nowhere'"),
        (query(alternatives=[1]), "alternatives is not an object"),
        (query(alternatives={"orders.refund": []}), "which is not among the relevant"),
        (query(alternatives={"orders.get": ["nowhere"]}), "names 'nowhere'"),
        (query(id="q0"), "stands on line 1 already"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, line, message):
    folder = write(tmp_path / "shop", [query(id="q0"), line])
    with pytest.raises(DataError, match=message) as caught:
        read_qrels(folder)
    assert caught.value.line == 2
    assert "queries.jsonl:2: " in str(caught.value)


def test_tools_must_be_unique_and_files_there_and_in_utf8(tmp_path):
    folder = write(tmp_path / "shop", [query()], tools=["orders.get", "orders.get"])
    with pytest.raises(DataError, match=r"tools\.jsonl:2: tool id 'orders.get' stands on line 1"):
        read_qrels(folder)
    with pytest.raises(DataError, match="cannot be read"):
        read_qrels(tmp_path / "nowhere")
    (folder / "tools.jsonl").write_bytes(b'{"id": "\xff"}')
    with pytest.raises(DataError, match="not UTF-8"):
        read_qrels(folder)


@pytest.mark.parametrize("identifier", ["a b", "100%", "%20", "跨 行\n", "plain", "tab\there", "\u3000"])
def test_trec_tokens_keep_every_id(identifier):
    token = trec_token(identifier)
    assert len(token.split()) == 1
    assert from_trec_token(token) == identifier


def test_qrels_round_trip_through_trec(tmp_path):
    qrels = read_qrels(write(tmp_path / "shop", [query(relevant=["trips.find flight", "orders.get"], kind="multi")]))
    qrels.write_trec(tmp_path / "qrels.txt")
    assert read_trec_qrels(tmp_path / "qrels.txt") == {"q1": ("trips.find flight", "orders.get")}
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq1 0 b 0\nq1 a\n")
    with pytest.raises(DataError, match=r"qrels\.txt:3"):
        read_trec_qrels(tmp_path / "qrels.txt")


def test_run_round_trips(tmp_path):
    run = Run("our system", {"q 1": (("a b", 0.1 + 0.2), ("c", 0.3)), "q2": (("c", 1e-9),), "empty": ()})
    run.write_json(tmp_path / "run.json")
    run.write_trec(tmp_path / "run.txt")
    assert read_json_run(tmp_path / "run.json") == run
    read_back = read_trec_run(tmp_path / "run.txt")
    assert read_back.system == "our system"
    assert dict(read_back.rankings) == {key: run.rankings[key] for key in ("q 1", "q2")}
    assert (run.ranked("q 1"), run.ranked("unknown")) == (("a b", "c"), ())
    assert (run.best_score("q2"), run.best_score("empty")) == (1e-9, float("-inf"))


def test_trec_runs_are_read_in_rank_order(tmp_path):
    (tmp_path / "run.txt").write_text("q Q0 second 2 0.9 s\nq Q0 first 1 0.1 s\n")
    assert read_trec_run(tmp_path / "run.txt").ranked("q") == ("first", "second")


@pytest.mark.parametrize("text", ["", "q Q0 a 1 0.5\n", "q Q0 a one 0.5 s\n", "q Q0 a 1 nan s\n", "q Q0 a 1 1 s\n" * 2])
def test_a_wrong_run_is_named(tmp_path, text):
    (tmp_path / "run.txt").write_text(text)
    with pytest.raises(DataError):
        read_trec_run(tmp_path / "run.txt")


@pytest.mark.parametrize("text", ["", "[]", '{"system": "s"}', '{"system": "s", "rankings": {"q": [["a"]]}}'])
def test_a_wrong_json_run_is_named(tmp_path, text):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(DataError, match="not a run"):
        read_json_run(tmp_path / "run.json")


@pytest.mark.data
def test_every_public_data_set_is_valid():
    root = Path(os.environ.get("TOOLSEARCH_DATA", Path(__file__).parents[3] / "shared" / "data"))
    files = sorted(root.glob("*/queries*.jsonl"))
    if not files:
        pytest.skip(f"no data sets in {root}: set TOOLSEARCH_DATA")
    for file in files:
        assert read_qrels(file.parent, queries=file.name).queries
