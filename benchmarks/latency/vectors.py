"""Document vectors of large catalogues, computed once and kept outside the repository with the time each took."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.encoding import CachedEncoder
from toolsearch.text.embed.protocol import (
    Encoder,
    EncoderInfo,
    RequestVectors,
    TextVectors,
    encode_request,
    encode_tokens,
)


def cache_folder() -> Path:
    """Return TOOLSEARCH_CACHE, or a folder of ours in the cache folder of the platform."""
    named = os.environ.get("TOOLSEARCH_CACHE")
    if named:
        return Path(named)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "toolsearch"
    base = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "toolsearch"


class RememberingEncoder:
    """An encoder whose document vectors stay in a file, unless they come with tokens.

    Requests are encoded every time: that is what is measured.
    """

    def __init__(self, encoder: Encoder) -> None:
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        self._encoder, info = encoder, encoder.info
        self._direct_s = 0.0
        self._cached = CachedEncoder(
            encoder.encode_documents,
            name=f"{info.id} {info.sha256}",
            dim=info.dim,
            path=folder / "document-vectors.sqlite",
        )

    @property
    def info(self) -> EncoderInfo:
        """Return the identity of the encoder."""
        return self._encoder.info

    @property
    def cost_s(self) -> float:
        """Return the seconds that encoding the documents takes, whenever it was done."""
        return self._cached.cost_s + self._direct_s

    @property
    def spent_s(self) -> float:
        """Return the seconds that passed here for documents."""
        return self._cached.spent_s + self._direct_s

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32[n, dim], unit rows."""
        return self._encoder.encode_queries(texts)

    def encode_request(self, text: str, clauses: Sequence[str]) -> RequestVectors:
        """Return the vectors of a request and its clauses."""
        return encode_request(self._encoder, text, clauses)

    def encode_tokens(self, texts: Sequence[str]) -> list[TextVectors]:
        """Return vectors and tokens of tool texts, encoded every time."""
        started = time.perf_counter()
        found = encode_tokens(self._encoder, texts)
        self._direct_s += time.perf_counter() - started
        return found

    def encode_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32[n, dim], unit rows; only new texts are encoded."""
        return self._cached(texts)
