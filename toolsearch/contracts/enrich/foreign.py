"""What every reader of a foreign format extracts, before enrichment makes a contract of it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Protocol

from toolsearch.model.contract import Access
from toolsearch.model.errors import ContractError

MAX_NAME = 256

_NOT_IN_NAMES = re.compile(r"[\s/@\x00-\x1f\x7f\ud800-\udfff]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """Behaviour hints as a source gives them; None = not given."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignTool:
    """One tool definition of another format.

    Attributes:
        name: As the format gives it; white space, `/` and `@` are allowed here.
        description: Prose for a model, may be empty.
        input_schema: JSON Schema of the input, `{}` where none is given.
        output_schema: JSON Schema of the result, `{}` where none is given.
        title: Display name.
        hints: Behaviour hints of the source.
        server: The source's own name for where the tool lives, or None.
        domain: Category that the source states.
        tags: Tags that the source states.
        examples: Example requests that the source states.
        format: Name of the format, for provenance.
        trusted: Whether the source may lower an assumed risk.
        renamed: Name of the tool where the source gives none, or gives it twice; `name` is then only what evidence is
            read from.
        access: Who may call it, as the source states.
        errors: Errors that the source states, for the contract's error taxonomy.
        notes: What the reader had to decide, or found and could not express.
    """

    name: str
    description: str = ""
    input_schema: dict[str, Any] = field(default_factory=dict)
    output_schema: dict[str, Any] = field(default_factory=dict)
    title: str = ""
    hints: Hints = Hints()
    server: str | None = None
    domain: str = ""
    tags: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    format: str
    trusted: bool = False
    renamed: str = ""
    access: Access = field(default_factory=Access)
    errors: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class ContractReader(Protocol):
    """Reads one tool definition of one foreign format. New formats implement this and join `reader.READERS`."""

    @property
    def name(self) -> str:
        """Short name of the format."""
        ...

    def recognises(self, data: Mapping[str, Any]) -> bool:
        """Tell whether the data look like a definition of this format; never raises."""
        ...

    def read(self, data: Mapping[str, Any], *, server: str | None, trusted: bool) -> ForeignTool:
        """Return the tool that the data define.

        Raises:
            ContractError: If a part has the wrong type; `path` is a JSON pointer into the data.
        """
        ...


def clean_name(text: str, *, default: str = "") -> str:
    """Return the text as a valid tool or server name: white space, `/` and `@` become `_`.

    Names of more than 256 characters are cut and end in a hash of the whole.

    Raises:
        ContractError: If nothing is left and there is no default.
    """
    name = _NOT_IN_NAMES.sub("_", text.strip()).strip("_") or ("_" if "_" in text else "")
    if len(name) > MAX_NAME:
        name = f"{name[: MAX_NAME - 9]}_{sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]}"
    if not name:
        if default:
            return default
        raise ContractError("has an empty name", path="/name", hint="name the tool")
    return name


def text_at(data: Mapping[str, Any], key: str, *, where: str = "") -> str:
    """Return the string under a key, "" where it is absent or null.

    Raises:
        ContractError: If it is not a string.
    """
    value = data.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ContractError(f"{key} is a {type(value).__name__}, not a string", path=f"{where}/{key}")
    return value


def schema_at(data: Mapping[str, Any], key: str, *, where: str = "") -> dict[str, Any]:
    """Return the JSON Schema under a key, `{}` where it is absent, null or `true`.

    Raises:
        ContractError: If it is not an object.
    """
    value = data.get(key)
    if value is None or value is True:
        return {}
    if not isinstance(value, dict):
        raise ContractError(f"{key} is a {type(value).__name__}, not a JSON Schema object", path=f"{where}/{key}")
    return value


def unkept_notes(data: Mapping[str, Any], *keys: str) -> tuple[str, ...]:
    """Return a note on each of the keys that says something: what concerns one way of sending is not part of a tool."""
    stated = ((key, data.get(key)) for key in keys)
    return tuple(
        f"{key}: {json.dumps(value, ensure_ascii=False, sort_keys=True)[:200]} in the source is not kept"
        for key, value in stated
        if value not in (None, False, "", [], {})
    )


def texts_at(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Return the strings of the list under a key; other values are left out."""
    value = data.get(key)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list | tuple) else ()


def flag_at(data: Mapping[str, Any], key: str) -> bool | None:
    """Return the boolean under a key; anything else says nothing."""
    value = data.get(key)
    return value if isinstance(value, bool) else None
