"""A JSON Schema -> the subset that a provider compiles in strict mode, and what that leaves to words.

Every object is closed. Where the provider wants every property required, what may be left out takes null instead, which
means "not given" (`arguments.without_nulls` takes it out again before the call). Constraints that the provider does not
know move into descriptions. What the subset cannot say without changing what the tool takes makes the tool not strict:
values of any type, objects with free keys, references out of the schema, recursion where it is not compiled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from toolsearch.contracts.export.limits import StrictSubset, plain_pattern
from toolsearch.contracts.export.losses import LossKind, LossLog, SchemaLoss
from toolsearch.contracts.export.nodes import (
    MAX_NODES,
    TOOLING,
    child,
    is_scalar,
    merged,
    only_of,
    spelled,
    target_of,
    too_deep,
    types_of,
    with_notes,
)

NULL_MEANS = "may be left out; here null means that it is not given"

_STRUCTURE = {
    *("type", "properties", "required", "additionalProperties", "items", "enum", "const", "nullable"),
    *("anyOf", "oneOf", "allOf", "$ref", "title", "description"),
}
_OWN = ("type", "properties", "enum", "const", "items")


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictSchema:
    """The strict schema, None where there is none, and what it does not say; the last loss tells why there is none."""

    schema: dict[str, Any] | None
    lost: tuple[SchemaLoss, ...]


def strict_schema(schema: Mapping[str, Any], *, subset: StrictSubset) -> StrictSchema:
    """Return the schema of an object in a strict subset.

    Args:
        schema: JSON Schema of the input of a tool.
        subset: What the provider compiles.
    """
    writer = _Writer(root=schema, subset=subset)
    try:
        made = writer.whole()
        _check_size(made, subset=subset)
    except _NotStrict as refusal:
        reason = SchemaLoss(path=refusal.path, kind=LossKind.NOT_STRICT, text=refusal.reason)
        return StrictSchema(schema=None, lost=(reason,))
    return StrictSchema(schema=made, lost=tuple(writer.log.entries))


class _NotStrict(Exception):
    """The schema has no strict form."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(reason)
        self.path, self.reason = path, reason


