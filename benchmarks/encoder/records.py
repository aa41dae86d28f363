"""The public data as (request, tools) examples: only what may be fitted on, or what choices are made on."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolsearch.text.analysis.identifiers import identifier_words

FIT_SETS: Final = ("bfcl", "acebench_en", "acebench_zh", "apizoo", "toolret_apigen", "toolalpaca", "apibank")
"""Labelled sets whose role is train in all splits; `seal_tools` is one in its split `test` only."""

CATALOGUES: Final = ("real_servers", "toolsdk_registry", "scale_aws", "scale_google")
"""Catalogues under MIT or Apache-2.0; the tools of `real_servers` under another licence are left out."""

_FOREIGN_LICENCE: Final = ("sentry",)

_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: what its texts are made of.

    Attributes:
        key: `data set/id`.
        name: Its name as words.
        description: Its description, white space folded.
        parameters: Names of its top-level inputs as words.
        server: Provider or application; empty if unknown.
    """

    key: str
    name: str
    description: str
    parameters: tuple[str, ...]
    server: str

    def text(self, *, description: str | None = None, parameters: bool = True, server: bool = False) -> str:
        """Return the text that is embedded, shaped like `ToolDocument.positive_text`: with or without its server."""
        body = self.description if description is None else description
        parts = (self.name, body[:640].rstrip(" ."), ", ".join(self.parameters)[:160] if parameters else "")
        text = ". ".join(part for part in parts if part)
        return f"{_words(self.server)}: {text}" if server and self.server else text

    def sentences(self) -> list[str]:
        """Return the sentences of the description."""
        return [part.strip() for part in _SENTENCE.split(self.description) if part.strip()]


@dataclass(frozen=True, slots=True)
class Request:
    """One labelled request.

    Attributes:
        text: What was asked.
        relevant: Keys of the tools that are right.
        alternatives: Key -> keys that are just as right.
        lang: `en`, `zh`, ...
    """

    text: str
    relevant: tuple[str, ...]
    alternatives: Mapping[str, tuple[str, ...]]
    lang: str


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a JSON Lines file."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def tool_lines(data: Path, keys: Collection[str]) -> list[dict[str, Any]]:
    """Return the tools of several data sets as they stand there, the key as `id` and the set as `server` if none is."""
    return [
        {**line, "id": key, "server": line.get("server") or name}
        for name in sorted({key.partition("/")[0] for key in keys})
        for line in read_lines(data / name / "tools.jsonl")
        if (key := f"{name}/{line['id']}") in keys
    ]


def read_tools(data: Path, dataset: str) -> list[Tool]:
    """Return the tools of a data set in file order."""
    return [_tool(record, dataset) for record in read_lines(data / dataset / "tools.jsonl")]


def read_requests(data: Path, dataset: str, *, split: str | None = None, file: str = "queries.jsonl") -> list[Request]:
    """Return the requests of a data set that need at least one tool; of one split if it is named."""
    return [
        _request(record, dataset)
        for record in read_lines(data / dataset / file)
        if record["relevant"] and (split is None or record["split"] == split)
    ]


def permitted_catalogue(tools: Sequence[Tool]) -> list[Tool]:
    """Return the tools whose text may be fitted on, those without any description left out."""
    return [tool for tool in tools if tool.description and not any(part in tool.server for part in _FOREIGN_LICENCE)]


def _tool(record: Mapping[str, Any], dataset: str) -> Tool:
    schema = record.get("input_schema") or {}
    properties = schema.get("properties")
    return Tool(
        key=f"{dataset}/{record['id']}",
        name=_words(record["name"]),
        description=" ".join((record.get("description") or "").split()),
        parameters=tuple(_words(name) for name in properties) if isinstance(properties, dict) else (),
        server=record.get("server") or "",
    )


def _words(name: str) -> str:
    return " ".join(identifier_words(name)).lower() or name


def _request(record: Mapping[str, Any], dataset: str) -> Request:
    alternatives = record.get("alternatives") or {}
    return Request(
        text=record["query"],
        relevant=tuple(f"{dataset}/{tool}" for tool in record["relevant"]),
        alternatives={
            f"{dataset}/{gold}": tuple(f"{dataset}/{other}" for other in others)
            for gold, others in alternatives.items()
        },
        lang=record.get("lang") or "en",
    )
