"""Mechanical corrections, written into the text that a contract was read from.

An edit adds one key to one object. It is inserted before the first key of the object, and nothing else of the text is
touched: comments, order, quotes and layout stay. The new text is read again, and only where its data are the old data
with exactly that key added is the edit kept. What cannot be done so is refused, with the reason.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolsearch.contracts.lint.finding import Finding
from toolsearch.contracts.lint.places import existing, is_own, written_path
from toolsearch.contracts.read.documents import parse
from toolsearch.contracts.read.envelopes import Found
from toolsearch.contracts.read.places import Path, SourceText
from toolsearch.model.contract import ToolRef
from toolsearch.model.errors import ContractError


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """A file and what becomes of it.

    Attributes:
        source: File name or label.
        before: Its text.
        after: The text with the corrections that could be made.
        own: Whether all definitions corrected in it are contracts of our own format.
        made: Findings that are corrected.
        refused: Findings that are not, and why.
    """

    source: str
    before: str
    after: str
    own: bool
    made: tuple[Finding, ...]
    refused: tuple[tuple[Finding, str], ...]

    def diff(self) -> str:
        """Return the change as a unified diff."""
        name = self.source.lstrip("/")
        lines = difflib.unified_diff(
            self.before.splitlines(keepends=True), self.after.splitlines(keepends=True), f"a/{name}", f"b/{name}"
        )
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def corrections(findings: Sequence[Finding], found: Mapping[ToolRef, Found]) -> list[Correction]:
    """Return what the edits of findings make of their files, in order of file name."""
    by_ref = {str(ref): one for ref, one in found.items()}
    files: dict[str, list[tuple[Finding, Found]]] = {}
    for finding in findings:
        one = by_ref.get(finding.ref)
        if finding.edit is not None and one is not None and one.document.origin is not None:
            files.setdefault(one.source, []).append((finding, one))
    return [_corrected(source, wanted) for source, wanted in sorted(files.items())]


def _corrected(source: str, wanted: Sequence[tuple[Finding, Found]]) -> Correction:
    lines = _Lines.of(wanted)
    made: list[Finding] = []
    refused: list[tuple[Finding, str]] = []
    for finding, found in wanted:
        try:
            lines.insert(finding, found)
        except ContractError as error:
            refused.append((finding, str(error)))
        else:
            made.append(finding)
    own = all(is_own(found) for finding, found in wanted if finding in made)
    return Correction(
        source=source, before=lines.before, after=lines.text, own=own, made=tuple(made), refused=tuple(refused)
    )


class _Lines:
    """The text of one file while it is corrected. A JSONL file is corrected line by line."""

    def __init__(self, text: str, *, jsonl: bool) -> None:
        self.before = self.text = text
        self.jsonl = jsonl

    @classmethod
    def of(cls, wanted: Sequence[tuple[Finding, Found]]) -> _Lines:
        origin = wanted[0][1].document.origin
        assert origin is not None
        if origin.syntax != "jsonl":
            return cls(origin.text, jsonl=False)
        with open(wanted[0][1].source, encoding="utf-8-sig", newline="") as file:
            return cls(file.read(), jsonl=True)

    def insert(self, finding: Finding, found: Found) -> None:
        """Add the key of one edit.

        Raises:
            ContractError: If the text has no such object, or would not say exactly that afterwards.
        """
        document, edit = found.document, finding.edit
        assert document.origin is not None
        assert edit is not None
        wanted = written_path(found, edit.pointer)
        inside = existing(found.data, wanted)
        if len(inside) < len(wanted):
            raise ContractError(f"{edit.pointer} does not stand in the file: it may come from a $ref or another file")
        path = (*found.path, *inside)
        if self.jsonl:
            lines = self.text.split("\n")
            at = document.line - 1
            lines[at] = inserted(lines[at], path, edit.key, edit.value, source=found.source, syntax="json")
            self.text = "\n".join(lines)
            return
        syntax = document.origin.syntax
        self.text = inserted(
            self.text, path, edit.key, edit.value, source=found.source, syntax=syntax, number=document.index
        )


def inserted(text: str, path: Path, key: str, value: Any, *, source: str, syntax: Any = None, number: int = 0) -> str:
    """Return a text with one key added to one of its objects.

    Args:
        text: JSON or YAML.
        path: Of the object.
        key: The key, which the object lacks.
        value: Plain data.
        source: Label for errors.
        syntax: `json` or `yaml`.
        number: Of the document, in a YAML text of several.

    Raises:
        ContractError: If there is no such object, or the key cannot be added without changing anything else.
    """
    data = _read(text, source=source, syntax=syntax)
    target = data[number]
    if existing(target, path) != path:
        raise ContractError("the object does not stand in the text", source=source)
    for part in path:
        target = target[part]
    if not isinstance(target, dict) or not target or key in target:
        raise ContractError(f"the object is empty or has the key {key!r} already", source=source)
    first = next(iter(target))
    places = SourceText(text, syntax).places
    mark = places.get((number, *path, first) if syntax == "yaml" else (*path, first))
    if mark is None:
        raise ContractError("the position of the object is not known", source=source)
    changed = _with_key(text, mark, key, value, flow=syntax != "yaml")
    expected = json.loads(json.dumps(data))  # a copy in which what an anchor shares is written out
    inside = expected[number]
    for part in path:
        inside = inside[part]
    inside[key] = value
    if _read(changed, source=source, syntax=syntax) != expected:
        raise ContractError("the key cannot be added without changing something else (an anchor?)", source=source)
    return changed


def _read(text: str, *, source: str, syntax: Any) -> list[Any]:
    documents, _ = parse(text, source=source, syntax=syntax)
    return [document.data for document in documents]


def _with_key(text: str, mark: tuple[int, int], key: str, value: Any, *, flow: bool) -> str:
    lines = text.splitlines(keepends=True) if "\r" not in text else re.split(r"(?<=\n)", text)
    line, column = mark[0] - 1, mark[1] - 1
    before = "".join(lines[:line]) + lines[line][:column]
    after = lines[line][column:] + "".join(lines[line + 1 :])
    written = json.dumps(value, ensure_ascii=False)
    flow = flow or before.rstrip()[-1:] == "{"
    name = json.dumps(key) if after[:1] == '"' else key
    end = "\r\n" if lines[line].endswith("\r\n") else "\n"
    if flow:
        alone = not lines[line][:column].strip()
        gap = f",{end}{lines[line][:column]}" if alone else ", "
        return f"{before}{name}: {written}{gap}{after}"
    return f"{before}{name}: {written}{end}{' ' * column}{after}"
