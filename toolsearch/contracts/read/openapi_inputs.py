"""Parameters and request body of an operation -> one input schema.

A call of a tool has one flat set of arguments; an HTTP request has five places for them. Each argument keeps its name
where no other place has the same one. Else the name stays with the first of path, query, header, cookie and body, and
the others are called `query_NAME`, `header_NAME`, `cookie_NAME`, `body_NAME`. Notes say where each argument goes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from toolsearch.contracts.enrich.foreign import schema_at, text_at, texts_at
from toolsearch.contracts.read.openapi_document import Operation, Spec, place_of
from toolsearch.contracts.read.openapi_schema import example_values, json_schema
from toolsearch.model.errors import ContractError

_PLACES = ("path", "query", "querystring", "header", "cookie", "body")
# The HTTP client fills these in; OpenAPI 3 says that a parameter of such a name is ignored.
_TRANSPORT_HEADERS = frozenset({"accept", "content-type", "authorization"})
_TEMPLATED = re.compile(r"\{([\w.-]{1,100})\}")
# What a Parameter Object of 2.0 says beside its schema.
_NOT_SCHEMA = frozenset({"name", "in", "required", "description", "schema", "collectionFormat", "allowEmptyValue"})
# A body with one of these is more than the list of its properties.
_MORE_THAN_PROPERTIES = frozenset(
    {"oneOf", "anyOf", "not", "if", "patternProperties", "propertyNames", "dependentSchemas", "dependentRequired"}
    | {"minProperties", "maxProperties", "unevaluatedProperties", "nullable", "x-nullable", "const", "enum"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Argument:
    place: str
    name: str
    schema: Any
    required: bool


@dataclass(slots=True)
class _Body:
    """A request body: its properties where it is plainly a list of them, else one argument."""

    arguments: list[_Argument] = field(default_factory=list)
    whole: bool = False
    closed: bool = False
    description: str = ""
    examples: list[Any] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Properties:
    """The properties of an object schema; `closed` = it allows no others."""

    schemas: dict[str, Any] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)
    closed: bool = False


def input_of(operation: Operation) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the input schema of an operation, and notes on where its arguments go.

    Raises:
        ContractError: If a parameter or the body is malformed.
    """
    arguments, form = _parameters(operation)
    body = _form_body(operation, form) if form else _request_body(operation)
    arguments += body.arguments
    names = _names(arguments)
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    if body.description:
        schema["description"] = body.description
    for argument, name in zip(arguments, names, strict=True):
        schema["properties"][name] = argument.schema
    required = [name for argument, name in zip(arguments, names, strict=True) if argument.required]
    if required:
        schema["required"] = required
    if body.closed:
        schema["additionalProperties"] = False
    if body.examples and len(names) == len(body.arguments) and not body.whole:
        schema["examples"] = body.examples
    plain = json_schema(schema, spec=operation.spec, side="input")
    kept = [(argument, name) for argument, name in zip(arguments, names, strict=True) if name in plain["properties"]]
    return plain, (*_notes(kept), *body.notes)


def _names(arguments: list[_Argument]) -> list[str]:
    """Return the name of each argument in the input schema, all different."""
    names = [""] * len(arguments)
    taken: set[str] = set()
    for at in sorted(range(len(arguments)), key=lambda at: (_PLACES.index(arguments[at].place), at)):
        argument = arguments[at]
        name = argument.name if argument.name not in taken else f"{argument.place}_{argument.name}"
        number = 2
        while name in taken:
            name, number = f"{argument.place}_{argument.name}_{number}", number + 1
        taken.add(name)
        names[at] = name
    return names


def _notes(kept: list[tuple[_Argument, str]]) -> Iterator[str]:
    """Yield where the arguments go, and what they are called there if the name differs."""
    placed = {
        place: [f"{name} (as {one.name})" if name != one.name else name for one, name in kept if one.place == place]
        for place in _PLACES
    }
    listed = "; ".join(f"{place}: {', '.join(names)}" for place, names in placed.items() if names)
    if listed:
        yield f"arguments: {listed}"