@dataclass(slots=True, kw_only=True)
class _Writer:
    root: Mapping[str, Any]
    subset: StrictSubset
    log: LossLog = field(default_factory=LossLog)
    nodes: int = 0
    names: dict[str, str] = field(default_factory=dict)
    defs: dict[str, Any] = field(default_factory=dict)

    def whole(self) -> dict[str, Any]:
        made = self.node({"type": "object", "properties": {}, **self.root}, "", open_=("#",))
        if made.get("type") != "object":
            raise _NotStrict("", "the input is not one object")
        return {**made, "$defs": {name: self.defs[name] for name in sorted(self.defs)}} if self.defs else made

    def node(self, given: Any, path: str, *, open_: tuple[str, ...]) -> dict[str, Any]:
        """Return one node in the subset. `open_` holds the references that are being written out around it."""
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise _NotStrict(path, f"has more than {MAX_NODES} parts once its references are written out")
        if too_deep(path):
            raise _NotStrict(path, "is nested too deep")
        if not isinstance(given, Mapping):
            raise _NotStrict(path, "takes any value" if given is not False else "takes no value")
        node, open_, again = self._resolved(given, path, open_)
        notes = self._unknown(node, path)
        made: dict[str, Any] = {}
        if again is not None:
            made = {"$ref": f"#/$defs/{again}" if again else "#"}
        elif branches := self._branches(node, path, notes):
            made = {"anyOf": [self.node(part, at, open_=open_) for at, part in branches]}
            if node.get("nullable") is True and not accepts_null(made):
                made = nullable(made)
        else:
            made = self._typed(node, path, notes, open_=open_)
        head = {key: node[key] for key in ("title",) if isinstance(node.get(key), str) and node[key]}
        if text := with_notes(node.get("description"), notes):
            head["description"] = text
        if "$ref" in made and head:
            made = {"anyOf": [made]}
        return {**made, **head} if "anyOf" in made or "type" not in made else _headed(made, head)

    def _resolved(
        self, node: Mapping[str, Any], path: str, open_: tuple[str, ...]
    ) -> tuple[Mapping[str, Any], tuple[str, ...], str | None]:
        """Return the node without `$ref` and `allOf`, and the definition to refer to where it contains itself."""
        while "$ref" in node or "allOf" in node:
            if too_deep(path):
                raise _NotStrict(path, "is nested too deep")
            if "$ref" in node:
                pointer = node["$ref"]
                target = target_of(self.root, pointer) if isinstance(pointer, str) else None
                if not isinstance(target, Mapping):
                    raise _NotStrict(path, f"refers to {str(pointer)[:100]!r}, which is not part of the schema")
                rest = {key: value for key, value in node.items() if key != "$ref"}
                if pointer in open_:
                    if rest.keys() & (_STRUCTURE - {"title", "description"}):
                        raise _NotStrict(path, f"contains itself ({pointer}) and says more of it")
                    return rest, open_, self._definition(pointer, path)
                open_ = (*open_, pointer)
                node = {**target, **rest}
                continue
            parts = node["allOf"] if isinstance(node["allOf"], list | tuple) else ()
            rest = {key: value for key, value in node.items() if key != "allOf"}
            whole = []
            for at, part in enumerate(parts):
                if not isinstance(part, Mapping):
                    raise _NotStrict(child(path, "allOf", at), "is not a schema")
                flat, open_, again = self._resolved(part, child(path, "allOf", at), open_)
                if again is not None:
                    raise _NotStrict(child(path, "allOf", at), "contains itself inside allOf")
                whole.append(flat)
            joined = merged([rest, *whole])
            if joined is None:
                raise _NotStrict(child(path, "allOf"), "the parts of allOf cannot be told as one schema")
            if len(whole) > 1 or rest.keys() - {"title", "description"}:
                self.log.add(child(path, "allOf"), LossKind.CHANGED, "allOf is written as one schema")
            node = joined
        return node, open_, None

    def _definition(self, pointer: str, path: str) -> str:
        """Return the name of the definition for a reference that is inside itself; "" = the whole schema."""
        if not self.subset.recursion:
            raise _NotStrict(path, f"contains itself ({pointer}), which this provider does not compile")
        if pointer == "#":
            return ""
        if pointer not in self.names:
            stem = pointer.rsplit("/", 1)[-1]
            taken = set(self.names.values())
            self.names[pointer] = next(
                name for name in (stem, *(f"{stem}_{at}" for at in range(2, MAX_NODES))) if name not in taken
            )
            name = self.names[pointer]
            self.defs[name] = {}
            self.defs[name] = self.node(target_of(self.root, pointer), child("", "$defs", name), open_=("#", pointer))
            if "$ref" in self.defs[name]:
                raise _NotStrict(path, f"refers to {pointer}, which refers to itself only")
        return self.names[pointer]

    def _branches(self, node: Mapping[str, Any], path: str, notes: list[str]) -> list[tuple[str, Mapping[str, Any]]]:
        """Return the alternatives that the node is made of; those that only restrict it become a note."""
        found: list[tuple[str, Mapping[str, Any]]] = []
        for key in ("anyOf", "oneOf"):
            parts = node.get(key)
            if not isinstance(parts, list | tuple):
                continue
            if found or any(own in node for own in _OWN):
                notes.append(spelled(key, parts))
                self.log.add(child(path, key), LossKind.MOVED, spelled(key, parts))
                continue
            if key == "oneOf":
                self.log.add(child(path, key), LossKind.CHANGED, "oneOf is written as anyOf: more than one may fit")
            found = [(child(path, key, at), part) for at, part in enumerate(parts)]
        if found:
            return found
        types = types_of(node)
        rest = [name for name in types if name != "null"]
        if len(rest) > 1:
            kept = {key: value for key, value in node.items() if self._knows(node, key)}
            return [(path, only_of(_bare(kept), name)) for name in types]
        return []

    def _typed(self, node: Mapping[str, Any], path: str, notes: list[str], *, open_: tuple[str, ...]) -> dict[str, Any]:
        types = types_of(node)
        if not types:
            raise _NotStrict(path, "takes any value: it states no type")
        main = next((name for name in types if name != "null"), "null")
        made: dict[str, Any] = {"type": main}
        self._values(node, path, made)
        if main == "object":
            self._object(node, path, made, open_=open_)
        elif main == "array":
            if not isinstance(node.get("items"), Mapping):
                raise _NotStrict(path, "is a list of any values: it states no type of its items")
            made["items"] = self.node(node["items"], child(path, "items"), open_=open_)
        self._constraints(node, path, made, notes)
        return nullable(made) if "null" in types and main != "null" else made

    def _values(self, node: Mapping[str, Any], path: str, made: dict[str, Any]) -> None:
        for key in ("enum", "const"):
            if key not in node:
                continue
            values = node[key] if key == "enum" else [node[key]]
            if not isinstance(values, list | tuple) or not values or not all(is_scalar(value) for value in values):
                raise _NotStrict(child(path, key), "lists values that are no text, number, true, false or null")
            made[key] = list(values) if key == "enum" else node[key]

    def _object(self, node: Mapping[str, Any], path: str, made: dict[str, Any], *, open_: tuple[str, ...]) -> None:
        properties = node.get("properties")
        properties = properties if isinstance(properties, Mapping) else {}
        required = node.get("required")
        names = [name for name in required if isinstance(name, str)] if isinstance(required, list | tuple) else []
        further = node.get("additionalProperties", None if properties or not path else True)
        if further not in (None, False):
            if not properties:
                raise _NotStrict(path, "is an object with free keys, which a closed object cannot say")
            self.log.add(
                child(path, "additionalProperties"), LossKind.CHANGED, "further properties can no longer be given"
            )
        made["properties"] = {}
        for name in dict.fromkeys([*properties, *names]):
            at = child(path, "properties", name)
            inner = self.node(properties.get(name, {}), at, open_=open_)
            if self.subset.all_required and name not in names and not accepts_null(inner):
                inner = nullable(inner)
                self.log.add(at, LossKind.CHANGED, NULL_MEANS)
            made["properties"][name] = inner
        if self.subset.all_required:
            made["required"] = list(made["properties"])
        elif names:
            made["required"] = list(dict.fromkeys(names))
        made["additionalProperties"] = False

    def _constraints(self, node: Mapping[str, Any], path: str, made: dict[str, Any], notes: list[str]) -> None:
        for key in sorted(node.keys() & self.subset.keywords):  # a set has another order in each process
            if self._kept(key, node[key]):
                made[key] = node[key]
        format_ = _named(node.get("format"))
        if made["type"] == "string" and format_ in self.subset.formats:
            made["format"] = format_

    def _kept(self, key: str, value: Any) -> bool:
        if key == "pattern":
            return plain_pattern(value)
        if key == "minItems" and self.subset.min_items is not None:
            return value in self.subset.min_items
        return True

    def _unknown(self, node: Mapping[str, Any], path: str) -> list[str]:
        """Return as notes what the subset does not know, and log it."""
        notes = []
        for key, value in node.items():
            if self._knows(node, key) or (key == "default" and value is None):
                continue
            kind = LossKind.LEFT_OUT if key.startswith("x-") else LossKind.MOVED
            self.log.add(child(path, key), kind, spelled(key, value))
            if kind is LossKind.MOVED:
                notes.append(spelled(key, value))
        return notes

    def _knows(self, node: Mapping[str, Any], key: str) -> bool:
        if key == "format":
            return _named(node[key]) in self.subset.formats and "string" in types_of(node)
        return key in _STRUCTURE or key in TOOLING or (key in self.subset.keywords and self._kept(key, node[key]))


