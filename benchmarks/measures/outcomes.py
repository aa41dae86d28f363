"""What came of each case, as lines of a file beside the figures: for reports that show the cases behind a number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from toolsearch.eval.judge import CaseResult
from toolsearch.eval.qrels import read_lines
from toolsearch.model.contract import Frozen
from toolsearch.model.errors import DataError

CASES_SUFFIX = ".cases.jsonl"
"""Ending of the files, after suite and mode."""


class CaseOutcome(Frozen):
    """One case and what was offered. Tools are named as their case or their contract names them."""

    id: str
    kind: str
    split: str
    lang: str
    risk: str
    request: str
    accepted: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    refused: bool = False
    offered: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()

    @property
    def expected(self) -> str:
        """Return what was expected in words: the acceptable tools, all the needed ones, or `no tool`."""
        if self.accepted:
            return " or ".join(self.accepted)
        return " and ".join(self.needed) or ("no tool" if self.refused else "")


def case_row(result: CaseResult) -> dict[str, Any]:
    """Return the line of one judged case."""
    case = result.case
    outcome = CaseOutcome(
        id=case.id,
        kind=str(case.kind),
        split=str(case.split),
        lang=str(case.lang),
        risk=str(case.risk),
        request=case.input,
        accepted=case.expect.accepted,
        needed=case.expect.tools,
        refused=case.expect.expects_none,
        offered=result.offered,
        failures=result.verdict.failures,
    )
    return outcome.model_dump(mode="json", exclude_defaults=True)


def read_outcomes(path: Path) -> tuple[CaseOutcome, ...]:
    """Read the lines of one file.

    Raises:
        DataError: If the file is missing or a line is of another form.
    """
    found = []
    for line, text in enumerate(read_lines(path), start=1):
        if text:
            try:
                found.append(CaseOutcome.model_validate_json(text))
            except ValidationError as error:
                reason = error.errors(include_url=False)[0]["msg"]
                raise DataError(f"is no outcome of a case: {reason}", source=str(path), line=line) from None
    return tuple(found)
