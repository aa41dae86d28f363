"""Labelled requests: which tools each needs, read from a data folder.

A data folder holds `tools.jsonl` (here only the `id` of each line matters) and one or more files of queries.
Every mistake is reported with file and line, and nothing is repaired silently: a benchmark that guesses
measures its guesses.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args
from urllib.parse import unquote

from toolsearch.model.errors import DataError

QueryKind = Literal["single", "multi", "none"]
QUERY_KINDS: tuple[QueryKind, ...] = get_args(QueryKind)

TOOLS_FILE = "tools.jsonl"
QUERIES_FILE = "queries.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One labelled request.

    Attributes:
        id: Unique within its file.
        text: What the user says.
        relevant: Ids of every tool that is needed; empty for kind `none`.
        kind: `single`, `multi`, or `none` = no tool is right.
        split: Part of the data set, such as `dev` or `test`.
        lang: Language code of the text.
        candidates: The tools shown with the case, None where the whole catalogue is. The label of a `none`
            query holds only
            against them.
        alternatives: Needed id -> ids that are just as right.
        group: Sub-set the query belongs to, "" if none.
    """

    id: str
    text: str
    relevant: tuple[str, ...]
    kind: QueryKind
    split: str
    lang: str
    candidates: tuple[str, ...] | None = None
    alternatives: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    group: str = ""

    @property
    def golds(self) -> tuple[tuple[str, ...], ...]:
        """Return one group of ids for each needed tool: itself first, then its alternatives."""
        return tuple((tool, *self.alternatives.get(tool, ())) for tool in self.relevant)


