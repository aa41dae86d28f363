"""What a reranker is: an identity, and one function from a request and texts to numbers. And rerankers by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from toolsearch.model.errors import RequestError

RERANKER_NAMES: tuple[str, ...] = ("st:<folder or hub name>",)
"""What `load_reranker` takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankerInfo:
    """Identity of a reranker.

    Attributes:
        id: Stable name with version; reasons name it.
        sha256: Hex digest of the weights; of the algorithm's name where there are none.
    """

    id: str
    sha256: str


class Reranker(Protocol):
    """Reads a request and a text together. The same pair always gives the same number, alone or among others."""

    @property
    def info(self) -> RerankerInfo:
        """Return the identity."""
        ...

    def score(self, request: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return float64[n] in [0, 1]: 0 where a text does not fit the request at all, 1 where it surely does.

        Called from several threads at once.
        """
        ...


def load_reranker(name: str) -> Reranker:
    """Return the reranker of that name. Its model is loaded when it is first asked.

    Args:
        name: `st:` followed by a local folder or a hub name of a cross-encoder that sentence-transformers can load.
            Only a hub name that is not in the local cache uses the network.

    Raises:
        RequestError: If there is no reranker of that name.
    """
    kind, _, model = name.partition(":")
    if kind == "st" and model.strip():
        from toolsearch.text.embed.cross_encoder import CrossEncoderReranker

        return CrossEncoderReranker(model.strip())
    raise RequestError(f"no reranker {name!r}; known: {', '.join(RERANKER_NAMES)}", field="reranker")
