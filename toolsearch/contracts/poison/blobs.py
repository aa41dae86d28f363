"""Text inside text: encoded blobs, and markup that hides what it holds from a rendered page."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{40,20000}={0,2}(?![A-Za-z0-9+/_-])")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:[0-9a-fA-F]{2}[ ,:]?){40,10000}(?![0-9A-Za-z])")
_ESCAPES = re.compile(r"(?:\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|&#x?[0-9a-fA-F]{2,5};){8,4000}")
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2}[\w.]{0,1}){12,4000}")
_ONE_ESCAPE = re.compile(r"\\x([0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})|&#x([0-9a-fA-F]{2,5});|&#(\d{2,5});")
_WORDS = re.compile(r"(?<![^\W\d_])(?:[^\W\d_]{2,}+[ ,.:;!?'-]{1,2}){4}")
_COMMENT = re.compile(r"<!--.{0,4000}?-->|^\[(?://|comment)\]:\s*(?:#|<>)[^\n]{0,2000}", re.DOTALL | re.MULTILINE)
_UNSEEN = re.compile(
    r"<[a-z]{1,10}\s[^>]{0,200}(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0(?![.\d])"
    r"|color\s*:\s*(?:white|#fff\w{0,3}|transparent))[^>]{0,100}>|<[a-z]{1,10}\s[^>]{0,100}\bhidden\b[^>]{0,100}>",
    re.IGNORECASE,
)
# Each run is entered at its start only and never given back: what a stranger repeats costs linear time.
_FAR_AWAY = re.compile(r"(?:(?<![ \t\u00a0\u3000])[ \t\u00a0\u3000]{120,}+|(?<![ \t\n])(?:[ \t]*+\n){30,}+)(?=\S.{10})")
_WORDLIKE = re.compile(r"|[A-Z]?[a-z]+\d{0,4}(?:[A-Z]+[a-z]+\d{0,4}){0,6}|[a-z]{0,3}\d{1,8}|[A-Z]+|[0-9a-f]{8,64}")
_LONG_COMMENT = 24
"""Words from which on a comment is not a remark in a template."""


@dataclass(frozen=True, slots=True)
class Blob:
    """An encoded run of characters.

    Attributes:
        text: As it stands.
        decoded: What it decodes to, "" where that is no text.
        what: What it is, in words.
    """

    text: str
    decoded: str
    what: str

    @property
    def is_prose(self) -> bool:
        """Tell whether it decodes to words with spaces between them: encoded only in order not to be read."""
        return bool(_WORDS.search(self.decoded))


def blobs(text: str) -> Iterator[Blob]:
    """Yield the encoded runs of a text; digests, identifiers and file paths are too short or too plain to count."""
    if len(text) < 24:
        return
    for match in _BASE64.finditer(text):
        if _looks_random(match[0]):
            yield Blob(match[0], _from_base64(match[0]), "a run of base64")
    for match in _HEX.finditer(text):
        digits = re.sub("[ ,:]", "", match[0])
        yield Blob(match[0], _printable(bytes.fromhex(digits)), "a run of hexadecimal digits")
    for match in _ESCAPES.finditer(text):
        yield Blob(match[0], _ONE_ESCAPE.sub(_character, match[0]), "a run of escaped characters")
    for match in _PERCENT.finditer(text):
        yield Blob(match[0], unquote(match[0]).replace("+", " "), "a run of percent escapes")


def hidden_markup(text: str) -> Iterator[tuple[str, bool]]:
    """Yield (text, whether it certainly hides something) of comments, unseen elements and far-away text."""
    for match in _COMMENT.finditer(text):
        yield match[0], len(match[0].split()) > _LONG_COMMENT
    for match in _UNSEEN.finditer(text):
        yield text[match.start() : match.end() + 100], True
    for match in _FAR_AWAY.finditer(text):
        yield text[match.end() : match.end() + 100], True


def _looks_random(run: str) -> bool:
    kinds = sum(bool(re.search(kind, run)) for kind in ("[a-z]", "[A-Z]", "[0-9+=]"))
    if kinds < 3 or run.startswith("0x") or ("/" in run and re.search("[a-z]{6}", run)):
        return False
    # A path or a title has separators between words; base64 has runs of letters and digits of every kind.
    return not all(_WORDLIKE.fullmatch(part) for part in re.split("[/_-]", run))


def _from_base64(run: str) -> str:
    bare = run.rstrip("=").translate(str.maketrans("-_", "+/"))
    try:
        return _printable(base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True))
    except (binascii.Error, ValueError):
        return ""


def _printable(data: bytes) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    return text if all(character.isprintable() or character.isspace() for character in text) else ""


def _character(match: re.Match[str]) -> str:
    code = int(match[4]) if match[4] else int(match[1] or match[2] or match[3], 16)
    return chr(code) if code < 0x110000 else ""
