"""Python functions, pydantic models and LangChain tools -> contracts.

A function is read through its signature, its annotations and its docstring; pydantic turns annotations into JSON
Schema. What is not annotated takes anything. These are the caller's own tools, so their hints are trusted by default.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import is_dataclass
from typing import Annotated, Any

from pydantic import BaseModel, Field, PydanticUserError, TypeAdapter, create_model
from pydantic.errors import PydanticSchemaGenerationError, PydanticUndefinedAnnotation
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaWarningKind

from toolsearch.contracts.enrich.foreign import ForeignTool, Hints
from toolsearch.contracts.enrich.stated import contract_from
from toolsearch.contracts.read.docstrings import Docstring, read_docstring
from toolsearch.contracts.read.reader import read_data
from toolsearch.model.contract import ToolContract, by_ref
from toolsearch.model.errors import ContractError

_NO_DEFAULT = inspect.Parameter.empty
_BY_PLACE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.POSITIONAL_ONLY)
_KEYWORDS = inspect.Parameter.VAR_KEYWORD
_UNREADABLE = (PydanticUserError, PydanticSchemaGenerationError, PydanticUndefinedAnnotation)


class _PlainSchema(GenerateJsonSchema):
    """JSON Schema without the titles that repeat each name; defaults that are no JSON are left out silently."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def emit_warning(self, kind: JsonSchemaWarningKind, detail: str) -> None:
        return None


def contract_of(
    target: Any,
    *,
    server: str | None = None,
    name: str | None = None,
    description: str | None = None,
    domain: str = "",
    tags: Iterable[str] = (),
    hints: Hints | None = None,
    exclude: Collection[str] = (),
    trusted: bool = True,
) -> ToolContract:
    """Return the contract of a function, method, partial, pydantic model, dataclass, TypedDict or LangChain tool.

    Args:
        target: The tool. Arguments that a partial fixes by keyword are no inputs.
        server: Server to put it on; None = `local`.
        name: Its name; None = its own.
        description: Its description; None = its docstring.
        domain: Its domain.
        tags: Its tags.
        hints: How a call behaves; None = judged from name and text alone.
        exclude: Parameters that the harness fills in: a session, a context, a client.
        trusted: Whether hints may lower the assumed risk.

    Raises:
        ContractError: If it is none of these, takes arguments by place, has an annotation without a JSON Schema, or has
            no name.
    """
    label = name or _label(target)
    try:
        tool = _tool_of(target, label=label, exclude=frozenset(exclude), description=description)
        return contract_from(
            ForeignTool(
                name=label,
                description=tool.description,
                input_schema=tool.input_schema,
                output_schema=tool.output_schema,
                server=server,
                domain=domain,
                tags=(*tags, *tool.tags),
                hints=hints or Hints(),
                errors=tool.errors,
                notes=tool.notes,
                format=tool.format,
                trusted=trusted,
            )
        )
    except _UNREADABLE as error:
        first = str(error).partition("\n")[0][:300]
        raise ContractError(
            f"has an annotation that has no JSON Schema: {first}",
            source=label,
            hint="annotate it with plain types, or name the parameter in exclude=",
        ) from None


def contracts_of(targets: Iterable[Any], *, server: str | None = None) -> tuple[ToolContract, ...]:
    """Return the contracts of tools of mixed kinds, ready for `ToolIndex.add`.

    Args:
        targets: What `contract_of` takes, definitions as data (`read_data`), and contracts, which stay as they are.
        server: Server of the tools that name none.

    Raises:
        ContractError: With all that are wrong, or if two tools share server and name.
    """
    found: list[ToolContract] = []
    faults: list[ContractError] = []
    for target in targets:
        try:
            if isinstance(target, ToolContract):
                found.append(target)
            elif isinstance(target, Mapping):
                report = read_data(target, server=server)
                found.extend(report.contracts)
                faults.extend(report.refused)
            else:
                found.append(contract_of(target, server=server))
        except ContractError as error:
            faults.append(error)
    if len(faults) == 1:
        raise faults[0]
    if faults:
        raise ContractError(f"{len(faults)} tools are refused:\n" + "\n".join(map(str, faults)))
    by_ref(found)
    return tuple(found)


