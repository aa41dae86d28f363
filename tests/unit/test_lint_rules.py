"""Each rule finds what it is for, passes over what comes near, and says what, why and what instead."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from lint_examples import EXAMPLES, Catalogue, tool

from toolsearch.contracts.lint.check import RULES, LintOptions, lint, named
from toolsearch.contracts.lint.finding import Finding, Severity
from toolsearch.contracts.lint.places import path_of
from toolsearch.contracts.lint.rule import LintLimits, Vectors
from toolsearch.contracts.read import load_contracts
from toolsearch.model.errors import RequestError
from toolsearch.text.embed.protocol import EncoderInfo

ENCODER = EncoderInfo(id="flat", dim=2, sha256="0", scripts=("any",), cosine_floor=0.4, cosine_ceiling=0.9)
BY_ID = {rule.id: rule for rule in RULES}


def rank(text: str) -> Sequence[str]:
    """Send every request with the word `list`, or a short one, to its own tool, others to `list_orders`."""
    own = {"x": "shop/list_orders@1", "list my orders": "shop/get_order@1"}
    return [own.get(text, "shop/list_orders@1")]


def findings(rule: str, catalogue: Catalogue, *, limits: LintLimits | None = None) -> tuple[Finding, ...]:
    """Run one rule; for pairs, all texts are alike and only the words differ."""
    rows = np.tile(np.array([[1.0, 0.0]], dtype=np.float32), (len(catalogue), 1))
    options = LintOptions(select=(rule,), limits=limits or LintLimits(overlap=0.5))
    return lint(catalogue, options=options, vectors=Vectors(rows=rows, encoder=ENCODER), rank=rank, whole=True).findings


def test_every_rule_has_examples() -> None:
    assert list(EXAMPLES) == [rule.id for rule in RULES]


@pytest.mark.parametrize("rule", EXAMPLES)
def test_a_rule_finds_its_fault(rule: str) -> None:
    for catalogue in EXAMPLES[rule][0]:
        found = findings(rule, catalogue)
        assert found, catalogue
        for finding in found:
            assert (finding.rule, finding.name, finding.severity) == (rule, BY_ID[rule].name, BY_ID[rule].severity)
            assert finding.message
            assert finding.suggestion
            assert (finding.edit is None) or BY_ID[rule].fixable


@pytest.mark.parametrize("rule", EXAMPLES)
def test_a_rule_passes_over_what_comes_near(rule: str) -> None:
    for catalogue in EXAMPLES[rule][1]:
        assert findings(rule, catalogue) == (), catalogue


@pytest.mark.parametrize("rule", EXAMPLES)
def test_a_finding_names_the_offending_place(rule: str) -> None:
    """Pointers lead into the contract; where the place is what is missing, its section is there."""
    for catalogue in EXAMPLES[rule][0]:
        data = {str(contract.ref): contract.model_dump(mode="json", by_alias=True) for contract in catalogue}
        for finding in findings(rule, catalogue):
            node = data[finding.ref]
            parts = path_of(finding.pointer)
            assert parts[0] in node
            for part in parts[:-1]:
                node = node[part]


def test_ids_and_names_are_unique_and_sorted() -> None:
    assert [rule.id for rule in RULES] == sorted({rule.id for rule in RULES})
    assert len({rule.name for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert (rule.contract is None) != (rule.catalogue is None)


def test_the_starter_catalogue_has_no_error() -> None:
    report = lint(load_contracts("indexes/starter/contracts"), whole=True)
    assert report.at_least(Severity.ERROR) == ()
    assert report.tools >= 60


def test_rules_are_chosen_by_id_prefix_and_name() -> None:
    assert named(["TS1"], field="select") == {rule.id for rule in RULES if rule.id.startswith("TS1")}
    assert named(["ts301", "confusable-pair"], field="select") == {"TS301", "TS801"}
    with pytest.raises(RequestError, match="did you mean 'confusable-pair'"):
        named(["confusable-pairs"], field="select")
    chosen = LintOptions(select=("TS3",), ignore=("TS301",), severities={"TS302": Severity.ERROR}).rules()
    assert "TS301" not in {rule.id for rule, _ in chosen}
    assert {rule.id: severity for rule, severity in chosen}["TS302"] is Severity.ERROR


def test_severities_are_the_configured_ones() -> None:
    catalogue = EXAMPLES["TS301"][0][0]
    options = LintOptions(select=("TS301",), severities={"parameter-undescribed": Severity.ERROR})
    assert {finding.severity for finding in lint(catalogue, options=options).findings} == {Severity.ERROR}
    report = lint(catalogue, options=options)
    assert report.counts() == {"error": 1, "warning": 0, "note": 0}


def test_limits_move_the_bar() -> None:
    catalogue = [tool(does="Reads an order. Returns it.")]
    assert findings("TS702", catalogue, limits=LintLimits(description=10))
    assert not findings("TS702", catalogue)


def test_a_pair_says_what_tells_it_apart() -> None:
    (finding,) = findings("TS801", EXAMPLES["TS801"][0][1])
    assert finding.related == ("shop/get_order_detail@1",)
    assert finding.measures["similarity"] == 1.0
    assert finding.measures["parameter_overlap"] == 1.0
    assert "get_order_detail" in finding.suggestion


def test_a_pair_shows_the_requests_that_go_wrong() -> None:
    does = "orders of a customer by date and status."
    one = tool("find_orders", f"Find {does}", capability={"examples": ["orders of May"]})
    two = tool("search_orders", f"Search {does}")
    rows = np.ones((2, 1), dtype=np.float32)
    report = lint(
        [one, two],
        options=LintOptions(select=("TS801",), limits=LintLimits(overlap=0.5)),
        vectors=Vectors(rows=rows, encoder=ENCODER),
        rank=lambda text: ["shop/search_orders@1"],
        requests={"shop/find_orders@1": ["my orders since Monday"]},
    )
    (finding,) = report.findings
    assert [(case.request, case.origin, case.first) for case in finding.misrouted] == [
        ("orders of May", "example", "shop/search_orders@1"),
        ("my orders since Monday", "log", "shop/search_orders@1"),
    ]


def test_without_vectors_nothing_is_compared_by_meaning() -> None:
    assert lint(EXAMPLES["TS801"][0][0], options=LintOptions(select=("TS801",))).findings == ()


def test_suggestions_are_in_the_language_of_the_contract() -> None:
    (finding,) = findings("TS601", [tool("delete_user", "删除一个用户账号", effect="irreversible")])
    assert finding.suggestion == "删除一个用户账号。此操作不可撤销：调用前请用户确认。"
