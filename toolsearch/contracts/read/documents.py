"""Text -> plain data with positions: JSON, JSON Lines and YAML, read with bounds.

YAML is composed here from PyYAML's event stream instead of with `yaml.safe_load`, because only so are duplicate keys
seen, aliases bounded before they are expanded, deep nesting refused without recursion, and dates left alone. A plain
scalar is a number, a boolean or null only where YAML 1.1 and 1.2 agree: `no`, `12:30`, `010` and `2026-09-17` stay
strings. Positions are looked up in a second pass, only when an error needs one.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from toolsearch.contracts.read.places import Document, Path, SourceText, Syntax, json_duplicate, line_of, pointer
from toolsearch.contracts.read.yaml_events import compose_yaml
from toolsearch.model.errors import ContractError

MAX_BYTES = 64 * 1024 * 1024
"""Largest file or text that is read."""

MAX_DEPTH = 64
"""Deepest nesting of objects and lists; real tool schemas stay below 30."""

MAX_NODES = 5_000_000
"""Most values in one document."""

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def decode(data: bytes | str, *, source: str) -> str:
    """Return the text of an input.

    Raises:
        ContractError: If it is larger than MAX_BYTES or not UTF-8.
    """
    if len(data) > MAX_BYTES:
        raise ContractError(
            f"has {len(data)} bytes; at most {MAX_BYTES} are read", source=source, hint="split the file"
        )
    if isinstance(data, str):
        return data.removeprefix("\ufeff")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ContractError(
            f"is not UTF-8: byte {data[error.start]:#04x} at offset {error.start}",
            source=source,
            hint="save it as UTF-8",
        ) from None


def parse(text: str, *, source: str, syntax: Syntax | None = None) -> tuple[list[Document], list[ContractError]]:
    """Read a text into its documents.

    Args:
        text: What to read.
        source: Label for errors.
        syntax: How it is written; None = JSON where it starts like JSON and parses, JSONL, else YAML.

    Returns:
        The documents, and the lines of a JSONL text that could not be read (the others are kept).

    Raises:
        ContractError: If a JSON or YAML text cannot be read.
    """
    if syntax is None:
        syntax = _guess(text)
    if syntax == "jsonl":
        return _parse_lines(text, source=source)
    if syntax == "json":
        return [Document(_parse_json(text, source=source), SourceText(text, "json"))], []
    documents = compose_yaml(text, source=source, max_depth=MAX_DEPTH)
    whole = SourceText(text, "yaml")
    return [Document(data, whole, index) for index, data in enumerate(documents)], []


def check_tree(data: Any, *, source: str) -> None:
    """Check that data are plain, finite and of bounded size and depth.

    Raises:
        ContractError: If they are not. Data that contain themselves are too deep.
    """
    pending: list[tuple[Any, Path]] = [(data, ())]
    seen = 0
    while pending:
        value, path = pending.pop()
        seen += 1
        if len(path) > MAX_DEPTH:
            raise ContractError(f"is nested deeper than {MAX_DEPTH}", source=source, path=pointer(path[:4]) + "/...")
        if seen + len(pending) > MAX_NODES:
            raise ContractError(f"has more than {MAX_NODES} values", source=source, hint="split the file")
        if isinstance(value, Mapping):
            for key in value:
                if not isinstance(key, str):
                    raise ContractError(f"has the key {key!r}", source=source, path=pointer(path), hint="use a string")
            pending.extend((child, (*path, key)) for key, child in value.items())
        elif isinstance(value, list | tuple):
            pending.extend((child, (*path, at)) for at, child in enumerate(value))
        elif not (value is None or isinstance(value, str | int | float)):
            raise ContractError(
                f"has a {type(value).__name__}", source=source, path=pointer(path), hint="use plain JSON data"
            )
        elif isinstance(value, float) and not math.isfinite(value):
            raise ContractError(
                f"has the number {value}", source=source, path=pointer(path), hint="use a finite number"
            )


def _guess(text: str) -> Syntax:
    head = text.lstrip()[:1]
    if not head or head not in "{[":
        return "yaml"
    try:
        json.loads(text)
    except RecursionError:
        return "json"
    except ValueError:
        first, _, rest = text.strip().partition("\n")
        if not rest:
            return "json"
        try:
            json.loads(first)
        except (ValueError, RecursionError):
            return "json"
        return "jsonl"
    return "json"


def _parse_lines(text: str, *, source: str) -> tuple[list[Document], list[ContractError]]:
    documents: list[Document] = []
    faults: list[ContractError] = []
    # Not `splitlines`: U+2028 and its like may stand unescaped inside JSON strings.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            documents.append(
                Document(_parse_json(line, source=source, line=number), SourceText(line, "jsonl"), line=number)
            )
        except ContractError as error:
            faults.append(error)
    return documents, faults


class _DuplicateKey(ValueError):
    """A key stands twice in one JSON object."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _DuplicateKey(next(key for at, key in enumerate(keys) if key in keys[:at]))
    return result


def _parse_json(text: str, *, source: str, line: int = 0) -> Any:
    def fail(message: str, *, at: str, hint: str = "") -> ContractError:
        return ContractError(message, source=source, path=f"line {line}" if line else at, hint=hint)

    try:
        data = json.loads(text, object_pairs_hook=_pairs)
    except json.JSONDecodeError as error:
        raise fail(f"is not JSON: {error.msg}", at=f"{error.lineno}:{error.colno}") from None
    except _DuplicateKey as error:
        path, offset = json_duplicate(text)
        where = f"{pointer(path)} (line {line_of(text, offset)})"
        raise fail(f"has the key {str(error)[:100]!r} twice", at=where, hint="keep one") from None
    except ValueError as error:  # a number of more digits than `int` converts
        raise fail(f"is not readable JSON: {str(error)[:200]}", at="/") from None
    except RecursionError:
        raise fail(f"is nested deeper than {MAX_DEPTH}", at="/") from None
    check_tree(data, source=f"{source}:line {line}" if line else source)
    return _without_surrogates(data) if "\\u" in text or _LONE_SURROGATE.search(text) else data


def _without_surrogates(data: Any) -> Any:
    """Replace lone surrogates, which no UTF-8 file can hold, by U+FFFD."""
    if isinstance(data, str):
        return _LONE_SURROGATE.sub("\ufffd", data)
    if isinstance(data, dict):
        return {_without_surrogates(key): _without_surrogates(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_without_surrogates(value) for value in data]
    return data
