"""What can be imported: files and folders, data, MCP servers; and how words of a command line become that."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from toolsearch.calls.importing.report import RefusedTool
from toolsearch.calls.upstream import UpstreamServer, http_server, is_config, read_config
from toolsearch.contracts.enrich.foreign import clean_name
from toolsearch.model.errors import RequestError


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSource:
    """A file or folder of definitions in any known format.

    Attributes:
        path: Which.
        server: Server of definitions that name none; None = the name of the file without its ending.
    """

    path: Path
    server: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSource:
    """Definitions as plain data in any known format.

    Attributes:
        data: The data.
        server: Server of definitions that name none.
        label: What to call them in errors.
    """

    data: Any
    server: str | None = None
    label: str = "data"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSource:
    """A live MCP server."""

    server: UpstreamServer


Source = FileSource | DataSource | ServerSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What words name, and what of it is refused already."""

    sources: tuple[Source, ...] = ()
    refused: tuple[RefusedTool, ...] = ()


def sources_from(
    words: Sequence[str],
    *,
    server: str | None = None,
    environment: Mapping[str, str] | None = None,
    inputs: Mapping[str, str] | None = None,
    allow_private: bool = False,
) -> Sources:
    """Return the sources that words name: MCP configuration files, URLs of MCP servers, files and folders.

    Args:
        words: Paths and http(s) URLs.
        server: Of a configuration file, the one server to take; else the server of what names none.
        environment: Variables that a configuration file may use.
        inputs: Answers to its `${input:ID}`.
        allow_private: Whether URLs may lead into private networks.

    Raises:
        RequestError: If a URL has no name to go by.
        UpstreamConfigError: If a configuration file or a URL cannot be used, or does not list the server.
    """
    sources: list[Source] = []
    refused: list[RefusedTool] = []
    for word in words:
        if word.startswith(("http://", "https://")):
            name = server or _host(word)
            sources.append(ServerSource(server=http_server(word, name=name, allow_private=allow_private)))
            continue
        path = Path(word)
        if not _is_config_file(path):
            sources.append(FileSource(path=path, server=server))
            continue
        report = read_config(path, environment=environment, inputs=inputs, allow_private=allow_private)
        if server is not None:
            report = report.named((server,), source=word)
        sources.extend(ServerSource(server=each) for each in report.servers)
        refused.extend(map(RefusedTool.of, report.refused))
    return Sources(sources=tuple(sources), refused=tuple(refused))


def server_of_path(path: Path) -> str:
    """Return the server that a file or folder is, where its definitions name none."""
    return clean_name(path.resolve().stem, default="local")


def _host(url: str) -> str:
    try:
        host = urlsplit(url).hostname
    except ValueError:
        host = None
    if not host:
        raise RequestError("the URL names no host; write http://HOST[:PORT]/PATH", field="sources")
    return clean_name(host.replace(":", "_"))


def _is_config_file(path: Path) -> bool:
    """Tell whether a file lists MCP servers; whatever is no such JSON is for the other readers to judge."""
    if path.suffix.lower() != ".json" or not path.is_file():
        return False
    try:
        return is_config(json.loads(path.read_bytes().decode("utf-8-sig")))
    except (OSError, ValueError, RecursionError):
        return False
