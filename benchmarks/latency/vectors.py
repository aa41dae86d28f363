"""Document vectors of large catalogues, computed once and kept outside the repository with the time each took."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.encoding import CachedEncoder
from toolsearch.embed.cached import text_key
from toolsearch.embed.protocol import Encoder


def cache_folder() -> Path:
    """Return TOOLSEARCH_CACHE, or a folder of ours in the cache folder of the platform."""
    named = os.environ.get("TOOLSEARCH_CACHE")
    if named:
        return Path(named)
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "toolsearch"
    base = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
    return (Path(base) if base else home / ".cache") / "toolsearch"


def document_vectors(encoder: Encoder, texts: Sequence[str]) -> tuple[dict[str, NDArray[np.float32]], float]:
    """Return cache key -> vector of each text, and the seconds that encoding them takes, whenever that was."""
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    info = encoder.info
    path = folder / "document-vectors.sqlite"
    cached = CachedEncoder(encoder.encode_documents, name=f"{info.id} {info.sha256}", dim=info.dim, path=path)
    found: dict[str, NDArray[np.float32]] = {}
    for start in range(0, len(texts), 500):
        part = texts[start : start + 500]
        found.update(zip(map(text_key, part), cached(part), strict=True))
    return found, cached.cost_s