@dataclass(frozen=True, slots=True, kw_only=True)
class Qrels:
    """The labelled requests of one data set over one catalogue.

    Attributes:
        name: Name of the data set; with another file than `queries.jsonl`, `folder/file`.
        tool_ids: Ids of the catalogue, in file order.
        queries: In file order.
        sha256: File name -> hex digest of the bytes that were read.
    """

    name: str
    tool_ids: tuple[str, ...]
    queries: tuple[Query, ...]
    sha256: Mapping[str, str]

    def select(self, *, kind: str | None = None, split: str | None = None, lang: str | None = None) -> Qrels:
        """Return the queries for which every stated property holds, in the same order."""
        kept = tuple(
            query
            for query in self.queries
            if kind in (None, query.kind) and split in (None, query.split) and lang in (None, query.lang)
        )
        return replace(self, queries=kept)

    def sample(self, limit: int | None) -> Qrels:
        """Return at most `limit` queries, evenly spread over the file, in its order; None keeps all.

        Files stand in groups (kinds, sub-sets), so the first ones would not be like the rest.
        """
        n = len(self.queries)
        if limit is None or limit >= n:
            return self
        return replace(self, queries=tuple(self.queries[place * n // limit] for place in range(limit)))

    def over(self, folder: Path) -> Qrels:
        """Return the same requests over the tools of another folder, such as Chinese requests over English tools.

        Raises:
            DataError: If that folder lacks a tool that a request names.
        """
        path = folder / TOOLS_FILE
        tool_ids = _tool_ids(path)
        for query in self.queries:
            for tool in (*(tool for group in query.golds for tool in group), *(query.candidates or ())):
                if tool not in tool_ids:
                    raise DataError(f"has no tool {tool!r}, which {query.id!r} of {self.name} names", source=str(path))
        other = folder.resolve().name
        sha256 = {
            **{f"{self.name}/{name}": digest for name, digest in self.sha256.items() if name != TOOLS_FILE},
            f"{other}/{TOOLS_FILE}": file_sha256(path),
        }
        return replace(
            self, name=f"{self.name}_over_{other}", tool_ids=tuple(tool_ids), sha256=MappingProxyType(sha256)
        )

    def write_trec(self, path: Path) -> None:
        """Write `query 0 tool 1` lines.

        TREC files know no alternatives: only the needed tools themselves are written.
        """
        lines = (
            f"{trec_token(query.id)} 0 {trec_token(tool)} 1\n" for query in self.queries for tool in query.relevant
        )
        path.write_text("".join(lines), encoding="utf-8")


def read_qrels(folder: Path, *, queries: str = QUERIES_FILE) -> Qrels:
    """Read a data folder.

    Args:
        folder: Holds `tools.jsonl` and the queries file.
        queries: Name of the queries file in it.

    Raises:
        DataError: If a file is missing or a line of it is wrong; with file and line.
    """
    tools_path, queries_path = folder / TOOLS_FILE, folder / queries
    tool_ids = _tool_ids(tools_path)
    known = frozenset(tool_ids)
    seen: dict[str, int] = {}
    parsed = []
    for line, record in _records(queries_path):
        query = _query(record, known, queries_path, line)
        if query.id in seen:
            raise _wrong(queries_path, line, f"query id {query.id!r} stands on line {seen[query.id]} already")
        seen[query.id] = line
        parsed.append(query)
    name = folder.resolve().name
    return Qrels(
        name=name if queries == QUERIES_FILE else f"{name}/{Path(queries).stem}",
        tool_ids=tuple(tool_ids),
        queries=tuple(parsed),
        sha256=MappingProxyType({path.name: file_sha256(path) for path in (tools_path, queries_path)}),
    )


def file_sha256(path: Path) -> str:
    """Return the hex digest of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_trec_qrels(path: Path) -> dict[str, tuple[str, ...]]:
    """Read a TREC qrels file: query id -> ids judged above 0, in file order.

    Raises:
        DataError: If the file is missing or a line has not four fields with a whole number last.
    """
    relevant: dict[str, list[str]] = {}
    for line, text in enumerate(read_lines(path), start=1):
        parts = text.split()
        if not parts:
            continue
        if len(parts) != 4 or not parts[3].lstrip("-").isdigit():
            raise _wrong(path, line, f"{text[:120]!r} is not `query 0 tool grade`")
        if int(parts[3]) > 0:
            relevant.setdefault(from_trec_token(parts[0]), []).append(from_trec_token(parts[2]))
    return {query: tuple(tools) for query, tools in relevant.items()}


def trec_token(identifier: str) -> str:
    """Return an id as one token of a white-space separated file.

    White space and `%` become %XX of their UTF-8 bytes.
    """
    return "".join(
        "".join(f"%{byte:02X}" for byte in char.encode()) if char.isspace() or char == "%" else char
        for char in identifier
    )


def from_trec_token(token: str) -> str:
    """Return the id that `trec_token` wrote."""
    return unquote(token, errors="strict") if "%" in token else token


def read_lines(path: Path) -> list[str]:
    """Return the lines of a UTF-8 file without their ends.

    Raises:
        DataError: If it is missing, not readable or not UTF-8.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"is not UTF-8 (byte {error.start}); save it as UTF-8", source=str(path)) from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", source=str(path)) from None
    # Only \n ends a line: JSON strings may hold U+2028, which str.splitlines would cut at.
    return [line.removesuffix("\r") for line in text.split("\n")]


def _tool_ids(path: Path) -> dict[str, int]:
    """Return the id of every tool, in file order, with its line."""
    tool_ids: dict[str, int] = {}
    for line, record in _records(path):
        tool_id = _text(record, "id", path, line)
        if tool_id in tool_ids:
            raise _wrong(path, line, f"tool id {tool_id!r} stands on line {tool_ids[tool_id]} already")
        tool_ids[tool_id] = line
    return tool_ids


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, text in enumerate(read_lines(path), start=1):
        if not text.strip():
            continue
        try:
            record = json.loads(text)
        except json.JSONDecodeError as error:
            raise _wrong(path, line, f"is not JSON: {error.msg} at column {error.colno}") from None
        if not isinstance(record, dict):
            raise _wrong(path, line, f"holds a {type(record).__name__}; each line is one JSON object")
        yield line, record


def _query(record: dict[str, Any], tool_ids: frozenset[str], path: Path, line: int) -> Query:
    kind = _text(record, "kind", path, line)
    if kind not in QUERY_KINDS:
        raise _wrong(path, line, f"kind {kind!r} is not one of {', '.join(QUERY_KINDS)}")
    relevant = _ids(record.get("relevant"), "relevant", tool_ids, path, line)
    if bool(relevant) is (kind == "none"):
        raise _wrong(path, line, f"kind {kind!r} with {len(relevant)} relevant tools; only 'none' has no tool")
    shown = record.get("candidates")
    if shown is not None:
        # Some sources show a tool twice; what is shown is a set.
        shown = tuple(dict.fromkeys(_known_ids(shown, "candidates", tool_ids, path, line)))
    return Query(
        id=_text(record, "id", path, line),
        text=_text(record, "query", path, line),
        relevant=relevant,
        kind=kind,
        split=_text(record, "split", path, line),
        lang=_text(record, "lang", path, line),
        candidates=shown,
        alternatives=_alternatives(record.get("alternatives") or {}, relevant, tool_ids, path, line),
        group=str(record.get("group") or ""),
    )


def _alternatives(
    value: object, relevant: tuple[str, ...], tool_ids: frozenset[str], path: Path, line: int
) -> Mapping[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise _wrong(path, line, "alternatives is not an object {needed id: [ids]}")
    for tool in value:
        if tool not in relevant:
            raise _wrong(path, line, f"alternatives names {tool!r}, which is not among the relevant tools")
    return MappingProxyType(
        {tool: _ids(others, f"alternatives[{tool!r}]", tool_ids, path, line) for tool, others in value.items()}
    )


def _ids(value: object, name: str, tool_ids: frozenset[str], path: Path, line: int) -> tuple[str, ...]:
    """Return a list of tool ids, each there once."""
    ids = _known_ids(value, name, tool_ids, path, line)
    if len(set(ids)) != len(ids):
        raise _wrong(path, line, f"{name} names a tool twice")
    return ids


def _known_ids(value: object, name: str, tool_ids: frozenset[str], path: Path, line: int) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _wrong(path, line, f"{name} is not a list of tool ids")
    for item in value:
        if item not in tool_ids:
            raise _wrong(path, line, f"{name} names {item!r}, which is not in {TOOLS_FILE}")
    return tuple(value)


def _text(record: dict[str, Any], key: str, path: Path, line: int) -> str:
    value = record.get(key)
    if not isinstance(value, str) or not value.strip():
        raise _wrong(path, line, f"{key!r} is {value!r}; it must be a non-empty text")
    return value


def _wrong(path: Path, line: int, message: str) -> DataError:
    return DataError(message, source=str(path), line=line)
