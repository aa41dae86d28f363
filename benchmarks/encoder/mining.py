"""Hard negatives: batches made of tools that are easily taken for one another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def look_alike_groups(vectors: NDArray[np.float32], *, size: int, order: NDArray[np.int64]) -> list[list[int]]:
    """Return the rows in groups of at most `size`: a row, then the nearest to it that are still free.

    Args:
        vectors: float32[n, dim], unit rows.
        size: Rows a group.
        order: int64[n], in which order rows may start a group.
    """
    free = np.ones(len(vectors), dtype=np.bool_)
    groups: list[list[int]] = []
    for start in order.tolist():
        if not free[start]:
            continue
        cosines = np.where(free, vectors @ vectors[start], -2.0)
        cosines[start] = 2.0
        chosen = np.argsort(-cosines, kind="stable")[: min(size, int(free.sum()))]
        free[chosen] = False
        groups.append(chosen.tolist())
    return groups


def look_alike_order(vectors: NDArray[np.float32], *, size: int, seed: int) -> list[int]:
    """Return the rows reordered so that every run of `size` are look-alikes; groups come in a random order."""
    rng = np.random.default_rng(seed)
    groups = look_alike_groups(vectors, size=size, order=rng.permutation(len(vectors)))
    mixed = [groups[at] for at in rng.permutation(len(groups))]
    return [row for group in mixed for row in group]
