"""The side-by-side benchmark with made-up peers; no other library needs to be installed."""

from __future__ import annotations

import gzip
import importlib.util
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.peers import adapters, environment, run
from benchmarks.peers.adapters import ADAPTERS, Adapter
from benchmarks.peers.encoding import CachedEncoder, RandomEncoder
from benchmarks.peers.jobs import Job, dataset_job, scale_job, spaced
from benchmarks.peers.outcomes import against, scored_result
from benchmarks.peers.run import run_worker
from benchmarks.peers.summary import summary
from benchmarks.peers.tools import peer_tools
from benchmarks.peers.worker import run_job
from toolsearch.eval.qrels import read_qrels
from toolsearch.eval.results import read_result, read_results
from toolsearch.eval.run import read_trec_run

PYTHON = Path(sys.executable)

TOOLS = [
    {"id": "t1", "name": "get weather", "description": "Weather of a city.", "server": None, "input_schema": {}},
    {"id": "t2", "name": "get_order", "description": "One order.", "server": None, "input_schema": {"properties": {}}},
    {"id": "t3", "name": "refund", "description": "Pay money back.", "server": None, "input_schema": {}},
]
QUERIES = [
    {"id": "q1", "query": "weather", "relevant": ["t1"], "kind": "single", "split": "test", "lang": "en"},
    {"id": "q2", "query": "order", "relevant": ["t2", "t3"], "kind": "multi", "split": "test", "lang": "en"},
    {"id": "q3", "query": "refund", "relevant": ["t3"], "kind": "single", "split": "test", "lang": "en"},
    {
        "id": "q4",
        "query": "sing a song",
        "relevant": [],
        "kind": "none",
        "split": "test",
        "lang": "en",
        "candidates": ["t1", "t2"],
    },
]

FAKES = '''
import os, time, sys

def build(tools, *, k, embed):
    """Names that share a word with the request, in catalogue order."""
    def search(request):
        words = set(request.split())
        return [tool.name for tool in tools if words & set(tool.name.replace("_", " ").split())][:k]
    return search

def build_encoding(tools, *, k, embed):
    matrix = embed([tool.description for tool in tools])
    return lambda request: [tools[int((matrix @ embed([request])[0]).argmax())].name]

def build_raising(tools, *, k, embed):
    raise RuntimeError("no index today")

def build_choking(tools, *, k, embed):
    def search(request):
        if request == "order":
            raise ValueError("I choke on orders")
        return [tools[0].name, tools[0].name, "made_up"]
    return search

def build_dying(tools, *, k, embed):
    print("about to die", file=sys.stderr, flush=True)
    os._exit(7)

def build_hanging(tools, *, k, embed):
    time.sleep(600)

def build_calling_home(tools, *, k, embed):
    import socket
    socket.create_connection(("127.0.0.1", 9))
'''


@pytest.fixture
def data(tmp_path):
    for name in ("shop", "shop_zh"):
        folder = tmp_path / "data" / name
        folder.mkdir(parents=True)
        (folder / "tools.jsonl").write_text("".join(json.dumps(row) + "\n" for row in TOOLS))
        (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in QUERIES))
    return tmp_path / "data"


@pytest.fixture
def fakes(tmp_path, monkeypatch):
    """Return a function name -> job of a fake peer."""
    folder = tmp_path / "fakes"
    folder.mkdir()
    (folder / "fake_peer.py").write_text(FAKES)
    monkeypatch.syspath_prepend(folder)
    return folder


def job_of(data, function, **changes):
    job = dataset_job(data, "shop", limit=None)
    return {
        "module": "fake_peer",
        "function": function,
        "package": "no-such-package",
        "encoder": None,
        "cache": ":memory:",
        "tools": str(job.tools),
        "queries": job.queries(),
        "k": 10,
        **changes,
    }


def worker_with(folder):
    """Return a command that finds the fakes and then is the worker."""
    code = (
        f"import sys; sys.path.insert(0, {str(folder)!r}); from benchmarks.peers.worker import main; sys.exit(main())"
    )
    return ("-c", code)


@pytest.mark.parametrize("name", ADAPTERS)
def test_every_adapter_names_a_module_and_a_function_that_are_there(name):
    adapter = ADAPTERS[name]
    spec = importlib.util.find_spec(adapter.module)
    assert spec is not None
    assert spec.origin is not None
    source = Path(spec.origin).read_text(encoding="utf-8")
    assert f"\ndef {adapter.function}(tools: Sequence[PeerTool], *, k: int, embed: Embed | None) -> Search:" in source