def _parameters(operation: Operation) -> tuple[list[_Argument], list[tuple[Mapping[str, Any], str]]]:
    """Return the parameters, and those of 2.0 that make up the body, each with its place; the operation's own win."""
    listed: dict[tuple[str, str], tuple[Mapping[str, Any], str]] = {}
    for holder, prefix in ((operation.item, "/.."), (operation.body, "")):
        stated = holder.get("parameters")
        if stated is None:
            continue
        if not isinstance(stated, list):
            raise ContractError(f"parameters is a {type(stated).__name__}, not a list", path=f"{prefix}/parameters")
        for number, node in enumerate(stated):
            at = f"{prefix}/parameters/{number}"
            parameter = operation.spec.follow(node, at=at)
            name = text_at(parameter, "name", where=at)
            if not name:
                raise ContractError("has a parameter without a name", path=f"{at}/name")
            listed[text_at(parameter, "in", where=at), name] = (parameter, at)
    arguments, form = [], []
    for (place, name), (parameter, at) in listed.items():
        if place in ("body", "formData"):
            form.append((parameter, at))
        elif place not in _PLACES:
            raise ContractError(
                f"parameter {name[:100]!r} is in {place[:40]!r}", path=f"{at}/in", hint="path, query, header or cookie"
            )
        elif place != "header" or name.lower() not in _TRANSPORT_HEADERS:
            arguments.append(_argument(parameter, place=place, name=name, at=at))
    # Often forgotten, and no call can be made without them.
    arguments += [
        _Argument(place="path", name=name, schema={"type": "string"}, required=True)
        for name in dict.fromkeys(_TEMPLATED.findall(operation.path))
        if ("path", name) not in listed
    ]
    return arguments, form


def _argument(parameter: Mapping[str, Any], *, place: str, name: str, at: str) -> _Argument:
    schema = _schema_of(parameter, at=at)
    described = text_at(parameter, "description", where=at)
    if described:
        schema["description"] = described
    if parameter.get("deprecated") is True:
        schema["deprecated"] = True
    examples = example_values(parameter.get("examples"))
    if "example" in parameter:
        examples = [parameter["example"]]
    if examples:
        schema["examples"] = examples
    required = place == "path" or parameter.get("required") is True
    return _Argument(place=place, name=name, schema=schema, required=required)


def _schema_of(parameter: Mapping[str, Any], *, at: str) -> dict[str, Any]:
    content = parameter.get("content")
    if isinstance(content, Mapping) and content:
        kind, media = next(iter(content.items()))
        where = at + place_of("content", kind)
        return dict(schema_at(media, "schema", where=where)) if isinstance(media, Mapping) else {}
    if "schema" in parameter:
        return dict(schema_at(parameter, "schema", where=at))
    return {
        key: value
        for key, value in parameter.items()
        if key not in _NOT_SCHEMA and key not in ("style", "explode", "allowReserved", "example", "examples", "content")
    }


def _form_body(operation: Operation, form: list[tuple[Mapping[str, Any], str]]) -> _Body:
    """Return the body of a Swagger 2.0 operation: one parameter in `body`, or the fields of a form."""
    whole = [(parameter, at) for parameter, at in form if parameter["in"] == "body"]
    if len(whole) > 1:
        raise ContractError("has two body parameters", path=whole[1][1], hint="keep one")
    if whole:
        parameter, at = whole[0]
        schema = schema_at(parameter, "schema", where=at)
        result = _body(
            operation.spec,
            schema,
            required=parameter.get("required") is True,
            description=text_at(parameter, "description", where=at),
            at=f"{at}/schema",
        )
        result.notes[:0] = _consumed(operation)
        return result
    fields = [_argument(parameter, place="body", name=str(parameter["name"]), at=at) for parameter, at in form]
    return _Body(arguments=fields, notes=_consumed(operation) or ["body: a form"])


def _consumed(operation: Operation) -> list[str]:
    """Return a note on the media type of a Swagger 2.0 body."""
    for holder in (operation.body, operation.spec.root):
        kinds = texts_at(holder, "consumes")
        if kinds:
            return [f"body: {_media_type(dict.fromkeys(kinds))}"]
    return []


