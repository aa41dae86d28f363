"""An OpenAPI or Swagger document taken apart: its version, its operations, and what their references point at."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from toolsearch.contracts.enrich.foreign import clean_name, text_at
from toolsearch.contracts.enrich.refs import resolve_ref
from toolsearch.contracts.read.places import Path, pointer
from toolsearch.model.errors import ContractError, UnresolvedReference

MAX_HOPS = 12
"""References to references that are followed from one object to the next."""

VERSIONS = ((2, 0), (3, 0), (3, 1), (3, 2))
"""The versions that are read, as (major, minor)."""

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_VERSION = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})(?:\.[0-9A-Za-z.+-]{1,32})?")
_NOT_WORD = re.compile(r"\W+")


@dataclass(frozen=True, slots=True)
class Spec:
    """One document.

    Attributes:
        root: The whole of it.
        version: Its OpenAPI version, as (major, minor).
    """

    root: Mapping[str, Any]
    version: tuple[int, int]

    def follow(self, node: Any, *, at: str) -> Mapping[str, Any]:
        """Return the object that a node is or refers to; keys beside a `$ref` win over those it brings.

        Args:
            node: An object or a Reference Object.
            at: JSON pointer for errors.

        Raises:
            ContractError: If it is no object.
            UnresolvedReference: If a reference leads nowhere, out of the document, or round in a circle.
        """
        beside: dict[str, Any] = {}
        for _ in range(MAX_HOPS):
            if not isinstance(node, Mapping):
                raise ContractError(f"is a {type(node).__name__}, not an object", path=at)
            reference = node.get("$ref")
            if not isinstance(reference, str):
                return {**node, **beside} if beside else node
            beside = {**{key: value for key, value in node.items() if key != "$ref"}, **beside}
            node = resolve_ref(reference, root=self.root, at=at)
        raise UnresolvedReference(f"has more than {MAX_HOPS} references in a row", path=at, hint="refer to it directly")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation of a document.

    Attributes:
        spec: The document.
        method: In capitals.
        path: Path template, e.g. `/orders/{id}`.
        item: The Path Item Object around it.
        body: The Operation Object.
        renamed: Unique name, where the document gives no `operationId` or gives it twice.
    """

    spec: Spec
    method: str
    path: str
    item: Mapping[str, Any]
    body: Mapping[str, Any]
    renamed: str = ""


def is_openapi(data: Mapping[str, Any]) -> bool:
    """Tell whether the data look like an OpenAPI or Swagger document of any version."""
    stated = data.get("openapi", data.get("swagger"))
    return (
        "name" not in data
        and isinstance(stated, str | int | float)
        and not {"info", "paths", "components"}.isdisjoint(data)
    )


def operations(data: Mapping[str, Any]) -> Iterator[tuple[Path, Operation | ContractError]]:
    """Yield the operations of a document in its order, each with its place, or why there is none at that place.

    Webhooks and callbacks are calls that the API makes, so they are no tools. Operations that share a name are numbered
    in the order of path and method, so the order in the document changes nothing.
    """
    try:
        spec = Spec(data, _version(data))
        paths = data.get("paths")
        if not isinstance(paths, Mapping):
            raise ContractError("has no paths: there is no operation to make a tool of", path="/paths")
    except ContractError as error:
        yield (), error
        return
    found = [one for path, item in paths.items() for one in _of_item(spec, path, item)]
    names = _names([one for _, one in found if isinstance(one, Operation)])
    for place, one in found:
        if isinstance(one, Operation):
            renamed = names[one.path, one.method]
            one = Operation(spec=spec, method=one.method, path=one.path, item=one.item, body=one.body, renamed=renamed)
        yield place, one


def _version(data: Mapping[str, Any]) -> tuple[int, int]:
    key = "openapi" if "openapi" in data else "swagger"
    match = _VERSION.fullmatch(str(data[key]).strip())
    version = (int(match[1]), int(match[2])) if match else (0, 0)
    if version not in VERSIONS:
        known = ", ".join(f"{major}.{minor}" for major, minor in VERSIONS)
        raise ContractError(
            f"is written in OpenAPI {str(data[key])[:40]!r}; read are {known}", path=f"/{key}", hint="convert it"
        )
    return version


def _of_item(spec: Spec, path: str, item: Any) -> Iterator[tuple[Path, Operation | ContractError]]:
    place: Path = ("paths", path)
    if path.startswith("x-"):
        return
    try:
        whole = spec.follow(item, at="")
    except ContractError as error:
        yield place, error
        return
    listed: list[tuple[Path, str, Any]] = []
    for key, body in whole.items():
        if key in _METHODS or (key == "query" and spec.version >= (3, 2)):
            listed.append(((*place, key), key.upper(), body))
        elif key == "additionalOperations" and spec.version >= (3, 2) and isinstance(body, Mapping):
            listed.extend(((*place, key, method), method, more) for method, more in body.items())
    for inside, method, body in listed:
        # The operations of a referenced item stand elsewhere; their place is where they are used.
        spot = inside if isinstance(item, Mapping) and inside[2] in item else place
        if isinstance(body, Mapping):
            yield spot, Operation(spec=spec, method=method, path=path, item=whole, body=body)
        else:
            yield spot, ContractError(f"is a {type(body).__name__}, not an operation")


def _names(found: list[Operation]) -> dict[tuple[str, str], str]:
    """Return (path, method) -> the name to give the operation, "" where its `operationId` is its name."""
    stated = {(one.path, one.method): _stated_name(one) for one in found}
    taken = Counter(name for name in stated.values() if name)
    names: dict[tuple[str, str], str] = {}
    seen: set[str] = set()
    numbers: Counter[str] = Counter()
    for key in sorted(stated):
        path, method = key
        name = stated[key] or clean_name(_NOT_WORD.sub("_", f"{method.lower()} {path}"))
        if stated[key] and name not in seen:
            names[key] = ""
        elif name not in seen and name not in taken:
            names[key] = name
        else:
            numbers[name] += 1
            while f"{name}_{numbers[name] + 1}" in seen or f"{name}_{numbers[name] + 1}" in taken:
                numbers[name] += 1
            name = names[key] = f"{name}_{numbers[name] + 1}"
        seen.add(name)
    return names


def _stated_name(operation: Operation) -> str:
    """Return the cleaned `operationId`, "" where there is none or it is not usable; reading it tells what is wrong."""
    try:
        return clean_name(text_at(operation.body, "operationId"), default="?").strip("?")
    except ContractError:
        return ""


def place_of(*parts: str | int) -> str:
    """Return a JSON pointer into an operation, for errors."""
    return pointer(parts)
