"""Our own held-out requests and tasks as a data set: dev data over the tools of several public catalogues."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from benchmarks.encoder.asked import asked_rows, tasks
from benchmarks.encoder.records import tool_lines
from toolsearch.eval.qrels import QUERIES_FILE, TOOLS_FILE
from toolsearch.text.analysis.analyzer import han_share

NAME = "own_held_out"
REQUESTS, OTHERS = 244, 1_500
"""Requests beside the tasks, and tools beside theirs."""


def write_own(data: Path, folder: Path, *, seed: int) -> Path:
    """Write the data set below a folder and return where; its tools are those asked for and OTHERS more.

    Args:
        data: Data root, with the catalogues that our requests were written for.
        folder: Any folder.
        seed: Of the samples.
    """
    rng = random.Random(seed)
    rows = asked_rows()
    held = rng.sample([row for row in rows if row.held_out], REQUESTS)
    steps = [task for task in tasks() if task.held_out]
    asked = [(row.asks[at % 2], [row.key]) for at, row in enumerate(held)]
    asked += [(task.text, list(dict.fromkeys(task.keys))) for task in steps]
    wanted = {key for _, keys in asked for key in keys}
    wanted |= set(rng.sample(sorted({row.key for row in rows} - wanted), OTHERS))
    queries = [
        {
            "id": str(at),
            "query": text,
            "relevant": keys,
            "split": "dev",
            "kind": "multi" if len(keys) > 1 else "single",
            "lang": "zh" if han_share(text) > 0 else "en",
        }
        for at, (text, keys) in enumerate(asked)
    ]
    out = folder / NAME
    out.mkdir()
    _write(out / TOOLS_FILE, tool_lines(data, wanted))
    _write(out / QUERIES_FILE, queries)
    return out


def _write(path: Path, lines: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
