"""Encode each text once: document vectors by content hash, request vectors in a small memory."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from toolsearch.model.errors import RequestError
from toolsearch.text.embed.protocol import (
    Encoder,
    EncoderInfo,
    RequestVectors,
    TextVectors,
    encode_request,
    encode_tokens,
)

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

_BATCH = 128
"""Texts encoded between two calls of `store`: what a killed build loses at most."""


def text_key(text: str) -> str:
    """Return the key of a text in an embedding cache: the hex sha256 of its UTF-8 form."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


Lookup = Callable[[Sequence[str]], Mapping[str, NDArray[np.float32]]]
"""Distinct keys (see `text_key`) -> float32[n] of those that are known."""

Store = Callable[[Mapping[str, NDArray[np.float32]]], None]
"""Keeps new values; called after each batch, so that an interrupted build resumes there."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenCache:
    """Where the tokens of some texts are kept: as float32[n], four levels to a number, bit for bit.

    Attributes:
        texts: Those whose tokens are wanted.
        lookup: As for vectors.
        store: As for vectors.
    """

    texts: Collection[str]
    lookup: Lookup
    store: Store


def embed_documents_cached(
    encoder: Encoder,
    texts: Sequence[str],
    *,
    lookup: Lookup,
    store: Store,
    tokens: TokenCache | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> NDArray[np.float32]:
    """Return float32[n, dim], the document vectors of the texts, encoding only what is new; equal texts once.

    Args:
        encoder: Encodes what is missing. The cache behind `lookup` and `store` must be of its `info.id`.
        texts: Texts in any order.
        lookup: Of vectors.
        store: Of vectors.
        tokens: Which of the texts are to have their tokens cached too; None = none.
        progress: Called with (distinct texts done, distinct texts in all): at once, and after each batch.
    """
    dim = encoder.info.dim
    keys = [text_key(text) for text in texts]
    distinct = dict(zip(keys, texts, strict=True))
    # A damaged cache entry is as good as none.
    known = {
        key: vector for key, vector in lookup(list(distinct)).items() if key in distinct and vector.shape == (dim,)
    }
    lacking: set[str] = set()
    if tokens is not None:
        wanted = [key for key, text in distinct.items() if text in tokens.texts]
        lacking = set(wanted) - cached_tokens(tokens.lookup, wanted, width=encoder.info.token_width).keys()
    # By length, because encoders run texts of one length together.
    missing = sorted((lacking | distinct.keys()) - (known.keys() - lacking), key=lambda key: (len(distinct[key]), key))
    if progress is not None:
        progress(len(distinct) - len(missing), len(distinct))
    for start in range(0, len(missing), _BATCH):
        batch = missing[start : start + _BATCH]
        fresh = _encoded(encoder, {key: distinct[key] for key in batch}, lacking=lacking, tokens=tokens)
        store(fresh)
        known.update(fresh)
        if progress is not None:
            progress(len(distinct) - len(missing) + start + len(batch), len(distinct))
    if not keys:
        return np.zeros((0, dim), dtype=np.float32)
    return np.stack([known[key] for key in keys]).astype(np.float32, copy=False)


def _encoded(
    encoder: Encoder, texts: Mapping[str, str], *, lacking: Set[str], tokens: TokenCache | None
) -> dict[str, NDArray[np.float32]]:
    """Return key -> vector, and keep the tokens of those that lack them: before the vector, which says all is there."""
    if tokens is None or lacking.isdisjoint(texts):
        return dict(zip(texts, encoder.encode_documents(list(texts.values())), strict=True))
    read = dict(zip(texts, encode_tokens(encoder, list(texts.values())), strict=True))
    tokens.store({key: packed(one.tokens) for key, one in read.items() if key in lacking})
    return {key: one.vector for key, one in read.items()}


def packed(tokens: NDArray[np.int8]) -> NDArray[np.float32]:
    """Return int8[n, width] tokens, width a multiple of four, as float32[n * width / 4] of the same bytes."""
    return np.ascontiguousarray(tokens).reshape(-1).view(np.float32)


def cached_tokens(lookup: Lookup, keys: Sequence[str], *, width: int) -> dict[str, NDArray[np.int8]]:
    """Return key -> int8[n, width] of the tokens that are known; a damaged entry is as good as none."""
    return {
        key: np.ascontiguousarray(values).view(np.int8).reshape(-1, width)
        for key, values in lookup(keys).items()
        if values.size and 4 * values.size % width == 0
    }


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
        self._vectors: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._requests: OrderedDict[tuple[str, ...], RequestVectors] = OrderedDict()
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
            # A row would keep its whole batch alive.
            self._remember(self._vectors, {text: vector.copy() for text, vector in fresh.items()})
        if not texts:
            return np.zeros((0, self.info.dim), dtype=np.float32)
        return np.stack([found[text] for text in texts])

    def encode_request(self, text: str, clauses: Sequence[str]) -> RequestVectors:
        """Return the vectors of a request and its clauses: the bytes the wrapped encoder gives."""
        key = (text, *clauses)
        with self._lock:
            if key in self._requests:
                self._requests.move_to_end(key)
                return self._requests[key]
        vectors = encode_request(self._encoder, text, clauses)
        vectors.rows.flags.writeable = False
        self._remember(self._requests, {key: vectors})
        return vectors

    def encode_tokens(self, texts: Sequence[str]) -> list[TextVectors]:
        """Return what the wrapped encoder returns; documents are cached elsewhere, by content hash."""
        return encode_tokens(self._encoder, texts)

    def encode_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return what the wrapped encoder returns; documents are cached elsewhere, by content hash."""
        return self._encoder.encode_documents(texts)

    def _remember(self, memory: OrderedDict[_Key, _Value], fresh: Mapping[_Key, _Value]) -> None:
        """Keep what is new, and forget what was not asked for longest."""
        with self._lock:
            for key, value in fresh.items():
                memory[key] = value
                memory.move_to_end(key)
            while len(memory) > self._size:
                memory.popitem(last=False)
