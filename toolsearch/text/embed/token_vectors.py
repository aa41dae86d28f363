"""Token by token: from hidden states to the short int8 vectors that requests and tools are compared by.

One vector a text says what it is about and loses which words carried it. So each token of a request also looks for the
token of a tool that is most like it, and the weighted mean of what they find is a second score ("late interaction",
Khattab and Zaharia 2020, eq. 3, with learnt weights). Everything is an integer: products and sums are exact, in any
order and on any machine, so another tool in a batch moves no digit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from toolsearch.text.embed.products import product
from toolsearch.text.embed.protocol import TokenQuery

LEVELS: Final = 127
"""Largest magnitude of a number of a token vector."""

WEIGHT_LEVELS: Final = 1024


@dataclass(frozen=True, slots=True, eq=False)
class TokenHead:
    """Turns hidden states into token vectors.

    Attributes:
        vectors: float64[dim, token_width].
        weights: float64[dim + 1], of the importance of a token, the bias last.
    """

    vectors: NDArray[np.float64]
    weights: NDArray[np.float64]

    @classmethod
    def of(cls, matrix: NDArray[np.float32]) -> TokenHead:
        """Return the head that is stored as float32[dim + 1, token_width + 1]: the weights are the last column."""
        exact = matrix.astype(np.float64)
        return cls(np.ascontiguousarray(exact[:-1, :-1]), np.ascontiguousarray(exact[:, -1]))

    def directions(self, hidden: NDArray[np.float32]) -> NDArray[np.int8]:
        """Return int8[n, token_width], the directions of float32[n, dim] hidden states."""
        raw = product(hidden.astype(np.float64), self.vectors)
        length = np.maximum(np.linalg.norm(raw, axis=1, keepdims=True), 1e-9)
        return np.asarray(np.rint(raw / length * LEVELS), dtype=np.int8)

    def query(self, hidden: NDArray[np.float32]) -> TokenQuery:
        """Return float32[n, dim] hidden states of a request as its tokens look for their like."""
        raw = np.einsum("ij,j->i", hidden.astype(np.float64), self.weights[:-1]) + self.weights[-1]
        weights = np.rint(np.logaddexp(0.0, raw) * WEIGHT_LEVELS).astype(np.int64)
        return TokenQuery(self.directions(hidden), np.maximum(weights, 1))