def _named(value: Any) -> str:
    return value if isinstance(value, str) else ""


def accepts_null(node: Mapping[str, Any]) -> bool:
    """Tell whether a node takes null."""
    if isinstance(node.get("anyOf"), list | tuple):
        return any(isinstance(part, Mapping) and accepts_null(part) for part in node["anyOf"])
    return "null" in types_of(node)


def nullable(node: dict[str, Any]) -> dict[str, Any]:
    """Return a node that takes null too."""
    if "anyOf" in node:
        return {**node, "anyOf": [*node["anyOf"], {"type": "null"}]}
    if "type" not in node:
        return {"anyOf": [node, {"type": "null"}]}
    made = {**node, "type": [node["type"], "null"] if isinstance(node["type"], str) else [*node["type"], "null"]}
    if "const" in made:
        made["enum"] = [made.pop("const")]
    if "enum" in made and None not in made["enum"]:
        made["enum"] = [*made["enum"], None]
    return made


def _bare(node: Mapping[str, Any]) -> dict[str, Any]:
    # Words and what became notes stay with the whole, not with each alternative.
    return {key: value for key, value in node.items() if key not in ("title", "description", "default", "examples")}


def _headed(made: dict[str, Any], head: dict[str, Any]) -> dict[str, Any]:
    rest = {key: value for key, value in made.items() if key != "type"}
    return {"type": made["type"], **head, **rest}


def _check_size(schema: Mapping[str, Any], *, subset: StrictSubset) -> None:
    """Raise where a schema is larger than the provider compiles."""
    properties = optional = unions = values = chars = 0
    for node in _nodes(schema):
        names = node.get("properties", {})
        required = node.get("required", ())
        properties += len(names)
        optional += sum(name not in required for name in names)
        unions += sum("anyOf" in part or isinstance(part.get("type"), list) for part in names.values())
        listed = [*node.get("enum", ()), *([node["const"]] if "const" in node else ())]
        values += len(node.get("enum", ()))
        texts = [len(value) for value in listed if isinstance(value, str)]
        chars += sum(map(len, names)) + sum(texts)
        too_long = subset.max_long_enum_chars is not None and sum(texts) > subset.max_long_enum_chars
        if subset.long_enum is not None and len(listed) > subset.long_enum and too_long:
            raise _NotStrict("", f"an enum of {len(listed)} values has {sum(texts)} characters")
    chars += sum(map(len, schema.get("$defs", ())))
    for count, limit, what in (
        (properties, subset.max_properties, "properties"),
        (optional, subset.max_optional, "properties that may be left out"),
        (unions, subset.max_unions, "properties of several types"),
        (values, subset.max_enum_values, "enum values"),
        (chars, subset.max_name_chars, "characters in names and values"),
        (_depth(schema), subset.max_depth, "levels of objects"),
    ):
        if limit is not None and count > limit:
            raise _NotStrict("", f"has {count} {what}; the provider compiles at most {limit}")


def _nodes(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    pending = [node]
    while pending:
        found = pending.pop()
        yield found
        pending.extend(_inner(found))


def _inner(node: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    inner = [*node.get("properties", {}).values(), *node.get("anyOf", ()), *node.get("$defs", {}).values()]
    return [*inner, node["items"]] if isinstance(node.get("items"), Mapping) else inner


def _depth(node: Mapping[str, Any]) -> int:
    below = max((_depth(part) for part in _inner(node)), default=0)
    return below + (1 if "properties" in node else 0)
