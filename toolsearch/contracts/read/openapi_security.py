"""Security requirements of an operation -> the scopes a principal must have, never fewer than the document demands.

The document's list is an OR of ANDs. A contract has one list of which all are needed and one of which any is. What all
alternatives demand is the first, and where each demands one scope more, those are the second. What does not fit is
narrowed: to the first alternative, and to those with scopes where others ask only for a key. A note states the whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolsearch.contracts.read.openapi_document import Operation
from toolsearch.model.contract import Access
from toolsearch.model.errors import ContractError

_Alternative = dict[str, tuple[str, ...]]


def access_of(operation: Operation) -> tuple[Access, tuple[str, ...]]:
    """Return who may call an operation, and notes on what the document demands and what of it was narrowed.

    An operation that demands nothing, or may be called without credentials, states no access: rules decide then.

    Raises:
        ContractError: If the requirement is malformed.
    """
    stated = operation.body.get("security", operation.spec.root.get("security"))
    if stated is None:
        return Access(), ()
    alternatives = _alternatives(stated)
    if not alternatives or not all(alternatives):
        return Access(), ("security: none is demanded",)
    notes = [f"security: {' or '.join(_words(alternative) for alternative in alternatives)}"]
    scoped = [frozenset(_scopes(alternative)) for alternative in alternatives]
    demanding = [scopes for scopes in scoped if scopes]
    if not demanding:
        return Access(), (*notes,)
    if len(demanding) < len(scoped):
        notes.append("access: narrowed to the alternatives with scopes; the others ask for credentials without any")
    order = list(dict.fromkeys(scope for alternative in alternatives for scope in _scopes(alternative)))
    common = frozenset.intersection(*demanding)
    rests = {scopes - common for scopes in demanding}
    if all(len(rest) == 1 for rest in rests):
        choice = frozenset().union(*rests)
        return _access(order, common, choice), tuple(notes)
    if frozenset() not in rests:
        notes.append("access: narrowed to the first alternative; a contract cannot say the others too")
        common = demanding[0]
    return _access(order, common, frozenset()), tuple(notes)


def _access(order: list[str], needed: frozenset[str], choice: frozenset[str]) -> Access:
    if len(choice) == 1:
        needed, choice = needed | choice, frozenset()
    return Access(
        scopes_all=tuple(scope for scope in order if scope in needed),
        scopes_any=tuple(scope for scope in order if scope in choice),
    )


def _alternatives(stated: Any) -> list[_Alternative]:
    if not isinstance(stated, list):
        raise ContractError(f"security is a {type(stated).__name__}, not a list", path="/security")
    found = []
    for number, requirement in enumerate(stated):
        if not isinstance(requirement, Mapping):
            raise ContractError(
                f"is a {type(requirement).__name__}, not a security requirement", path=f"/security/{number}"
            )
        found.append({scheme: _listed(scopes, at=f"/security/{number}") for scheme, scopes in requirement.items()})
    return found


def _listed(scopes: Any, *, at: str) -> tuple[str, ...]:
    if not isinstance(scopes, list) or not all(isinstance(scope, str) for scope in scopes):
        raise ContractError("has a scheme whose scopes are not a list of strings", path=at)
    return tuple(scopes)


def _scopes(alternative: _Alternative) -> tuple[str, ...]:
    return tuple(scope for scopes in alternative.values() for scope in scopes)


def _words(alternative: _Alternative) -> str:
    return " and ".join(
        f"{scheme} with {', '.join(scopes)}" if scopes else scheme for scheme, scopes in alternative.items()
    )
