"""Ablation: each variant changes exactly what its name says, and standings follow the intervals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.measures.ablation import Ablation, Cell, ablate_cases, ablate_folder, standings
from benchmarks.measures.ablation_report import ablation_markdown, ablation_result
from benchmarks.measures.variants import Variant, variants
from toolsearch import Principal, RuleBook, SearchRequest, ToolContract, ToolIndex
from toolsearch.eval.cases import load_cases
from toolsearch.eval.rates import Difference
from toolsearch.eval.scenes import Scene
from toolsearch.model.limits import PROFILES
from toolsearch.model.request import SIGNAL_NAMES, Mode

WHO = Principal(subject="w")
BY_NAME = {variant.name: variant for variant in variants()}


def contract(name: str, does: str, **sections: object) -> ToolContract:
    body = {"identity": {"name": name, "server": "s"}, "capability": {"does": does}, **sections}
    return ToolContract.model_validate(body)


READ = {"side_effect": "read_only"}
CONTRACTS = (
    contract("report.sales", "Sum up sales by month.", execution=READ),
    contract(
        "list.sales",
        "List single sales.",
        execution=READ,
        selection={"do_not_use_when": ["sum up sales by month"]},
    ),
    contract("sales.edit", "Sum up and edit sales by month.", execution={"side_effect": "reversible"}),
    ToolContract.model_validate(
        {
            "identity": {"name": "zebra", "server": "s"},
            "capability": {"does": "Something else.", "examples": ["paint the fence"]},
            "execution": READ,
        }
    ),
)
RULES = RuleBook.public()


@pytest.fixture
def index():
    with ToolIndex.create(None, rules=RULES, encoder="hashed") as made:
        made.add(CONTRACTS)
        yield made


def ask(index: ToolIndex, text: str, name: str):
    variant = BY_NAME[name]
    return variant.index(index).search(variant.request(SearchRequest(text=text)), principal=WHO)


def parts(index: ToolIndex, text: str, name: str, ref: str):
    variant = BY_NAME[name]
    request = variant.request(SearchRequest(text=text))
    found = variant.index(index).explain(request, ref=ref, principal=WHO)
    return {detail.description.split(":")[0]: detail.value for detail in found.score.details}


def test_every_part_is_left_out_and_every_signal_also_alone() -> None:
    assert len(BY_NAME) == len(variants())
    for name in SIGNAL_NAMES:
        assert {f"no {name}", f"only {name}"} <= set(BY_NAME)
        assert BY_NAME[f"no {name}"].weights == {name: 0.0}
    weights = BY_NAME["only lexical"].weights
    assert weights["lexical"] == PROFILES["default"].weights["lexical"]
    assert sum(weights.values()) == weights["lexical"]
    assert "semantic" not in BY_NAME["only freshness"].weights
    assert BY_NAME["no vector lanes"].mode is Mode.LEXICAL


def test_boundaries_off(index: ToolIndex) -> None:
    text = "sum up sales by month"
    usual = index.explain(text, ref="s/list.sales", principal=WHO)
    assert any(part.description.startswith("negative_boundary") for part in usual.score.details)
    assert "negative_boundary" not in parts(index, text, "no negative boundaries", "s/list.sales")


def test_effect_penalty_off(index: ToolIndex) -> None:
    text = "show sales by month"
    usual = index.explain(text, ref="s/sales.edit", principal=WHO)
    assert any(part.description.startswith("effect_exceeds_intent") for part in usual.score.details)
    assert "effect_exceeds_intent" not in parts(index, text, "no effect penalty", "s/sales.edit")


def test_names_off(index: ToolIndex) -> None:
    text = "s/report.sales please"
    assert "named" in parts(index, text, "no clauses", "s/report.sales")
    assert "named" not in parts(index, text, "no exact names", "s/report.sales")


def test_clauses_off(index: ToolIndex) -> None:
    text = "sum up sales by month, and then paint the fence"
    assert any(candidate.clauses for candidate in index.search(text, principal=WHO).candidates)
    assert not any(candidate.clauses for candidate in ask(index, text, "no clauses").candidates)


def test_examples_off(index: ToolIndex) -> None:
    usual = parts(index, "paint the fence", "no cost", "s/zebra")
    without = parts(index, "paint the fence", "no example lane", "s/zebra")
    assert usual["experience"] > 0
    assert without["experience"] == 0


def test_variants_leave_the_index_alone(index: ToolIndex) -> None:
    before = index.limits
    BY_NAME["no clauses"].index(index)
    assert index.limits == before


def test_folder(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    tools = [
        {"id": "1", "name": "get_sales", "description": "Sum up sales by month.", "input_schema": {}},
        {"id": "2", "name": "paint", "description": "Paint a fence.", "input_schema": {}},
    ]
    queries = [
        {"id": "q1", "query": "sum sales", "relevant": ["1"], "split": "dev", "lang": "en", "kind": "single"},
        {"id": "q2", "query": "paint fence", "relevant": ["2"], "split": "dev", "lang": "en", "kind": "single"},
        {"id": "q3", "query": "hello", "relevant": [], "split": "dev", "lang": "en", "kind": "none"},
    ]
    for name, rows in (("tools", tools), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = ablate_folder(folder, encoder="hashed")
    assert found.requests == 2
    assert found.role == "dev"
    assert found.usual == {"recall@5": 1.0, "ndcg@10": 1.0}
    assert found.cell("only cost", "ndcg@10").gain.n == 2
    with pytest.raises(KeyError):
        found.cell("no beauty", "ndcg@10")
    assert ablate_folder(folder, encoder="hashed") == found


def test_cases(tmp_path: Path) -> None:
    text = "name: t\nprincipals: {w: {subject: w}}\ncases:\n" + "".join(
        f"  - {{id: c{at}, split: dev, principal: w, input: paint the fence, expect: {{tool: zebra}}}}\n"
        for at in range(4)
    )
    (tmp_path / "t.yaml").write_text(text)
    scene = Scene.of("t", CONTRACTS, rules=RULES, encoder="hashed")
    found = ablate_cases(scene, load_cases(tmp_path / "t.yaml"), split="dev")
    assert found.usual["passed"] == 1.0
    lost = found.cell("no example lane", "passed")
    assert lost.gain.n == 4  # words alone still find it, and are not sure of it
    alone = found.cell("only lexical", "passed")
    assert alone.value == 1.0
    (standing,) = [one for one in standings([found]) if one.part == "example lane"]
    assert not standing.harms
    page = ablation_markdown([found])
    assert "| example lane | **+1.000** |" in page
    assert "reliability" in page.split("nowhere")[1]
    result = ablation_result(found)
    assert result.metrics["no example lane"]["passed gain"].mean == 1.0
    assert "all" not in result.metrics  # so that it stands in no table of systems


def test_standings_follow_the_intervals() -> None:
    def cell(part: str, low: float, high: float) -> Cell:
        gain = Difference((low + high) / 2, low, high, 0.01, 9)
        return Cell(Variant(part=part, alone=False), "ndcg@10", 0.5, gain)

    cells = (cell("cost", 0.1, 0.2), cell("lexical", -0.2, -0.1), cell("semantic", -0.1, 0.1))
    one = Ablation(dataset="d", role="dev", encoder="e", requests=9, usual={"ndcg@10": 0.5}, cells=cells)
    found = {standing.part: standing for standing in standings([one])}
    assert found["cost"].earns == ("d (ndcg@10 +0.150)",)
    assert found["lexical"].harms == ("d (ndcg@10 -0.150)",)
    assert not found["semantic"].earns
    assert not found["semantic"].harms