def test_every_package_of_a_peer_is_pinned():
    text = (Path(run.__file__).parent / "requirements.txt").read_text(encoding="utf-8")
    pinned = {line.partition("==")[0] for line in text.splitlines() if "==" in line}
    assert {adapter.package for adapter in ADAPTERS.values() if not adapter.ours} <= pinned


def test_names_are_unique_and_carry_the_server_only_where_it_tells_tools_apart():
    rows = [
        {"id": "1", "name": "search", "server": "acme-mail"},
        {"id": "2", "name": "search", "server": "acme-files"},
        {"id": "3", "name": "files_list", "server": "acme-files"},
        {"id": "4", "name": "search", "server": "acme-mail"},
        {"id": "5", "name": "GET /v1/x y", "server": "acme-mail"},
        {"id": "6", "name": "搜索", "server": "acme-files"},
    ]
    names = [tool.name for tool in peer_tools(rows)]
    assert names == [
        "acme-mail_search",
        "acme-files_search",
        "files_list",
        "acme-mail_search_2",
        "acme-mail_GET_v1_x_y",
        "acme-files_搜索",
    ]


def test_tools_of_one_server_keep_their_names_and_lacking_schemas_are_empty_objects():
    weather, order, _ = peer_tools(TOOLS)
    assert (weather.name, order.name) == ("get_weather", "get_order")
    assert weather.mcp["inputSchema"] == {"type": "object", "properties": {}}
    assert order.input_schema == {"type": "object", "properties": {}}
    assert peer_tools([]) == []


def test_rank_goes_through_the_table(data, fakes, monkeypatch):
    fake = Adapter(module="fake_peer", package="none")
    monkeypatch.setattr(adapters, "ADAPTERS", {"fake": fake})
    assert adapters.rank("fake", peer_tools(TOOLS), ["weather now", "nothing"]) == [["get_weather"], []]


def test_a_job_ranks_by_id_and_narrows_only_requests_without_a_tool(data, fakes):
    outcome = run_job(job_of(data, "build"))
    assert outcome["rankings"] == {"q1": ["t1"], "q2": ["t2"], "q3": ["t3"], "q4": []}
    assert len(outcome["timings"]) == 3  # q4 builds an index of its own
    assert outcome["memory_mb"] > 0
    assert outcome["build_seconds"] >= 0
    assert outcome["failed"] == {}


def test_a_request_that_a_peer_fails_on_is_an_empty_answer_and_told(data, fakes):
    outcome = run_job(job_of(data, "build_choking"))
    assert outcome["failed"] == {"q2": "ValueError: I choke on orders"}
    # A name twice counts once, and a name that no tool has is nothing.
    assert outcome["rankings"] == {"q1": ["t1"], "q2": [], "q3": ["t1"], "q4": ["t1"]}


def test_encoding_time_is_told_apart(data, fakes):
    outcome = run_job(job_of(data, "build_encoding", encoder="random"))
    assert outcome["encode_seconds"] == 0.0
    assert all(timing["total"] >= timing["encode"] for timing in outcome["timings"])


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("build_raising", "RuntimeError: no index today"),
        ("build_missing", "has no attribute 'build_missing'"),
        ("build_dying", "ended with code 7: about to die"),
        ("build_calling_home", "run offline"),
    ],
)
def test_a_peer_that_breaks_is_a_result(data, fakes, function, said):
    outcome = run_worker(job_of(data, function), python=PYTHON, timeout_s=60, command=worker_with(fakes))
    assert said in outcome["error"]
    job = dataset_job(data, "shop", limit=None)
    result, _ = scored_result("fake", job, outcome, settings={})
    assert said in result.failure
    assert result.metrics == {}
    assert f"fake on shop: {result.failure}" in summary([result])


def test_a_peer_that_hangs_is_ended(data, fakes):
    outcome = run_worker(job_of(data, "build_hanging"), python=PYTHON, timeout_s=0.5, command=worker_with(fakes))
    assert outcome == {"error": "gave no result within 0.5 s"}


def test_a_lacking_environment_names_the_command(data):
    outcome = run_worker(job_of(data, "build"), python=Path("nowhere/bin/python"), timeout_s=1)
    assert "make bench-peers" in outcome["error"]


