"""How many tokens a text costs a model, estimated without a tokenizer.

About four ASCII characters, two other narrow characters (accents, Cyrillic, Arabic), or one wide character (Han, Kana,
Hangul, emoji) make a token. This is for budgets and savings, where only proportions matter, not for billing.
"""

from __future__ import annotations

import json
import re
from typing import Any

from toolsearch.contracts.export.shapes import definition
from toolsearch.model.contract import ToolContract
from toolsearch.model.request import DefinitionFormat, Detail

ASCII_PER_TOKEN = 4
NARROW_PER_TOKEN = 2

_WIDE = re.compile("[\u2e80-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U0001f000-\U0003ffff]")


def estimate_tokens(text: str) -> int:
    """Return the estimated number of tokens of a text, rounded up; 0 for the empty text."""
    if text.isascii():
        return -(-len(text) // ASCII_PER_TOKEN)
    plain = len(text.encode("ascii", "ignore"))
    wide = len(text) - len(_WIDE.sub("", text))
    narrow = len(text) - plain - wide
    return wide + -(-(plain * NARROW_PER_TOKEN + narrow * ASCII_PER_TOKEN) // (ASCII_PER_TOKEN * NARROW_PER_TOKEN))


def json_tokens(data: Any) -> int:
    """Return the estimated number of tokens of data as compact JSON."""
    return estimate_tokens(json.dumps(data, ensure_ascii=False, separators=(",", ":")))


def definition_tokens(contract: ToolContract, *, api_name: str = "") -> int:
    """Return the estimated cost of the full OpenAI-shaped definition, under the tool's own name or `api_name`."""
    name = api_name or contract.identity.name
    return json_tokens(definition(contract, format=DefinitionFormat.OPENAI, detail=Detail.FULL, api_name=name))
