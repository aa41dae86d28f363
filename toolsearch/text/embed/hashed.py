"""Vectors without a model: words and character n-grams, hashed into a fixed number of dimensions.

It knows spelling, not meaning: `orders` is near `order` and far from `purchases`. It exists so that everything runs
where no model may be installed, and for tests. Feature hashing with signs: Weinberger et al., ICML 2009, section 2.
"""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from toolsearch.text.embed.protocol import EncoderInfo

_DIM = 512
_ID = f"hashed-{_DIM}@1.0.0"

_MAX_CHARACTERS = 20_000
"""Longer texts are cut, so that no text costs more than a few milliseconds."""

_INFO = EncoderInfo(
    id=_ID,
    dim=_DIM,
    sha256=hashlib.sha256(_ID.encode()).hexdigest(),
    scripts=("any",),
    cosine_floor=0.10,
    cosine_ceiling=0.45,
)

_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Kana and Han: scripts that put no spaces between words."""

_PIECES = re.compile(rf"[{_UNSPACED}]+|\d+|[^\W\d_{_UNSPACED}]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_UNSPACED_RUN = re.compile(rf"[{_UNSPACED}]")


class HashedEncoder:
    """Counts spelling features of a text; not a semantic model. Requests and tools are encoded alike."""

    @property
    def info(self) -> EncoderInfo:
        """Return the identity; its `sha256` is that of the algorithm's name."""
        return _INFO

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32[n, 512], unit rows."""
        return self.encode_documents(texts)

    def encode_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32[n, 512], unit rows."""
        vectors = np.zeros((len(texts), _DIM), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = _unit_vector(text)
        return vectors


def _unit_vector(text: str) -> NDArray[np.float64]:
    """Return float64[512]: the signed sum of the features of all pieces, each piece damped by its count."""
    total = np.zeros(_DIM)
    for piece, count in Counter(_pieces(text)).items():
        places, values = _features(piece)
        np.add.at(total, places, (1.0 + math.log(count)) * values)
    norm = float(np.linalg.norm(total))
    if norm == 0.0:
        # No letter or digit at all. The protocol asks for a unit vector, and one place is as good as another.
        total[0] = norm = 1.0
    unit: NDArray[np.float64] = total / norm
    return unit


def _pieces(text: str) -> Iterator[str]:
    """Yield words and numbers in lower case, identifiers split, and runs of Han or Kana whole."""
    split = _HUMP.sub(" ", unicodedata.normalize("NFKC", text[:_MAX_CHARACTERS]))
    return (match.group().casefold() for match in _PIECES.finditer(split))


@lru_cache(maxsize=1 << 16)
def _features(piece: str) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return where the features of a piece lie and their signed weights; together they have length about 1."""
    if _UNSPACED_RUN.match(piece):
        # Two characters are the usual word; single ones bridge runs that are cut differently.
        grams = [piece[start : start + 2] for start in range(len(piece) - 1)]
        weighted = [(gram, 1.0) for gram in grams] + [(character, 0.5) for character in piece]
    else:
        edged = f"<{piece}>"
        grams = [edged[start : start + size] for size in (3, 4) for start in range(len(edged) - size + 1)]
        share = 0.8 / math.sqrt(max(1, len(grams)))
        weighted = [(edged, 1.0), *((gram, share) for gram in grams if gram != edged)]
    hashes = [_hash(feature) for feature, _ in weighted]
    places = np.array([value % _DIM for value in hashes], dtype=np.intp)
    signs = np.array([1.0 if value & (1 << 40) else -1.0 for value in hashes])
    return places, signs * np.array([weight for _, weight in weighted])


def _hash(feature: str) -> int:
    """Return 64 bits that are the same in every process, unlike those of Python's hash."""
    return int.from_bytes(hashlib.blake2b(feature.encode("utf-8", "replace"), digest_size=8).digest(), "little")
