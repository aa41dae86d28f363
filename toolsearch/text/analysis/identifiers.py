"""Words inside identifiers: `createInvoice`, `create_invoice`, `HTTPServer2` and `orders.get` taken apart."""

from __future__ import annotations

import re

# Lower to upper, and the last capital of an acronym before a word, unless that "word" is a plural s (IDs, URLs).
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])(?![A-Z]s(?![a-z]))")
_DIGITS = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")
_SEPARATORS = re.compile(r"[\W_]+")
_IN_IE = frozenset({"calorie", "cookie", "hoodie", "movie", "rookie", "selfie", "zombie"})
_NO_PLURAL = frozenset({"news", "series", "species"})


def split_humps(word: str) -> str:
    """Return the word with a space before every camel hump: `getHTTPServer` -> `get HTTP Server`."""
    return _HUMP.sub(" ", word)


def split_digits(word: str) -> list[str]:
    """Return the letter and digit runs of a word without separators: `s3bucket` -> `s`, `3`, `bucket`."""
    return _DIGITS.split(word)


def identifier_words(identifier: str) -> list[str]:
    """Return the words of an identifier in order, case kept: `orders.getByID` -> `orders`, `get`, `By`, `ID`.

    Letters stay with the digits behind them (`s3`, `v2`), because the two are read as one word.
    """
    return [word for part in _SEPARATORS.split(identifier) for word in split_humps(part).split() if word]


def singular(word: str) -> str:
    """Return a lower-case English word without its plural ending: `queries` -> `query`, `boxes` -> `box`.

    A guess by its letters: short words and words in -ss, -us and -is (`status`, `analysis`) stay.
    """
    if word in _NO_PLURAL:
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-1] if word[:-1] in _IN_IE else f"{word[:-3]}y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word
