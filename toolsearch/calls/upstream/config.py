"""The files in which people list their MCP servers -> `UpstreamServer`.

Read are `mcpServers` (Claude Desktop and Code, Cursor, Windsurf) and `servers` with `inputs` (VS Code). One wrong entry
never loses the others.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from toolsearch.calls.upstream.expand import expanded
from toolsearch.calls.upstream.server import UpstreamServer
from toolsearch.contracts.enrich.foreign import clean_name
from toolsearch.model.errors import ContractError, UpstreamConfigError

MAX_BYTES = 1_048_576
MAX_SERVERS = 1_000

TABLES = ("mcpServers", "servers")
"""Top-level keys under which the servers stand."""

_TRANSPORTS = {
    "stdio": "stdio",
    "http": "streamable-http",
    "streamable-http": "streamable-http",
    "streamableHttp": "streamable-http",
    "streamable_http": "streamable-http",
    "sse": "sse",
}
_READ = frozenset({"command", "args", "env", "cwd", "url", "headers", "type", "transport", "disabled"})
# Known keys of the programs that write these files, about approval, display and their own limits.
_IGNORED = frozenset(
    {"alwaysAllow", "alwaysLoad", "autoApprove", "description", "dev", "disabledTools", "gallery", "note", "timeout"}
    | {"version"}
)
_INSTEAD = {
    "envFile": "write its variables under `env` as ${env:NAME}",
    "serverUrl": "write `url`",
    "httpUrl": "write `url`",
    "auth": "write the token as a header, ${env:NAME}",
    "oauth": "write the token as a header, ${env:NAME}",
    "headersHelper": "write the header itself, ${env:NAME}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigReport:
    """What came of reading a configuration.

    Attributes:
        servers: What was read, sorted by name.
        refused: What could not be read, each with its position and without its values.
        disabled: Names of the servers that the file switches off.
    """

    servers: tuple[UpstreamServer, ...] = ()
    refused: tuple[UpstreamConfigError, ...] = ()
    disabled: tuple[str, ...] = ()

    def named(self, names: tuple[str, ...], *, source: str = "") -> ConfigReport:
        """Return only the servers of these names.

        Raises:
            UpstreamConfigError: If one of them is not listed.
        """
        listed = {server.name for server in self.servers}
        for name in names:
            if name not in listed:
                refused = next((error for error in self.refused if error.path.endswith(f"/{name}")), None)
                known = ", ".join(sorted(listed)) or "none"
                raise refused or UpstreamConfigError(f"lists no server {name!r}; it lists {known}", source=source)
        return ConfigReport(servers=tuple(server for server in self.servers if server.name in names))


def is_config(data: object) -> bool:
    """Tell whether data are a list of MCP servers, in one of the shapes that programs write."""
    if not isinstance(data, Mapping):
        return False
    if isinstance(data.get("mcpServers"), Mapping):
        return True
    # OpenAPI has a key `servers` too, which is a list there.
    servers = data.get("servers")
    return isinstance(servers, Mapping) and not {"openapi", "swagger", "asyncapi"}.intersection(data)


def read_config(
    path: Path | str,
    *,
    environment: Mapping[str, str] | None = None,
    inputs: Mapping[str, str] | None = None,
    allow_private: bool = False,
) -> ConfigReport:
    """Read a configuration file.

    Args:
        path: The JSON file.
        environment: Variables that `${env:NAME}` may use; None = none.
        inputs: Answers to `${input:ID}`.
        allow_private: Whether URLs may lead into private networks.

    Raises:
        UpstreamConfigError: If the file cannot be read at all.
    """
    path = Path(path)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UpstreamConfigError(f"is larger than {MAX_BYTES} bytes", source=str(path))
        data = json.loads(path.read_bytes().decode("utf-8-sig"), object_pairs_hook=_once)
    except OSError as error:
        raise UpstreamConfigError(f"cannot be read: {error.strerror or error}", source=str(path)) from None
    except json.JSONDecodeError as error:
        raise UpstreamConfigError(
            f"is not JSON: {error.msg}; comments are not read", source=str(path), path=f"{error.lineno}:{error.colno}"
        ) from None
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, _Twice) else "not UTF-8, or nested too deep"
        raise UpstreamConfigError(f"is not JSON: {reason}", source=str(path)) from None
    return read_config_data(data, source=str(path), environment=environment, inputs=inputs, allow_private=allow_private)


def read_config_data(
    data: object,
    *,
    source: str = "data",
    environment: Mapping[str, str] | None = None,
    inputs: Mapping[str, str] | None = None,
    allow_private: bool = False,
) -> ConfigReport:
    """Read a configuration from plain data; see `read_config`.

    Raises:
        UpstreamConfigError: If the data list no servers.
    """
    if not is_config(data):
        raise UpstreamConfigError("has neither `mcpServers` nor `servers` with servers by name", source=source)
    assert isinstance(data, Mapping)
    table = next(key for key in TABLES if isinstance(data.get(key), Mapping))
    if len(data[table]) > MAX_SERVERS:
        raise UpstreamConfigError(f"lists more than {MAX_SERVERS} servers", source=source, path=f"/{table}")
    servers: dict[str, UpstreamServer] = {}
    refused: list[UpstreamConfigError] = []
    disabled: list[str] = []
    for name, entry in data[table].items():
        try:
            if isinstance(entry, Mapping) and entry.get("disabled") is True:
                disabled.append(name)
                continue
            server = _server(name, entry, environment or {}, inputs or {}, allow_private=allow_private)
            if server.name in servers:
                raise ValueError(f"becomes the server {server.name!r}, as another entry does; rename one of them")
            servers[server.name] = server
        except ValueError as error:
            refused.append(UpstreamConfigError(_reason(error), source=source, path=f"/{table}/{name}"))
    return ConfigReport(
        servers=tuple(servers[name] for name in sorted(servers)),
        refused=tuple(refused),
        disabled=tuple(sorted(disabled)),
    )


def http_server(url: str, *, name: str, allow_private: bool = False) -> UpstreamServer:
    """Return the server at a URL.

    Raises:
        UpstreamConfigError: If the URL or the name cannot be one.
    """
    try:
        return UpstreamServer.model_validate(
            {"name": name, "transport": "streamable-http", "url": url, "allow_private": allow_private}
        )
    except ValidationError as error:
        raise UpstreamConfigError(_reason(error), source=name) from None


def _server(
    name: str, entry: object, environment: Mapping[str, str], inputs: Mapping[str, str], *, allow_private: bool
) -> UpstreamServer:
    if not isinstance(entry, Mapping):
        raise ValueError(f"is a {type(entry).__name__}, not a server with `command` or `url`")
    for key in entry:
        if key not in _READ | _IGNORED:
            raise ValueError(f"has the unknown key {key!r}{_hint(key)}")

    def fill(value: object, key: str) -> str:
        if not isinstance(value, str):
            raise ValueError(f"{key} is a {type(value).__name__}, not a string")
        try:
            return expanded(value, environment=environment, inputs=inputs)
        except ValueError as error:
            raise ValueError(f"{key}: {error}") from None

    def table(key: str) -> dict[str, str]:
        found = entry.get(key) or {}
        if not isinstance(found, Mapping):
            raise ValueError(f"{key} is a {type(found).__name__}, not an object")
        # A number in `env` is common, and what the programs that write these files accept.
        plain = {name: str(value) if type(value) in (int, float) else value for name, value in found.items()}
        return {str(name): fill(value, f"{key}.{name}") for name, value in plain.items()}

    args = entry.get("args") or []
    if not isinstance(args, list):
        raise ValueError(f"args is a {type(args).__name__}, not a list")
    single = {key: fill(entry[key], key) for key in ("command", "cwd", "url") if entry.get(key) is not None}
    try:
        return UpstreamServer.model_validate(
            {
                **single,
                "name": clean_name(name),
                "transport": _transport(entry),
                "args": [fill(value, f"args[{at}]") for at, value in enumerate(args)],
                "env": table("env"),
                "headers": table("headers"),
                "allow_private": allow_private,
            }
        )
    except ContractError as error:
        raise ValueError(str(error)) from None


def _transport(entry: Mapping[str, Any]) -> str:
    given = entry.get("type", entry.get("transport"))
    if given is None:
        return "stdio" if "command" in entry else "streamable-http"
    if not isinstance(given, str) or given not in _TRANSPORTS:
        raise ValueError(f"has the type {str(given)[:40]!r}; known are {', '.join(_TRANSPORTS)}")
    return _TRANSPORTS[given]


def _hint(key: str) -> str:
    if key in _INSTEAD:
        return f"; {_INSTEAD[key]}"
    close = difflib.get_close_matches(str(key), sorted(_READ), n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(sorted(_READ))}"


def _reason(error: ValueError) -> str:
    """Return what is wrong, without the value: it may be a secret."""
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    field = ".".join(map(str, first["loc"]))
    message = first["msg"].removeprefix("Value error, ")
    return f"{field}: {message}" if field and field not in message else message


class _Twice(ValueError):
    """A key stands twice in one object."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        raise _Twice(f"the key {next(key for key in keys if keys.count(key) > 1)!r} stands twice in one object")
    return found
