"""Differences of JSON Schemas, down to enum values and bounds.

An input schema says what callers may send: what narrows it breaks them, what widens it does not. An output schema says
what readers must expect: there it is the other way round. A keyword that no rule knows, or a pair that cannot be
compared, counts as worse rather than better.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from toolsearch.contracts.change.change import ChangeClass, ChangeKind, FieldChange, canonical, pointer, same

SAFE, BEHAVIOUR, HALF, BREAKING = ChangeClass
"""Short names of the four classes, from harmless to breaking."""

MAX_DEPTH = 64
"""Levels that are compared; what lies deeper is one breaking change."""

_LOWER = {"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains"}
_UPPER = {"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains"}
_FORMATS = {"format", "pattern", "contentEncoding", "contentMediaType"}
_SCHEMA = {"additionalProperties", "unevaluatedProperties", "unevaluatedItems", "items", "contains", "propertyNames"}
_NAMED = {"patternProperties", "dependentSchemas", "$defs", "definitions"}
_DEFINITIONS = {"$defs", "definitions"}
_BRANCHES = {"anyOf", "oneOf", "allOf", "prefixItems"}
_SHAPES: Mapping[str, type] = {
    **dict.fromkeys((*_NAMED, "properties"), dict),
    **dict.fromkeys((*_BRANCHES, "required", "enum"), list),
}
_FLAT = {
    "default": (HALF, BEHAVIOUR, ChangeKind.DEFAULT, "calls that leave it out may mean something else"),
    **dict.fromkeys(
        ("description", "title", "examples", "example", "deprecated"),
        (BEHAVIOUR, BEHAVIOUR, ChangeKind.DESCRIPTION, "the model reads it: evaluate again"),
    ),
    **dict.fromkeys(
        ("$schema", "$id", "$comment", "$anchor", "$vocabulary"),
        (SAFE, SAFE, ChangeKind.STRUCTURE, "says nothing about values"),
    ),
}
"""Keyword -> class on input, class on output, kind, why; whatever the values."""


class _Absent:
    """What a keyword that is not there has."""


_ABSENT = _Absent()


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaPair:
    """Two versions of one schema.

    Attributes:
        before: The old one, whole, for its local references.
        after: The new one.
        is_input: Whether callers write by it; else readers read by it.
        also_required_before: Fields of the top level that the old contract required outside its schema.
        also_required_after: The same of the new contract.
    """

    before: Any
    after: Any
    is_input: bool
    also_required_before: frozenset[str] = frozenset()
    also_required_after: frozenset[str] = frozenset()
    _followed: set[tuple[str, str]] = field(default_factory=set)

    def changes(self, path: str) -> Iterator[FieldChange]:
        """Yield what changed, under the JSON pointer where the schema stands; at least one change if they differ."""
        yield from self._node(self.before, self.after, path, 0)

    def _node(self, before: Any, after: Any, path: str, depth: int) -> Iterator[FieldChange]:
        if same(before, after):
            return
        old, new = _mapping(before), _mapping(after)
        if old is None or new is None:
            yield self._made(BREAKING, ChangeKind.STRUCTURE, path, before, after, "the schema is replaced as a whole")
            return
        if depth > MAX_DEPTH:
            yield self._made(BREAKING, ChangeKind.STRUCTURE, path, before, after, "nested too deeply to be compared")
            return
        if not same(old.get("$ref"), new.get("$ref")):
            yield from self._reference(old, new, path, depth)
            return
        told = False
        for keyword in sorted(old.keys() | new.keys()):
            was, now = old.get(keyword, _ABSENT), new.get(keyword, _ABSENT)
            if keyword in old and keyword in new and same(was, now):
                continue
            if not all(isinstance(value, _SHAPES.get(keyword, object) | _Absent) for value in (was, now)):
                told, at = True, pointer(path, keyword)
                yield self._made(BREAKING, ChangeKind.STRUCTURE, at, was, now, f"not what {keyword!r} holds")
                continue
            for change in self._keyword(keyword, was, now, old=old, new=new, path=path, depth=depth):
                told = True
                yield change
        if not told:
            yield self._made(SAFE, ChangeKind.STRUCTURE, path, before, after, "the same, written otherwise")

    def _keyword(
        self, keyword: str, was: Any, now: Any, *, old: dict[str, Any], new: dict[str, Any], path: str, depth: int
    ) -> Iterator[FieldChange]:
        at = pointer(path, keyword)
        if keyword == "properties":
            yield from self._properties(_named(was), _named(now), old=old, new=new, path=at, depth=depth)
        elif keyword == "required":
            yield from self._required(was, now, old=old, new=new, path=at, top=depth == 0)
        elif keyword == "type":
            yield self._type(was, now, at)
        elif keyword in ("enum", "const"):
            yield from self._values(keyword, old, new, at)
        elif keyword in _LOWER or keyword in _UPPER:
            yield self._bound(keyword, was, now, at)
        elif keyword in _FORMATS:
            yield self._format(keyword, was, now, at)
        elif keyword in _FLAT:
            on_input, on_output, kind, why = _FLAT[keyword]
            yield self._made(on_input if self.is_input else on_output, kind, at, was, now, why)
        elif keyword in _SCHEMA and not (isinstance(was, list) or isinstance(now, list)):
            yield from self._subschema(was, now, at, depth)
        elif keyword in _NAMED:
            yield from self._named_schemas(keyword, _named(was), _named(now), at, depth)
        elif keyword in _BRANCHES or keyword == "items":
            yield from self._branches(keyword, _listed(was), _listed(now), at, depth)
        elif keyword in ("nullable", "uniqueItems"):
            yield self._span(ChangeKind.TYPE, at, was, now, narrower=(now is True) == (keyword == "uniqueItems"))
        else:
            yield self._made(HALF, ChangeKind.STRUCTURE, at, was, now, f"no rule knows what {keyword!r} does to values")

    def _properties(
        self,
        was: dict[str, Any],
        now: dict[str, Any],
        *,
        old: dict[str, Any],
        new: dict[str, Any],
        path: str,
        depth: int,
    ) -> Iterator[FieldChange]:
        required = {*_names(new), *(self.also_required_after if depth == 0 else ())}
        kind = ChangeKind.FIELD if self.is_input else ChangeKind.OUTPUT
        for name in sorted(was.keys() | now.keys()):
            at = pointer(path, name)
            if name not in now:
                alike = [other for other in sorted(now.keys() - was.keys()) if same(now[other], was[name])]
                renamed = f"; perhaps renamed to {alike[0]!r}" if len(alike) == 1 else ""
                told = "calls that send it are refused or ignored" if self.is_input else "readers miss it"
                yield self._made(BREAKING, kind, at, was[name], None, f"a field is gone: {told}{renamed}")
            elif name not in was:
                if self.is_input and name in required:
                    yield self._made(BREAKING, ChangeKind.REQUIRED, at, None, now[name], "a new required field")
                else:
                    yield self._made(SAFE, kind, at, None, now[name], "a new field that nobody has to use")
            else:
                yield from self._node(was[name], now[name], at, depth + 1)

    def _required(
        self, was: Any, now: Any, *, old: dict[str, Any], new: dict[str, Any], path: str, top: bool
    ) -> Iterator[FieldChange]:
        before, after = _names(old), _names(new)
        elsewhere_before = self.also_required_before if top else frozenset()
        elsewhere_after = self.also_required_after if top else frozenset()
        fresh = _named(new.get("properties")).keys() - _named(old.get("properties")).keys()
        for name in after:
            if name in before or (self.is_input and name in fresh):
                continue
            if not self.is_input:
                yield self._made(SAFE, ChangeKind.REQUIRED, path, None, name, f"{name!r} is always there now")
            elif name in elsewhere_before:
                yield self._made(SAFE, ChangeKind.REQUIRED, path, None, name, f"{name!r} was required already")
            else:
                yield self._made(BREAKING, ChangeKind.REQUIRED, path, None, name, f"{name!r} is required now")
        for name in before:
            if name in after:
                continue
            if not self.is_input:
                yield self._made(BREAKING, ChangeKind.REQUIRED, path, name, None, f"{name!r} may be missing now")
            elif name in elsewhere_after:
                yield self._made(SAFE, ChangeKind.REQUIRED, path, name, None, f"{name!r} is required still")
            else:
                yield self._made(SAFE, ChangeKind.REQUIRED, path, name, None, f"{name!r} is optional now")
        if sorted(before) == sorted(after):
            yield self._made(SAFE, ChangeKind.REQUIRED, path, was, now, "the same fields, listed otherwise")

    def _type(self, was: Any, now: Any, path: str) -> FieldChange:
        before, after = _types(was), _types(now)
        if before == after:
            return self._made(SAFE, ChangeKind.TYPE, path, was, now, "the same types, written otherwise")
        narrower, wider = _within(after, before), _within(before, after)
        if not narrower and not wider:
            return self._made(BREAKING, ChangeKind.TYPE, path, was, now, "another type: model and executor both err")
        if narrower == self.is_input:
            # A type where none was stated refuses only what nobody may ever have sent.
            verdict = HALF if self.is_input and before is None else BREAKING
            told = "fewer types are taken" if self.is_input else "readers may meet a type they do not know"
            return self._made(verdict, ChangeKind.TYPE, path, was, now, told)
        told = "more types are taken" if self.is_input else "fewer types come back"
        return self._made(SAFE, ChangeKind.TYPE, path, was, now, told)

    def _values(self, keyword: str, old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[FieldChange]:
        before, after = _allowed(old), _allowed(new)
        if before is None:
            told = "any value before, only listed ones now"
            listed = None if after is None else [*after.values()]
            yield self._made(HALF if self.is_input else SAFE, ChangeKind.ENUM, path, None, listed, told)
            return
        if after is None:
            told = "the list of values is gone: any value now"
            yield self._made(
                BEHAVIOUR if self.is_input else HALF, ChangeKind.ENUM, path, [*before.values()], None, told
            )
            return
        if keyword == "const" and "enum" in old.keys() | new.keys() and not same(old.get("enum"), new.get("enum")):
            return  # told under enum
        for text in sorted(before.keys() - after.keys()):
            told = "a value is gone: calls that send it fail" if self.is_input else "a value that no longer comes back"
            verdict = BREAKING if self.is_input else SAFE
            yield self._made(verdict, ChangeKind.ENUM, path, before[text], None, told)
        for text in sorted(after.keys() - before.keys()):
            told = "one more value is taken" if self.is_input else "readers may meet a value they do not know"
            yield self._made(SAFE if self.is_input else HALF, ChangeKind.ENUM, path, None, after[text], told)

    def _bound(self, keyword: str, was: Any, now: Any, path: str) -> FieldChange:
        if was is _ABSENT or now is _ABSENT:
            return self._span(ChangeKind.BOUND, path, was, now, narrower=was is _ABSENT)
        if not (_is_number(was) and _is_number(now)):
            return self._made(HALF, ChangeKind.BOUND, path, was, now, "the bounds cannot be compared")
        if was == now:
            return self._made(SAFE, ChangeKind.BOUND, path, was, now, "the same bound, written otherwise")
        return self._span(ChangeKind.BOUND, path, was, now, narrower=(now > was) == (keyword in _LOWER))

    def _format(self, keyword: str, was: Any, now: Any, path: str) -> FieldChange:
        if was is not _ABSENT and now is not _ABSENT:
            return self._made(BREAKING, ChangeKind.FORMAT, path, was, now, f"another {keyword}: old values do not fit")
        if now is _ABSENT and self.is_input:
            return self._made(BEHAVIOUR, ChangeKind.FORMAT, path, was, now, "nothing says how to write it any more")
        return self._span(ChangeKind.FORMAT, path, was, now, narrower=was is _ABSENT)

    def _subschema(self, was: Any, now: Any, path: str, depth: int) -> Iterator[FieldChange]:
        before, after = (True if value is _ABSENT else value for value in (was, now))
        if not (isinstance(before, bool) or isinstance(after, bool)):
            yield from self._node(before, after, path, depth + 1)
        elif same(_mapping(before), _mapping(after)):
            yield self._made(SAFE, ChangeKind.STRUCTURE, path, was, now, "the same, written otherwise")
        else:
            narrower = before is True or after is False
            yield self._span(ChangeKind.STRUCTURE, path, was, now, narrower=narrower)

    def _named_schemas(
        self, keyword: str, was: dict[str, Any], now: dict[str, Any], path: str, depth: int
    ) -> Iterator[FieldChange]:
        for name in sorted(was.keys() | now.keys()):
            at = pointer(path, name)
            if name in was and name in now:
                yield from self._node(was[name], now[name], at, depth + 1)
            elif keyword not in _DEFINITIONS:
                yield self._span(ChangeKind.STRUCTURE, at, was.get(name), now.get(name), narrower=name in now)
            elif name not in now and f'"#/{keyword}/{name}"' in canonical(self.after):
                yield self._made(BREAKING, ChangeKind.STRUCTURE, at, was[name], None, "gone, but still referred to")
            else:
                told = "what refers to it is compared by itself"
                yield self._made(SAFE, ChangeKind.STRUCTURE, at, was.get(name), now.get(name), told)

    def _branches(self, keyword: str, was: list[Any], now: list[Any], path: str, depth: int) -> Iterator[FieldChange]:
        ordered = keyword in ("prefixItems", "items")
        old, new = list(enumerate(was)), list(enumerate(now))
        if not ordered:
            known_old, known_new = set(map(canonical, was)), set(map(canonical, now))
            old = [(number, each) for number, each in old if canonical(each) not in known_new]
            new = [(number, each) for number, each in new if canonical(each) not in known_old]
        if not was or not now:
            yield self._span(ChangeKind.STRUCTURE, path, was or None, now or None, narrower=not was)
            return
        if ordered or len(old) == len(new):
            paired = min(len(old), len(new))
            for (_, before), (number, after) in zip(old[:paired], new[:paired], strict=True):
                yield from self._node(before, after, pointer(path, number), depth + 1)
            old, new = old[paired:], new[paired:]
        conjunctive = keyword not in ("anyOf", "oneOf")
        for number, before in old:
            yield self._span(ChangeKind.STRUCTURE, pointer(path, number), before, None, narrower=not conjunctive)
        for number, after in new:
            yield self._span(ChangeKind.STRUCTURE, pointer(path, number), None, after, narrower=conjunctive)

    def _reference(self, old: dict[str, Any], new: dict[str, Any], path: str, depth: int) -> Iterator[FieldChange]:
        """Compare what the references lead to; where they lead nowhere, the schema counts as replaced."""
        step = (str(old.get("$ref")), str(new.get("$ref")))
        if step in self._followed:
            yield self._made(SAFE, ChangeKind.STRUCTURE, path, old, new, "compared where it was first met")
            return
        self._followed.add(step)
        before, after = _followed(old, root=self.before), _followed(new, root=self.after)
        if before is None or after is None:
            yield self._made(BREAKING, ChangeKind.STRUCTURE, path, old, new, "the schema is replaced as a whole")
            return
        yield self._made(SAFE, ChangeKind.STRUCTURE, path, old, new, "written in another place")
        yield from self._node(before, after, path, depth + 1)

    def _span(self, kind: ChangeKind, path: str, was: Any, now: Any, *, narrower: bool) -> FieldChange:
        """Return the change of a constraint that takes fewer (narrower) or more values than before."""
        if narrower:
            told = "some values are refused now" if self.is_input else "fewer values come back"
        else:
            told = "more values are taken" if self.is_input else "readers may meet values they do not know"
        return self._made(HALF if narrower == self.is_input else SAFE, kind, path, was, now, told)

    def _made(self, verdict: ChangeClass, kind: ChangeKind, path: str, was: Any, now: Any, why: str) -> FieldChange:
        before, after = (None if value is _ABSENT else value for value in (was, now))
        return FieldChange(verdict=verdict, kind=kind, path=path, before=before, after=after, why=why)


def _mapping(schema: Any) -> dict[str, Any] | None:
    """Return a schema as a mapping; None = not a schema."""
    if isinstance(schema, bool):
        return {} if schema else {"not": {}}
    return schema if isinstance(schema, dict) else None


def _named(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _names(schema: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys(name for name in _listed(schema.get("required")) if isinstance(name, str)))


def _types(value: Any) -> frozenset[str] | None:
    """Return the types of a schema; None = all."""
    if value is _ABSENT:
        return None
    return frozenset(map(str, value)) if isinstance(value, list) else frozenset({str(value)})


def _within(inner: frozenset[str] | None, outer: frozenset[str] | None) -> bool:
    if outer is None or inner is None:
        return outer is None
    return all(each in outer or (each == "integer" and "number" in outer) for each in inner)


def _allowed(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the values that enum and const leave, by their text; None = no limit."""
    if "const" in schema:
        return {canonical(schema["const"]): schema["const"]}
    values = schema.get("enum")
    return {canonical(value): value for value in values} if isinstance(values, list) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _followed(schema: dict[str, Any], *, root: Any) -> dict[str, Any] | None:
    """Return a schema with its local reference replaced by what it leads to; None = it leads nowhere."""
    reference = schema.get("$ref")
    if reference is None:
        return schema
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    target: Any = root
    for part in reference[1:].split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        target = target.get(name) if isinstance(target, dict) else None
    found = _mapping(target)
    return None if found is None else {**found, **{key: value for key, value in schema.items() if key != "$ref"}}
