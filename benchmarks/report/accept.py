"""Writes measured values into a suite file as the expected ones, leaving every other line as it is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from benchmarks.measures.suite import measured_value
from toolsearch.eval.results import SystemResult
from toolsearch.model.errors import DataError

ACCEPTED = ("recall@5", "ndcg@10", "mrr@10", "passed", "refusal_rate", "false_refusal_rate")
"""Metrics whose values are written, where they were measured."""

_ITEM = re.compile(r"^  - ")
_EXPECTED = re.compile(r"^    expected:")
_DEEPER = re.compile(r"^      ")


def with_expected(text: str, *, suite: str, results: Sequence[SystemResult]) -> str:
    """Return the text of a suite file with the `expected` of one suite replaced by what was measured.

    The file must be laid out as those of this repository: items begin with two spaces and a dash, keys of an item stand
    four spaces in.

    Args:
        text: The file.
        suite: Name of the suite.
        results: One for each mode of the suite, with the mode among their settings.

    Raises:
        DataError: If the file has no such suite.
    """
    lines = text.splitlines()
    starts = [at for at, line in enumerate(lines) if _ITEM.match(line)] + [len(lines)]
    for start, end in pairwise(starts):
        item = lines[start:end]
        if any(re.fullmatch(rf"(  - |    )name: {re.escape(suite)}", line) for line in item):
            return "\n".join([*lines[:start], *_replaced(item, _block(results)), *lines[end:]]) + "\n"
    raise DataError(f"has no suite {suite!r}")


def _block(results: Sequence[SystemResult]) -> list[str]:
    block = ["    expected:"]
    for result in results:
        values = ((metric, measured_value(result, metric)) for metric in ACCEPTED)
        shown = ", ".join(f"{metric}: {value:.4f}" for metric, value in values if value is not None)
        block.append(f"      {result.settings['mode']}: {{{shown}}}")
    return block


def _replaced(item: list[str], block: list[str]) -> list[str]:
    kept: list[str] = []
    inside = False
    for line in item:
        inside = bool(_EXPECTED.match(line)) or (inside and bool(_DEEPER.match(line)))
        if not inside:
            kept.append(line)
    end = len(kept)
    while end and not kept[end - 1].strip():
        end -= 1
    return [*kept[:end], *block, *kept[end:]]