def _request_body(operation: Operation) -> _Body:
    node = operation.body.get("requestBody")
    if node is None or operation.spec.version < (3, 0):
        return _Body()
    body = operation.spec.follow(node, at="/requestBody")
    content = body.get("content")
    if not isinstance(content, Mapping) or not content:
        return _Body()
    kind = _media_type(content)
    at = "/requestBody" + place_of("content", kind)
    media = operation.spec.follow(content[kind], at=at)
    schema = media_schema(media, kind=kind, at=at)
    result = _body(
        operation.spec,
        schema,
        required=body.get("required") is True,
        description=text_at(body, "description", where="/requestBody"),
        at=f"{at}/schema",
    )
    result.examples = [media["example"]] if "example" in media else example_values(media.get("examples"))
    if result.whole and result.examples:
        result.arguments[0].schema.setdefault("examples", result.examples)
    others = [other for other in content if other != kind]
    result.notes.insert(0, f"body: {kind}" + (f"; {', '.join(others)} are not described" if others else ""))
    return result


def _media_type(content: Mapping[str, Any]) -> str:
    """Return the media type to describe: JSON first, then forms, then what stands first."""
    bare = {kind: kind.partition(";")[0].strip().lower() for kind in content}
    tests = (
        lambda kind: kind == "application/json",
        lambda kind: kind.endswith("+json"),
        lambda kind: kind == "application/x-www-form-urlencoded",
        lambda kind: kind == "multipart/form-data",
        lambda kind: True,
    )
    return next(kind for test in tests for kind in content if test(bare[kind]))


def media_schema(media: Mapping[str, Any], *, kind: str, at: str) -> dict[str, Any]:
    """Return the schema of a Media Type Object; a stream of items (3.2) is a list of them."""
    if "schema" not in media and isinstance(media.get("itemSchema"), dict):
        return {"type": "array", "items": media["itemSchema"]}
    schema = schema_at(media, "schema", where=at)
    if schema or "json" in kind.lower():
        return schema
    return {"type": "string"} if kind.lower().startswith("text/") else {"type": "string", "format": "binary"}


def _body(spec: Spec, schema: dict[str, Any], *, required: bool, description: str, at: str) -> _Body:
    parts = _properties(_Walk(spec), schema, at=at)
    if parts is None:
        schema = {**schema, "description": description} if description else dict(schema)
        return _Body(arguments=[_Argument(place="body", name="body", schema=schema, required=required)], whole=True)
    needed = set(parts.required)
    arguments = [
        _Argument(place="body", name=name, schema=inner, required=required and name in needed)
        for name, inner in parts.schemas.items()
    ]
    notes = []
    if needed and not required:
        notes.append(f"the body may be left out; where it is given it needs {', '.join(sorted(needed))}")
    return _Body(arguments=arguments, closed=parts.closed, description=description, notes=notes)


@dataclass(slots=True)
class _Walk:
    """A walk through the `allOf` of a schema, with what is left of its length."""

    spec: Spec
    left: int = 200


def _properties(walk: _Walk, schema: Any, *, at: str) -> _Properties | None:
    """Return the properties of an object schema and of its `allOf`, or None if it is more or other than a list of them.

    Two members of `allOf` that describe one property differently make it more than a list.
    """
    walk.left -= 1
    if walk.left < 0:
        return None
    node = walk.spec.follow(schema, at=at)
    extra = node.get("additionalProperties")
    if node.get("type", "object") != "object" or not _MORE_THAN_PROPERTIES.isdisjoint(node):
        return None
    if isinstance(extra, Mapping) and extra:
        return None
    found = _Properties(closed=extra is False)
    members = node.get("allOf")
    for number, member in enumerate(members if isinstance(members, list) else ()):
        inherited = _properties(walk, member, at=f"{at}/allOf/{number}")
        if inherited is None or not _merge(found, inherited):
            return None
    own, required = node.get("properties"), node.get("required")
    mine = _Properties(
        schemas=dict(own) if isinstance(own, Mapping) else {},
        required=[name for name in required if isinstance(name, str)] if isinstance(required, list) else [],
    )
    if not _merge(found, mine):
        return None
    # Inside `allOf` a member may only require; the whole must have something to list.
    return found if found.schemas or found.required else None


def _merge(found: _Properties, more: _Properties) -> bool:
    for name, schema in more.schemas.items():
        if found.schemas.setdefault(name, schema) != schema:
            return False
    found.required += more.required
    return True
