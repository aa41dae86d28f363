"""Numbers and tables as Markdown, the same way on every page that is made from results."""

from __future__ import annotations

from collections.abc import Sequence

from toolsearch.eval.results import Measure


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table, the first column to the left and the others to the right; "" without a row."""
    if not rows:
        return ""
    lines = [heads, [":--", *["--:"] * (len(heads) - 1)], *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def number(value: float | None, digits: int = 3) -> str:
    """Return a number with so many decimals, "" for none."""
    return "" if value is None else f"{value:.{digits}f}"


def with_interval(measure: Measure | None, digits: int = 3) -> str:
    """Return `mean [low, high]`, without brackets where no interval is known."""
    if measure is None:
        return ""
    if measure.low is None or measure.high is None:
        return number(measure.mean, digits)
    return f"{number(measure.mean, digits)} [{number(measure.low, digits)}, {number(measure.high, digits)}]"


def signed(value: float) -> str:
    """Return a difference with its sign."""
    return f"{value:+.3f}"


def p_value(value: float) -> str:
    """Return a p-value; what is below the resolution of the tests is said to be so."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def bold(text: str, *, when: bool) -> str:
    """Return the text in bold under a condition."""
    return f"**{text}**" if when and text else text
