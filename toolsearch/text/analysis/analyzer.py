"""Analyzer: text -> tokens, the same for contracts and requests.

Order of work: NFKC; runs of Han, Kana and Hangul become overlapping bigrams and their single characters; everything
else is cut into words and identifiers, split at humps, separators and digits, case-folded and stemmed. A multi-part
identifier also keeps its joined form, so that `GitHub` meets `github`, and `create_invoice` meets both
`createInvoice` and `create invoice`.

Bigrams carry the words of Chinese without a dictionary; single characters let 查 A1024 meet 查询, and related words
meet in a shared character, at the low weight that BM25 gives to what is frequent.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import lru_cache

from snowballstemmer.english_stemmer import EnglishStemmer

from toolsearch.text.analysis.identifiers import split_digits, split_humps
from toolsearch.text.analysis.stopwords import (
    CHINESE_CHARACTERS,
    CHINESE_PHRASES,
    ENGLISH,
    POLITE_EXCEPTIONS,
    POLITE_OPENING,
)

ANALYZER_ID = "words-bigrams-snowball3/2"
"""Written into every index; a change of tokens is a change of this text."""

CJK = (
    "\u1100-\u11ff\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30ff\u3131-\u318e\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb\uf900-\ufad9\U00020000-\U0003fffd"
)
"""Han, Kana and Hangul as the inside of a regular expression class."""

# Vowel signs and accents are no word characters for `re`; without them words of Hindi or Hebrew fall apart.
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u0900-\u0963\u0966-\u0df3"
    "\u0e31-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ebc\u0f71-\u0f84\u102b-\u103e\u17b4-\u17d3"
)
_WORD_LENGTH = 64
_MAX_PARTS = 8
_VALUE_DIGITS = 4
"""From this many digits in a row on, a word is a value (an order number, a date) and is not split or joined."""

_CJK_RUN = re.compile(f"([{CJK}]+)")
_ASCII_CHUNK = re.compile(
    rf"[A-Za-z0-9]{{1,{_WORD_LENGTH}}}(?:[._-]{{1,3}}[A-Za-z0-9]{{1,{_WORD_LENGTH}}}){{0,{_MAX_PARTS - 1}}}"
)
_WORD = rf"(?:[^\W_]|[{_MARKS}]){{1,{_WORD_LENGTH}}}"
_CHUNK = re.compile(rf"{_WORD}(?:[._-]{{1,3}}{_WORD}){{0,{_MAX_PARTS - 1}}}")
_ACRONYM_PLURAL = re.compile(r"[A-Z]{2,}s")
"""PRs, VMs: Snowball takes no plural s off a word without a vowel."""
_CONNECTORS = re.compile(r"[._-]+")
_VALUE = re.compile(rf"\d{{{_VALUE_DIGITS}}}")
_IGNORABLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_CHINESE_STOPS = re.compile(
    f"^{POLITE_OPENING}(?![{POLITE_EXCEPTIONS}])|{'|'.join(CHINESE_PHRASES)}|[{CHINESE_CHARACTERS}]"
)

_stemmer = EnglishStemmer()
_stemmer_lock = threading.Lock()


def analyze(text: str) -> list[str]:
    """Return the tokens of a text in order, repetitions kept.

    Args:
        text: Any text, of any length.

    Returns:
        Non-empty tokens without white space, each at most 600 characters. Stop words are left out, unless the
        text has nothing else.
    """
    if text.isascii():
        chunks = _ASCII_CHUNK.findall(text)
        content = [token for chunk in chunks for token in _word_tokens(chunk)[0]]
        return content or [token for chunk in chunks for token in _word_tokens(chunk)[1]]
    pieces = _CJK_RUN.split(_clean(text))
    tokens = _tokens(pieces, stops=False)
    return tokens or _tokens(pieces, stops=True)


def fold(text: str) -> str:
    """Return the text for comparing spellings: NFKC, case-folded, white space collapsed. Idempotent."""
    if text.isascii():
        return " ".join(text.lower().split())
    folded = _SURROGATE.sub("\ufffd", text)
    # One round is not a fixed point: case folding can undo a normal form, and the other way round.
    for _ in range(4):
        before, folded = folded, unicodedata.normalize("NFKC", folded).casefold()
        if folded == before:
            break
    return " ".join(folded.split())


def han_share(text: str) -> float:
    """Return the share of the letters that are Han, Kana or Hangul, in [0, 1]; 0.0 where there are no letters."""
    if text.isascii():
        return 0.0
    pieces = _CJK_RUN.split(text)
    cjk = sum(map(len, pieces[1::2]))
    others = sum(map(str.isalpha, "".join(pieces[::2])))
    return cjk / (cjk + others) if cjk else 0.0


def _clean(text: str) -> str:
    return _IGNORABLE.sub("", unicodedata.normalize("NFKC", _SURROGATE.sub(" ", text)))


def _tokens(pieces: list[str], *, stops: bool) -> list[str]:
    """Return the tokens of a text split by `_CJK_RUN`: words at even positions, CJK runs at odd ones."""
    tokens: list[str] = []
    for position, piece in enumerate(pieces):
        if position % 2:
            for run in [piece] if stops else _CHINESE_STOPS.split(piece):
                tokens += _run_tokens(run)
        else:
            for chunk in _CHUNK.findall(piece):
                tokens += _word_tokens(chunk)[1 if stops else 0]
    return tokens


def _run_tokens(run: str) -> list[str]:
    """Return the bigrams of a CJK run, then its characters."""
    return [run[start : start + 2] for start in range(len(run) - 1)] + list(run)


@lru_cache(maxsize=1 << 17)
def _word_tokens(chunk: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the tokens of one word or identifier: without stop words, and with them."""
    parts = [part for word in _CONNECTORS.split(chunk) for part in split_humps(word).split()]
    parts = [part[:-1] if _ACRONYM_PLURAL.fullmatch(part) else part for part in parts]
    if not _VALUE.search(chunk):
        parts = [piece for part in parts for piece in split_digits(part)]
        if len(parts) > 1:
            parts.append("".join(parts))
    folded = [folded for part in parts if (folded := part.casefold())]
    content = tuple(stem(word) for word in folded if word not in ENGLISH)
    return content, tuple(stem(word) for word in folded)


@lru_cache(maxsize=1 << 17)
def stem(word: str) -> str:
    """Return the Snowball English stem of a lower-case ASCII word; any other word unchanged."""
    if not (word.isascii() and word.isalpha()):
        return word
    with _stemmer_lock:  # The stemmer keeps the word it works on in itself.
        return str(_stemmer.stemWord(word)) or word
