"""Requests and tasks of our own for tools of the permitted sets.

Labelled requests of public sets say what a function is called by; people say what they need. `data/requests.tsv` asks
for real tools twice each, once in English and once in Chinese, in two different situations. `data/tasks.tsv` holds
requests of several steps, cut where one step ends: it teaches the vector of a step, taken out of one pass over the
whole request, to find the tool of that step. `data/no_tool.txt` holds requests that no tool is needed for,
`data/other_languages.tsv` requests of both kinds in twelve other languages, and `data/fits.tsv` what a few tools can
serve, and what they cannot.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

HELD_OUT_EVERY: Final = 10
"""Every tenth row is kept for choosing."""

NEEDLESS_HELD_OUT_EVERY: Final = 7
FOREIGN_HELD_OUT_EVERY: Final = 5
FITS_HELD_OUT_EVERY: Final = 2


@dataclass(frozen=True, slots=True)
class AskedRow:
    """Two requests for one tool.

    Attributes:
        key: `data set/id` of the tool.
        asks: A request in English and another one in Chinese.
        held_out: Whether the row is kept for choosing.
    """

    key: str
    asks: tuple[str, str]
    held_out: bool


@dataclass(frozen=True, slots=True)
class Task:
    """A request of several steps.

    Attributes:
        steps: Its parts in the order of the text, joined with nothing between; the first of each pair is the key of
            the tool that the part calls for.
        held_out: Whether the task is kept for choosing.
    """

    steps: tuple[tuple[str, str], ...]
    held_out: bool

    @property
    def text(self) -> str:
        """Return the whole request."""
        return "".join(text for _, text in self.steps)

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the keys of its tools, one for each step."""
        return tuple(key for key, _ in self.steps)


@dataclass(frozen=True, slots=True)
class NeedlessRequest:
    """A request that needs no tool.

    Attributes:
        text: The request.
        held_out: Whether it is kept for choosing.
    """

    text: str
    held_out: bool


@dataclass(frozen=True, slots=True)
class ForeignRequest:
    """A request in another language than English and Chinese.

    Attributes:
        key: `data set/id` of the tool it asks for; "" where it needs none.
        language: ISO 639-1 code.
        text: The request.
        held_out: Whether it is kept for choosing.
    """

    key: str
    language: str
    text: str
    held_out: bool


@dataclass(frozen=True, slots=True)
class Fit:
    """A few tools, a request that one of them serves, and one that none of them does.

    Attributes:
        keys: `data set/id` of the tools; the first is the one that serves.
        served: The request that it serves.
        other: A request for a tool that is not among them.
        held_out: Whether the row is kept for choosing.
    """

    keys: tuple[str, ...]
    served: str
    other: str
    held_out: bool


@cache
def foreign_requests() -> tuple[ForeignRequest, ...]:
    """Return our own requests in other languages, in file order."""
    rows = own_rows("other_languages.tsv")
    return tuple(
        ForeignRequest("" if key == "-" else key, language, text, at % FOREIGN_HELD_OUT_EVERY == 0)
        for at, (key, language, text) in enumerate(rows)
    )


@cache
def fits() -> tuple[Fit, ...]:
    """Return what few tools can and cannot serve, in file order."""
    rows = own_rows("fits.tsv")
    return tuple(
        Fit(tuple(keys.split("|")), served, other, at % FITS_HELD_OUT_EVERY == 0)
        for at, (keys, served, other) in enumerate(rows)
    )


@cache
def needless_requests() -> tuple[NeedlessRequest, ...]:
    """Return our own requests that need no tool, in file order."""
    lines = own_lines("no_tool.txt")
    return tuple(NeedlessRequest(line, at % NEEDLESS_HELD_OUT_EVERY == 0) for at, line in enumerate(lines))


@cache
def asked_rows() -> tuple[AskedRow, ...]:
    """Return our own requests for real tools, in file order."""
    rows = own_rows("requests.tsv")
    return tuple(
        AskedRow(key, (english, chinese), at % HELD_OUT_EVERY == 0) for at, (key, english, chinese) in enumerate(rows)
    )


@cache
def tasks() -> tuple[Task, ...]:
    """Return our own tasks of several steps, in file order."""
    return tuple(_task(line, held_out=at % HELD_OUT_EVERY == 0) for at, line in enumerate(own_lines("tasks.tsv")))


def own_lines(name: str) -> list[str]:
    """Return the lines of one of our own files that are not empty."""
    text = (files("benchmarks.encoder") / "data" / name).read_text("utf-8")
    return [line for line in text.splitlines() if line]


def own_rows(name: str) -> list[list[str]]:
    """Return the columns of the lines of one of our own files."""
    return [line.split("\t") for line in own_lines(name)]


def _task(line: str, *, held_out: bool) -> Task:
    steps = []
    for part in line.split("\t"):
        key, _, text = part.partition("|")
        steps.append((key, text))
    return Task(tuple(steps), held_out)
