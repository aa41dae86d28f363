"""One data folder through the engine: quality, refusals and latency for each recall mode.

Ranking metrics look at the engine's ranked list before diversity and sizes (`ToolIndex.rank`), so that the size of an
answer does not cap them; set metrics look at the answer itself (`ToolIndex.search`). Each mode has an index of its
own: the vector of a request that one mode computed must not make the next one look fast. Document vectors are shared.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from toolsearch import Principal, Restriction, RuleBook, SearchRequest, ToolIndex, ToolRef, read_path
from toolsearch.eval.qrels import QUERIES_FILE, TOOLS_FILE, Qrels, Query, read_qrels
from toolsearch.eval.results import SystemResult, environment, latencies, write_result, write_rows
from toolsearch.eval.run import Run
from toolsearch.eval.score import Scores, comparison, system_result
from toolsearch.model.answer import OutcomeKind
from toolsearch.model.errors import DataError
from toolsearch.model.limits import DEFAULT_ENCODER
from toolsearch.model.request import MAX_QUERY_CHARS, Mode
from toolsearch.text.embed.catalog import load_encoder
from toolsearch.text.embed.protocol import (
    Encoder,
    EncoderInfo,
    RequestVectors,
    TextVectors,
    encode_request,
    encode_tokens,
)

RANK_DEPTH = 100
"""Length of the ranked lists that are kept."""

COMPARED = ("recall@5", "ndcg@10")
"""Metrics the modes are tested against each other on."""

PRINCIPAL = Principal(subject="benchmark")
RULES = RuleBook.public(reason="every tool of a benchmark catalogue is visible")

Progress = Callable[[str, int, int], None]
"""Called with (what is done, done, in all)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeReport:
    """One mode on one data set.

    Attributes:
        result: The figures.
        run: Ranked list of each query.
        answers: Candidates of each query.
        scores: Every metric of every query that needs a tool.
    """

    result: SystemResult
    run: Run
    answers: Run
    scores: Scores


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchReport:
    """All modes on one data set.

    Attributes:
        dataset: Name of the data set.
        modes: Mode name -> its report, in the order asked for.
        refused_tools: Sentences about tools that could not be read; a needed one among them counts as not found.
    """

    dataset: str
    modes: Mapping[str, ModeReport]
    refused_tools: tuple[str, ...]


@dataclass(slots=True)
class _Observed:
    """What one mode answered, by query id."""

    ranked: dict[str, tuple[tuple[str, float], ...]] = field(default_factory=dict)
    answers: dict[str, tuple[tuple[str, float], ...]] = field(default_factory=dict)
    refused: dict[str, bool] = field(default_factory=dict)
    confidence: dict[str, float] = field(default_factory=dict)
    timings: list[Mapping[str, float]] = field(default_factory=list)


