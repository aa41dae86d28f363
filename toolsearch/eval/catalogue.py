"""Case files over a catalogue folder: the share that passes, by kind, language, risk and split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from pydantic import ValidationError

from toolsearch import CandidateSet, Principal, RuleBook, SearchRequest, ToolIndex, load_contracts
from toolsearch.eval.cases import CaseSuite, load_cases
from toolsearch.eval.judge import SLICES, CaseResult, Searcher, run_cases
from toolsearch.eval.positions import read_with_positions
from toolsearch.eval.qrels import file_sha256
from toolsearch.eval.results import Measure, SystemResult, environment
from toolsearch.eval.significance import bootstrap_interval
from toolsearch.model.errors import DataError
from toolsearch.model.limits import DEFAULT_ENCODER
from toolsearch.model.request import Mode
from toolsearch.text.embed.protocol import Encoder

PASSED = "passed"
"""The metric of case files: 1.0 for a case whose every expectation holds."""

LEAKED = "leaked"
"""1.0 for a permission case whose answer names a tool that it must not. Anything above 0 is a security fault."""

_PERMISSION = "kind=permission"


@dataclass(frozen=True, slots=True)
class CasesReport:
    """One mode over case files.

    Attributes:
        result: The figures.
        cases: Every case with its verdict, in the order of the files.
    """

    result: SystemResult
    cases: tuple[CaseResult, ...]


def open_catalogue(folder: Path, *, encoder: str | Encoder = DEFAULT_ENCODER) -> ToolIndex:
    """Return an index in memory of a catalogue folder: its `contracts` under its `rules.yaml`.

    Raises:
        DataError: If the rules are wrong.
        ContractError: If a contract is wrong or there is none.
    """
    contracts = load_contracts(folder / "contracts")
    index = ToolIndex.create(None, rules=read_rules(folder / "rules.yaml"), encoder=encoder)
    index.add(contracts)
    index.warm()
    return index


def bench_cases(
    catalog: Path,
    *,
    cases: Path,
    split: str | None = None,
    encoder: str | Encoder = DEFAULT_ENCODER,
    modes: Sequence[Mode] = (Mode.HYBRID,),
    seed: int = 0,
) -> dict[Mode, CasesReport]:
    """Ask every case in every mode, sizes as in production.

    Args:
        catalog: Folder with `contracts` and `rules.yaml`.
        cases: Case file or folder.
        split: Only the cases of this split; None = all.
        encoder: Name or object.
        modes: Recall modes.
        seed: Seed of the intervals.

    Raises:
        DataError: If a case file or the rules are wrong, or no case is left.
    """
    suites = [of_split(suite, split) for suite in load_cases(cases)]
    if not any(suite.cases for suite in suites):
        raise DataError(f"has no case of split {split!r}", source=str(cases))
    table = {}
    with open_catalogue(catalog, encoder=encoder) as index:
        name = index.status().encoder
        for mode in modes:
            results = tuple(result for suite in suites for result in run_cases(suite, in_mode(index, mode)))
            figures = SystemResult(
                system=f"toolsearch {mode}",
                dataset=f"{catalog.resolve().name} cases" + (f" ({split})" if split else ""),
                role=split or "",
                settings={"encoder": name, "mode": str(mode)},
                seed=seed,
                data_sha256={suite.source.name: file_sha256(suite.source) for suite in suites},
                environment=environment(),
                tools=index.status().tools,
                queries=len(results),
                metrics=case_measures(results, seed=seed),
            )
            table[mode] = CasesReport(figures, results)
    return table


def case_measures(results: Sequence[CaseResult], *, seed: int = 0) -> dict[str, dict[str, Measure]]:
    """Return slice -> metric -> share of cases with its 95 % bootstrap interval.

    Slices are `all`, each kind, and each split, language and risk where there are several. Every slice has `passed`,
    `kind=permission` also `leaked`.
    """
    groups: dict[str, list[CaseResult]] = {"all": list(results)}
    for name in SLICES:
        values = sorted({str(getattr(result.case, name)) for result in results})
        for value in values if name == "kind" or len(values) > 1 else ():
            groups[f"{name}={value}"] = [result for result in results if getattr(result.case, name) == value]
    table = {
        name: {PASSED: _share([found.verdict.passed for found in groups[name]], seed=seed)} for name in sorted(groups)
    }
    if _PERMISSION in groups:
        table[_PERMISSION][LEAKED] = _share([found.verdict.leaked for found in groups[_PERMISSION]], seed=seed)
    return table


def _share(values: Sequence[bool], *, seed: int) -> Measure:
    return Measure.of(bootstrap_interval(np.array(values, dtype=np.float64), seed=seed))


def of_split(suite: CaseSuite, split: str | None) -> CaseSuite:
    """Return the suite with the cases of one split only; None keeps all."""
    if split is None:
        return suite
    return replace(suite, cases=tuple(case for case in suite.cases if case.split == split))


def in_mode(searcher: Searcher, mode: Mode) -> Searcher:
    """Return a searcher that asks the same index in one recall mode."""
    return _InMode(searcher, mode)


class _InMode:
    def __init__(self, searcher: Searcher, mode: Mode) -> None:
        self._searcher, self._mode = searcher, mode

    def search(self, request: SearchRequest, /, *, principal: Principal) -> CandidateSet:
        return self._searcher.search(request.model_copy(update={"mode": self._mode}), principal=principal)


def read_rules(path: Path) -> RuleBook:
    """Return the rules of a file; a file that is not there allows nothing.

    Raises:
        DataError: If the rules are wrong, with the line.
    """
    if not path.is_file():
        return RuleBook()
    data, positions = read_with_positions(path)
    try:
        return RuleBook.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise DataError(
            f"{'.'.join(map(str, first['loc']))}: {first['msg']}", source=str(path), line=positions.line(first["loc"])
        ) from None
