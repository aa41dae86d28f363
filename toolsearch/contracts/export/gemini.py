"""Gemini function declarations: `parameters` in the OpenAPI subset of the API, or `parametersJsonSchema` as it is.

The subset has upper-case types, `nullable`, text enums only, no references, no `oneOf`, no free keys. Keys are
camelCase as on the wire; the google-genai package takes them so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolsearch.contracts.export.draft import Draft
from toolsearch.contracts.export.limits import GEMINI_FORMATS
from toolsearch.contracts.export.losses import LossKind, LossLog
from toolsearch.contracts.export.nodes import (
    MAX_NODES,
    TOOLING,
    child,
    merged,
    only_of,
    spelled,
    target_of,
    too_deep,
    types_of,
    with_notes,
)
from toolsearch.model.request import Detail

_KEPT = (
    *("title", "default", "pattern", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems"),
    *("minProperties", "maxProperties"),
)
_STRUCTURE = {
    *("type", "properties", "required", "items", "enum", "const", "nullable", "format", "additionalProperties"),
    *("anyOf", "oneOf", "allOf", "$ref", "description"),
}
_ANY = [{"type": "STRING"}, {"type": "NUMBER"}, {"type": "BOOLEAN"}]


def gemini_definition(draft: Draft) -> dict[str, Any]:
    """Return a function declaration with `parameters` in the OpenAPI subset; none for a tool without parameters."""
    schema = draft.schema()
    made: dict[str, Any] = {"name": draft.api_name, "description": draft.description}
    if draft.detail is not Detail.NAME and schema.get("properties"):
        made["parameters"] = openapi_subset(schema, log=draft.log)
    if (output := draft.output_schema()) is not None:
        log = LossLog()
        made["response"] = openapi_subset(output, log=log)
        for entry in log.entries:
            draft.log.add(f"output.schema{entry.path}", entry.kind, entry.text)
    return made


def gemini_json_schema_definition(draft: Draft) -> dict[str, Any]:
    """Return a function declaration with plain JSON Schema, which newer models and packages take."""
    schema = draft.schema()
    made: dict[str, Any] = {"name": draft.api_name, "description": draft.description}
    if draft.detail is not Detail.NAME:
        made["parametersJsonSchema"] = schema
    if (output := draft.output_schema()) is not None:
        made["responseJsonSchema"] = output
    return made


def openapi_subset(schema: Mapping[str, Any], *, log: LossLog) -> dict[str, Any]:
    """Return a JSON Schema as the `Schema` of the Gemini API; what it cannot say becomes words and is logged."""
    return _Writer(root=schema, log=log).node(schema, "", open_=("#",))


@dataclass(slots=True, kw_only=True)
class _Writer:
    root: Mapping[str, Any]
    log: LossLog
    nodes: int = 0

    def node(self, given: Any, path: str, *, open_: tuple[str, ...]) -> dict[str, Any]:
        self.nodes += 1
        if self.nodes > MAX_NODES or too_deep(path):
            self.log.add(path, LossKind.CHANGED, "the schema is too large: an object without stated properties")
            return {"type": "OBJECT"}
        node, open_ = self._resolved(given if isinstance(given, Mapping) else {}, path, open_)
        notes = self._unknown(node, path)
        types = types_of(node)
        rest = [name for name in types if name != "null"]
        branches = self._branches(node, path, notes)
        if branches:
            made = self._choice(branches, open_=open_)
        elif len(rest) > 1:
            kept = {key: value for key, value in node.items() if key not in ("description", "title", "default")}
            made = {"anyOf": [self.node(only_of(kept, name), path, open_=open_) for name in rest]}
        elif not rest and not types:
            self.log.add(path, LossKind.CHANGED, "takes any value; the format can say text, a number, true or false")
            made = {"anyOf": [dict(part) for part in _ANY]}
        else:
            made = self._typed(node, rest[0] if rest else "null", path, notes, open_=open_)
        if "null" in types:
            made["nullable"] = True
        if text := with_notes(node.get("description"), notes):
            made["description"] = text
        made |= {key: node[key] for key in _KEPT if node.get(key) is not None and key not in made}
        return made

    def _resolved(
        self, node: Mapping[str, Any], path: str, open_: tuple[str, ...]
    ) -> tuple[Mapping[str, Any], tuple[str, ...]]:
        while "$ref" in node or "allOf" in node:
            if "$ref" in node:
                pointer, rest = node["$ref"], {key: value for key, value in node.items() if key != "$ref"}
                target = target_of(self.root, pointer) if isinstance(pointer, str) else None
                if pointer in open_ or not isinstance(target, Mapping):
                    why = (
                        "contains itself"
                        if pointer in open_
                        else f"refers to {str(pointer)[:100]!r}, not in the schema"
                    )
                    self.log.add(path, LossKind.CHANGED, f"{why}: written as an object without stated properties")
                    return {"type": "object", **rest}, open_
                open_ = (*open_, pointer)
                node = {**target, **rest}
                continue
            if too_deep(path):
                self.log.add(child(path, "allOf"), LossKind.LEFT_OUT, "is nested too deep")
                return {key: value for key, value in node.items() if key != "allOf"}, open_
            parts = node["allOf"] if isinstance(node["allOf"], list | tuple) else ()
            rest = {key: value for key, value in node.items() if key != "allOf"}
            flat: list[Mapping[str, Any]] = [rest]
            for at, part in enumerate(parts):
                found, open_ = self._resolved(
                    part if isinstance(part, Mapping) else {}, child(path, "allOf", at), open_
                )
                flat.append(found)
            joined = merged(flat)
            if joined is None:
                self.log.add(child(path, "allOf"), LossKind.LEFT_OUT, spelled("allOf", parts))
            else:
                self.log.add(child(path, "allOf"), LossKind.CHANGED, "allOf is written as one schema")
            node = rest if joined is None else joined
        return node, open_

    def _branches(self, node: Mapping[str, Any], path: str, notes: list[str]) -> list[tuple[str, Any]]:
        found: list[tuple[str, Any]] = []
        for key in ("anyOf", "oneOf"):
            parts = node.get(key)
            if not isinstance(parts, list | tuple) or not parts:
                continue
            if found or any(own in node for own in ("type", "properties", "enum", "const", "items")):
                notes.append(spelled(key, parts))
                self.log.add(child(path, key), LossKind.MOVED, spelled(key, parts))
                continue
            if key == "oneOf":
                self.log.add(child(path, key), LossKind.CHANGED, "oneOf is written as anyOf: more than one may fit")
            found = [(child(path, key, at), part) for at, part in enumerate(parts)]
        return found

    def _choice(self, branches: list[tuple[str, Any]], *, open_: tuple[str, ...]) -> dict[str, Any]:
        """Return `anyOf`; an alternative that is only null becomes `nullable`, and a single one stands for itself."""
        others = [(at, part) for at, part in branches if part != {"type": "null"}]
        made = [self.node(part, at, open_=open_) for at, part in others]
        whole = made[0] if len(made) == 1 else {"anyOf": made}
        return {**whole, "nullable": True} if len(others) < len(branches) else whole

    def _typed(
        self, node: Mapping[str, Any], type_: str, path: str, notes: list[str], *, open_: tuple[str, ...]
    ) -> dict[str, Any]:
        made: dict[str, Any] = {"type": type_.upper()}
        self._values(node, type_, path, made, notes)
        if (format_ := node.get("format")) is not None:
            if isinstance(format_, str) and format_ in GEMINI_FORMATS.get(type_, ()):
                made["format"] = format_
            else:
                self._moved("format", format_, path, notes)
        if type_ == "object":
            self._object(node, path, made, notes, open_=open_)
        if type_ == "array":
            made["items"] = self.node(node.get("items"), child(path, "items"), open_=open_)
        return made

    def _values(self, node: Mapping[str, Any], type_: str, path: str, made: dict[str, Any], notes: list[str]) -> None:
        for key in ("enum", "const"):
            if key not in node:
                continue
            values = node[key] if key == "enum" else [node[key]]
            values = values if isinstance(values, list | tuple) else ()
            texts = [value for value in values if isinstance(value, str)]
            if type_ != "string" or not values or len(texts) + (None in values) != len(values):
                self._moved(key, node[key], path, notes)
                continue
            made["enum"] = texts
            if key == "const":
                self.log.add(child(path, key), LossKind.CHANGED, "const is written as an enum of one value")

    def _object(
        self, node: Mapping[str, Any], path: str, made: dict[str, Any], notes: list[str], *, open_: tuple[str, ...]
    ) -> None:
        properties = node.get("properties")
        properties = properties if isinstance(properties, Mapping) else {}
        if properties:
            made["properties"] = {
                name: self.node(part, child(path, "properties", name), open_=open_) for name, part in properties.items()
            }
        required = node.get("required")
        named = [name for name in required if isinstance(name, str)] if isinstance(required, list | tuple) else []
        if names := [name for name in named if name in properties]:
            made["required"] = list(dict.fromkeys(names))
        if (further := node.get("additionalProperties")) is not None:
            if further in (True, False):
                at = child(path, "additionalProperties")
                self.log.add(at, LossKind.LEFT_OUT, spelled("additionalProperties", further))
            else:
                self._moved("additionalProperties", further, path, notes)

    def _moved(self, key: str, value: Any, path: str, notes: list[str]) -> None:
        notes.append(spelled(key, value))
        self.log.add(child(path, key), LossKind.MOVED, spelled(key, value))

    def _unknown(self, node: Mapping[str, Any], path: str) -> list[str]:
        notes: list[str] = []
        for key, value in node.items():
            if key in _STRUCTURE or key in TOOLING or key in _KEPT:
                continue
            if key.startswith("x-"):
                self.log.add(child(path, key), LossKind.LEFT_OUT, spelled(key, value))
            else:
                self._moved(key, value, path, notes)
        return notes
