"""Where a value stands in the text it was read from; worked out only when an error asks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from toolsearch.contracts.read.yaml_events import yaml_places
from toolsearch.model.errors import ContractError

Path = tuple[str | int, ...]
"""Place inside parsed data: keys and list indices from the root."""

Syntax = Literal["json", "jsonl", "yaml"]

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)


class SourceText:
    """A text and how it is written, shared by all documents in it."""

    def __init__(self, text: str, syntax: Syntax) -> None:
        self.text = text
        self.syntax = syntax

    @cached_property
    def places(self) -> dict[Path, tuple[int, int]]:
        """Return path -> (line, column), both from 1; YAML paths begin with the number of the document."""
        if self.syntax == "yaml":
            return dict(yaml_places(self.text))
        places: dict[Path, tuple[int, int]] = {}
        line, start, last = 1, 0, 0
        for path, offset in json_places(self.text):
            breaks = self.text.count("\n", last, offset)
            if breaks:
                line, start = line + breaks, self.text.rfind("\n", last, offset) + 1
            places[path] = (line, offset - start + 1)
            last = offset
        return places


@dataclass(frozen=True, slots=True)
class Document:
    """One parsed document of an input.

    Attributes:
        data: Plain data: dict, list, str, int, float, bool or None.
        origin: The text it was read from; None for data handed in as objects.
        index: Number of the document in a multi-document YAML text.
        line: Line of a JSONL document, from 1; 0 otherwise.
    """

    data: Any
    origin: SourceText | None = None
    index: int = 0
    line: int = 0

    def place(self, path: Path) -> str:
        """Return where a value stands: `line:column` in YAML, pointer and line in JSON, the line in JSONL."""
        spot = pointer(path)
        if self.origin is None:
            return spot or "/"
        if self.origin.syntax == "jsonl":
            return f"line {self.line}" + (f", {spot}" if spot else "")
        if self.origin.syntax == "yaml":
            line, column = self.origin.places.get((self.index, *path), (1, 1))
            return f"{line}:{column}"
        line, _ = self.origin.places.get(path, (1, 1))
        return f"{spot or '/'} (line {line})"


def pointer(path: Path) -> str:
    """Return the RFC 6901 JSON pointer of a path; the root is the empty string."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)


def placed(error: ContractError, *, source: str, path: str) -> ContractError:
    """Return the error with the source and the place of the data it speaks of; its own path is a pointer into them."""
    message = str(error)
    if error.path:
        message = message.removeprefix(f"{error.path}: ")
    if error.hint:
        message = message.removesuffix(f" ({error.hint})")
    return type(error)(message, source=source, path=f"{path}{error.path}", hint=error.hint)


def line_of(text: str, offset: int) -> int:
    """Return the line of an offset, from 1."""
    return text.count("\n", 0, offset) + 1


def json_duplicate(text: str) -> tuple[Path, int]:
    """Return path and offset of the first key that stands twice in its object."""
    seen: set[Path] = set()
    for path, offset in json_places(text):
        if path in seen:
            return path, offset
        seen.add(path)
    return (), 0


def json_places(text: str) -> Iterator[tuple[Path, int]]:
    """Yield the path and offset of each member and item of a valid JSON text, in order."""
    frames: list[str | int] = []
    kinds: list[str] = []
    expects_key = False
    for match in _TOKEN.finditer(text):
        token, offset = match[0], match.start()
        if token == ",":
            if kinds[-1] == "[":
                frames[-1] = int(frames[-1]) + 1
            expects_key = kinds[-1] == "{"
        elif token in ("}", "]"):
            frames.pop()
            kinds.pop()
            expects_key = False
        elif expects_key:
            frames[-1] = json.loads(token)
            expects_key = False
            yield tuple(frames), offset
        elif token != ":":
            if kinds and kinds[-1] == "[":
                yield tuple(frames), offset
            if token in ("{", "["):
                kinds.append(token)
                frames.append("" if token == "{" else 0)
                expects_key = token == "{"
