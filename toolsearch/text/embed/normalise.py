"""How text is written before the bundled encoder reads it, in fitting and at run time alike."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from toolsearch.text.analysis.identifiers import split_humps

MAX_CHARACTERS: Final = 4000
"""Longer text is cut before anything else; the encoder reads far fewer tokens anyway."""

_IDENTIFIER = re.compile(r"\b(?:[a-z][a-z0-9]*(?:[A-Z][A-Za-z0-9]*)+|(?:[A-Z][a-z0-9]+){3,})\b", re.ASCII)
_SPACE = re.compile(r"[\s_]+")


def encoder_text(text: str) -> str:
    """Return the text in the one form that the bundled encoder knows.

    Unicode NFKC and lower case, so that `List Pods`, `list_pods` and `ＬＩＳＴ　ＰＯＤＳ` are one text. Camel-case
    identifiers fall apart into words; names with one inner capital (`GitHub`) are left whole, as people write them.
    """
    # A lone surrogate, which JSON can smuggle in, has no UTF-8 form and would be refused by the tokenizer.
    clean = text[:MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8")
    plain = unicodedata.normalize("NFKC", clean)
    words = _IDENTIFIER.sub(lambda match: split_humps(match.group()), plain)
    return _SPACE.sub(" ", words).strip().lower()
