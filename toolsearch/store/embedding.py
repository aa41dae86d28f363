"""Embedding with the registry as cache: a text is encoded once, whatever happens in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from toolsearch.embed.protocol import Encoder
from toolsearch.store.embeddings import text_hash
from toolsearch.store.registry import Registry

BATCH = 256
"""Texts encoded between two commits: what a crash costs at most."""


def embed_cached(
    texts: Sequence[str],
    *,
    encoder: Encoder,
    registry: Registry,
    progress: Callable[[int, int], None] | None = None,
) -> NDArray[np.float32]:
    """Return the document vectors of texts, encoding only those the registry does not have.

    Args:
        texts: Any number, also repeated.
        encoder: Used for the missing ones; not touched when there are none.
        registry: Where vectors are looked up and kept; each batch of BATCH texts is committed.
        progress: Called with (texts done, all texts) after the look-up and after each batch.

    Returns:
        float32[len(texts), dim], unit rows in the order of the texts.
    """
    info = encoder.info
    hashes = [text_hash(text) for text in texts]
    vectors = registry.embeddings(info.id, hashes)
    missing = {key: text for key, text in zip(hashes, texts, strict=True) if key not in vectors}
    keys = list(missing)
    total = len(set(hashes))
    for start in range(0, len(keys) + 1, BATCH):
        if progress is not None:
            progress(len(vectors), total)
        batch = keys[start : start + BATCH]
        if batch:
            rows = encoder.encode_documents([missing[key] for key in batch])
            fresh = dict(zip(batch, rows, strict=True))
            registry.put_embeddings(info.id, fresh)
            vectors |= fresh
    if progress is not None and keys:
        progress(len(vectors), total)
    if not texts:
        return np.zeros((0, info.dim), dtype=np.float32)
    return np.stack([vectors[key] for key in hashes])
