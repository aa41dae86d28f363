"""Tuning: finds a planted optimum, looks only at what it may, and says when the gain does not carry over."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from toolsearch import ToolIndex
from toolsearch.eval.cases import load_cases
from toolsearch.eval.rates import Difference
from toolsearch.eval.tune import GRID, TuneReport, Tuning, read_tuning, tune
from toolsearch.eval.tune_tasks import case_halves, folder_halves
from toolsearch.model.errors import DataError, DataRoleError
from toolsearch.model.limits import SearchLimits
from toolsearch.model.request import SIGNAL_NAMES, SignalName


@pytest.fixture
def index():
    with ToolIndex.create(None, encoder="hashed") as made:
        yield made


def wants(name: str, value: float):
    """Return a task that is right at one value and wrong elsewhere."""

    def task(index: ToolIndex, weights: Mapping[SignalName, float]) -> float:
        found = weights.get(name) if name in SIGNAL_NAMES else getattr(index.limits, name)
        return float(found == value)

    return task


def never(index: ToolIndex, weights: Mapping[SignalName, float]) -> float:
    return 0.0


def test_finds_a_planted_optimum(index: ToolIndex) -> None:
    fit = [wants("freshness", 0.3), wants("relevance_floor", 0.4)] * 4
    report = tune(index, fit, fit, seed=5)
    assert report.chosen.weights == {"freshness": 0.3}
    assert report.chosen.limits == {"relevance_floor": 0.4}
    assert report.fitted.delta == 1.0
    assert report.start == (0.0, 0.0)
    assert report.warnings == ()
    assert [step.mean for step in report.steps] == [0.5, 1.0]
    assert tune(index, fit, fit, seed=5) == report


def test_ties_keep_the_defaults(index: ToolIndex) -> None:
    report = tune(index, [never] * 3, [never], seed=1)
    assert report.chosen == Tuning()
    assert report.steps == ()
    assert report.warnings == ()


def test_warns_of_overfitting_and_of_no_hold_out(index: ToolIndex) -> None:
    report = tune(index, [wants("cost", 0.1)] * 3, [wants("cost", 7.0)] * 3)
    assert report.fitted.delta == 1.0
    assert report.warnings[0].startswith("overfitting: the fitted requests gain +1.000, the hold-out +0.000")
    assert "no hold-out" in tune(index, [never], []).warnings[0]


def test_warns_of_chance() -> None:
    gain, held = Difference(0.2, 0.1, 0.3, 0.01, 9), Difference(0.15, -0.1, 0.4, 0.3, 9)
    report = TuneReport(chosen=Tuning(), steps=(), fitted=gain, held_out=held, start=(0.5, 0.5), tried=2)
    assert report.warnings == ("the gain on the hold-out may be chance: [-0.100, +0.400]",)


def test_the_hold_out_is_measured_twice_and_never_searched(index: ToolIndex) -> None:
    asked = []

    def watched(index: ToolIndex, weights: Mapping[SignalName, float]) -> float:
        asked.append(dict(weights))
        return 0.0

    tune(index, [wants("cost", 0.1)], [watched])
    assert asked == [{}, {"cost": 0.1}]


def test_wrong_use_is_told(index: ToolIndex) -> None:
    with pytest.raises(ValueError, match="no request to fit to"):
        tune(index, [], [never])
    with pytest.raises(ValueError, match="'beauty' is neither a signal nor a limit"):
        tune(index, [never], [], grid={"beauty": (1.0,)})


def test_grid_names_exist_and_hold_the_default() -> None:
    for name, values in GRID.items():
        assert Tuning().value(name) in values, name
        assert list(values) == sorted(set(values))


def test_yaml_round_trip(tmp_path: Path) -> None:
    tuning = Tuning({"lexical": 0.6, "cost": 0.0}, {"relevance_floor": 0.3})
    (tmp_path / "t.yaml").write_text(tuning.yaml())
    found = read_tuning(tmp_path / "t.yaml")
    assert found == tuning
    assert found.search_limits() == SearchLimits(relevance_floor=0.3)
    assert found.search_limits(SearchLimits(few=4)).few == 4


@pytest.mark.parametrize("text", ["", "- 1", "weights: {beauty: 1}\nlimits: {}", "weights: 3\nlimits: 4", "a: ["])
def test_files_of_another_form_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.yaml").write_text(text)
    with pytest.raises(DataError):
        read_tuning(tmp_path / "t.yaml")
    with pytest.raises(DataError, match="cannot be read"):
        read_tuning(tmp_path / "absent.yaml")


def cases(tmp_path: Path, splits: list[str]):
    lines = [f"  - {{split: {split}, input: x, expect: {{tool: t}}}}\n" for split in splits]
    (tmp_path / "c.yaml").write_text("name: c\ncases:\n" + "".join(lines))
    return load_cases(tmp_path / "c.yaml")


def test_halves_of_cases_go_by_split(tmp_path: Path) -> None:
    halves = case_halves(cases(tmp_path, ["dev", "test", "train", "other"]))
    assert (len(halves.fit), len(halves.hold_out)) == (2, 2)
    halves = case_halves(cases(tmp_path, ["dev"] * 5))
    assert (len(halves.fit), len(halves.hold_out)) == (3, 2)
    with pytest.raises(DataRoleError, match="test data"):
        case_halves(cases(tmp_path, ["test"]))


def folder(path: Path, *, split: str) -> Path:
    path.mkdir()
    tools = [
        {"id": str(n), "name": f"tool_{n}", "description": f"Does thing {n}.", "input_schema": {}} for n in range(4)
    ]
    queries = [
        {"id": f"q{n}", "query": f"do thing {n}", "relevant": [str(n)], "split": split, "lang": "en", "kind": "single"}
        for n in range(4)
    ]
    for name, rows in (("tools", tools), ("queries", queries)):
        (path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_folders_obey_their_roles(tmp_path: Path) -> None:
    scene, halves = folder_halves(folder(tmp_path / "tooltalk", split="test"), encoder="hashed")
    assert (len(halves.fit), len(halves.hold_out)) == (2, 2)  # tooltalk is dev data whatever its split is called
    with scene.index() as index:
        assert all(0.0 <= task(index, {}) <= 1.0 for task in halves.fit)
        assert sum(task(index, {}) for task in halves.fit) > 0
    with pytest.raises(DataRoleError, match="metatool"):
        folder_halves(folder(tmp_path / "metatool", split="dev"), encoder="hashed")
