"""The checks that need nothing but the contract and the arguments, in order."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from toolsearch.model.argument_problem import ArgumentProblem
from toolsearch.model.contract import ToolContract
from toolsearch.search.inputs.rules import check_rules
from toolsearch.search.inputs.structure import check_structure


def check_arguments(
    arguments: Mapping[str, Any], *, contract: ToolContract, today: date | None = None
) -> tuple[ArgumentProblem, ...]:
    """Return what is wrong with the arguments: structure by JSON Schema, then formats and declared rules.

    Args:
        arguments: Of the call.
        contract: Of the tool.
        today: What `today` means in a rule; None = such rules are not checked.
    """
    return (
        *check_structure(arguments, contract=contract),
        *check_rules(arguments, contract=contract, today=today),
    )
