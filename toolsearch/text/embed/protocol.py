"""What an encoder is: an identity, and functions from texts to unit vectors; of some, to those of their tokens too."""

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
        token_width: Length of the vector of a token; 0 = the encoder gives none.
        token_floor: Token by token, the score that unrelated texts reach: calibrated similarity 0.
        token_ceiling: That of a clear match: calibrated similarity 1.
    """

    id: str
    dim: int
    sha256: str
    scripts: tuple[str, ...]
    cosine_floor: float
    cosine_ceiling: float
    need: tuple[float, ...] = ()
    token_width: int = 0
    token_floor: float = 0.0
    token_ceiling: float = 1.0


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


@dataclass(frozen=True, slots=True, eq=False)
class TokenQuery:
    """The tokens of a request, or of a part of it, as they look for their like among the tokens of tools.

    Attributes:
        rows: int8[n, token_width], directions in levels of 1/127.
        weights: int64[n], how much each counts, in levels of 1/1024, above 0.
        start: Of a part read with its request: which token of that is its first; None = read by itself.
    """

    rows: NDArray[np.int8]
    weights: NDArray[np.int64]
    start: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class TextVectors:
    """What an encoder makes of one text.

    Attributes:
        vector: float32[dim], unit length.
        tokens: int8[n, token_width], the directions of its tokens in levels of 1/127.
    """

    vector: NDArray[np.float32]
    tokens: NDArray[np.int8]


@dataclass(frozen=True, slots=True, eq=False)
class RequestVectors:
    """What an encoder makes of a request and its clauses.

    Attributes:
        rows: float32[1 + n, dim], unit rows: of the text, as `encode_queries` gives it, then of its clauses.
        tokens: Of the same texts; None where the encoder has no tokens.
    """

    rows: NDArray[np.float32]
    tokens: tuple[TokenQuery | None, ...]


@runtime_checkable
class TokenEncoder(Protocol):
    """An encoder that reads a request and its clauses in one pass, and compares texts token by token as well."""

    def encode_request(self, text: str, clauses: Sequence[str]) -> RequestVectors:
        """Return the vectors of a request and its clauses."""
        ...

    def encode_tokens(self, texts: Sequence[str]) -> list[TextVectors]:
        """Return for each tool text its vector, as `encode_documents` gives it, and its tokens."""
        ...


def encode_request(encoder: Encoder, text: str, clauses: Sequence[str]) -> RequestVectors:
    """Return the vectors of a request and its clauses: in one pass, and with tokens, where the encoder has them."""
    if isinstance(encoder, TokenEncoder):
        return encoder.encode_request(text, clauses)
    rows = encoder.encode_queries([text, *clauses])
    return RequestVectors(rows, (None,) * len(rows))


def encode_tokens(encoder: Encoder, texts: Sequence[str]) -> list[TextVectors]:
    """Return the vector and the tokens of each tool text; of an encoder without tokens, none."""
    if isinstance(encoder, TokenEncoder):
        return encoder.encode_tokens(texts)
    none = np.zeros((0, encoder.info.token_width), dtype=np.int8)
    return [TextVectors(vector, none) for vector in encoder.encode_documents(texts)]
