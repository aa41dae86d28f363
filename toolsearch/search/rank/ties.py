"""Do the best tools of two domains fit a request alike? Then the domain is to be decided first, by the user."""

from __future__ import annotations

from collections.abc import Sequence

from toolsearch.model.contract import ToolContract
from toolsearch.text.analysis.analyzer import analyze, han_share

CHINESE = 0.3
"""Share of Han letters from which a request is answered in Chinese."""


def domain_of(contract: ToolContract) -> str:
    """Return the domain of a tool; its server where none is stated."""
    return contract.identity.domain or contract.identity.server


def tied_domains(offered: Sequence[tuple[ToolContract, float]], *, text: str, margin: float) -> tuple[str, ...]:
    """Return the domain of the first tool and the one it ties with, or () where there is nothing to decide.

    There is a tie when the first tool is the most relevant one, a tool of another domain is less relevant by at most
    `margin`, and the request has no word of either domain or server.

    Args:
        offered: Each offered tool with its relevance, best first.
        text: The request.
        margin: Share of the relevance of the first tool, in [0, 1]; 0 = nothing ties.
    """
    if not offered or margin <= 0.0:
        return ()
    first, relevance = offered[0]
    others = [(other, value) for other, value in offered[1:] if domain_of(other) != domain_of(first)]
    if not others:
        return ()
    second, value = max(others, key=lambda pair: pair[1])
    if not (1.0 - margin) * relevance <= value <= relevance:
        return ()
    said = set(analyze(text))
    named = (
        word for one in (first, second) for name in (one.identity.domain, one.identity.server) for word in analyze(name)
    )
    return () if any(word in said for word in named) else (domain_of(first), domain_of(second))


def which_domain(domains: Sequence[str], *, text: str) -> str:
    """Return the question which of two domains is meant, in Chinese for a Chinese request, else in English."""
    one, other = domains
    if han_share(text) >= CHINESE:
        return f"这个请求可能属于 {one}，也可能属于 {other}，请问是哪一个？"
    return f"This request may be about {one} or about {other}. Which one is meant?"
