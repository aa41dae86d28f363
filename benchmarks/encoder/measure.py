"""Recall of an encoder alone: cosine ranking of a whole catalogue, nothing else of the pipeline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.encoder.asked import asked_rows, tasks
from benchmarks.encoder.crosslingual import chinese_requests, parallel_rows
from benchmarks.encoder.records import Request, Tool, read_requests, read_tools
from toolsearch.search.index.token_vectors import TokenIndex
from toolsearch.text.embed.protocol import TokenEncoder

Encode = Callable[[Sequence[str]], NDArray[np.float32]]
"""Texts -> float32[n, dim], unit rows."""

DEV: Final = {"nestful": None, "tooltalk": None, "bfcl_multiturn": None, "seal_tools": "dev"}
"""Data sets that choices are made on, and the split of each (None: all)."""

LANGUAGES: Final = ("en", "zh")


@dataclass(frozen=True, slots=True)
class Recall:
    """Mean over requests.

    Attributes:
        first: Share of requests whose first tool is right.
        five: Mean share of a request's needed tools among the first five.
        requests: How many requests.
    """

    first: float
    five: float
    requests: int


def recall(scores: NDArray[np.float32], requests: Sequence[Request], tools: Sequence[Tool]) -> Recall:
    """Return the recall of a score matrix float32[requests, tools]; ties break by column."""
    column = {tool.key: at for at, tool in enumerate(tools)}
    order = np.argsort(-scores, axis=1, kind="stable")[:, :5]
    first = five = 0.0
    for row, request in zip(order, requests, strict=True):
        top = row.tolist()
        wanted = [
            {column[key] for key in (gold, *request.alternatives.get(gold, ())) if key in column}
            for gold in request.relevant
        ]
        first += any(top[0] in group for group in wanted)
        five += sum(not group.isdisjoint(top) for group in wanted) / len(wanted)
    count = max(1, len(requests))
    return Recall(first / count, five / count, len(requests))


def measure(
    data: Path,
    encode: Encode,
    *,
    tools: str,
    requests: str,
    split: str | None = None,
    file: str = "queries.jsonl",
    limit: int | None = None,
) -> Recall:
    """Return the recall of requests over tools; the two may come from data sets that share their ids."""
    catalogue = read_tools(data, tools)
    asked = read_requests(data, requests, split=split, file=file)[:limit]
    if tools != requests:
        asked = [_moved(request, requests, tools) for request in asked]
    vectors = encode([tool.text() for tool in catalogue])
    return recall(encode([request.text for request in asked]) @ vectors.T, asked, catalogue)


def measure_dev(data: Path, encode: Encode) -> dict[str, Recall]:
    """Return the recall on every dev set."""
    return {name: measure(data, encode, tools=name, requests=name, split=split) for name, split in DEV.items()}


def measure_crosslingual(encode: Encode) -> dict[str, Recall]:
    """Return the recall of the held-out rows of our own parallel tools over all of them, by language pair."""
    rows = parallel_rows()
    asked = [row for row in rows if row.held_out]
    found: dict[str, Recall] = {}
    for told, tool_language in enumerate(LANGUAGES):
        tools = [Tool(row.name, row.name if told == 0 else "", row.does[told], (), "") for row in rows]
        vectors = encode([tool.text() for tool in tools])
        for asking, language in enumerate(LANGUAGES):
            requests = [Request(row.asks[asking], (row.name,), {}, language) for row in asked]
            scores = encode([request.text for request in requests]) @ vectors.T
            found[f"{language} over {tool_language}"] = recall(scores, requests, tools)
    return found


def measure_chinese(data: Path, encode: Encode) -> dict[str, Recall]:
    """Return the recall of our held-out Chinese requests over all English tools they were written for."""
    every = {request.key: request for request in chinese_requests()}
    names = sorted({key.split("/")[0] for key in every})
    tools = [tool for name in names for tool in read_tools(data, name) if tool.key in every]
    requests = [Request(one.text, (key,), {}, "zh") for key, one in every.items() if one.held_out]
    vectors = encode([tool.text() for tool in tools])
    return {"zh over real en": recall(encode([one.text for one in requests]) @ vectors.T, requests, tools)}


def measure_asked(data: Path, encode: Encode) -> dict[str, Recall]:
    """Return the recall of our held-out requests and tasks over all tools that any of them was written for."""
    keys = {row.key for row in asked_rows()} | {key for task in tasks() for key in task.keys}
    names = sorted({key.split("/")[0] for key in keys})
    tools = [tool for name in names for tool in read_tools(data, name) if tool.key in keys]
    asked = {
        f"own {language} requests": [
            Request(row.asks[at], (row.key,), {}, language) for row in asked_rows() if row.held_out
        ]
        for at, language in enumerate(LANGUAGES)
    }
    asked["own tasks"] = [
        Request(task.text, tuple(dict.fromkeys(task.keys)), {}, "") for task in tasks() if task.held_out
    ]
    vectors = encode([tool.text() for tool in tools])
    return {
        name: recall(encode([one.text for one in requests]) @ vectors.T, requests, tools)
        for name, requests in asked.items()
    }


def dev_scores(data: Path, encode_texts: Encode) -> dict[str, Recall]:
    """Return the recall on all that choices are made on."""
    return {
        **measure_dev(data, encode_texts),
        **measure_crosslingual(encode_texts),
        **measure_chinese(data, encode_texts),
        **measure_asked(data, encode_texts),
    }


CALIBRATION_TOOLS: Final = 100
"""Tools of a set that each request is compared with token by token."""


def calibration(data: Path, encode: Encode, *, seed: int) -> tuple[float, float]:
    """Return the cosines of no relation and of a clear match, on dev data.

    The median cosine of random request-tool pairs, and the 90th percentile of right ones, each the mean over the sets.
    """
    rng = np.random.default_rng(seed)
    floors, ceilings = [], []
    for name, split in DEV.items():
        tools, requests = read_tools(data, name), read_requests(data, name, split=split)
        column = {tool.key: at for at, tool in enumerate(tools)}
        scores = encode([request.text for request in requests]) @ encode([tool.text() for tool in tools]).T
        right = [scores[at, column[key]] for at, request in enumerate(requests) for key in request.relevant]
        floors.append(float(np.median(rng.choice(scores.reshape(-1), 20_000))))
        ceilings.append(float(np.percentile(right, 90)))
    return float(np.mean(floors)), float(np.mean(ceilings))


def token_calibration(data: Path, encoder: TokenEncoder, *, seed: int) -> tuple[float, float]:
    """Return the same of the scores that come of comparing token by token."""
    rng = np.random.default_rng(seed)
    floors, ceilings = [], []
    for name, split in DEV.items():
        tools, requests = read_tools(data, name), read_requests(data, name, split=split)
        told = [one.tokens for one in encoder.encode_tokens([tool.text() for tool in tools])]
        new = np.full(len(tools), -1, dtype=np.int32)
        index = TokenIndex.empty(0, width=told[0].shape[1]).changed(new, dict(enumerate(told)))
        column = {tool.key: at for at, tool in enumerate(tools)}
        some = rng.permutation(len(tools))[:CALIBRATION_TOOLS]
        unrelated, right = [], []
        for request in requests:
            asked = [query for query in encoder.encode_request(request.text, ()).tokens if query is not None]
            needed = np.array([column[key] for key in request.relevant])
            scores = index.scores(asked, doc_ids=np.concatenate([some, needed]))[0]
            unrelated.append(scores[: len(some)])
            right.append(scores[len(some) :])
        floors.append(float(np.median(np.concatenate(unrelated))))
        ceilings.append(float(np.percentile(np.concatenate(right), 90)))
    return float(np.mean(floors)), float(np.mean(ceilings))


def _moved(request: Request, source: str, target: str) -> Request:
    """Return the request with its keys moved to another data set of the same ids."""

    def move(key: str) -> str:
        return f"{target}/{key.removeprefix(source + '/')}"

    return Request(
        text=request.text,
        relevant=tuple(map(move, request.relevant)),
        alternatives={move(k): tuple(map(move, v)) for k, v in request.alternatives.items()},
        lang=request.lang,
    )
