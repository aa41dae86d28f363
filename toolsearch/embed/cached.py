"""Encode each text once: document vectors by content hash, request vectors in a small memory."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from toolsearch.embed.protocol import Encoder, EncoderInfo, encode_request
from toolsearch.errors import RequestError

_BATCH = 128
"""Texts encoded between two calls of `store`: what a killed build loses at most."""

_Key = str | tuple[str, ...]
"""A text, or a request and its clauses."""


def text_key(text: str) -> str:
    """Return the key of a text in an embedding cache: the hex sha256 of its UTF-8 form."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def embed_documents_cached(
    encoder: Encoder,
    texts: Sequence[str],
    *,
    lookup: Callable[[Sequence[str]], Mapping[str, NDArray[np.float32]]],
    store: Callable[[Mapping[str, NDArray[np.float32]]], None],
    progress: Callable[[int, int], None] | None = None,
) -> NDArray[np.float32]:
    """Return float32[n, dim], the document vectors of the texts, encoding only what is new; equal texts once.

    Args:
        encoder: Encodes what is missing. The cache behind `lookup` and `store` must be of its `info.id`.
        texts: Texts in any order.
        lookup: Distinct keys (see `text_key`) -> float32[dim] of those that are known.
        store: Keeps new vectors; called after each batch, so that an interrupted build resumes there.
        progress: Called with (distinct texts done, distinct texts in all): at once, and after each batch.
    """
    dim = encoder.info.dim
    keys = [text_key(text) for text in texts]
    distinct = dict(zip(keys, texts, strict=True))
    # A damaged cache entry is as good as none.
    known = {
        key: vector for key, vector in lookup(list(distinct)).items() if key in distinct and vector.shape == (dim,)
    }
    # By length, because encoders run texts of one length together.
    missing = sorted((key for key in distinct if key not in known), key=lambda key: (len(distinct[key]), key))
    if progress is not None:
        progress(len(known), len(distinct))
    for start in range(0, len(missing), _BATCH):
        batch = missing[start : start + _BATCH]
        vectors = encoder.encode_documents([distinct[key] for key in batch])
        fresh = dict(zip(batch, vectors, strict=True))
        store(fresh)
        known.update(fresh)
        if progress is not None:
            progress(len(known), len(distinct))
    if not keys:
        return np.zeros((0, dim), dtype=np.float32)
    return np.stack([known[key] for key in keys]).astype(np.float32, copy=False)


class CachedQueries:
    """An encoder that remembers the vectors of the last requests. Safe to share between threads."""

    def __init__(self, encoder: Encoder, size: int = 1024) -> None:
        """Wrap an encoder.

        Args:
            encoder: Encodes what is not remembered.
            size: Request texts to remember, >= 1; at 384 dimensions a thousand take about 2 MB.

        Raises:
            RequestError: If `size` is below 1.
        """
        if size < 1:
            raise RequestError(f"size of the query cache is {size}; it must be 1 or more", field="size")
        self._encoder = encoder
        self._size = size
        self._vectors: OrderedDict[_Key, NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def info(self) -> EncoderInfo:
        """Return the identity of the wrapped encoder."""
        return self._encoder.info

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32[n, dim], unit rows, the same bytes as the wrapped encoder gives."""
        with self._lock:
            found = {text: self._vectors[text] for text in texts if text in self._vectors}
            for text in found:
                self._vectors.move_to_end(text)
        missing = list(dict.fromkeys(text for text in texts if text not in found))
        if missing:
            # Encoded outside the lock: two threads may do one text twice, but none waits for another's.
            fresh = dict(zip(missing, self._encoder.encode_queries(missing), strict=True))
            found |= fresh
            self._remember(fresh.items())
        if not texts:
            return np.zeros((0, self.info.dim), dtype=np.float32)
        return np.stack([found[text] for text in texts])

    def encode_request(self, text: str, clauses: Sequence[str]) -> NDArray[np.float32]:
        """Return float32[1 + n, dim], unit rows, of a request and its clauses: the bytes the wrapped encoder gives."""
        if not clauses:
            return self.encode_queries([text])
        key = (text, *clauses)
        with self._lock:
            if key in self._vectors:
                self._vectors.move_to_end(key)
                return self._vectors[key].copy()
        vectors = encode_request(self._encoder, text, clauses)
        self._remember([(key, vectors)])
        return vectors

    def encode_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return what the wrapped encoder returns; documents are cached elsewhere, by content hash."""
        return self._encoder.encode_documents(texts)

    def _remember(self, fresh: Iterable[tuple[_Key, NDArray[np.float32]]]) -> None:
        """Keep copies of the vectors, and forget the texts not asked for longest."""
        with self._lock:
            for key, vector in fresh:
                self._vectors[key] = vector.copy()  # a row would keep its whole batch alive
                self._vectors.move_to_end(key)
            while len(self._vectors) > self._size:
                self._vectors.popitem(last=False)