def test_a_result_has_the_form_of_every_benchmark(data, fakes):
    job = dataset_job(data, "shop", limit=None)
    outcome = run_job(job_of(data, "build"))
    result, ranked = scored_result("fake", job, outcome, settings={"k": 10})
    assert result.mean("recall@5") == pytest.approx((1 + 0.5 + 1) / 3)
    assert result.mean("mrr@10") == 1.0
    assert result.queries == 4
    assert result.tools == 3
    assert result.role == "test"
    assert result.refusal is not None
    assert (result.refusal.refusal_rate, result.refusal.false_refusal_rate) == (1.0, 0.0)
    assert result.settings == {
        "k": 10,
        "requests_available": 4,
        "failed_requests": 0,
        "build_cpu_seconds": result.settings["build_cpu_seconds"],
        "encode_seconds": 0.0,
        "memory_before_mb": result.settings["memory_before_mb"],
    }
    assert ranked.ranked("q1") == ("t1",)


def test_a_peer_that_fails_on_every_request_failed(data):
    job = dataset_job(data, "shop", limit=2)
    outcome = {"rankings": {"q1": [], "q3": []}, "failed": {"q1": "boom", "q3": "boom"}}
    result, _ = scored_result("fake", job, outcome, settings={})
    assert result.failure == "failed on every request: boom"


def test_samples_are_evenly_spaced():
    assert list(spaced(range(10), 4)) == [0, 2, 5, 7]
    assert list(spaced(range(3), 4)) == [0, 1, 2]
    assert list(spaced(range(3), None)) == [0, 1, 2]


def test_requests_over_another_catalogue_need_its_ids(data):
    job = dataset_job(data, "shop_zh:shop", limit=3)
    assert (job.name, job.available, len(job.qrels.queries)) == ("shop_zh_over_shop", 4, 3)
    assert job.tools == data / "shop" / "tools.jsonl"
    assert set(job.qrels.sha256) == {"shop_zh/queries.jsonl", "shop/tools.jsonl"}
    (data / "shop" / "tools.jsonl").write_text(json.dumps(TOOLS[0]) + "\n")
    (data / "shop" / "queries.jsonl").write_text(json.dumps(QUERIES[0]) + "\n")
    with pytest.raises(ValueError, match=r"shop lacks 2 tools that shop_zh needs, such as 't2'"):
        dataset_job(data, "shop_zh:shop", limit=None)


def test_a_scale_job_pools_catalogues_and_scores_nothing(data, tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.peers.jobs.SCALE_CATALOGUES", ("shop", "shop_zh"))
    monkeypatch.setattr("benchmarks.peers.jobs.SCALE_QUERIES", ("shop", 2))
    job = scale_job(data, 4, folder=tmp_path)
    rows = [json.loads(line) for line in job.tools.read_text().splitlines()]
    assert [row["id"] for row in rows] == ["shop:t1", "shop:t2", "shop_zh:t1", "shop_zh:t2"]
    assert not job.scored
    assert len(job.qrels.tool_ids) == 4
    with pytest.raises(ValueError, match="7 tools are wanted"):
        scale_job(data, 7, folder=tmp_path)


def test_the_encoder_gives_everyone_the_same_vectors_at_the_same_price(tmp_path):
    calls: list[str] = []

    def encode(texts):
        calls.extend(texts)
        return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)

    path = tmp_path / "vectors.sqlite"
    first = CachedEncoder(encode, name="fake", dim=2, path=path)
    rows = first(["a", "bb", "a"])
    again = CachedEncoder(encode, name="fake", dim=2, path=path)
    assert np.array_equal(again(["a", "bb", "a"]), rows)
    assert calls == ["a", "bb"]
    assert again.cost_s == first.cost_s > 0
    assert again([]).shape == (0, 2)
    other = CachedEncoder(encode, name="other", dim=2, path=path)
    other(["a"])
    assert calls == ["a", "bb", "a"]


def test_random_vectors_depend_on_the_text_alone():
    one, other = RandomEncoder(8), RandomEncoder(8)
    assert np.array_equal(one(["x", "y"])[1], other(["y"])[0])
    assert np.linalg.norm(one(["x"])[0]) == pytest.approx(1.0, abs=1e-6)


