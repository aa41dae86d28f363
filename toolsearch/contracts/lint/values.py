"""Rules on the values of parameters: enums, bounds, defaults, dates, units."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from toolsearch.contracts.lint.finding import Flaw, Severity, listed, shown
from toolsearch.contracts.lint.rule import LintLimits, LintRule
from toolsearch.contracts.lint.stated import stated_bounds, stated_default, stated_enum
from toolsearch.contracts.lint.words import (
    Parameter,
    constrained,
    enum_of,
    has_key,
    name_words,
    parameters,
    vocabulary,
)
from toolsearch.model.contract import ToolContract

_CLOSED = vocabulary(
    "status state priority severity sort order direction sort_by order_by sort_order mode visibility granularity",
    "interval_unit unit currency_code output_format format",
)


_QUANTITIES = re.compile(
    r"^(?:limit|count|size|top_?k|top_?n|n|k|per_?page|page_?size|max_?(?:results?|items?|count|rows?|entries"
    r"|records|tokens)|num_?(?:results?|items?)|batch_?size|first|last)$",
    re.IGNORECASE,
)


_MEASURES = vocabulary(
    "amount price cost duration timeout interval delay ttl height width distance latency size length age budget",
    "fee total balance salary speed radius",
)


_UNIT_WORDS = re.compile(
    r"\b(?:cents?|dollars?|usd|eur|cny|rmb|yuan|currency|milli\w*|micro\w*|nano\w*|seconds?|secs?|minutes?|mins?"
    r"|hours?|days?|weeks?|months?|years?|ms|bytes?|kb|mb|gb|tb|kib|mib|gib"
    r"|pixels?|px|percent\w*|%|met(?:er|re)s?|km|kilomet\w*|miles?|feet|ft|inch\w*|kg|grams?|pounds?|lbs?"
    r"|celsius|fahrenheit|kelvin|characters?|chars?|words?|tokens?|lines?|rows?|items?|points?|degrees?"
    r"|iso 8601|duration string|e\.g\.|example|number of|count|how many|max(?:imum)? (?:number|results)|units?"
    r"|epoch|unix)\b|(?<=\d)(?:s|m|h|d|ms)\b"
    r"|元|分(?!钟|类)|角|美元|人民币|秒|分钟|小时|天|周|月|年|米|公里|千米|厘米|毫米|克|千克|公斤|斤|字节|像素|个|条|张|人|次|页|行|百分|单位|字",
    re.IGNORECASE,
)


_DATE_NAME = re.compile(
    r"(?:^|_)(?:date|datetime|timestamp)$|_(?:at|on|since|until|date|time)$|^(?:since|until|before|after"
    r"|start_?time|end_?time|start_?date|end_?date|from_?date|to_?date|due_?date)$"
    r"|(?<=[a-z])(?:Date|DateTime|Timestamp|Time)$"
)


_NO_DATE = re.compile(
    r"(?:real|run|life|up|down|idle|response|latency|process\w{0,20}|first|last|one|full|part|over)_?time$|_on$|time_?out",
    re.IGNORECASE,
)


_DATE_TOLD = re.compile(
    r"iso[- ]?8601|rfc ?3339|yyyy|\d{4}-\d{2}|epoch|unix|timestamp in|\bnow-|e\.g\.|example|format|such as"
    r"|relative|duration|milliseconds|seconds|minutes|hours|HH:?mm|cursor|token|格式|例如|如[:：]?\s*\d|时间戳",
    re.IGNORECASE,
)


_CLOCK = re.compile(r"\b(?:HH:?mm|hh:mm|\d{1,2}:\d{2})", re.IGNORECASE)


_ZONE = re.compile(
    r"\butc\b|\bgmt\b|time ?zone|offset|\dz\b|[+-]\d{2}:\d{2}|local time|\bz\b|时区|北京时间|iso[- ]?8601|rfc ?3339",
    re.IGNORECASE,
)


_SEVERAL = re.compile(
    r"comma|separated|list of|one or more|multiple|array|json|filter|combin\w+|逗号|多个", re.IGNORECASE
)


def enum_in_prose(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Strings whose description lists all values that the schema leaves open."""
    for parameter in parameters(tool):
        if (
            parameter.types != {"string"}
            or enum_of(parameter.node)
            or {"pattern", "format", "const"} & set(parameter.node)
        ):
            continue
        values = stated_enum(parameter.text)
        siblings = {other.name for other in parameters(tool)}
        if values and not _SEVERAL.search(parameter.text) and siblings.isdisjoint(values):
            yield Flaw(
                path=parameter.path,
                message=f"{parameter.name!r} takes {listed(map(repr, values))}, but only the description says "
                "so: the schema lets any string through",
                suggestion=f"enum: [{', '.join(values)}]",
                edit=(parameter.path, "enum", list(values)),
            )


