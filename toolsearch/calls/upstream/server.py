"""One MCP server: how it is started or reached. Whatever may hold a secret shows itself in no text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Annotated, Literal, Self
from urllib.parse import parse_qsl, urlsplit

from pydantic import AfterValidator, Field, SecretStr, model_validator

from toolsearch.calls.upstream.address import checked_url
from toolsearch.model.contract import Frozen

Transport = Literal["stdio", "streamable-http", "sse"]

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_OWN_HEADERS = frozenset(
    {"connection", "content-length", "content-type", "host", "accept", "transfer-encoding", "upgrade", "te", "trailer"}
)
_SHORTEST_SECRET = 4


def _no_controls(text: str, *, what: str) -> str:
    if any(ord(character) < 32 or ord(character) == 127 for character in text):
        raise ValueError(f"{what} holds a control character")
    return text


def _command(text: str) -> str:
    """Accept a bare name, which is looked up on the PATH, or an absolute path without `..`."""
    _no_controls(text, what="command")
    path = PurePath(text)
    if not text.strip() or text.startswith(("-", "~")):
        raise ValueError("command is no name of a program")
    if ".." in path.parts:
        raise ValueError("command climbs with `..`; write the path it leads to")
    if ("/" in text or "\\" in text) and not path.is_absolute():
        raise ValueError("command is a relative path; write a bare name or an absolute path")
    return text


def _folder(text: str) -> str:
    _no_controls(text, what="cwd")
    path = PurePath(text)
    if not path.is_absolute() or ".." in path.parts:
        raise ValueError("cwd is not an absolute path without `..`")
    return text


class UpstreamServer(Frozen):
    """One MCP server that tools come from.

    Attributes:
        name: Server of its contracts.
        transport: How to speak with it.
        command: Program to start: a bare name or an absolute path. For stdio only.
        args: Its arguments.
        env: Its variables, beside the few that every child gets (PATH, HOME and such); nothing else is passed on.
        cwd: Folder to start it in.
        url: Where it is reached. For HTTP only.
        headers: Sent with each request.
        allow_private: Whether its host may have an address of a private network. Loopback is allowed under its own
            names, link-local (where clouds keep their credentials) never.
    """

    name: str = Field(min_length=1, max_length=256, pattern=r"^[^\s/@\x00-\x1f\x7f]+$")
    transport: Transport
    command: Annotated[str, AfterValidator(_command)] | None = None
    args: tuple[SecretStr, ...] = ()
    env: dict[str, SecretStr] = Field(default_factory=dict)
    cwd: Annotated[str, AfterValidator(_folder)] | None = None
    url: SecretStr | None = None
    headers: dict[str, SecretStr] = Field(default_factory=dict)
    allow_private: bool = False

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.transport == "stdio":
            if self.command is None or self.url is not None or self.headers:
                raise ValueError("a stdio server has a command, and neither url nor headers")
            for name, value in self.env.items():
                if not _ENV_NAME.fullmatch(name) or "\0" in value.get_secret_value():
                    raise ValueError(f"env {name!r} cannot be a variable")
            if any("\0" in argument.get_secret_value() for argument in self.args):
                raise ValueError("args holds a NUL character")
            return self
        if self.url is None or self.command is not None or self.args or self.env or self.cwd:
            raise ValueError(f"a {self.transport} server has a url, and neither command, args, env nor cwd")
        checked_url(self.url.get_secret_value(), allow_private=self.allow_private)
        for name, value in self.headers.items():
            if not _HEADER_NAME.fullmatch(name) or name.lower() in _OWN_HEADERS:
                raise ValueError(f"header {name!r} cannot be set")
            _no_controls(value.get_secret_value(), what=f"header {name!r}")
        return self

    @property
    def place(self) -> str:
        """Return where it is, safe to show: the program, or scheme, host and port; a path may hold a key."""
        if self.url is None:
            return self.command or ""
        parts = urlsplit(self.url.get_secret_value())
        return f"{parts.scheme}://{parts.netloc}"

    def redacted(self, text: str) -> str:
        """Return a text with every value that may be secret replaced by `***`."""
        for value in sorted(self._secrets(), key=len, reverse=True):
            text = text.replace(value, "***")
        return text

    def _secrets(self) -> Iterator[str]:
        whole = [*self.args, *self.env.values(), *self.headers.values()]
        values = [secret.get_secret_value() for secret in whole]
        values += [value.partition("=")[2] for value in values if value.startswith("-")]  # --token=abc
        values += [word for secret in self.headers.values() for word in secret.get_secret_value().split()]  # Bearer abc
        if self.url is not None:
            parts = urlsplit(self.url.get_secret_value())
            values += [self.url.get_secret_value(), parts.path, parts.query, *parts.path.split("/")]
            values += [value for _, value in parse_qsl(parts.query)]
        yield from (value for value in values if len(value) >= _SHORTEST_SECRET)
