"""The definitions of a few telling tools in every format, compared byte for byte with committed JSON.

Update with `python -m pytest tests/golden --update-golden` and read the diff.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from toolsearch.contracts.export import api_names, export
from toolsearch.contracts.export.shapes import STRICT_FORMATS
from toolsearch.contracts.read import load_contracts
from toolsearch.model.request import DefinitionFormat

HERE = Path(__file__).parent
EXPORTS = HERE / "exports"
CONTRACTS = HERE.parents[1] / "indexes" / "starter" / "contracts"
TOOLS = {
    "orders.get",
    "orders.search",
    "orders.request_refund",
    "market.quote_snapshot",
    "convert_currency",
    "ask_user",
}
CASES = [
    *((form, False) for form in DefinitionFormat),
    *((form, True) for form in STRICT_FORMATS),
]


def name_of(case: tuple[DefinitionFormat, bool]) -> str:
    return f"{case[0].value}{'_strict' if case[1] else ''}"


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_the_export_is_the_golden_one(case: tuple[DefinitionFormat, bool], request: pytest.FixtureRequest) -> None:
    form, strict = case
    contracts = sorted(load_contracts(CONTRACTS), key=lambda contract: contract.ref)
    names = api_names([contract.ref for contract in contracts])
    made = [
        export(contract, format=form, api_name=names[contract.ref], strict=strict)
        for contract in contracts
        if contract.identity.name in TOOLS and contract.identity.server != "orders-globex"
    ]
    found = {
        "tools": [one.definition for one in made],
        "lost": [loss.model_dump(mode="json") for one in made for loss in one.lost],
    }
    text = json.dumps(found, ensure_ascii=False, indent=1) + "\n"
    file = EXPORTS / f"{name_of(case)}.json"
    if request.config.getoption("--update-golden", default=False):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


def test_every_golden_export_has_a_case() -> None:
    assert {file.stem for file in EXPORTS.glob("*.json")} == {name_of(case) for case in CASES}
