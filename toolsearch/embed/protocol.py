"""What an encoder is: an identity, and two functions from texts to unit vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

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
        need: dim weights and a bias: log odds that a request with a vector asks for a tool at all; () = not known.
    """

    id: str
    dim: int
    sha256: str
    scripts: tuple[str, ...]
    cosine_floor: float
    cosine_ceiling: float
    need: tuple[float, ...] = ()


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


@runtime_checkable
class RequestEncoder(Protocol):
    """An encoder that reads a request and its clauses in one pass."""

    def encode_request(self, text: str, clauses: Sequence[str]) -> NDArray[np.float32]:
        """Return float32[1 + n, dim], unit rows: of the text, as `encode_queries` gives it, then of its clauses."""
        ...


def encode_request(encoder: Encoder, text: str, clauses: Sequence[str]) -> NDArray[np.float32]:
    """Return float32[1 + n, dim], unit rows, of a request and its clauses: in one pass where the encoder can."""
    if clauses and isinstance(encoder, RequestEncoder):
        return encoder.encode_request(text, clauses)
    return encoder.encode_queries([text, *clauses])
