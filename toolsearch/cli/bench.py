"""`toolsearch bench`: how well labelled requests find their tools."""

from __future__ import annotations


def bench() -> None:
    """Todo."""
