"""Matrix products that stay on the calling thread.

OpenBLAS wakes its threads for products of more than 2**18 multiplications, and they spin for milliseconds after it,
on the very cores that onnxruntime wants next: a search took twice as long. Ours are far too small to gain from threads.
"""

from __future__ import annotations

from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

_Float = TypeVar("_Float", np.float32, np.float64)

MOST: Final = 2**18
"""Multiplications up to which OpenBLAS uses one thread (its GEMM_MULTITHREAD_THRESHOLD of 4, times 65,536)."""


def product(left: NDArray[_Float], right: NDArray[_Float]) -> NDArray[_Float]:
    """Return left @ right of float[n, k] and float[k, m], in blocks of columns that one thread multiplies."""
    width = max(1, MOST // max(1, left.shape[0] * left.shape[1]))
    made = np.empty((left.shape[0], right.shape[1]), dtype=left.dtype)
    for start in range(0, right.shape[1], width):
        np.matmul(left, right[:, start : start + width], out=made[:, start : start + width])
    return made
