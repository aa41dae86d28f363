"""rank-bm25 as the lexical backend of a whole search: the same tools in the same order as our postings."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from toolsearch import Principal, RuleBook, SearchRequest, ToolIndex, load_contracts
from toolsearch.model.limits import SearchLimits
from toolsearch.model.request import Mode

STARTER = Path(__file__).parents[2] / "indexes" / "starter"
REQUESTS = [
    "refund order ORD-20260917",
    "查一下订单到哪了",
    "web search and then translate it",
    "收盘价",
    "nothing of this exists",
]


@pytest.fixture(scope="module")
def index() -> ToolIndex:
    rules = RuleBook.model_validate(yaml.safe_load((STARTER / "rules.yaml").read_text(encoding="utf-8")))
    made = ToolIndex.create(None, rules=rules, encoder="hashed")
    made.add(load_contracts(STARTER / "contracts"))
    return made


@pytest.mark.parametrize("text", REQUESTS)
@pytest.mark.parametrize("mode", [Mode.LEXICAL, Mode.HYBRID])
def test_both_backends_rank_alike(index: ToolIndex, text: str, mode: Mode) -> None:
    principal = Principal(
        tenant="acme", environment="production", roles=("support", "employee"), scopes=("orders.read",)
    )
    request = SearchRequest(text=text, mode=mode)
    reference = index.with_limits(replace(SearchLimits(), lexical_backend="rank-bm25"))
    ours = index.rank(request, principal=principal)
    theirs = reference.rank(request, principal=principal)
    assert [ref for ref, _ in theirs] == [ref for ref, _ in ours]
    assert [score for _, score in theirs] == pytest.approx([score for _, score in ours], rel=1e-9)
