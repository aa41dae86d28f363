"""Options that several commands share, and how they become requests and principals."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from toolsearch.model.errors import RequestError

if TYPE_CHECKING:
    from pydantic import BaseModel

    from toolsearch import Principal, SearchRequest

IndexOption = Annotated[
    Path | None,
    typer.Option("--index", "-i", help="Folder of the index [setting: index, TOOLSEARCH_INDEX].", show_default=False),
]
ApiKeyOption = Annotated[
    str | None,
    typer.Option(
        envvar="TOOLSEARCH_API_KEY", help="Key or token for the server that owns the index.", show_default=False
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the answer as JSON, as the library and HTTP give it.")]
SubjectOption = Annotated[str | None, typer.Option(help="On whose behalf.", show_default=False)]
TenantOption = Annotated[str | None, typer.Option(help="Tenant of the principal.", show_default=False)]
EnvironmentOption = Annotated[str | None, typer.Option(help="Environment of the principal.", show_default=False)]
RoleOption = Annotated[
    list[str] | None, typer.Option(help="Role of the principal; repeat for more.", show_default=False)
]
ScopeOption = Annotated[
    list[str] | None, typer.Option(help="Scope of the principal; repeat for more.", show_default=False)
]
PrincipalOption = Annotated[
    Path | None, typer.Option("--principal", help="YAML or JSON file with the principal.", show_default=False)
]
AuthorOption = Annotated[
    str | None,
    typer.Option(help="Who acts, for the history; a server takes it from the credentials.", show_default=False),
]
ReasonOption = Annotated[str, typer.Option(help="Why, for the history.", show_default=False)]
FingerprintOption = Annotated[
    str, typer.Option(help="What was looked at; refused if something else waits now.", show_default=False)
]
InputOption = Annotated[
    list[str] | None,
    typer.Option("--input", help="A value at hand, name=value (value as JSON or text); repeat.", show_default=False),
]
WeightOption = Annotated[
    list[str] | None, typer.Option("--weight", help="A signal's weight, name=number; repeat.", show_default=False)
]
RequestOption = Annotated[
    str | None,
    typer.Option("--request", help="JSON file with the whole request, - for stdin.", show_default=False),
]

Model = TypeVar("Model", bound="BaseModel")


def validated(model: type[Model], data: Any, *, what: str) -> Model:
    """Build an edge model from what the user typed.

    Raises:
        RequestError: Naming the first wrong field.
    """
    from pydantic import ValidationError

    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        raise RequestError(
            f"{what}{f': {field}' if field else ''}: {message}; given {str(first['input'])[:80]!r}", field=field
        ) from None


def read_text(path: str, *, what: str) -> str:
    """Return the text of a file, or of standard input for `-`.

    Raises:
        RequestError: If it cannot be read as UTF-8.
    """
    try:
        if path == "-":
            return sys.stdin.buffer.read().decode("utf-8")
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise RequestError(f"{what} {path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise RequestError(f"{what} {path}: not UTF-8 at byte {error.start}") from None


def read_data(path: str, *, what: str) -> Any:
    """Return the data of a YAML or JSON file.

    Raises:
        RequestError: If it cannot be read.
    """
    import yaml

    try:
        return yaml.safe_load(read_text(path, what=what))
    except (yaml.YAMLError, RecursionError) as error:
        raise RequestError(f"{what} {path} is not YAML or JSON: {str(error)[:300]}") from None


def principal_from(
    *,
    subject: str | None,
    tenant: str | None,
    environment: str | None,
    role: Sequence[str] | None,
    scope: Sequence[str] | None,
    file: Path | None,
) -> Principal | None:
    """Return the principal that the options describe, or None where none is given.

    Raises:
        RequestError: If the file or a value is wrong.
    """
    from toolsearch import Principal

    flags = {
        "subject": subject,
        "tenant": tenant,
        "environment": environment,
        "roles": role or None,
        "scopes": scope or None,
    }
    given = {name: value for name, value in flags.items() if value is not None}
    if file is None and not given:
        return None
    data = read_data(str(file), what="principal file") if file is not None else {}
    if not isinstance(data, dict):
        raise RequestError(f"principal file {file} is not a mapping of subject, tenant, roles, scopes ...")
    return validated(Principal, {**data, **given}, what="principal")


def acting(author: str | None) -> Principal | None:
    """Return the principal in whose name the catalogue is changed, or None for that of the settings."""
    from toolsearch import Principal

    return None if author is None else validated(Principal, {"subject": author}, what="author")


def pairs(values: Sequence[str] | None, *, option: str) -> dict[str, Any]:
    """Read repeated name=value options; a value that is JSON is read as JSON, any other as text.

    Raises:
        RequestError: If one has no `=`.
    """
    found: dict[str, Any] = {}
    for value in values or ():
        name, equals, text = value.partition("=")
        if not equals or not name:
            raise RequestError(f"{option} {value!r}: write name=value", field=option.lstrip("-"))
        try:
            found[name] = json.loads(text)
        except ValueError:
            found[name] = text
    return found


def request_from(text: str | None, *, file: str | None, **fields: Any) -> SearchRequest:
    """Return the request that the argument, the file and the options describe; options win over the file.

    Args:
        text: The request in words.
        file: JSON file with a whole request, or `-`.
        **fields: Fields of SearchRequest; None, an empty list or mapping means not given.

    Raises:
        RequestError: If there is no text, or a value is wrong.
    """
    from toolsearch import SearchRequest

    data = read_data(file, what="request file") if file is not None else {}
    if not isinstance(data, dict):
        raise RequestError(f"request file {file} is not a mapping with 'text' and more")
    given = {name: value for name, value in fields.items() if value not in (None, {}, [])}
    if text is not None:
        given["text"] = text
    if "text" not in data and "text" not in given:
        raise RequestError("nothing asked: give TEXT, or --request FILE", field="text")
    return validated(SearchRequest, {**data, **given}, what="request")