def _label(target: Any) -> str:
    """Return the name of a tool, for the contract and for errors."""
    inner = target
    while isinstance(inner, functools.partial):
        inner = inner.func
    # A model may have a field `name`, so classes and functions are called what Python calls them.
    own = isinstance(inner, type) or inspect.isroutine(inner)
    for key in ("__name__",) if own else ("name", "__name__"):
        value = getattr(inner, key, None)
        if isinstance(value, str) and value:
            return value
    return type(inner).__name__


def _tool_of(target: Any, *, label: str, exclude: frozenset[str], description: str | None) -> ForeignTool:
    if _is_langchain(target):
        return _langchain_tool(target, description=description)
    if isinstance(target, type) and _is_model(target):
        return _model_tool(target, label=label, exclude=exclude, description=description)
    if callable(target) and not isinstance(target, type):
        if label == "<lambda>":
            raise ContractError("is a lambda, which has no name", source=label, hint="give it one with name=")
        return _function_tool(target, label=label, exclude=exclude, description=description)
    raise ContractError(
        f"is a {'class' if isinstance(target, type) else type(target).__name__} that is no tool",
        source=label,
        hint="give a function, a pydantic model, a dataclass, a TypedDict or a LangChain tool",
    )


def _is_model(target: type) -> bool:
    # `typing` and `typing_extensions` each know only their own TypedDict.
    return issubclass(target, BaseModel) or is_dataclass(target) or hasattr(target, "__required_keys__")


def _model_tool(target: type, *, label: str, exclude: frozenset[str], description: str | None) -> ForeignTool:
    schema = _schema_of(target, mode="validation")
    said = read_docstring(_own_docstring(target))
    _describe(schema, said.parameters)
    schema.pop("title", None)
    schema.pop("description", None)
    _leave_out(schema, exclude, label=label)
    return ForeignTool(
        name=label,
        description=said.description if description is None else description,
        input_schema=schema,
        format="model",
    )


def _own_docstring(target: type) -> str:
    """Return the docstring somebody wrote: not an inherited one, nor the signature that a dataclass makes of itself."""
    text = target.__dict__.get("__doc__") or ""
    return "" if is_dataclass(target) and text.startswith(f"{target.__name__}(") else text


def _function_tool(
    target: Callable[..., Any], *, label: str, exclude: frozenset[str], description: str | None
) -> ForeignTool:
    inner = target.func if isinstance(target, functools.partial) else target
    said = read_docstring(inspect.getdoc(inner) or "")
    annotations = _annotations(inner, label=label)
    parameters = _parameters(target, label=label, exclude=exclude)
    schema = _arguments_schema(parameters, annotations, label=label)
    _describe(schema, said.parameters)
    output, notes = _output(annotations, said)
    return ForeignTool(
        name=label,
        description=said.description if description is None else description,
        input_schema=schema,
        output_schema=output,
        errors=tuple(said.errors),
        notes=notes,
        format="function",
    )


def _annotations(target: Any, *, label: str) -> dict[str, Any]:
    function = target if inspect.isroutine(target) else type(target).__call__
    try:
        return typing.get_type_hints(inspect.unwrap(function), include_extras=True)
    except Exception as error:  # noqa: BLE001 - annotations written as text are evaluated, and may raise anything
        raise ContractError(
            f"has an annotation that cannot be evaluated: {type(error).__name__}: {str(error)[:200]}", source=label
        ) from None


def _parameters(target: Callable[..., Any], *, label: str, exclude: frozenset[str]) -> list[inspect.Parameter]:
    try:
        signature = inspect.signature(target)
    except (ValueError, TypeError):
        raise ContractError("has no signature that Python can tell", source=label, hint="wrap it in a def") from None
    fixed = _fixed(target)
    known = list(signature.parameters.values())
    unknown = exclude - {parameter.name for parameter in known}
    if unknown:
        raise ContractError(f"has no parameter {sorted(unknown)[0]!r} to exclude", source=label)
    if known and known[0].name in ("self", "cls") and "." in getattr(target, "__qualname__", ""):
        raise ContractError(
            f"is a method without its object: it takes {known[0].name!r}", source=label, hint="give the bound method"
        )
    for parameter in known:
        if parameter.kind in _BY_PLACE:
            raise ContractError(
                f"takes {str(parameter).partition(':')[0]} by its place, and a model gives arguments by name",
                source=label,
                hint="wrap it in a function that takes names, a list instead of *args",
            )
    return [parameter for parameter in known if parameter.name not in exclude and parameter.name not in fixed]


