"""Words inside identifiers: `createInvoice`, `create_invoice`, `HTTPServer2` and `orders.get` taken apart."""

from __future__ import annotations

import re

# Lower to upper, and the last capital of an acronym before a word, unless that "word" is a plural s (IDs, URLs).
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])(?![A-Z]s(?![a-z]))")
_DIGITS = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")
_SEPARATORS = re.compile(r"[\W_]+")


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
