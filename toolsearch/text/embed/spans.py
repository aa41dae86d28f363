"""Where the parts of a text stand among its tokens: what the vector of a part is taken from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def token_spans(text: str, parts: Sequence[str], *, offsets: Sequence[tuple[int, int]]) -> list[tuple[int, int] | None]:
    """Return for each part the tokens [first, last) that share a character with it.

    Args:
        text: The text as it was tokenised.
        parts: Pieces of it, in their order in the text; one that is not found after the one before gets None.
        offsets: Characters [start, end) of each token; special tokens have none.
    """
    spans: list[tuple[int, int] | None] = []
    after = 0
    for part in parts:
        start = text.find(part, after) if part else -1
        inside = [
            at
            for at, (left, right) in enumerate(offsets)
            if left < right and left < start + len(part) and right > start
        ]
        if start < 0 or not inside:
            spans.append(None)
            continue
        after = start + len(part)
        spans.append((inside[0], inside[-1] + 1))
    return spans


def mean_direction(tokens: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the unit vector along the mean of float32[tokens, dim]."""
    mean = tokens.mean(axis=0, dtype=np.float64)
    return np.asarray(mean / np.linalg.norm(mean), dtype=np.float32)
