"""Catalogues of any size from pooled real tools, and real requests to ask of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from toolsearch.contracts.read.reader import read_data
from toolsearch.eval.qrels import TOOLS_FILE, file_sha256, read_qrels
from toolsearch.eval.roles import DATA_SETS, Role, role_of
from toolsearch.model.contract import ToolContract
from toolsearch.model.errors import DataError
from toolsearch.model.request import MAX_QUERY_CHARS

SERVERS = ("real_servers", "toolsdk_registry")
"""Tools of real MCP servers; catalogues are drawn from them as far as they go."""

MORE = ("scale_google", "scale_aws", "toolbench_g3_corpus", "apizoo", "seal_tools")
"""What larger catalogues are filled up with."""


@dataclass(frozen=True, slots=True)
class PooledCatalogue:
    """A sample of pooled tools.

    Attributes:
        contracts: In no particular order.
        spare: Further contracts, for adding.
        sha256: Data set -> digest of its `tools.jsonl`.
    """

    contracts: tuple[ToolContract, ...]
    spare: tuple[ToolContract, ...]
    sha256: Mapping[str, str]


def pooled_catalogue(data: Path, *, tools: int, spare: int = 0, seed: int = 0) -> PooledCatalogue:
    """Return `tools` contracts, ids and servers prefixed by the name of their set; a larger catalogue holds a smaller.

    Raises:
        DataError: If the data sets have fewer tools.
    """
    rng = np.random.default_rng(seed)
    lines: list[dict[str, Any]] = []
    sha256: dict[str, str] = {}
    for group in (SERVERS, MORE):
        if len(lines) >= tools + spare:
            break
        pool = [line for name in group for line in _lines(data / name / TOOLS_FILE, name=name)]
        sha256.update({name: file_sha256(data / name / TOOLS_FILE) for name in group})
        lines += [pool[at] for at in rng.permutation(len(pool)).tolist()]
    # A few lines are refused by the reader: some more are read than needed.
    report = read_data(lines[: tools + spare + max(20, tools // 50)], source="pooled catalogue")
    if len(report.contracts) < tools + spare:
        raise DataError(f"holds {len(report.contracts)} tools, {tools + spare} are wanted", source=str(data))
    return PooledCatalogue(report.contracts[:tools], report.contracts[tools : tools + spare], sha256)


def pooled_requests(data: Path, *, count: int, seed: int = 0) -> tuple[str, ...]:
    """Return distinct real requests, drawn from the sets that may be learned from.

    Raises:
        DataError: If there are fewer.
    """
    texts: dict[str, None] = {}
    for name in sorted(DATA_SETS):
        if not (data / name / "queries.jsonl").is_file():
            continue
        for query in read_qrels(data / name).queries:
            if role_of(name, query.split) in (Role.TRAIN, Role.DEV) and 0 < len(query.text.strip()) < MAX_QUERY_CHARS:
                texts.setdefault(query.text)
    if len(texts) < count:
        raise DataError(f"holds {len(texts)} requests of train and dev sets, {count} are wanted", source=str(data))
    every = list(texts)
    return tuple(every[at] for at in np.random.default_rng(seed).permutation(len(every))[:count].tolist())


def servers_of_share(contracts: Sequence[ToolContract], *, share: float, seed: int = 0) -> tuple[str, ...]:
    """Return servers, drawn at random, that together have about this share of the tools."""
    sizes: dict[str, int] = {}
    for contract in contracts:
        sizes[contract.identity.server] = sizes.get(contract.identity.server, 0) + 1
    names = sorted(name for name, size in sizes.items() if size <= max(1, share * len(contracts) / 2))
    chosen: list[str] = []
    wanted = share * len(contracts)
    for at in np.random.default_rng(seed).permutation(len(names)).tolist():
        if wanted <= 0:
            break
        chosen.append(names[at])
        wanted -= sizes[names[at]]
    return tuple(sorted(chosen))


def _lines(path: Path, *, name: str) -> list[dict[str, Any]]:
    if not path.is_file():
        raise DataError("is not there: name the data folder with --data", source=str(path))
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    return [{**row, "id": f"{name}/{row['id']}", "server": f"{name}.{row.get('server') or 'local'}"} for row in rows]
