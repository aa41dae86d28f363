"""What an encoder is: an identity, and two functions from texts to unit vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderInfo:
    """Identity of an encoder; what a snapshot remembers of it.

    Attributes:
        id: Stable name with version, e.g. `minilm-int8@1.0.0`. Vectors are cached under it.
        dim: Length of a vector.
        sha256: Hex digest of the weights; of the algorithm's name where there are none.
        scripts: Scripts it understands: `latin`, `han`, or `any`. For other text the vector lane abstains.
        cosine_floor: Cosine that unrelated texts reach: calibrated similarity 0.
        cosine_ceiling: Cosine of a clear match: calibrated similarity 1.
    """

    id: str
    dim: int
    sha256: str
    scripts: tuple[str, ...]
    cosine_floor: float
    cosine_ceiling: float


class Encoder(Protocol):
    """Text -> unit vectors. The same text always gives the same bytes, alone or in a batch."""

    @property
    def info(self) -> EncoderInfo:
        """Return the identity; must not load weights."""
        ...

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32[n, dim], unit rows, for requests; float32[0, dim] for no text."""
        ...

    def encode_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32[n, dim], unit rows, for tool texts and example requests."""
        ...
