"""What the encoder is fitted on: records, pairs, code switching, look-alike groups. Needs no torch."""

import json
import random
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.encoder.asked import AskedRow, asked_rows, fits, foreign_requests, needless_requests, tasks
from benchmarks.encoder.crosslingual import code_switched, glossary, parallel_rows
from benchmarks.encoder.measure import DEV, recall
from benchmarks.encoder.mining import look_alike_groups, look_alike_order
from benchmarks.encoder.need import logistic_regression
from benchmarks.encoder.pairs import (
    asked_examples,
    catalogue_example,
    labelled_examples,
    parallel_example,
    step_examples,
)
from benchmarks.encoder.records import (
    CATALOGUES,
    FIT_SETS,
    Request,
    Tool,
    permitted_catalogue,
    read_requests,
    read_tools,
)
from toolsearch.eval.roles import Purpose, require_fit_allowed, role_of
from toolsearch.text.embed.normalise import MAX_CHARACTERS, encoder_text

TOOL = Tool("s/1", "list pods", "Lists the pods of a namespace. Sorted by age. Needs access!", ("namespace",), "k8s")


def write_set(folder: Path, name: str) -> None:
    (folder / name).mkdir()
    tools = [
        {
            "id": "createIssue",
            "name": "createIssue",
            "description": " Opens\n an issue. ",
            "server": None,
            "input_schema": {"properties": {"repoName": {}, "title": {}}},
        },
        {"id": "closeIssue", "name": "close_issue", "description": "", "server": "git", "input_schema": {}},
    ]
    queries = [
        {"query": "report a bug", "relevant": ["createIssue"], "split": "test", "lang": "en"},
        {"query": "hello", "relevant": [], "split": "test", "lang": "en"},
        {
            "query": "关闭问题",
            "relevant": ["closeIssue"],
            "split": "dev",
            "lang": "zh",
            "alternatives": {"closeIssue": ["createIssue"]},
        },
    ]
    for file, records in (("tools", tools), ("queries", queries)):
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (folder / name / f"{file}.jsonl").write_text(lines, "utf-8")


def test_only_permitted_data_is_fitted_or_chosen_on() -> None:
    for name in FIT_SETS:
        assert require_fit_allowed(name, "test", purpose=Purpose.FIT) == "train"
    assert require_fit_allowed("seal_tools", "test", purpose=Purpose.FIT) == "train"
    assert {role_of(name, split or "test") for name, split in DEV.items()} == {"dev"}
    assert {role_of(name, "") for name in CATALOGUES} == {"catalogue"}


def test_records_are_read_as_words_with_keys_of_their_set(tmp_path: Path) -> None:
    write_set(tmp_path, "made")
    first, second = read_tools(tmp_path, "made")
    assert first == Tool("made/createIssue", "create issue", "Opens an issue.", ("repo name", "title"), "")
    assert first.text() == "create issue. Opens an issue. repo name, title"
    assert second.text() == "close issue"
    assert [request.text for request in read_requests(tmp_path, "made", split="test")] == ["report a bug"]
    (chinese,) = read_requests(tmp_path, "made", split="dev")
    assert chinese.alternatives == {"made/closeIssue": ("made/createIssue",)}


def test_catalogue_text_under_another_licence_is_left_out() -> None:
    foreign = Tool("r/2", "find issues", "Finds issues.", (), "sentry-mcp")
    silent = Tool("r/3", "find issues", "", (), "git")
    assert permitted_catalogue([TOOL, foreign, silent]) == [TOOL]


@given(st.integers(0, 10_000))
def test_a_catalogue_pair_never_answers_with_the_sentence_that_asks(seed: int) -> None:
    example = catalogue_example(TOOL, rng=random.Random(seed))
    assert example.request
    assert example.tool
    assert example.request not in example.tool
    assert example.right == {"s/1"}


def test_labelled_pairs_name_every_right_tool(tmp_path: Path) -> None:
    write_set(tmp_path, "made")
    examples = labelled_examples(tmp_path, "made", rng=random.Random(0))
    assert [example.right for example in examples] == [{"made/createIssue"}, {"made/closeIssue"}]
    again = labelled_examples(tmp_path, "made", rng=random.Random(0))
    assert examples == again


def test_parallel_rows_are_whole_and_distinct() -> None:
    rows = parallel_rows()
    assert len({row.name for row in rows}) == len(rows) > 300
    assert 0.1 < sum(row.held_out for row in rows) / len(rows) < 0.2
    for row in rows:
        assert not any("\u3400" <= letter <= "\u9fff" for letter in row.name + row.does[0] + row.asks[0]), row
        assert any("\u3400" <= letter <= "\u9fff" for letter in row.does[1]), row
    example = parallel_example(rows[0], rng=random.Random(1))
    assert example.request != example.tool


def test_our_own_requests_are_whole_and_ask_for_tools_that_may_be_fitted_on() -> None:
    rows = asked_rows()
    assert len({row.key for row in rows}) == len(rows) > 7_000
    texts = [text for row in rows for text in row.asks]
    assert len(set(texts)) > 0.999 * len(texts)
    assert all(
        re.search("[一-鿿]", chinese) and not re.search("[一-鿿]{4}", english) for english, chinese in map(asks, rows)
    )
    sets = {row.key.split("/")[0] for row in rows} | {key.split("/")[0] for task in tasks() for key in task.keys}
    assert sets <= {*FIT_SETS, "seal_tools", *CATALOGUES}
    assert sum(row.held_out for row in rows) == pytest.approx(len(rows) / 10, abs=1)


def asks(row: AskedRow) -> tuple[str, str]:
    return row.asks


