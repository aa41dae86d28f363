"""What to search for: the request text of a turn, from what the user said."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from toolsearch.model.request import MAX_QUERY_CHARS
from toolsearch.text.analysis.analyzer import analyze

ENOUGH_WORDS = 4
"""A message of fewer words ("yes, that one", "那取消呢") is searched together with the one before it."""


def request_text(said: Sequence[str]) -> str:
    """Return the text to search for, "" where the user said nothing.

    Args:
        said: The user's messages, oldest first. Only the newest counts, and the one before it where it is short: what
            was asked earlier has found its tools already.
    """
    spoken = [text.strip() for text in said if speaks(text)]
    if not spoken:
        return ""
    newest = spoken[-1]
    if len(spoken) > 1 and len(analyze(newest)) < ENOUGH_WORDS:
        newest = f"{spoken[-2]}\n{newest}"
    return newest[-MAX_QUERY_CHARS:]  # a pasted document comes first, what to do with it last


def speaks(text: str) -> bool:
    """Tell whether a text has anything to search for: a search refuses one without."""
    return any(not char.isspace() and unicodedata.category(char) not in {"Cc", "Cf", "Cs"} for char in text)