def test_the_command_writes_results_runs_and_tables(data, tmp_path, fakes, monkeypatch, capsys):
    fake = Adapter(module="fake_peer", package="none", ours=True)
    monkeypatch.setattr(run, "ADAPTERS", {"fake": fake})
    monkeypatch.setattr("benchmarks.peers.summary.ADAPTERS", {"fake": fake})
    original = run_worker
    monkeypatch.setattr(run, "run_worker", lambda job, **options: original(job, command=worker_with(fakes), **options))
    out = tmp_path / "out"
    code = run.main(
        ["--datasets", "shop", "absent", "--data", str(data), "--out", str(out), "--timeout", "60", "--python", "none"]
    )
    assert code == 0
    said = capsys.readouterr()
    assert "absent: skipped" in said.err
    assert "R@5 0.833" in said.out
    result = read_result(out / "fake" / "shop.json")
    assert read_results(out) == (result,)
    assert result.failure == ""
    plain = tmp_path / "run.txt"
    plain.write_bytes(gzip.decompress((out / "fake" / "shop.run.txt.gz").read_bytes()))
    assert read_trec_run(plain).ranked("q3") == ("t3",)
    table = (out / "SUMMARY.md").read_text(encoding="utf-8")
    assert "| fake | 83.3 |" in table
    assert "## Empty answers to requests that no tool fits" in table


def test_an_unknown_system_is_refused(capsys):
    assert run.main(["--systems", "nobody"]) == 2
    assert "no such system: nobody" in capsys.readouterr().err


def test_jobs_keep_the_whole_catalogue_in_view(data):
    job = dataset_job(data, "shop", limit=None)
    assert isinstance(job, Job)
    assert job.qrels.tool_ids == read_qrels(data / "shop").tool_ids


def test_the_environment_is_made_once_and_brought_up_to_date(tmp_path, monkeypatch):
    steps: list[list[str]] = []

    def pretend(command, **options):
        steps.append(command)
        if "venv" in command:
            (tmp_path / "env" / "bin").mkdir(parents=True)
            (tmp_path / "env" / "bin" / "python").touch()
        bad = "-r" in command or "toolhunch==0.3.0" in command
        return SimpleNamespace(returncode=int(bad))

    monkeypatch.setattr(environment.subprocess, "run", pretend)
    monkeypatch.setenv(environment.PYTHON_VARIABLE, "some-python")
    said: list[str] = []
    python = environment.ready_environment(tmp_path / "env", say=said.append)
    assert python == tmp_path / "env" / "bin" / "python"
    assert steps[0] == ["some-python", "-m", "venv", str(tmp_path / "env")]
    assert said[-1] == "toolhunch==0.3.0 cannot be installed here; its peer is reported as failed"
    steps.clear()
    environment.ready_environment(tmp_path / "env", say=said.append)
    assert steps == []
    (tmp_path / "env" / "requirements.sha256").write_text("other pins")
    environment.ready_environment(tmp_path / "env", say=said.append)
    assert "venv" not in steps[0]


def test_an_interpreter_that_does_not_start_is_passed_over(monkeypatch):
    monkeypatch.delenv(environment.PYTHON_VARIABLE, raising=False)
    monkeypatch.setattr(environment.shutil, "which", {"python3.12": "stub", "python3.13": "real"}.get)
    monkeypatch.setattr(environment, "_starts", lambda python: python == "real")
    assert environment.base_python() == "real"
    monkeypatch.setattr(environment, "_starts", lambda python: False)
    assert environment.base_python() == sys.executable


def test_a_difference_from_our_ranking_is_tested_on_the_same_requests(tmp_path):
    rows = [{**QUERIES[0], "id": f"q{number}"} for number in range(8)]
    (tmp_path / "tools.jsonl").write_text("".join(json.dumps(row) + "\n" for row in TOOLS))
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    job = dataset_job(tmp_path, ".", limit=None)
    good = {"rankings": {row["id"]: ["t1"] for row in rows}, "timings": [], "build_seconds": 0.0, "memory_mb": 1.0}
    bad = {**good, "rankings": {row["id"]: [] for row in rows}}
    _, ours = scored_result("toolsearch ranked", job, good, settings={})
    worse, run_of_worse = scored_result("diy-minilm", job, bad, settings={})
    tested = against(worse, run_of_worse, ours, job)
    assert {found.metric: found.delta for found in tested.comparisons} == {"recall@5": -1.0, "mrr@10": -1.0}
    assert "| diy-minilm | 0.0 - |" in summary([tested])
    assert against(worse.model_copy(update={"metrics": {}}), run_of_worse, ours, job).comparisons == ()
