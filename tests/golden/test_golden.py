"""Whole answers over the starter catalogue, compared with committed JSON; see README.md here for how to update them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from toolsearch.contracts.read.reader import load_contracts
from toolsearch.engine.search import ToolIndex
from toolsearch.model.request import DefinitionFormat, Principal, SearchRequest
from toolsearch.search.visibility.rules import RuleBook

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
STARTER = ROOT / "indexes" / "starter"
ANSWERS = HERE / "answers"
NOW = "2026-09-17T10:00:00Z"

REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "english": ("support", {"text": "was order ORD-20260915 paid?"}),
    "chinese": ("support", {"text": "ORD-20260917 到哪一步了"}),
    "chinese_over_english": ("employee", {"text": "下周三从上海飞北京的航班"}),
    "several_tools": (
        "support_lead",
        {"text": "look up order ORD-20260915 and then send the customer an email about it"},
    ),
    "no_tool": ("anonymous", {"text": "sing me a lullaby"}),
    "clarify": ("anonymous", {"text": "convert 100 yuan to another currency"}),
    "withheld_write": ("support_lead", {"text": "refund the customer"}),
    "boundary": ("support", {"text": "退款已经提交"}),
    "freshness": ("analyst", {"text": "AAPL 现在的实时价格"}),
    "token_budget": ("support", {"text": "was order ORD-20260915 paid?", "token_budget": 200}),
    "seed_profile": ("support", {"text": "was order ORD-20260915 paid?", "profile": "seed"}),
    "words_only": ("support", {"text": "was order ORD-20260915 paid?", "mode": "lexical"}),
    **{
        f"format_{form}": (
            "support",
            {"text": "was order ORD-20260915 paid?", "k": 1, "detail": "full", "format": form},
        )
        for form in DefinitionFormat
    },
}


@pytest.fixture(scope="module")
def starter() -> Iterator[ToolIndex]:
    rules = RuleBook.model_validate(yaml.safe_load((STARTER / "rules.yaml").read_text(encoding="utf-8")))
    with ToolIndex.create(None, rules=rules, encoder="hashed") as index:
        index.add(load_contracts(STARTER / "contracts"))
        yield index


@pytest.fixture(scope="module")
def principals() -> dict[str, Principal]:
    data = yaml.safe_load((ROOT / "tests" / "cases" / "principals.yaml").read_text(encoding="utf-8"))
    return {name: Principal.model_validate(fields) for name, fields in data["principals"].items()}


def rounded(value: Any) -> Any:
    """Return JSON data with numbers rounded to 4 decimals: the last bits differ between processors."""
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, list):
        return [rounded(part) for part in value]
    if isinstance(value, dict):
        return {name: rounded(part) for name, part in value.items()}
    return value


@pytest.mark.parametrize("name", REQUESTS)
def test_the_answer_is_the_golden_one(
    name: str, starter: ToolIndex, principals: dict[str, Principal], request: pytest.FixtureRequest
) -> None:
    who, options = REQUESTS[name]
    asked = SearchRequest.model_validate({"detail": "signature", "now": NOW, **options})
    answer = starter.search(asked, principal=principals[who])
    found = rounded(answer.model_dump(mode="json", exclude={"trace_id", "timings_ms"}))
    file = ANSWERS / f"{name}.json"
    if request.config.getoption("--update-golden", default=False):
        file.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    assert file.is_file(), f"{file.name} is missing: run `python -m pytest tests/golden --update-golden`"
    assert found == json.loads(file.read_text(encoding="utf-8"))


def test_every_golden_file_has_a_request() -> None:
    assert {file.stem for file in ANSWERS.glob("*.json")} == set(REQUESTS)


def test_the_answers_show_what_their_names_say() -> None:
    def load(name: str) -> dict[str, Any]:
        data: dict[str, Any] = json.loads((ANSWERS / f"{name}.json").read_text(encoding="utf-8"))
        return data

    assert load("no_tool")["outcome"] == "no_tool"
    assert load("clarify")["clarify"]["fields"]
    assert load("withheld_write")["withheld"]
    assert any(item["reason"]["code"] == "over_budget" for item in load("token_budget")["withheld"])
    several = load("several_tools")
    assert 0 in {clause for item in several["candidates"] for clause in item["clauses"]}
    assert "workspace/mail.send@1" in {item["ref"] for item in several["withheld"]}  # the second clause, a write
    cautions = [caution["code"] for item in load("boundary")["candidates"] for caution in item["cautions"]]
    assert "negative_boundary" in cautions
