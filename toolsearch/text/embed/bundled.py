"""The encoder that ships with the package: fitted for tools, English and Chinese, int8, on onnxruntime and tokenizers.

It reads one text at a time. Activations are quantised with one scale a tensor, so in a padded batch the other texts
would change the last digits of a vector; alone, the same text always gives the same bytes, and nothing is padding.
`data/ENCODER.md` says what it was made from and how to repeat it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from toolsearch.model.errors import EncoderMismatch, IndexStateError
from toolsearch.text.embed.normalise import encoder_text
from toolsearch.text.embed.protocol import EncoderInfo, RequestVectors, TextVectors, TokenQuery
from toolsearch.text.embed.spans import mean_direction, token_spans
from toolsearch.text.embed.token_vectors import TokenHead

DATA: Final = Path(__file__).parent / "data"
MANIFEST: Final = "encoder.json"
WEIGHTS: Final = "encoder.onnx"
TOKENIZER: Final = "encoder-tokenizer.json"
HEAD: Final = "encoder-head.npy"

MAX_THREADS: Final = 4
"""Threads that share the matrix products of one text, as far as there are processors: with two, a request of 60 tokens
takes 3.5 ms instead of 5.5, and its vector has the same bytes."""


class BundledEncoder:
    """Our own encoder, read from a folder with its weights, tokenizer and manifest. Thread-safe; loads on first use."""

    def __init__(self, folder: Path = DATA) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None

    @cached_property
    def info(self) -> EncoderInfo:
        """Identity from the manifest; loads no weights."""
        manifest = self._manifest
        return EncoderInfo(
            id=manifest["id"],
            dim=manifest["dim"],
            sha256=manifest["sha256"],
            scripts=("any",),
            cosine_floor=manifest["cosine_floor"],
            cosine_ceiling=manifest["cosine_ceiling"],
            need=tuple(manifest["need"]),
            token_width=manifest["token_width"],
            token_floor=manifest["token_floor"],
            token_ceiling=manifest["token_ceiling"],
        )

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32[n, dim], unit rows, for requests; float32[0, dim] for no text.

        Raises:
            EncoderMismatch: If the weights are not those of the manifest.
            IndexStateError: If a file is missing.
        """
        return self._encode(texts)

    def encode_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32[n, dim], unit rows: the same function as for requests; raises as `encode_queries` does."""
        return self._encode(texts)

    def encode_tokens(self, texts: Sequence[str]) -> list[TextVectors]:
        """Return for each text its vector, as `encode_documents` gives it, and its tokens; raises as that does."""
        loaded = self._load() if texts else None
        return [] if loaded is None else [loaded.text(text) for text in texts]

    def encode_request(self, text: str, clauses: Sequence[str]) -> RequestVectors:
        """Return the vectors of a request, as `encode_queries` gives it, and of its clauses, with their tokens.

        One pass over the request: the vector of a clause is the mean of its tokens, which have read the rest ("late
        chunking", Guenther et al. 2024). A clause whose text is not found in the request is encoded by itself.

        Args:
            text: The request.
            clauses: Parts of it, in order.

        Raises:
            EncoderMismatch: As `encode_queries`; and so does IndexStateError.
        """
        loaded = self._load()
        whole, spans = loaded.request(text, clauses)
        read = [whole, *(span or loaded.request(clause)[0] for clause, span in zip(clauses, spans, strict=True))]
        return RequestVectors(np.stack([vector for vector, _ in read]), tuple(tokens for _, tokens in read))

    @cached_property
    def _manifest(self) -> dict[str, Any]:
        manifest: dict[str, Any] = json.loads(_read(self._folder / MANIFEST))
        return manifest

    def _encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self.info.dim), dtype=np.float32)
        if not texts:
            return vectors
        loaded = self._load()
        for at, text in enumerate(texts):
            vectors[at] = loaded.vector(text)
        return vectors

    def _load(self) -> _Loaded:
        """Return tokenizer and session; the first caller loads and verifies them, others wait."""
        with self._lock:
            if self._loaded is None:
                self._loaded = _open(self._folder, sha256=self.info.sha256, tokens=self._manifest["tokens"])
            return self._loaded


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A tokenizer that cuts and an onnxruntime session, both safe to call from several threads."""

    tokenizer: Any
    session: Any
    head: TokenHead

    def vector(self, text: str) -> NDArray[np.float32]:
        """Return float32[dim], the unit vector of one text."""
        return self._pass(self.tokenizer.encode(encoder_text(text)))[0]

    def text(self, text: str) -> TextVectors:
        """Return vector and tokens of a text of a tool."""
        vector, hidden = self._pass(self.tokenizer.encode(encoder_text(text)))
        return TextVectors(vector, self.head.directions(hidden))

    def request(self, text: str, clauses: Sequence[str] = ()) -> tuple[_Read, list[_Read | None]]:
        """Return vector and tokens of a request, and those of its clauses out of the same pass, None if not found."""
        read = encoder_text(text)
        encoding = self.tokenizer.encode(read)
        vector, hidden = self._pass(encoding)
        query = self.head.query(hidden)

        def part(span: tuple[int, int]) -> _Read:
            tokens = slice(*span)
            return mean_direction(hidden[tokens]), TokenQuery(query.rows[tokens], query.weights[tokens], span[0])

        spans = token_spans(read, [encoder_text(clause) for clause in clauses], offsets=encoding.offsets)
        return (vector, query), [None if span is None else part(span) for span in spans]

    def _pass(self, encoding: Any) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return float32[dim], the vector of a tokenised text, and float32[tokens, dim], its last hidden states."""
        vector, hidden = self.session.run(None, {"ids": np.array(encoding.ids, dtype=np.int64)})
        return vector, hidden[0]


_Read = tuple[NDArray[np.float32], TokenQuery]
"""The unit vector of a text, and its tokens."""


def _open(folder: Path, *, sha256: str, tokens: int) -> _Loaded:
    import onnxruntime
    from tokenizers import Tokenizer

    weights, tokenizer_json, head = (_read(folder / name) for name in (WEIGHTS, TOKENIZER, HEAD))
    found = content_hash(weights, tokenizer_json, head)
    if found != sha256:
        raise EncoderMismatch(
            f"the bundled encoder in {folder} has sha256 {found}, expected {sha256}: reinstall toolsearch",
            found=found,
            expected=sha256,
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = min(MAX_THREADS, os.cpu_count() or 1)
    options.inter_op_num_threads = 1
    # Threads that wait for the next product spin; without this they would go on after the last one.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    options.log_severity_level = 3  # errors only; it would write warnings past our logging
    # Not beyond the basic level: the graph is already fused where that is faster, and unfused where it is not.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    session = onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_buffer(tokenizer_json)
    tokenizer.enable_truncation(tokens)
    return _Loaded(tokenizer, session, TokenHead.of(np.load(io.BytesIO(head), allow_pickle=False)))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise IndexStateError(
            f"{path} of the bundled encoder is missing: reinstall toolsearch, or name another encoder"
        ) from error


def content_hash(*files: bytes) -> str:
    """Return the hex digest that stands for an encoder: of its weights, its tokenizer and its head for tokens."""
    return hashlib.sha256(b"".join(hashlib.sha256(file).digest() for file in files)).hexdigest()
