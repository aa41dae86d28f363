"""benchmarks/run.py over a tiny project."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from toolsearch.eval.report import BEGIN, END

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "run.py"
SUITES = """\
suites:
  - kind: dataset
    name: tiny
    data: tiny
    quick: true
    encoder: hashed
    modes: [lexical]

  - kind: dataset
    name: absent
    data: absent
"""


@pytest.fixture
def script(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("benchmark_run", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    here = tmp_path / "benchmarks"
    (here / "suites").mkdir(parents=True)
    (here / "suites" / "all.yaml").write_text(SUITES)
    (tmp_path / "README.md").write_text(f"# x\n{BEGIN}\n{END}\n")
    (tmp_path / "data" / "tiny").mkdir(parents=True)
    tool = {
        "id": "get",
        "name": "get",
        "description": "delivery status of an order",
        "input_schema": {},
        "server": None,
    }
    asked = {"id": "q", "query": "delivery status", "relevant": ["get"], "kind": "single", "split": "dev", "lang": "en"}
    (tmp_path / "data" / "tiny" / "tools.jsonl").write_text(json.dumps(tool) + "\n")
    (tmp_path / "data" / "tiny" / "queries.jsonl").write_text(json.dumps(asked) + "\n")
    monkeypatch.setattr(module, "HERE", here)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "RESULTS", here / "results")
    return lambda *arguments: module.main([*arguments, "--data", str(tmp_path / "data")])


def test_a_full_run_writes_results_and_tables(script, tmp_path, capsys):
    assert script() == 0
    told = capsys.readouterr().out
    assert "tiny: ok" in told
    assert "absent: skipped, no queries.jsonl in" in told
    assert "## tiny" in (tmp_path / "benchmarks" / "RESULTS.md").read_text()
    readme = (tmp_path / "README.md").read_text()
    assert "| tiny | 1 | 1 | **1.000** |" in readme
    assert script("--report") == 0
    assert (tmp_path / "README.md").read_text() == readme


def test_a_quick_run_leaves_the_tables_alone(script, tmp_path):
    assert script("--quick") == 0
    assert (tmp_path / "benchmarks" / "quick" / "tiny.lexical.json").is_file()
    assert not (tmp_path / "benchmarks" / "RESULTS.md").exists()


def test_accepted_values_are_expected_from_then_on(script, tmp_path, capsys):
    suites = tmp_path / "benchmarks" / "suites" / "all.yaml"
    assert script("--accept", "--only", "tiny") == 0
    assert (
        "      lexical: {recall@5: 1.0000, ndcg@10: 1.0000, mrr@10: 1.0000, false_refusal_rate: 0.0000}"
        in suites.read_text()
    )
    assert script("--only", "tiny") == 0
    queries = tmp_path / "data" / "tiny" / "queries.jsonl"
    queries.write_text(queries.read_text().replace("delivery status", "xylophone"))
    capsys.readouterr()
    assert script("--only", "tiny") == 1
    assert "below: toolsearch lexical recall@5: 0.0000, expected 1.0000" in capsys.readouterr().out


def test_wrong_data_fail_their_suite_only(script, tmp_path, capsys):
    (tmp_path / "data" / "tiny" / "queries.jsonl").write_text("{")
    assert script() == 1
    assert "tiny: FAILED:" in capsys.readouterr().out
