"""Encoders by name, as they are written in a command or a configuration."""

from __future__ import annotations

from toolsearch.model.errors import RequestError
from toolsearch.text.embed.protocol import Encoder

ENCODER_NAMES: tuple[str, ...] = ("bundled", "minilm", "hashed", "st:<folder or hub name>")
"""What `load_encoder` takes; the first is the default."""


def load_encoder(name: str) -> Encoder:
    """Return the encoder of that name.

    Args:
        name: `bundled` (our own, fitted for tools, Chinese and English), `minilm` (English only), `hashed` (no model,
            no semantics), or `st:` followed by a local folder or a hub name that sentence-transformers can load. Only
            a hub name that is not in the local cache uses the network.

    Raises:
        RequestError: If there is no encoder of that name.
        MissingExtraError: For `st:` without the [st] extra.
        IndexStateError: If the model cannot be loaded.
    """
    if name == "bundled":
        from toolsearch.text.embed.bundled import BundledEncoder

        return BundledEncoder()
    if name == "minilm":
        from toolsearch.text.embed.onnx import minilm

        return minilm()
    if name == "hashed":
        from toolsearch.text.embed.hashed import HashedEncoder

        return HashedEncoder()
    kind, _, model = name.partition(":")
    if kind == "st" and model.strip():
        from toolsearch.text.embed.sentence_transformers import SentenceTransformersEncoder

        return SentenceTransformersEncoder(model.strip())
    raise RequestError(f"no encoder {name!r}; known: {', '.join(ENCODER_NAMES)}", field="encoder")
