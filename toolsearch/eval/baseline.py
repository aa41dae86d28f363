"""Case results against an earlier run of the same cases: what passed then and does not now."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from toolsearch.eval.judge import CaseResult
from toolsearch.eval.junit import RESULTS_FORMAT
from toolsearch.model.errors import DataError


@dataclass(frozen=True, slots=True)
class CaseChange:
    """How two runs of the same cases differ; ids in case order.

    Attributes:
        broken: Passed before, fail now.
        repaired: Failed before, pass now.
        new: Were not in the earlier run.
        gone: Were in the earlier run only.
    """

    broken: tuple[str, ...]
    repaired: tuple[str, ...]
    new: tuple[str, ...]
    gone: tuple[str, ...]


def read_baseline(path: Path) -> dict[str, bool]:
    """Read what `results_text` wrote: case id -> whether it passed.

    Raises:
        DataError: If the file is missing, of another form or of another version.
    """
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
        if body["format"] != RESULTS_FORMAT:
            raise DataError(f"has format {body['format']}, not {RESULTS_FORMAT}; run the cases again", source=str(path))
        return {str(case["id"]): bool(case["passed"]) for cases in body["suites"].values() for case in cases}
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", source=str(path)) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DataError("is not a file of case results", source=str(path)) from None


def changes(baseline: Mapping[str, bool], results: Sequence[CaseResult]) -> CaseChange:
    """Compare results with an earlier run by case id."""
    now = {result.case.id: result.verdict.passed for result in results}
    return CaseChange(
        broken=tuple(case for case, passed in now.items() if not passed and baseline.get(case, False)),
        repaired=tuple(case for case, passed in now.items() if passed and not baseline.get(case, True)),
        new=tuple(case for case in now if case not in baseline),
        gone=tuple(case for case in baseline if case not in now),
    )
