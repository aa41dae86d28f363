"""What a conversation's prompts cost where a provider keeps the prefix it has read before. Pure arithmetic.

A prompt is a list of pieces in the order in which the provider reads them: definitions first, then messages. What a
prompt has in common with the one before it, from the beginning and without a gap, is read from the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from toolsearch.contracts.export import estimate_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What a token of the prompt costs, in tokens at the plain price.

    Attributes:
        cached: Read from the cache.
        fresh: Not in the cache, and written to it.
        least: Tokens that a common prefix must have at least, to be in the cache.
    """

    cached: float = 0.1
    fresh: float = 1.25
    least: int = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One call of the model.

    Attributes:
        tools: Definitions at the front.
        messages: What follows them.
    """

    tools: tuple[str, ...]
    messages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Of a whole conversation, in tokens.

    Attributes:
        read: All tokens of all prompts.
        cached: Those that were read from the cache.
        paid: All, each at its price.
    """

    read: int
    cached: int
    paid: float


def cost(prompts: Sequence[Prompt], *, prices: Prices) -> Cost:
    """Return what a conversation costs; its first prompt finds nothing in the cache."""
    read = cached = 0
    before: tuple[str, ...] = ()
    for prompt in prompts:
        pieces = prompt.tools + prompt.messages
        common = sum(estimate_tokens(piece) for piece in shared(before, pieces))
        read += sum(map(estimate_tokens, pieces))
        cached += common if common >= prices.least else 0
        before = pieces
    return Cost(read=read, cached=cached, paid=cached * prices.cached + (read - cached) * prices.fresh)


def shared(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Return the pieces that two prompts have in common from the beginning."""
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False))
    return [piece for piece, _ in pairs]


def only_appended(before: Sequence[str], after: Sequence[str], *, left: Sequence[str] = ()) -> bool:
    """Tell whether a block of tools is the one before it with more at its end, apart from entries that left.

    Args:
        before: Entries, each as its JSON.
        after: The same, later.
        left: Entries of `before` that may be missing.
    """
    kept = [entry for entry in before if entry not in left]
    return list(after[: len(kept)]) == kept
