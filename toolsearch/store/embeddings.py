"""The embedding cache: vectors by encoder and by sha256 of the text they were made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from toolsearch.model.errors import EncoderMismatch
from toolsearch.store.database import Connection, insert, relation, scalar


def cached_vectors(connection: Connection, *, encoder_id: str, hashes: Iterable[str]) -> dict[str, NDArray[np.float32]]:
    """Return hash -> float32[dim] of those given hashes that are cached; the vectors are read-only."""
    wanted = list(dict.fromkeys(hashes))
    if not wanted:
        return {}
    with relation(connection, {"hash": wanted}) as given:
        rows = connection.execute(
            f"SELECT hash, vector FROM embeddings SEMI JOIN {given} USING (hash) WHERE encoder_id = ?",
            [encoder_id],
        ).fetchall()
    return {key: np.frombuffer(vector, dtype="<f4") for key, vector in rows}


def cache_vectors(
    connection: Connection, *, encoder_id: str, vectors: Mapping[str, NDArray[np.float32]], one_length: bool = True
) -> None:
    """Add hash -> float32[n]; a hash that is there keeps its vector, as the same text gives the same one.

    Raises:
        EncoderMismatch: If the vectors differ in length, unless that is as it should be.
    """
    lengths = {vector.shape for vector in vectors.values()}
    if (one_length and len(lengths) > 1) or any(len(shape) != 1 for shape in lengths):
        raise EncoderMismatch(
            f"vectors of {encoder_id} have shapes {sorted(lengths)[:3]}; give vectors of one length",
            found=encoder_id,
        )
    known = cached_hashes(connection, encoder_id=encoder_id, hashes=vectors)
    new = [key for key in vectors if key not in known]
    insert(
        connection,
        "embeddings",
        {
            "encoder_id": [encoder_id] * len(new),
            "hash": new,
            "vector": [np.ascontiguousarray(vectors[key], dtype="<f4").tobytes() for key in new],
        },
    )


def cached_hashes(connection: Connection, *, encoder_id: str, hashes: Iterable[str]) -> set[str]:
    """Return those given hashes that are cached."""
    wanted = list(hashes)
    if not wanted:
        return set()
    with relation(connection, {"hash": wanted}) as given:
        rows = connection.execute(
            f"SELECT hash FROM embeddings SEMI JOIN {given} USING (hash) WHERE encoder_id = ?", [encoder_id]
        ).fetchall()
    return {row[0] for row in rows}


def drop_vectors(connection: Connection, *, except_encoder_id: str) -> int:
    """Delete the vectors of all other encoders; return how many there were."""
    return int(scalar(connection, "DELETE FROM embeddings WHERE encoder_id <> ?", [except_encoder_id]))