def enum_likely(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Strings of which a service takes a few values, without any word on which."""
    for parameter in parameters(tool):
        closed = "_".join(name_words(parameter.name)) in _CLOSED
        if not closed or parameter.types != {"string"} or constrained(parameter.node) or stated_enum(parameter.text):
            continue
        if not re.search(r"[`'\"(（:：]|e\.g|such as|例如", parameter.text):
            yield Flaw(
                path=parameter.path,
                message=f"{parameter.name!r} is a free string ({shown(parameter.text or 'no description')}): "
                "models fill in 'active', 'open' or 'in progress' alike",
                suggestion="list the values as an enum, and say what each means",
            )


def bounds_in_prose(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Numbers whose bounds stand in the description only."""
    for parameter in parameters(tool):
        node = parameter.node
        if not parameter.types or not parameter.types <= {"integer", "number"} or enum_of(node):
            continue
        bounds = stated_bounds(parameter.text)
        for key, value, other in (
            ("minimum", bounds.low, "exclusiveMinimum"),
            ("maximum", bounds.high, "exclusiveMaximum"),
        ):
            if value is not None and not has_key(node, key) and not has_key(node, other):
                yield Flaw(
                    path=parameter.path,
                    message=f"the description of {parameter.name!r} gives {value} as its {key}, the schema does not",
                    suggestion=f"{key}: {value}",
                    edit=(parameter.path, key, value) if "type" in node else None,
                )


def bounds_missing(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Counts without an upper bound."""
    for parameter in parameters(tool):
        node = parameter.node
        counts = _QUANTITIES.match(parameter.name) and parameter.types and parameter.types <= {"integer", "number"}
        if not counts or has_key(node, "maximum") or has_key(node, "exclusiveMaximum") or enum_of(node):
            continue
        if stated_bounds(parameter.text).high is None and not re.search(
            r"\b(?:max|maximum|up to|at most|limit is|unlimited)\b.{0,20}\d|-1|0 (?:means|for|=)",
            parameter.text,
            re.IGNORECASE,
        ):
            yield Flaw(
                path=parameter.path,
                message=f"{parameter.name!r} has no upper bound: a model may ask for 99999",
                suggestion="set minimum, maximum and default, and say them, e.g. 'Default 20, at most 100'",
            )


def default_in_prose(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Defaults that stand in the description only."""
    for parameter in parameters(tool):
        if parameter.required or has_key(parameter.node, "default"):
            continue
        value = stated_default(parameter.text, parameter.node, parameter.types)
        allowed = enum_of(parameter.node)
        if value is not None and (not allowed or value in allowed):
            yield Flaw(
                path=parameter.path,
                message=f"the description of {parameter.name!r} gives {value!r} as its default, the schema does not",
                suggestion=f"default: {_literal(value)}",
                edit=(parameter.path, "default", value) if "type" in parameter.node else None,
            )


def default_missing(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Optional counts of which nobody knows what leaving them out means."""
    for parameter in parameters(tool):
        counts = _QUANTITIES.match(parameter.name) and parameter.types and parameter.types <= {"integer", "number"}
        if (
            counts
            and not parameter.required
            and not has_key(parameter.node, "default")
            and not re.search(r"default|omit|if not|unless|默认|不传|缺省", parameter.text, re.IGNORECASE)
        ):
            yield Flaw(
                path=parameter.path,
                message=f"{parameter.name!r} may be left out, and nothing says what happens then",
                suggestion="declare the default, and say it: 'Default 20 if not given'",
            )


def default_wrong(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Defaults that the schema itself refuses, or that the description contradicts."""
    for parameter in parameters(tool):
        if "default" not in parameter.node:
            continue
        fault = _refusal(parameter)
        if fault:
            yield Flaw(
                path=(*parameter.path, "default"),
                message=f"the default {shown(parameter.node['default'], limit=40)} of {parameter.name!r} {fault}",
                suggestion="correct the default, or what refuses it",
            )


def _refusal(parameter: Parameter) -> str:
    value, node = parameter.node["default"], parameter.node
    allowed = node.get("enum")
    if value is None:
        return ""
    if isinstance(allowed, list | tuple) and value not in allowed:
        return f"is none of the enum's values {listed(map(repr, allowed))}"
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    kind = kinds.get(type(value), "")
    fits = (
        kind in parameter.types
        or (kind == "integer" and "number" in parameter.types)
        or (kind == "number" and parameter.types >= {"integer"} and value == int(value))
    )
    if parameter.types and kind and not fits:
        return f"is of type {kind}, not {'/'.join(sorted(parameter.types))}"
    if isinstance(value, int | float) and not isinstance(value, bool):
        for key, sign in (("minimum", 1), ("maximum", -1)):
            bound = node.get(key)
            if isinstance(bound, int | float) and not isinstance(bound, bool) and sign * value < sign * bound:
                return f"is beyond its {key} {bound}"
    told = stated_default(parameter.text, node, parameter.types)
    if told is not None and told != value and type(told) is type(value):
        return f"is not the one that the description gives ({told!r})"
    return ""


def date_format(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Dates and times without a form."""
    for parameter in parameters(tool):
        snake = "_".join(name_words(parameter.name))
        dated = (_DATE_NAME.search(parameter.name) or _DATE_NAME.search(snake)) and not _NO_DATE.search(snake)
        if (
            dated
            and parameter.types == {"string"}
            and not constrained(parameter.node)
            and not _DATE_TOLD.search(parameter.text)
        ):
            kind = "date" if re.search(r"date$", snake) else "date-time"
            example = "2026-06-01" if kind == "date" else "2026-06-01T09:00:00Z"
            yield Flaw(
                path=parameter.path,
                message=f"{parameter.name!r} has no form ({shown(parameter.text or 'no description')}): models "
                "write 'tomorrow', '06/01/2026' or 'Jun 1' alike",
                suggestion=f"format: {kind}, and an example in the description: ISO 8601, e.g. '{example}'",
            )


def time_zone(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Times of day without a zone."""
    for parameter in parameters(tool):
        if (
            parameter.types == {"string"}
            and parameter.node.get("format") not in ("date-time", "time", "date")
            and _DATE_NAME.search("_".join(name_words(parameter.name)))
            and _CLOCK.search(parameter.text)
            and not _ZONE.search(parameter.text)
        ):
            yield Flaw(
                path=parameter.path,
                message=f"{parameter.name!r} is a time of day ({shown(parameter.text)}), and nothing says in "
                "which time zone",
                suggestion="take ISO 8601 with an offset, e.g. '2026-06-01T09:00:00+08:00', or name the zone",
            )


def unit(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Measures without a unit."""
    for parameter in parameters(tool):
        words = name_words(parameter.name)
        measure = (
            bool(words) and "batch" not in words and words[-1] in _MEASURES and not _QUANTITIES.match("_".join(words))
        )
        if (
            measure
            and parameter.types
            and parameter.types <= {"integer", "number"}
            and not _UNIT_WORDS.search(f"{parameter.text} {' '.join(words[:-1])}")
            and not enum_of(parameter.node)
        ):
            yield Flaw(
                path=parameter.path,
                message=f"{parameter.name!r} has no unit ({shown(parameter.text or 'no description')}): cents or "
                "dollars, seconds or milliseconds?",
                suggestion=f"put it into the name or the description, e.g. '{_with_unit(parameter.name)}'",
            )


def _literal(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _with_unit(name: str) -> str:
    last = name_words(name)[-1]
    units = {
        "timeout": "ms",
        "duration": "seconds",
        "interval": "seconds",
        "delay": "ms",
        "ttl": "seconds",
        "latency": "ms",
        "age": "days",
        "size": "bytes",
        "length": "chars",
    }
    money = {"amount", "price", "cost", "budget", "fee", "total", "balance", "salary"}
    return f"{name}_{units.get(last, 'cents' if last in money else 'UNIT')}"


RULES = (
    LintRule(
        id="TS303",
        name="parameter-enum-in-prose",
        severity=Severity.WARNING,
        contract=enum_in_prose,
        fixable=True,
        summary="Values that the description lists stand in the schema as an enum.",
    ),
    LintRule(
        id="TS304",
        name="parameter-enum-missing",
        severity=Severity.NOTE,
        contract=enum_likely,
        summary="A status, an order or a mode is an enum, not a free string.",
    ),
    LintRule(
        id="TS305",
        name="parameter-bounds-in-prose",
        severity=Severity.WARNING,
        contract=bounds_in_prose,
        fixable=True,
        summary="Bounds that the description gives stand in the schema.",
    ),
    LintRule(
        id="TS306",
        name="parameter-bounds-missing",
        severity=Severity.NOTE,
        contract=bounds_missing,
        summary="A limit, a count or a page size has a maximum.",
    ),
    LintRule(
        id="TS307",
        name="parameter-default-in-prose",
        severity=Severity.WARNING,
        contract=default_in_prose,
        fixable=True,
        summary="A default that the description gives stands in the schema.",
    ),
    LintRule(
        id="TS308",
        name="parameter-default-missing",
        severity=Severity.NOTE,
        contract=default_missing,
        summary="An optional limit, count or page size has a default.",
    ),
    LintRule(
        id="TS309",
        name="parameter-default-wrong",
        severity=Severity.ERROR,
        contract=default_wrong,
        summary="A default fits its own type, enum, bounds and description.",
    ),
    LintRule(
        id="TS310",
        name="parameter-date-format",
        severity=Severity.WARNING,
        contract=date_format,
        summary="A date or a time has a format or an example.",
    ),
    LintRule(
        id="TS311",
        name="parameter-time-zone",
        severity=Severity.NOTE,
        contract=time_zone,
        summary="A time of day has a zone.",
    ),
    LintRule(
        id="TS312",
        name="parameter-unit",
        severity=Severity.WARNING,
        contract=unit,
        summary="An amount, a duration or a size has a unit.",
    ),
)
"""The rules on values."""
