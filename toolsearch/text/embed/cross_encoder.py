"""Any cross-encoder that sentence-transformers can load, from a local folder or by hub name. Needs the [st] extra.

The model is loaded when it is first asked, which takes seconds. Pairs are read one at a time, because padding and other
batch shapes would make the last bits of a number depend on its neighbours. When the network is used stands in `hub`.

Models differ in what their logits mean: some give 8 to a right answer and -11 to a wrong one, others 1 and -2. So a few
fixed pairs are read first. With `floor` the median logit of unrelated pairs, and `ceiling` that of right ones, or what
one unrelated pair in twenty reaches if that is more,

    score = 1 / (1 + exp(-(6 (logit - floor) / (ceiling - floor) - 3)))

which is 0.05 at the floor and 0.95 at the ceiling.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolsearch.model.errors import IndexStateError, MissingExtraError
from toolsearch.text.embed.hub import loading, model_folder, model_id, weights_digest
from toolsearch.text.embed.reranking import RerankerInfo
from toolsearch.text.embed.sentence_transformers import PROBE

MAX_TOKENS = 512
"""Tokens of a pair that are read at most: the time of a pair grows with them."""

UNRELATED = (1, 5, 7)
"""How many places on in PROBE the unrelated tools stand that each request is read with."""

LEAST_SPAN = 1.0
"""Logits between floor and ceiling at least: nearer to each other, they are noise."""


class CrossEncoderReranker:
    """A CrossEncoder on the CPU, with one number for each pair. Safe to share between threads: one reads at a time."""

    def __init__(self, model: str | Path) -> None:
        """Remember the model; nothing is loaded yet.

        Args:
            model: A local folder, or a hub name such as `cross-encoder/ms-marco-MiniLM-L6-v2`.
        """
        self._name = str(model)
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None

    @property
    def info(self) -> RerankerInfo:
        """Return the identity, which needs the weights.

        Raises:
            MissingExtraError: If sentence-transformers or torch is not installed.
            IndexStateError: If there is no such model, it gives no single number, or the hub is out of reach.
        """
        with self._lock:
            return self._load().info

    def score(self, request: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return float64[n] in [0, 1]; raises as `info` does."""
        with self._lock:
            loaded = self._load()
            logits = loaded.logits([(request, text) for text in texts])
        return squashed(logits, floor=loaded.floor, ceiling=loaded.ceiling)

    def _load(self) -> _Loaded:
        if self._loaded is None:
            self._loaded = _load(self._name)
        return self._loaded


def squashed(logits: NDArray[np.float64], *, floor: float, ceiling: float) -> NDArray[np.float64]:
    """Return float64[n] in [0, 1], 0.05 at the floor and 0.95 at the ceiling; rises with the logit."""
    steps = 6.0 * (logits - floor) / max(ceiling - floor, LEAST_SPAN) - 3.0
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(steps, -50.0, 50.0))), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loaded:
    """A model, and the logits that unrelated and right pairs get."""

    info: RerankerInfo
    model: Any
    floor: float = 0.0
    ceiling: float = 0.0

    def logits(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Return float64[n]."""
        if not pairs:
            return np.zeros(0, dtype=np.float64)
        # A lone surrogate, which JSON can smuggle in, has no UTF-8 form and would be refused.
        clean = [tuple(text.encode("utf-8", "replace").decode("utf-8") for text in pair) for pair in pairs]
        found = self.model.predict(
            clean, batch_size=1, activation_fn=lambda logits: logits, convert_to_numpy=True, show_progress_bar=False
        )
        return np.asarray(found, dtype=np.float64).reshape(len(pairs))


def _load(name: str) -> _Loaded:
    try:
        from sentence_transformers import CrossEncoder
    except ImportError as error:
        raise MissingExtraError(package="sentence-transformers", extra="st") from error
    with loading(name, kind="cross-encoder"):
        folder = model_folder(name)
        model = CrossEncoder(str(folder), device="cpu", local_files_only=True)
    if model.num_labels != 1:
        raise IndexStateError(
            f"model {name!r} gives {model.num_labels} numbers for a pair: name a cross-encoder that gives one",
            found=name,
        )
    model.max_seq_length = min(model.max_seq_length or MAX_TOKENS, MAX_TOKENS)
    digest = weights_digest(folder)
    info = RerankerInfo(id=model_id(name, folder=folder, digest=digest), sha256=digest)
    plain = _Loaded(info=info, model=model)
    floor, ceiling = _measured(plain)
    return _Loaded(info=info, model=model, floor=floor, ceiling=ceiling)


def _measured(loaded: _Loaded) -> tuple[float, float]:
    """Return the floor and the ceiling."""
    pairs = [
        (request, PROBE[(at + step) % len(PROBE)][1]) for at, (request, _) in enumerate(PROBE) for step in UNRELATED
    ]
    right, wrong = loaded.logits(PROBE), loaded.logits(pairs)
    ceiling = max(float(np.median(right)), float(np.quantile(wrong, 0.95)))
    return round(float(np.median(wrong)), 2), round(ceiling, 2)