def test_tasks_are_cut_into_steps_that_make_up_the_request() -> None:
    for task in tasks():
        assert 2 <= len(task.steps) <= 5
        assert all(key.count("/") >= 1 and text.strip() for key, text in task.steps)
        assert task.text == "".join(text for _, text in task.steps)
    assert len(tasks()) > 800


def test_requests_without_a_tool_are_distinct_and_of_both_languages() -> None:
    texts = [request.text for request in needless_requests()]
    chinese = [text for text in texts if re.search("[一-鿿]", text)]
    assert len(set(texts)) > 0.99 * len(texts) > 2_000
    assert len(chinese) > 800


def test_requests_in_other_languages_are_of_both_kinds() -> None:
    rows = foreign_requests()
    known = {row.key for row in asked_rows()}
    assert {row.key for row in rows} - {""} <= known
    assert len({row.text for row in rows}) == len(rows)
    for language in ("ko", "ja", "es", "ar"):
        kinds = [bool(row.key) for row in rows if row.language == language]
        assert {True, False} == set(kinds), language
    assert {row.held_out for row in rows if not row.key} == {True, False}


def test_what_a_few_tools_can_and_cannot_serve_is_whole() -> None:
    rows = fits()
    assert len(rows) == 520
    assert all(len(set(row.keys)) == len(row.keys) <= 4 and row.served != row.other for row in rows)
    assert {key.split("/")[0] for row in rows for key in row.keys} <= {*FIT_SETS, *CATALOGUES}
    assert sum(row.held_out for row in rows) == len(rows) / 2


def test_examples_of_our_own_requests_leave_out_what_is_held_out() -> None:
    kept, held = asked_rows()[1], asked_rows()[0]
    tools = {row.key: Tool(row.key, "list pods", "Lists pods. Sorted.", ("namespace",), "k8s") for row in (kept, held)}
    (example,) = asked_examples(tools, rng=random.Random(0))
    assert example.request in kept.asks
    assert example.right == {kept.key}
    task, held_out = tasks()[1], tasks()[0]
    tools = {key: Tool(key, key, "Does it.", (), "") for key in (*task.keys, *held_out.keys)}
    assert task.text in {steps.text for steps in step_examples(tools, rng=random.Random(0))}
    assert held_out.text not in {steps.text for steps in step_examples(tools, rng=random.Random(0))}


def test_the_regression_parts_two_classes_and_shrinks_with_its_penalty() -> None:
    rng = np.random.default_rng(0)
    yes, no = (rng.normal(mean, 1.0, size=(200, 3)).astype(np.float32) for mean in (1.0, -1.0))
    weights = logistic_regression(yes, no, penalty=1e-3)
    assert np.mean(yes @ weights[:-1] + weights[-1] > 0) > 0.9
    assert np.mean(no @ weights[:-1] + weights[-1] < 0) > 0.9
    assert np.linalg.norm(logistic_regression(yes, no, penalty=1.0)[:-1]) < np.linalg.norm(weights[:-1])
    # The slope of the penalised loss is zero there: the classes count alike however many rows each has.
    more = logistic_regression(np.concatenate([yes] * 3), no, penalty=1e-3)
    assert more == pytest.approx(weights, abs=1e-6)


def test_code_switching_prefers_phrases_and_closes_gaps() -> None:
    assert code_switched("Create a pull request", share=1.0, rng=random.Random(0)) == "创建合并请求"
    assert code_switched("recreate pullovers", share=1.0, rng=random.Random(0)) == "recreate pullovers"
    assert code_switched("Create a pull request", share=0.0, rng=random.Random(0)) == "Create a pull request"
    assert all(english == english.lower().strip() and chinese for english, chinese in glossary().items())


@given(st.integers(1, 40), st.integers(1, 9), st.integers(0, 99))
def test_look_alike_groups_hold_every_row_once(rows: int, size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(rows, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    groups = look_alike_groups(vectors, size=size, order=rng.permutation(rows))
    assert max(map(len, groups)) <= size
    assert sorted(row for group in groups for row in group) == list(range(rows))
    assert sorted(look_alike_order(vectors, size=size, seed=seed)) == list(range(rows))


def test_look_alikes_come_together() -> None:
    angles = np.array([0.0, 2.0, 0.1, 2.1])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    groups = look_alike_groups(vectors, size=2, order=np.array([1, 0, 2, 3]))
    assert groups == [[1, 3], [0, 2]]


def test_recall_counts_alternatives_and_breaks_ties_by_place() -> None:
    tools = [Tool(key, key, "", (), "") for key in "abcdefg"]
    asked = [Request("x", ("g",), {"g": ("a",)}, "en"), Request("y", ("b", "g"), {}, "en")]
    found = recall(np.zeros((2, 7), dtype=np.float32), asked, tools)
    assert (found.first, found.five, found.requests) == (0.5, 0.75, 2)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("ＬＩＳＴ　ＰＯＤＳ", "list pods"),
        ("getWeatherForecast for_city", "get weather forecast for city"),
        ("GitHub, YouTube and CreateInvoiceItem", "github, youtube and create invoice item"),
        ("  列出\nPod ", "列出 pod"),
        ("bad \ud800 half", "bad ? half"),
        ("", ""),
    ],
)
def test_text_is_read_in_one_form(text: str, read: str) -> None:
    assert encoder_text(text) == read


@given(st.text(max_size=60))
def test_reading_is_stable_and_short(text: str) -> None:
    once = encoder_text(text)
    assert once == once.strip()
    assert "\ud800" not in once
    assert len(encoder_text("x" * 3 * MAX_CHARACTERS)) <= MAX_CHARACTERS
