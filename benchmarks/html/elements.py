"""Small pieces of HTML. Every text that comes from data passes `escaped`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

HEADED = 1
"""Cells at the start of a row that name it."""


def escaped(text: object) -> str:
    """Return a value as text that is safe inside an element or a quoted attribute."""
    return escape(str(text), quote=True)


def slug(text: str) -> str:
    """Return a text as the id of an anchor: small letters, digits and single dashes."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "x"


def table(
    caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]], *, marked: frozenset[int] = frozenset()
) -> str:
    """Return a table of plain texts; rows whose index is in `marked` are ours."""
    head = "".join(f'<th scope="col">{escaped(name)}</th>' for name in heads)
    lines = []
    for at, row in enumerate(rows):
        names = "".join(f'<th scope="row">{escaped(cell)}</th>' for cell in row[:HEADED])
        cells = "".join(f"<td>{escaped(cell)}</td>" for cell in row[HEADED:])
        lines.append(f"<tr{' class=ours' if at in marked else ''}>{names}{cells}</tr>")
    body = "\n".join(lines)
    return (
        f'<div class="scroll"><table><caption>{escaped(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>"
    )


def details(summary: str, body: str, *, is_open: bool = False) -> str:
    """Return a part that opens and closes."""
    return f"<details{' open' if is_open else ''}><summary>{escaped(summary)}</summary>{body}</details>"


def section(title: str, about: str, body: str) -> str:
    """Return a section with its anchor; `body` is HTML."""
    return f'<section id="{slug(title)}"><h2>{escaped(title)}</h2>\n<p>{escaped(about)}</p>\n{body}\n</section>'


def missing(command: str) -> str:
    """Return the note of an instrument that was not run."""
    return f'<p class="missing">Not measured here. Run <code>{escaped(command)}</code>.</p>'
