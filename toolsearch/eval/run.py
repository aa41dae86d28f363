"""What a system answered: for each query the ranked tools with their scores.

A Run is the exchange format between systems: ours, another tool's, or one read back from a file. The TREC
form can be given to trec_eval; the JSON form keeps the exact floats.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from toolsearch.eval.qrels import from_trec_token, read_lines, trec_token
from toolsearch.model.errors import DataError

Ranked = tuple[tuple[str, float], ...]
"""(tool id, score) pairs, best first."""


@dataclass(frozen=True, slots=True)
class Run:
    """The rankings of one system for a set of queries.

    Attributes:
        system: Name of what was run, such as `toolsearch-hybrid`.
        rankings: Query id -> tools with scores, best first. An empty ranking is an answer: nothing was
            returned.
    """

    system: str
    rankings: Mapping[str, Ranked]

    def __post_init__(self) -> None:
        for query, ranked in self.rankings.items():
            tools = [tool for tool, _ in ranked]
            if len(set(tools)) != len(tools):
                raise DataError(f"query {query!r} ranks a tool twice", source=self.system)
            if not all(math.isfinite(score) for _, score in ranked):
                raise DataError(f"query {query!r} has a score that is not a finite number", source=self.system)

    def ranked(self, query: str) -> tuple[str, ...]:
        """Return the tool ids for a query, best first; () where the run has no such query."""
        return tuple(tool for tool, _ in self.rankings.get(query, ()))

    def best_score(self, query: str) -> float:
        """Return the score of the first tool, -inf where nothing was returned."""
        ranked = self.rankings.get(query, ())
        return ranked[0][1] if ranked else -math.inf

    def write_trec(self, path: Path) -> None:
        """Write `query Q0 tool rank score system` lines.

        trec_eval orders by score and breaks ties its own way; the rank column keeps our order. An empty
        ranking leaves no
        line, as the format demands.
        """
        tag = trec_token(self.system)
        lines = (
            f"{trec_token(query)} Q0 {trec_token(tool)} {rank} {score!r} {tag}\n"
            for query, ranked in self.rankings.items()
            for rank, (tool, score) in enumerate(ranked, start=1)
        )
        path.write_text("".join(lines), encoding="utf-8")

    def write_json(self, path: Path) -> None:
        """Write the run as one JSON object: system, and query id -> [[tool, score], ...]."""
        body = {
            "system": self.system,
            "rankings": {query: list(map(list, self.rankings[query])) for query in self.rankings},
        }
        path.write_text(json.dumps(body, ensure_ascii=False) + "\n", encoding="utf-8")


def read_trec_run(path: Path) -> Run:
    """Read a TREC run file; tools are put in the order of their rank column.

    Raises:
        DataError: If the file is missing or empty, or a line has not six fields with a rank and a score; with
            the line.
    """
    rows: dict[str, list[tuple[int, str, float]]] = {}
    system = ""
    for line, text in enumerate(read_lines(path), start=1):
        parts = text.split()
        if not parts:
            continue
        try:
            query, _, tool, rank, score, tag = parts
            row = (int(rank), from_trec_token(tool), float(score))
        except ValueError:
            message = f"{text[:120]!r} is not `query Q0 tool rank score system`"
            raise DataError(message, source=str(path), line=line) from None
        system = system or from_trec_token(tag)
        rows.setdefault(from_trec_token(query), []).append(row)
    if not rows:
        raise DataError("holds no line of a run", source=str(path))
    rankings = {
        query: tuple((tool, score) for _, tool, score in sorted(found, key=lambda row: row[0]))
        for query, found in rows.items()
    }
    return Run(system, MappingProxyType(rankings))


def read_json_run(path: Path) -> Run:
    """Read what `Run.write_json` wrote.

    Raises:
        DataError: If the file is missing or of another form.
    """
    try:
        body = json.loads("\n".join(read_lines(path)))
        rankings = {
            str(query): tuple((str(tool), float(score)) for tool, score in ranked)
            for query, ranked in body["rankings"].items()
        }
        return Run(str(body["system"]), MappingProxyType(rankings))
    except (json.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"is not a run in JSON ({error})", source=str(path)) from None
