"""The process that test_crash kills: it commits generation after generation until it dies."""

import hashlib
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from toolsearch.model.contract import ToolContract, ToolRef
from toolsearch.model.errors import IndexMissing
from toolsearch.model.limits import Bm25Parameters
from toolsearch.search.index.folder import read_snapshot, write_snapshot
from toolsearch.search.index.snapshot import build_snapshot
from toolsearch.store.registry import Registry
from toolsearch.text.embed.protocol import EncoderInfo

DIM = 8
NAMES = ("t0", "t1", "t2", "t3", "t4")
INFO = EncoderInfo(id="letters@1", dim=DIM, sha256="0" * 64, scripts=("any",), cosine_floor=0.0, cosine_ceiling=1.0)
T0 = datetime(2026, 1, 1, tzinfo=UTC)


def state(generation):
    """Return the contracts of a generation; every generation has others."""
    return tuple(
        ToolContract.model_validate(
            {
                "identity": {"name": name, "server": "s"},
                "capability": {"does": f"generation {generation} of {name}", "examples": ["x", f"{generation}"]},
            }
        )
        for name in NAMES[: generation % (len(NAMES) + 1)]
    )


def embed(texts):
    rows = [np.frombuffer(hashlib.sha256(text.encode()).digest()[:DIM], np.uint8) for text in texts]
    matrix = np.array(rows, dtype=np.float32) + 1.0
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def commit(registry, root, *, previous):
    """Make the next generation durable, as the engine does: registry first, then the snapshot."""
    contracts = state(registry.generation + 1)
    present = {contract.ref for contract in contracts}
    gone = [ref for ref in (ToolRef("s", name, 1) for name in NAMES) if ref not in present]
    changes = registry.apply(contracts, gone, at=T0)
    snapshot = build_snapshot(
        contracts,
        generation=changes.generation,
        encoder=INFO,
        embed=embed,
        parameters=Bm25Parameters(),
        previous=previous,
    )
    write_snapshot(snapshot, root)
    return snapshot


def write_forever(folder, opened, checkpoint_often):
    """Open the index, say so into the pipe, and commit until killed."""
    root = Path(folder)
    registry = Registry.open(root / "registry.duckdb")
    if checkpoint_often:
        # By default the log is folded into the file every 16 MB, which the tiny states here never reach.
        with registry._database.reading() as connection:
            connection.execute("SET checkpoint_threshold = '1KB'")
    opened.send(True)
    try:
        snapshot = read_snapshot(root, encoder=INFO)
    except IndexMissing:
        snapshot = None
    while True:
        snapshot = commit(registry, root, previous=snapshot)
