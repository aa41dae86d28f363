"""YAML text -> plain data, from the event stream: no recursion, no tags, bounded aliases, no duplicate keys."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from toolsearch.model.errors import ContractError

MAX_ALIASED = 100_000
"""Most values that aliases may add to one text, counted before they are expanded."""

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+][0-9]+)?\Z")
_INFINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z")
_CONSTANTS = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "map", "seq")} | {"!"}

Place = tuple[tuple[str | int, ...], tuple[int, int]]


@dataclass(slots=True)
class _Frame:
    """A collection that is being filled. `size` counts the values in it, aliases expanded."""

    value: dict[str, Any] | list[Any]
    anchor: str | None
    path: tuple[str | int, ...]
    size: int = 1
    key: str | None = None
    keys_at: dict[str, tuple[int, int]] = field(default_factory=dict)

    def next_path(self) -> tuple[str | int, ...]:
        """Return the path of the value that comes next."""
        return (*self.path, len(self.value) if isinstance(self.value, list) else self.key or "")


def compose_yaml(text: str, *, source: str, max_depth: int) -> list[Any]:
    """Return the documents of a YAML text; empty documents are left out.

    Raises:
        ContractError: If it is not YAML, uses a tag, repeats a key, is nested deeper than `max_depth`, or if its
            aliases add more than MAX_ALIASED values.
    """
    composer = _Composer(source=source, max_depth=max_depth)
    return [document for document in composer.documents(text) if document is not None]


def yaml_places(text: str) -> Iterator[Place]:
    """Yield ((document number, *path), (line, column)) of each key and item, from 1. Empty documents do not count."""
    composer = _Composer(source="", max_depth=1_000_000, places=[])
    number = 0
    try:
        for document in composer.documents(text):
            if document is not None:
                yield from (((number, *path), mark) for path, mark in composer.places or ())
                number += 1
    except ContractError:
        return


class _Composer:
    """Builds plain data from YAML events, one document at a time."""

    def __init__(self, *, source: str, max_depth: int, places: list[Place] | None = None) -> None:
        self.source = source
        self.max_depth = max_depth
        self.places = places
        self.frames: list[_Frame] = []
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.aliased = 0
        self.root: Any = None

    def documents(self, text: str) -> Iterator[Any]:
        try:
            for event in yaml.parse(text, Loader=_LOADER):
                if isinstance(event, yaml.DocumentStartEvent):
                    self.root, self.anchors = None, {}
                    if self.places is not None:
                        self.places.clear()
                elif isinstance(event, yaml.DocumentEndEvent):
                    yield self.root
                else:
                    self._take(event)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = f"{mark.line + 1}:{mark.column + 1}" if mark else ""
            message = " ".join(part for part in (error.context, error.problem) if part)
            raise ContractError(f"is not YAML: {message[:300]}", source=self.source, path=place) from None
        except yaml.YAMLError as error:
            raise ContractError(f"is not YAML: {str(error)[:300]}", source=self.source) from None
        except UnicodeEncodeError:
            raise ContractError("is not YAML: it has lone surrogates", source=self.source) from None

    def _take(self, event: Any) -> None:
        if isinstance(event, yaml.ScalarEvent):
            self._add(self._scalar(event), event, size=1, anchor=event.anchor)
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._open(event)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            frame = self.frames.pop()
            if frame.anchor:
                self.anchors[frame.anchor] = (frame.value, frame.size)
            if self.frames:
                self.frames[-1].size += frame.size

    def _open(self, event: Any) -> None:
        if len(self.frames) >= self.max_depth:
            raise self._fault(event, f"is nested deeper than {self.max_depth}")
        self._check_tag(event)
        value: dict[str, Any] | list[Any] = {} if isinstance(event, yaml.MappingStartEvent) else []
        path = self.frames[-1].next_path() if self.frames else ()
        self._add(value, event, size=0, anchor=None)
        # An anchor becomes known when its collection ends, so nothing can contain itself.
        self.frames.append(_Frame(value, event.anchor, path))

    def _alias(self, event: Any) -> None:
        if event.anchor not in self.anchors:
            raise self._fault(event, f"refers to the anchor {event.anchor!r} before it is complete")
        value, size = self.anchors[event.anchor]
        self.aliased += size
        if self.aliased > MAX_ALIASED:
            raise self._fault(event, f"has aliases that stand for more than {MAX_ALIASED} values")
        self._add(value, event, size=size, anchor=None)

    def _add(self, value: Any, event: Any, *, size: int, anchor: str | None) -> None:
        if anchor:
            self.anchors[anchor] = (value, size)
        if not self.frames:
            self.root = value
            self._note((), event)
            return
        frame = self.frames[-1]
        frame.size += size
        if isinstance(frame.value, list):
            self._note(frame.next_path(), event)
            frame.value.append(value)
        elif frame.key is None:
            self._key(frame, value, event)
        else:
            frame.value[frame.key] = value
            frame.key = None

    def _key(self, frame: _Frame, value: Any, event: Any) -> None:
        if not isinstance(event, yaml.ScalarEvent | yaml.AliasEvent) or isinstance(value, dict | list):
            raise self._fault(event, "has a key that is not a string", hint="write a plain or quoted word")
        # A key is a name: `null`, `true` and `42` are read as they are written.
        key = event.value if isinstance(event, yaml.ScalarEvent) else str(value)
        if key in frame.value:
            first = frame.keys_at.get(key, (0, 0))
            raise self._fault(event, f"has the key {key[:100]!r} twice", hint=f"first at line {first[0]}; keep one")
        frame.keys_at[key] = _mark(event)
        frame.key = key
        self._note(frame.next_path(), event)

    def _note(self, path: tuple[str | int, ...], event: Any) -> None:
        if self.places is not None:
            self.places.append((path, _mark(event)))

    def _check_tag(self, event: Any) -> None:
        if event.tag is not None and event.tag not in _TAGS:
            raise self._fault(event, f"has the tag {event.tag[:100]!r}", hint="only plain data are read")

    def _scalar(self, event: Any) -> Any:
        self._check_tag(event)
        text: str = event.value
        if not event.implicit[0] or event.tag == "tag:yaml.org,2002:str":
            return text
        if text in _CONSTANTS:
            return _CONSTANTS[text]
        if _INTEGER.match(text):
            if len(text) > 400:
                raise self._fault(event, f"has an integer of {len(text)} digits", hint="quote it")
            return int(text)
        if _INFINITE.match(text) or (_FLOAT.match(text) and not math.isfinite(float(text))):
            raise self._fault(event, f"has the number {text[:40]}", hint="use a finite number, or quote it")
        return float(text) if _FLOAT.match(text) else text

    def _fault(self, event: Any, message: str, *, hint: str = "") -> ContractError:
        line, column = _mark(event)
        return ContractError(message, source=self.source, path=f"{line}:{column}", hint=hint)


def _mark(event: Any) -> tuple[int, int]:
    return event.start_mark.line + 1, event.start_mark.column + 1
