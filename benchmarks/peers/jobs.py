"""Which requests are asked over which catalogue, and the data that scale measurements are made on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from toolsearch.eval.qrels import QUERIES_FILE, TOOLS_FILE, Qrels, file_sha256, read_qrels

T = TypeVar("T")

QUICK: Mapping[str, int] = MappingProxyType(
    {
        "azure_mcp_2025": 200,
        "gtc_k8s": 200,
        "ultratool_zh": 200,
        "ultratool_zh:ultratool_en": 200,
        "livemcpbench": 200,
        "metatool": 300,
    }
)
"""Data set -> most requests, for a run of some minutes."""

TEST_SETS = (
    "azure_mcp_2025",
    "gtc_k8s",
    "gtc_github",
    "gtc_github_full",
    "gtc_ecommerce",
    "gtc_mixed_mcp",
    "livemcpbench",
    "metatool",
    "ultratool_en",
    "ultratool_zh",
    "ultratool_zh:ultratool_en",
    "hammerbench_en",
    "hammerbench_zh",
    "restbench",
    "toolret_toolink",
    "toolret_apibank",
    "bfcl_irrelevance",
    "acebench_irrelevance",
    "stabletoolbench",
)
"""Every public test set; `a:b` asks the requests of a over the tools of b."""

LIMIT = 400
"""Requests of a test set, evenly spaced, when it has more."""

SCALES = (250, 2_500, 10_000)
SCALE_CATALOGUES = ("real_servers", "toolsdk_registry")
SCALE_QUERIES = ("azure_mcp_2025", 50)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One catalogue and the requests asked over it.

    Attributes:
        name: Name of the data set in the results.
        tools: A `tools.jsonl`.
        qrels: The requests and their labels.
        available: Requests the data set has.
        scored: Whether rankings are scored, or only time and memory measured.
    """

    name: str
    tools: Path
    qrels: Qrels
    available: int
    scored: bool = True

    def queries(self) -> list[dict[str, Any]]:
        """Return what a worker is told of each request; only requests without a right tool are narrowed."""
        return [
            {
                "id": query.id,
                "text": query.text,
                "candidates": list(query.candidates) if query.kind == "none" and query.candidates else None,
            }
            for query in self.qrels.queries
        ]


def dataset_job(data: Path, spec: str, *, limit: int | None) -> Job:
    """Return the job of one data set.

    Args:
        data: Folder of data sets.
        spec: Folder name, or `a:b` for the requests of a over the tools of b, which must have the ids that a needs.
        limit: Most requests; more are thinned evenly.

    Raises:
        DataError: If the data set is missing or wrong.
        ValueError: If b lacks tools that requests of a need.
    """
    asked, _, over = spec.partition(":")
    qrels = read_qrels(data / asked)
    available = len(qrels.queries)
    tools = data / (over or asked) / TOOLS_FILE
    if over:
        qrels = _over(qrels, data / over, name=f"{asked}_over_{over}")
    return Job(name=qrels.name, tools=tools, qrels=_thinned(qrels, limit), available=available)


def scale_job(data: Path, size: int, *, folder: Path) -> Job:
    """Return the job that measures time and memory over `size` pooled tools, evenly spaced over the catalogues.

    Args:
        data: Folder of data sets.
        size: Tools wanted.
        folder: Where the pooled catalogue is written.

    Raises:
        DataError: If a data set is missing.
        ValueError: If the catalogues have fewer tools.
    """
    pooled = [row for name in SCALE_CATALOGUES for row in _records(data, name)]
    if size > len(pooled):
        raise ValueError(f"{size} tools are wanted and {', '.join(SCALE_CATALOGUES)} have {len(pooled)}")
    path = folder / f"scale-{size}.jsonl"
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in spaced(pooled, size))
    asked = _thinned(read_qrels(data / SCALE_QUERIES[0]), SCALE_QUERIES[1])
    sha256 = {f"{name}/{TOOLS_FILE}": file_sha256(data / name / TOOLS_FILE) for name in SCALE_CATALOGUES}
    qrels = replace(asked, name=f"scale-{size}", sha256=MappingProxyType(sha256), tool_ids=("",) * size)
    return Job(name=qrels.name, tools=path, qrels=qrels, available=SCALE_QUERIES[1], scored=False)


def spaced(rows: Sequence[T], limit: int | None) -> Sequence[T]:
    """Return `limit` rows evenly spaced over all of them, the first included; all if there are no more."""
    if limit is None or limit >= len(rows):
        return rows
    return [rows[place * len(rows) // limit] for place in range(limit)]


def _thinned(qrels: Qrels, limit: int | None) -> Qrels:
    return replace(qrels, queries=tuple(spaced(qrels.queries, limit)))


def _over(qrels: Qrels, folder: Path, *, name: str) -> Qrels:
    other = read_qrels(folder)
    known = frozenset(other.tool_ids)
    lacking = sorted({tool for query in qrels.queries for tool in query.relevant if tool not in known})
    if lacking:
        raise ValueError(f"{other.name} lacks {len(lacking)} tools that {qrels.name} needs, such as {lacking[0]!r}")
    sha256 = {
        f"{qrels.name}/{QUERIES_FILE}": qrels.sha256[QUERIES_FILE],
        f"{other.name}/{TOOLS_FILE}": other.sha256[TOOLS_FILE],
    }
    return replace(qrels, name=name, tool_ids=other.tool_ids, sha256=MappingProxyType(sha256))


def _records(data: Path, name: str) -> Iterator[dict[str, Any]]:
    with (data / name / TOOLS_FILE).open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield {**row, "id": f"{name}:{row['id']}"}
