"""benchmarks/run.py over a tiny project."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import run
from benchmarks.instruments import INSTRUMENTS, Instrument, run_instrument
from benchmarks.report.readme_table import BEGIN, END
from toolsearch.model.errors import DataError

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
    monkeypatch.setattr(run, "HERE", here)
    monkeypatch.setattr(run, "ROOT", tmp_path)
    return lambda *arguments: run.main(["--suites", *arguments, "--data", str(tmp_path / "data")])


def test_a_full_run_writes_results_and_tables(script, tmp_path, capsys):
    assert script() == 0
    told = capsys.readouterr().out
    assert "tiny: ok" in told
    assert "absent: skipped, no queries.jsonl in" in told
    assert "### tiny" in (tmp_path / "benchmarks" / "RESULTS.md").read_text()
    readme = (tmp_path / "README.md").read_text()
    assert "| toolsearch lexical | **1.000** | 1.000 |" in readme
    assert "Not measured here: `python -m benchmarks.latency`" in (tmp_path / "benchmarks" / "RESULTS.md").read_text()
    assert script("--report") == 0
    assert (tmp_path / "README.md").read_text() == readme


def test_a_quick_run_leaves_the_tables_alone(script, tmp_path):
    assert script("--quick") == 0
    assert (tmp_path / "benchmarks" / "quick" / "results" / "tiny.lexical.json").is_file()
    assert (tmp_path / "benchmarks" / "quick" / "RESULTS.md").is_file()
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


def test_an_unknown_suite_is_told(script, capsys):
    assert script("--only", "tinny") == 2
    assert "no such suite: tinny; there are tiny, absent" in capsys.readouterr().out


def test_wrong_data_fail_their_suite_only(script, tmp_path, capsys):
    (tmp_path / "data" / "tiny" / "queries.jsonl").write_text("{")
    assert script() == 1
    assert "tiny: FAILED:" in capsys.readouterr().out


INSTRUMENT = Instrument(
    name="ruler",
    module="nowhere",
    needs="wood",
    about="length",
    full=("--out", "{results}/a.json"),
    quick=("--short", "--out", "{out}"),
)


def test_an_instrument_is_skipped_run_or_failed_in_one_line(tmp_path, capsys):
    def done(run, *, quick=False):
        passed = run_instrument(INSTRUMENT, data=tmp_path, out=Path("o"), quick=quick, run=run)
        return passed, capsys.readouterr().out

    def broken(arguments):
        raise DataError("is bent")

    asked = []
    assert done(asked.append) == (True, f"ruler: skipped, no wood in {tmp_path}\n")
    (tmp_path / "wood").mkdir()
    assert done(lambda arguments: asked.extend(arguments) or 0) == (True, "ruler: ok in 0 s\n")
    assert asked == ["--data", str(tmp_path), "--out", "o/results/a.json"]
    asked.clear()
    assert done(lambda arguments: asked.extend(arguments) or 2, quick=True) == (False, "ruler: FAILED in 0 s\n")
    assert asked == ["--data", str(tmp_path), "--short", "--out", "o"]
    assert done(broken) == (False, "ruler: FAILED: is bent\n")


def test_every_instrument_is_a_module_of_this_package():
    root = Path(run.__file__).resolve().parents[1]
    for instrument in INSTRUMENTS:
        assert (root / (instrument.module.replace(".", "/") + ".py")).is_file(), instrument.name
