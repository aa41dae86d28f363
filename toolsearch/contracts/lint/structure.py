"""Rules on the shape of the input: nesting, arrays, what `required` names, what no JSON Schema may say."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from toolsearch.contracts.lint.finding import Flaw, Path, Severity, listed, shown
from toolsearch.contracts.lint.rule import LintLimits, LintRule, Surroundings
from toolsearch.contracts.lint.words import SCHEMA, enum_of, name_words, parameters
from toolsearch.model.contract import ToolContract

_TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
_STYLES = {
    "snake_case": re.compile(r"^[a-z0-9]+(?:_[a-z0-9]+)+$"),
    "camelCase": re.compile(r"^[a-z][a-z0-9]*(?:[A-Z][a-z0-9]*)+$"),
}
_PAIRS = (
    ("minimum", "maximum"),
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
)


def nested(tool: ToolContract, limits: LintLimits) -> Iterator[Flaw]:
    """Objects inside objects."""
    pending: list[tuple[Path, Mapping[str, Any], int, bool]] = [(SCHEMA, tool.input_schema, 1, False)]
    while pending:
        path, node, depth, in_list = pending.pop(0)
        if depth > limits.depth and not in_list:
            yield Flaw(
                path=path,
                message=f"{_dotted(path)!r} is an object {depth} levels deep, more than {limits.depth}: models "
                "drop or double the levels between",
                suggestion=f"flatten it: {listed(_flat(path, node), most=3) or 'one parameter for each value'}",
                measures={"depth": float(depth)},
            )
            continue
        for name, child, listed_child in _objects(node):
            # A list of objects is often needed: it is a level, but only an object inside its items is one too many.
            pending.append(((*path, *name), child, depth + 1, listed_child and depth < limits.depth + 1))


def _objects(node: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, Any], bool]]:
    properties = node.get("properties")
    if not isinstance(properties, Mapping):
        return
    for name, child in properties.items():
        if not isinstance(child, Mapping):
            continue
        items = child.get("items")
        if isinstance(child.get("properties"), Mapping) and child["properties"]:
            yield ("properties", str(name)), child, False
        elif isinstance(items, Mapping) and isinstance(items.get("properties"), Mapping) and items["properties"]:
            yield ("properties", str(name), "items"), items, True


def _dotted(path: Path) -> str:
    return ".".join(str(part) for part in path[2:] if part not in ("properties", "items")) or "input"


def _flat(path: Path, node: Mapping[str, Any]) -> list[str]:
    names = [str(part) for part in path[2:] if part not in ("properties", "items")]
    properties = node.get("properties")
    return ["_".join((*names[-1:], str(name))) for name in properties] if isinstance(properties, Mapping) else []


def open_object(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Objects of which nobody says the keys."""
    for parameter in parameters(tool):
        node = parameter.node
        if (
            parameter.types == {"object"}
            and not {"properties", "patternProperties", "anyOf", "oneOf", "allOf", "$comment", "examples"} & set(node)
            and not isinstance(node.get("additionalProperties"), Mapping)
            and not re.search(r"[{`'\"]|e\.g|json|example|key", parameter.text, re.IGNORECASE)
        ):
            yield Flaw(
                path=parameter.path,
                message=f"{parameter.name!r} is an object without properties "
                f"({shown(parameter.text or 'no description')}): models invent its keys",
                suggestion="declare its properties, or take the values as parameters of their own",
            )


