"""The encoder that every peer which takes one is given, and the time it costs.

A vector is computed once for all peers and kept in a file together with the time it took, so that each peer gets the
same bytes, and the cost of encoding can be told apart from the peer's own work however often the benchmark runs.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Encode = Callable[[Sequence[str]], Vectors]

_AT_ONCE = 500
"""Keys asked for in one statement, below every limit of SQLite."""

_SAVED_AT_ONCE = 50


class Embed(Protocol):
    """What an adapter gets: texts -> float32[n, dim], unit rows."""

    dim: int

    def __call__(self, texts: Sequence[str], /) -> Vectors:
        """Return one unit row a text."""
        ...


class CachedEncoder:
    """An encoder with a memory on disk and a clock.

    Attributes:
        dim: Length of a vector.
        cost_s: Seconds that encoding the texts asked for so far takes, wherever they came from.
        spent_s: Seconds that passed in here so far.
        spent_cpu_s: Processor seconds of them.
    """

    def __init__(self, encode: Encode, *, name: str, dim: int, path: Path) -> None:
        self.dim = dim
        self.cost_s = 0.0
        self.spent_s = 0.0
        self.spent_cpu_s = 0.0
        self._encode = encode
        self._name = name
        # Some peers encode in threads of their own; one at a time may use the file.
        self._lock = threading.Lock()
        self._file = sqlite3.connect(path, timeout=60, check_same_thread=False)
        self._file.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB, seconds REAL)")

    def __call__(self, texts: Sequence[str], /) -> Vectors:
        """Return float32[n, dim]; texts that the file does not have are encoded and added."""
        with self._lock:
            return self._vectors(texts)

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        started, started_cpu = time.perf_counter(), time.process_time()
        keys = [hashlib.sha256(f"{self._name}\0{text}".encode("utf-8", "replace")).digest() for text in texts]
        known = self._known(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            known.update(self._computed(missing))
        self.cost_s += sum(known[key][1] for key in dict.fromkeys(keys))
        rows = np.array([known[key][0] for key in keys], dtype=np.float32).reshape(len(keys), self.dim)
        self.spent_s += time.perf_counter() - started
        self.spent_cpu_s += time.process_time() - started_cpu
        return rows

    def _known(self, keys: Sequence[bytes]) -> dict[bytes, tuple[Vectors, float]]:
        found: dict[bytes, tuple[Vectors, float]] = {}
        for start in range(0, len(keys), _AT_ONCE):
            part = keys[start : start + _AT_ONCE]
            marks = ", ".join("?" * len(part))
            query = f"SELECT key, vector, seconds FROM vectors WHERE key IN ({marks})"
            rows = self._file.execute(query, part)
            found.update({key: (np.frombuffer(vector, np.float32), seconds) for key, vector, seconds in rows})
        return found

    def _computed(self, missing: dict[bytes, str]) -> dict[bytes, tuple[Vectors, float]]:
        # One by one: the encoder does no faster in batches, and the time of each text is then its own.
        fresh: dict[bytes, tuple[Vectors, float]] = {}
        unsaved: list[tuple[bytes, bytes, float]] = []
        for key, text in missing.items():
            started = time.perf_counter()
            vector = self._encode([text])[0]
            fresh[key] = (vector, time.perf_counter() - started)
            unsaved.append((key, vector.tobytes(), fresh[key][1]))
            # Now and then, so that a run that is ended early has not encoded in vain.
            if len(unsaved) == _SAVED_AT_ONCE or len(fresh) == len(missing):
                with self._file:
                    self._file.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", unsaved)
                unsaved = []
        return fresh


class RandomEncoder:
    """Random unit vectors that depend on the text alone: for measuring time and memory, where values do not matter.

    Attributes:
        dim: Length of a vector.
        cost_s: Always 0: nothing is encoded.
        spent_s: Seconds that passed in here so far.
        spent_cpu_s: Processor seconds of them.
    """

    def __init__(self, dim: int = 384) -> None:
        self.dim = dim
        self.cost_s = 0.0
        self.spent_s = 0.0
        self.spent_cpu_s = 0.0

    def __call__(self, texts: Sequence[str], /) -> Vectors:
        """Return float32[n, dim]."""
        started, started_cpu = time.perf_counter(), time.process_time()
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            digest = hashlib.sha256(text.encode("utf-8", "replace")).digest()
            row[:] = np.random.default_rng(int.from_bytes(digest[:8])).standard_normal(self.dim)
        unit: Vectors = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
        self.spent_s += time.perf_counter() - started
        self.spent_cpu_s += time.process_time() - started_cpu
        return unit


def load_encoder(name: str, *, cache: Path) -> CachedEncoder | RandomEncoder:
    """Return the encoder `minilm` (toolsearch's default) or `random`."""
    if name == "random":
        return RandomEncoder()
    if name != "minilm":
        raise ValueError(f"encoder {name!r} is not one of minilm, random")
    from toolsearch.text.embed.onnx import minilm

    encoder = minilm()
    return CachedEncoder(encoder.encode_documents, name=encoder.info.id, dim=encoder.info.dim, path=cache)