class SharedDocumentVectors:
    """An encoder that remembers document vectors, so that several indexes over one catalogue encode it once."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._read: dict[str, TextVectors] = {}

    @property
    def info(self) -> EncoderInfo:
        """Return the identity of the encoder."""
        return self._encoder.info

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32[n, dim]; never remembered."""
        return self._encoder.encode_queries(texts)

    def encode_request(self, text: str, clauses: Sequence[str]) -> RequestVectors:
        """Return the vectors of a request and its clauses; never remembered."""
        return encode_request(self._encoder, text, clauses)

    def encode_tokens(self, texts: Sequence[str]) -> list[TextVectors]:
        """Return vectors and tokens of tool texts, computing only those that are new."""
        new = [text for text in dict.fromkeys(texts) if text not in self._read]
        self._read.update(zip(new, encode_tokens(self._encoder, new), strict=True))
        return [self._read[text] for text in texts]

    def encode_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32[n, dim], computing only the texts that are new."""
        if not texts:
            return self._encoder.encode_documents(texts)
        return np.stack([one.vector for one in self.encode_tokens(texts)])


def bench_dataset(
    folder: Path,
    *,
    encoder: str | Encoder = DEFAULT_ENCODER,
    modes: Sequence[str] = ("lexical", "vector", "hybrid"),
    queries: str = QUERIES_FILE,
    tools: Path | None = None,
    k: int = 10,
    limit: int | None = None,
    seed: int = 0,
    out: Path | None = None,
    progress: Progress | None = None,
) -> BenchReport:
    """Run every query of a data folder in every mode.

    A `none` query with `candidates` is asked over exactly those tools: the principal is narrowed to them, and what is
    not
    visible shapes no score. Other queries are asked over the whole catalogue.

    Args:
        folder: In the form that `read_qrels` reads.
        encoder: Name or object of the encoder.
        modes: Recall modes, each at most once.
        queries: Name of the queries file.
        tools: Folder whose tools are asked instead of the folder's own, such as Chinese requests over English tools.
        k: Candidates asked for in the answer.
        limit: At most so many queries, spread over the file.
        seed: Seed of the intervals.
        out: Folder for `<dataset>.<mode>.json`, `.queries.jsonl` and `.run.txt`; None = nothing is written.
        progress: Called now and then.

    Raises:
        DataError: If the folder is wrong.
    """
    qrels = read_qrels(folder, queries=queries)
    qrels = (qrels if tools is None else qrels.over(tools)).sample(limit)
    catalogue = (tools or folder) / TOOLS_FILE
    report = read_path(catalogue)
    if not report.ids:
        raise DataError("no tool in it could be read", source=str(catalogue))
    shared = SharedDocumentVectors(load_encoder(encoder) if isinstance(encoder, str) else encoder)
    settings: dict[str, str | int | float | bool | None] = {"encoder": shared.info.id, "k": k, "limit": limit}
    found: dict[str, ModeReport] = {}
    for name in dict.fromkeys(modes):
        mode = Mode(name)
        with ToolIndex.create(None, rules=RULES, encoder=shared) as index:
            started = time.perf_counter()
            index.add(report.contracts)
            built = time.perf_counter() - started
            index.warm()
            observed = _ask(qrels, index, mode=mode, ids=report.ids, k=k, progress=progress)
        # Only the first index had its documents to encode; the others' time says less than it seems to.
        found[name] = _report(
            qrels, observed, mode=mode, seed=seed, settings=settings, build_seconds=None if found else built
        )
    found = {name: _compared(report, found, seed=seed) for name, report in found.items()}
    for name, one in found.items():
        if out is not None:
            _write(one, out=out, stem=f"{qrels.name.replace('/', '.')}.{name}", qrels=qrels)
    return BenchReport(dataset=qrels.name, modes=found, refused_tools=tuple(map(str, report.refused)))


def _ask(
    qrels: Qrels, index: ToolIndex, *, mode: Mode, ids: Mapping[ToolRef, str], k: int, progress: Progress | None
) -> _Observed:
    by_ref = {str(ref): identifier for ref, identifier in ids.items()}
    names = {identifier: f"{ref.server}/{ref.name}" for ref, identifier in ids.items()}
    observed = _Observed()
    for number, query in enumerate(qrels.queries, start=1):
        try:
            request = _request(query, mode=mode, k=k, names=names)
        except ValidationError:
            # The engine refuses it as no request at all (a lone control character, say): nothing was offered.
            observed.refused[query.id], observed.answers[query.id], observed.ranked[query.id] = True, (), ()
            observed.confidence[query.id] = 0.0
            continue
        # The search first: the ranked list then finds the request's vector remembered, and the timings are real.
        answer = index.search(request, principal=PRINCIPAL)
        ranked = index.rank(request, principal=PRINCIPAL, depth=RANK_DEPTH)
        observed.timings.append(answer.timings_ms)
        observed.refused[query.id] = answer.outcome is OutcomeKind.NO_TOOL
        observed.confidence[query.id] = answer.confidence
        observed.answers[query.id] = tuple((by_ref[tool.ref], tool.score) for tool in answer.candidates)
        observed.ranked[query.id] = tuple((by_ref[ref], score) for ref, score in ranked)
        if progress is not None:
            progress(f"{qrels.name} {mode}", number, len(qrels.queries))
    return observed


def _request(query: Query, *, mode: Mode, k: int, names: Mapping[str, str]) -> SearchRequest:
    restrict = None
    if query.kind == "none" and query.candidates:
        restrict = Restriction(tools=tuple(names[tool] for tool in query.candidates if tool in names))
    # A pasted file in a request is cut as a harness would cut it, at the end.
    return SearchRequest(text=query.text[:MAX_QUERY_CHARS], k=k, mode=mode, restrict=restrict)


def _report(
    qrels: Qrels,
    observed: _Observed,
    *,
    mode: Mode,
    seed: int,
    settings: Mapping[str, str | int | float | bool | None],
    build_seconds: float | None,
) -> ModeReport:
    system = f"toolsearch {mode}"
    run, answers = Run(system, observed.ranked), Run(system, observed.answers)
    result, scores = system_result(
        qrels, run, answers=answers, refused=observed.refused, confidence=observed.confidence, seed=seed
    )
    circumstances = {
        "settings": {**settings, "mode": str(mode)},
        "environment": environment(),
        "latency_ms": latencies(observed.timings),
        "build_seconds": build_seconds,
    }
    return ModeReport(result=result.model_copy(update=circumstances), run=run, answers=answers, scores=scores)


def _compared(report: ModeReport, others: Mapping[str, ModeReport], *, seed: int) -> ModeReport:
    """Return the report with its paired tests against the other modes."""
    if not report.scores.queries:
        return report
    comparisons = tuple(
        comparison(report.scores, other.scores, other=other.result.system, metric=metric, seed=seed)
        for other in others.values()
        if other is not report
        for metric in COMPARED
    )
    return replace(report, result=report.result.model_copy(update={"comparisons": comparisons}))


def _write(report: ModeReport, *, out: Path, stem: str, qrels: Qrels) -> None:
    write_result(report.result, out / f"{stem}.json")
    write_rows(_rows(report, qrels), out / f"{stem}.queries.jsonl")
    report.run.write_trec(out / f"{stem}.run.txt")


def _rows(report: ModeReport, qrels: Qrels) -> list[dict[str, Any]]:
    """Return one record a query: needed, ranked, answered, and every metric. Texts stay with the data."""
    place = {query.id: row for row, query in enumerate(report.scores.queries)}
    rows = []
    for query in qrels.queries:
        row: dict[str, Any] = {
            "id": query.id,
            "kind": query.kind,
            "lang": query.lang,
            "relevant": list(query.relevant),
            "ranked": [[tool, round(score, 6)] for tool, score in report.run.rankings[query.id][:10]],
            "answer": list(report.answers.ranked(query.id)),
        }
        if query.id in place:
            values = report.scores.values[place[query.id]].tolist()
            row["metrics"] = {name: round(value, 6) for name, value in zip(report.scores.names, values, strict=True)}
        rows.append(row)
    return rows
