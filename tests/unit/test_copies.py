"""A changed copy of a model knows nothing of what was computed from the original."""

from __future__ import annotations

from toolsearch.model.contract import Capability, Identity, ToolContract
from toolsearch.search.visibility.rules import Rule, RuleBook, RuleEffect


def test_a_changed_contract_has_a_fingerprint_of_its_own() -> None:
    first = ToolContract(identity=Identity(name="orders.get"), capability=Capability(does="look up"))
    known = (first.fingerprint, first.ref, first.stored_json, first.required_inputs)
    changed = first.model_copy(update={"capability": Capability(does="cancel")})
    renamed = first.model_copy(update={"identity": Identity(name="orders.cancel")})
    assert changed.fingerprint != first.fingerprint
    assert "cancel" in changed.stored_json
    assert renamed.ref.name == "orders.cancel"
    assert first.model_copy() == first
    assert (first.fingerprint, first.ref, first.stored_json, first.required_inputs) == known


def test_a_changed_rule_book_finds_its_own_rules() -> None:
    book = RuleBook.public()
    assert set(book.by_id) == {"public"}
    other = book.model_copy(update={"rules": (Rule(id="x", effect=RuleEffect.DENY, reason="so"),)})
    assert set(other.by_id) == {"x"}