def _fixed(target: Any) -> set[str]:
    names: set[str] = set()
    while isinstance(target, functools.partial):
        names.update(target.keywords)
        target = target.func
    return names


def _arguments_schema(
    parameters: list[inspect.Parameter], annotations: Mapping[str, Any], *, label: str
) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    extra: Any = False
    for number, parameter in enumerate(parameters):
        annotation = annotations.get(parameter.name, Any)
        if parameter.kind is _KEYWORDS:
            extra = _schema_of(annotation, mode="validation") or True
            continue
        # Fields have names of ours: a parameter may be called as no field of a model can be.
        default = ... if parameter.default is _NO_DEFAULT else parameter.default
        fields[f"p{number}"] = (Annotated[annotation, Field(alias=parameter.name, validation_alias=None)], default)
    model = create_model("Arguments", __config__={"arbitrary_types_allowed": False}, **fields)
    schema = _schema_of(model, mode="validation")
    schema.pop("title", None)
    schema.pop("description", None)
    schema.setdefault("properties", {})
    schema["additionalProperties"] = extra
    return schema


def _schema_of(annotation: Any, *, mode: JsonSchemaMode) -> dict[str, Any]:
    return TypeAdapter(annotation).json_schema(mode=mode, schema_generator=_PlainSchema)


def _describe(schema: dict[str, Any], texts: Mapping[str, str]) -> None:
    """Put the texts of the docstring where the schema has none."""
    properties = schema.get("properties", {})
    for name, text in texts.items():
        if name in properties and text and not properties[name].get("description"):
            properties[name] = {**properties[name], "description": text}


def _leave_out(schema: dict[str, Any], exclude: frozenset[str], *, label: str) -> None:
    properties = schema.get("properties", {})
    for name in sorted(exclude):
        if name not in properties:
            raise ContractError(f"has no parameter {name!r} to exclude", source=label)
        del properties[name]
    if exclude and "required" in schema:
        schema["required"] = [name for name in schema["required"] if name not in exclude]


def _output(annotations: Mapping[str, Any], said: Docstring) -> tuple[dict[str, Any], tuple[str, ...]]:
    annotation = annotations.get("return", Any)
    schema: dict[str, Any] = {}
    notes: tuple[str, ...] = ()
    if annotation not in (None, type(None), Any):
        try:
            schema = _schema_of(annotation, mode="serialization")
        except _UNREADABLE:
            notes = ("output: the annotation of the result has no JSON Schema",)
    if said.returns not in ("", "None"):
        schema = {**schema, "description": schema.get("description", said.returns)}
    return schema, notes


def _is_langchain(target: Any) -> bool:
    """Tell whether it looks like a LangChain tool: an object with a name, a description and `args_schema`."""
    return (
        not isinstance(target, type)
        and hasattr(target, "args_schema")
        and isinstance(getattr(target, "name", None), str)
        and isinstance(getattr(target, "description", None), str)
    )


def _langchain_tool(target: Any, *, description: str | None) -> ForeignTool:
    """Return a LangChain tool; `tool_call_schema` is its schema without the arguments that the framework injects."""
    stated = getattr(target, "tool_call_schema", None)
    stated = target.args_schema if stated is None else stated
    if isinstance(stated, type):
        schema = _schema_of(stated, mode="validation")
    elif isinstance(stated, Mapping):
        schema = dict(stated)
    elif stated is None:
        schema = {}
    else:
        raise ContractError(
            f"args_schema is a {type(stated).__name__}, not a model or a JSON Schema", source=target.name
        )
    schema.pop("title", None)
    schema.pop("description", None)
    tags = getattr(target, "tags", None)
    return ForeignTool(
        name=target.name,
        description=target.description if description is None else description,
        input_schema=schema,
        tags=tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list | tuple) else (),
        format="langchain",
    )
