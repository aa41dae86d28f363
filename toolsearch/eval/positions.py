"""YAML and JSON files as plain data together with the line of every part, so that an error can point at its place."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from toolsearch.model.errors import DataError

Location = tuple[str | int, ...]
"""Keys and list indices from the root to a part."""

_TIMESTAMP = "tag:yaml.org,2002:timestamp"
_MAX_PARTS = 200_000
"""Parts of a file with all aliases followed; stops the tricks that expand a small file to billions."""

_MAX_DEPTH = 64
"""Levels of nesting with all aliases followed; an alias inside its own anchor has no end."""


class _Loader(yaml.SafeLoader):
    """SafeLoader that leaves dates as the text that stands there, as JSON does."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - the name and form are PyYAML's
        first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIMESTAMP]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


@dataclass(frozen=True, slots=True)
class Positions:
    """Where the parts of a file stand.

    Attributes:
        lines: Location -> line, from 1.
    """

    lines: Mapping[Location, int]

    def line(self, location: Location) -> int | None:
        """Return the line of a part, or of the nearest part above it that is there."""
        while location and location not in self.lines:
            location = location[:-1]
        return self.lines.get(location)


def read_with_positions(path: Path) -> tuple[Any, Positions]:
    """Read a YAML file, or a JSON file if its name ends in `.json`.

    Raises:
        DataError: If the file is missing, not UTF-8, not YAML or JSON, or has a key twice in one object; with the
            line.
    """
    text = _text(path)
    if path.suffix == ".json":
        return _json(text, path)
    try:
        return _yaml(text, path)
    except yaml.MarkedYAMLError as error:
        line = None if error.problem_mark is None else error.problem_mark.line + 1
        raise DataError(f"is not YAML: {error.problem}", source=str(path), line=line) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise DataError(f"is not YAML: {error}", source=str(path)) from None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"is not UTF-8 (byte {error.start}); save it as UTF-8", source=str(path)) from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", source=str(path)) from None


def _json(text: str, path: Path) -> tuple[Any, Positions]:
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(f"is not JSON: {error.msg}", source=str(path), line=error.lineno) from None
    except RecursionError:
        raise DataError("is nested too deeply", source=str(path)) from None
    try:
        return data, _yaml(text, path)[1]
    except (yaml.YAMLError, RecursionError, ValueError):
        # A little JSON is not YAML (tabs, say): then an error is told without its line.
        return data, Positions({})


def _yaml(text: str, path: Path) -> tuple[Any, Positions]:
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            raise DataError("is empty", source=str(path))
        lines = dict(_walk(node, (), path))
        return loader.construct_document(node), Positions(lines)
    finally:
        loader.dispose()


def _walk(root: yaml.Node, at: Location, path: Path) -> Iterator[tuple[Location, int]]:
    pending = [(root, at)]
    count = 0
    while pending:
        node, location = pending.pop()
        count += 1
        if count > _MAX_PARTS or len(location) > _MAX_DEPTH:
            limits = f"{_MAX_PARTS} parts or {_MAX_DEPTH} levels"
            raise DataError(f"has more than {limits} with its aliases followed", source=str(path))
        yield location, node.start_mark.line + 1
        if isinstance(node, yaml.SequenceNode):
            pending.extend((item, (*location, index)) for index, item in enumerate(node.value))
        elif isinstance(node, yaml.MappingNode):
            pending.extend(_members(node, location, path))


def _members(node: yaml.MappingNode, location: Location, path: Path) -> Iterator[tuple[yaml.Node, Location]]:
    keys: set[str] = set()
    for key, value in node.value:
        name = str(key.value)
        if name in keys and name != "<<":
            raise DataError(f"key {name!r} stands twice", source=str(path), line=key.start_mark.line + 1)
        keys.add(name)
        yield value, (*location, name)