def bare_array(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Lists of anything."""
    for parameter in parameters(tool):
        if parameter.types == {"array"} and not {"items", "prefixItems", "anyOf", "oneOf", "$comment"} & set(
            parameter.node
        ):
            yield Flaw(
                path=parameter.path,
                message=f"{parameter.name!r} is an array without 'items': models cannot know what stands in it, "
                "and OpenAI and Gemini refuse it",
                suggestion="items: {type: string}, or what it holds",
            )


def required_unknown(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """`required` names what is no property."""
    properties = tool.input_schema.get("properties")
    required = tool.input_schema.get("required")
    if isinstance(properties, Mapping) and isinstance(required, list | tuple):
        for name in required:
            if isinstance(name, str) and name not in properties and not tool.input_schema.get("patternProperties"):
                yield Flaw(
                    path=(*SCHEMA, "required"),
                    message=f"'required' names {name!r}, which is no property: no call can be right under a "
                    "closed schema",
                    suggestion="declare the property, or take the name out",
                )


def contradiction(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """What no value can fulfil, and what is no JSON Schema."""
    schema = tool.input_schema
    kind = schema.get("type")
    if kind is not None and kind != "object" and not (isinstance(kind, list | tuple) and "object" in kind):
        yield Flaw(
            path=(*SCHEMA, "type"),
            message=f"the input is of type {shown(kind)}: arguments of a call are an object",
            suggestion="type: object, and the value as a property",
        )
    for parameter in parameters(tool):
        node, name = parameter.node, parameter.name
        for unknown in sorted({str(one) for one in _declared(node)} - _TYPES):
            yield Flaw(
                path=(*parameter.path, "type"),
                message=f"the type {unknown!r} of {name!r} is none of JSON Schema",
                suggestion=f"one of {', '.join(sorted(_TYPES))}",
            )
        if "enum" in node and not enum_of({"enum": node["enum"]}):
            yield Flaw(
                path=(*parameter.path, "enum"),
                message=f"the enum of {name!r} has no value",
                suggestion="list the values, or drop the enum",
            )
        for low, high in _PAIRS:
            least, most = _number(node.get(low)), _number(node.get(high))
            if least is not None and most is not None and least > most:
                yield Flaw(
                    path=(*parameter.path, low),
                    message=f"{low} {least:g} of {name!r} is above its {high} {most:g}",
                    suggestion="swap them",
                )
        pattern = node.get("pattern")
        if isinstance(pattern, str) and not _compiles(pattern):
            yield Flaw(
                path=(*parameter.path, "pattern"),
                message=f"the pattern {shown(pattern)} of {name!r} is no regular expression",
                suggestion="correct it, and give an example value",
            )


def _declared(node: Mapping[str, Any]) -> list[Any]:
    kind = node.get("type")
    return list(kind) if isinstance(kind, list | tuple) else [] if kind is None else [kind]


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _compiles(pattern: str) -> bool:
    # ECMA-262 writes some things that Python's `re` does not know; only what is broken in both counts.
    plain = re.sub(r"\(\?<(?![=!])", "(?P<", re.sub(r"\\[pP]\{[^}]*\}", "x", re.sub(r"\\[/-]", "x", pattern)))
    try:
        re.compile(plain)
    except (re.error, RecursionError, OverflowError):
        return (
            pattern.count("(") == pattern.count(")")
            and pattern.count("[") == pattern.count("]")
            and not pattern.startswith(("*", "+", "?"))
        )
    return True


def mixed_parameter_style(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """snake_case and camelCase in one tool."""
    found: dict[str, list[str]] = defaultdict(list)
    for parameter in parameters(tool):
        if parameter.level == 1:
            for style, pattern in _STYLES.items():
                if pattern.match(parameter.name):
                    found[style].append(parameter.name)
    if len(found) == 2:
        odd = min(("camelCase", "snake_case"), key=lambda style: len(found[style]))
        rewritten = ["_".join(name_words(name)) for name in found["camelCase"]]
        yield Flaw(
            path=(*SCHEMA, "properties", found[odd][0]),
            message=f"parameters are named in two ways: {listed(found['snake_case'], most=3)} and "
            f"{listed(found['camelCase'], most=3)}",
            suggestion=f"write all in snake_case: {listed(rewritten, most=3)}",
        )


def parameter_type_differs(around: Surroundings) -> Iterator[tuple[ToolContract, Flaw]]:
    """One parameter name with two types in the tools of one server."""
    for tools in around.servers().values():
        kinds: dict[str, dict[frozenset[str], list[tuple[ToolContract, Path]]]] = defaultdict(lambda: defaultdict(list))
        for tool in tools:
            for parameter in parameters(tool):
                if parameter.level == 1 and len(parameter.types) == 1:
                    kinds[parameter.name][_wide(parameter.types)].append((tool, parameter.path))
        for name, by_kind in sorted(kinds.items()):
            counts = Counter({kind: len(uses) for kind, uses in by_kind.items()})
            if len(counts) < 2 or not (
                name.lower().endswith(("id", "_ids", "date", "time", "limit", "size", "page"))
                or sum(counts.values()) >= 4
            ):
                continue
            usual = max(sorted(counts, key=sorted), key=lambda kind: counts[kind])
            if counts[usual] < 2 * sum(count for kind, count in counts.items() if kind != usual):
                continue
            for kind, uses in by_kind.items():
                for tool, path in uses if kind != usual else ():
                    yield (
                        tool,
                        Flaw(
                            path=path,
                            message=f"{name!r} is {'/'.join(sorted(kind))} here and {'/'.join(sorted(usual))} in "
                            f"{counts[usual]} other tools of this server: models carry the value over as it is",
                            suggestion=f"take the same type everywhere: {'/'.join(sorted(usual))}",
                            related=tuple(str(other.ref) for other, _ in by_kind[usual][:5]),
                        ),
                    )


def _wide(kinds: frozenset[str]) -> frozenset[str]:
    return frozenset({"number" if kind == "integer" else kind for kind in kinds})


RULES = (
    LintRule(
        id="TS401",
        name="input-nested",
        severity=Severity.WARNING,
        contract=nested,
        summary="Objects are at most two levels deep, the root counted; lists of objects are fine.",
    ),
    LintRule(
        id="TS402",
        name="input-open-object",
        severity=Severity.WARNING,
        contract=open_object,
        summary="An object declares its properties, or says what its keys are.",
    ),
    LintRule(
        id="TS403",
        name="input-bare-array",
        severity=Severity.WARNING,
        contract=bare_array,
        summary="An array declares its items.",
    ),
    LintRule(
        id="TS404",
        name="input-required-unknown",
        severity=Severity.ERROR,
        contract=required_unknown,
        summary="`required` names properties only.",
    ),
    LintRule(
        id="TS405",
        name="input-contradiction",
        severity=Severity.ERROR,
        contract=contradiction,
        summary="The schema is one that some arguments fulfil.",
    ),
    LintRule(
        id="TS406",
        name="input-style-mixed",
        severity=Severity.NOTE,
        contract=mixed_parameter_style,
        summary="The parameters of a tool are named alike.",
    ),
    LintRule(
        id="TS407",
        name="input-type-differs",
        severity=Severity.NOTE,
        catalogue=parameter_type_differs,
        summary="A parameter has one type in all tools of a server.",
    ),
)
"""The rules on the shape of the input."""
