"""What providers accept, as data: the exporters keep within it, and lint reads it.

Sources, read November 2026: the types of the openai 3.57, anthropic 2.14 and google-genai 3.6 packages, the guides of
the providers ("Structured Outputs: supported schemas", "Structured outputs: JSON Schema limitations", "Function
calling"), and the text of the APIs' own refusals. An exporter of single tools cannot keep the limits of a whole
request; they are here for whoever puts a request together.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from toolsearch.model.request import DefinitionFormat

OPENAI_FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"},
)
ANTHROPIC_FORMATS = OPENAI_FORMATS | {"uri"}
GEMINI_FORMATS = {
    "string": frozenset({"enum", "date-time"}),
    "integer": frozenset({"int32", "int64"}),
    "number": frozenset({"float", "double"}),
}
"""Formats by type that the OpenAPI subset of the Gemini API takes; it refuses a declaration with another."""

_UNPLAIN_PATTERN = re.compile(r"\(\?<?[=!]|\\[1-9kbB]")


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictSubset:
    """The JSON Schema that a provider compiles when `strict` is true. None = no such limit.

    Attributes:
        keywords: Constraint keywords that it keeps; others have to become text.
        formats: String formats that it keeps.
        all_required: Every property must be required; what may be left out must take null instead.
        recursion: Whether a schema may contain itself.
        min_items: Values of `minItems` that it keeps.
        max_properties: Properties of all objects together.
        max_depth: Objects inside objects, the root included.
        max_enum_values: Values of all enums together.
        long_enum: An enum with more values than this ...
        max_long_enum_chars: ... may have this many characters in all.
        max_name_chars: Property names, definition names, enum and const values together, in characters.
        max_optional: Properties that may be left out, over all strict tools of a request.
        max_unions: Properties with `anyOf` or several types, over all strict tools of a request.
        max_tools: Strict tools in a request.
    """

    keywords: frozenset[str]
    formats: frozenset[str]
    all_required: bool
    recursion: bool
    min_items: frozenset[int] | None = None
    max_properties: int | None = None
    max_depth: int | None = None
    max_enum_values: int | None = None
    long_enum: int | None = None
    max_long_enum_chars: int | None = None
    max_name_chars: int | None = None
    max_optional: int | None = None
    max_unions: int | None = None
    max_tools: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderLimits:
    """What a provider accepts of any tool. None = no limit is known.

    Attributes:
        tool_name: Pattern of the names of tools.
        parameter_name: Pattern of the names of properties on the top level of the input.
        max_description: Length of a tool's description, in characters.
        root_choice: Whether the input schema may be a choice (`anyOf`, `oneOf`, `allOf`) on its top level.
        bare_arrays: Whether an array may leave out `items`.
        max_tools: Tools in a request.
        strict: Its strict mode; None = it has none.
    """

    tool_name: str
    parameter_name: str | None = None
    max_description: int | None = None
    root_choice: bool = True
    bare_arrays: bool = True
    max_tools: int | None = None
    strict: StrictSubset | None = None


OPENAI_STRICT = StrictSubset(
    keywords=frozenset(
        {"pattern", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems"}
    ),
    formats=OPENAI_FORMATS,
    all_required=True,
    recursion=True,
    max_properties=5_000,
    max_depth=10,
    max_enum_values=1_000,
    long_enum=250,
    max_long_enum_chars=15_000,
    max_name_chars=120_000,
)

# `pattern` is documented for simple expressions, and the anthropic package moves every one into the description.
ANTHROPIC_STRICT = StrictSubset(
    keywords=frozenset({"minItems"}),
    formats=ANTHROPIC_FORMATS,
    all_required=False,
    recursion=False,
    min_items=frozenset({0, 1}),
    max_optional=24,
    max_unions=16,
    max_tools=20,
)

_OPENAI = ProviderLimits(
    tool_name=r"^[a-zA-Z0-9_-]{1,64}$",
    max_description=1_024,
    root_choice=False,
    bare_arrays=False,
    max_tools=128,
    strict=OPENAI_STRICT,
)
_GEMINI_NAME = r"^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$"

LIMITS: dict[DefinitionFormat, ProviderLimits] = {
    DefinitionFormat.OPENAI: _OPENAI,
    DefinitionFormat.OPENAI_RESPONSES: ProviderLimits(
        tool_name=_OPENAI.tool_name, root_choice=False, bare_arrays=False, strict=OPENAI_STRICT
    ),
    DefinitionFormat.ANTHROPIC: ProviderLimits(
        tool_name=r"^[a-zA-Z0-9_-]{1,64}$",
        parameter_name=r"^[a-zA-Z0-9_.-]{1,64}$",
        root_choice=False,
        strict=ANTHROPIC_STRICT,
    ),
    DefinitionFormat.GEMINI: ProviderLimits(
        tool_name=_GEMINI_NAME,
        parameter_name=r"^[a-zA-Z_][a-zA-Z0-9_]{0,63}$",
        root_choice=False,
        max_tools=512,
    ),
    DefinitionFormat.GEMINI_JSON_SCHEMA: ProviderLimits(tool_name=_GEMINI_NAME, root_choice=False, max_tools=512),
    DefinitionFormat.MCP: ProviderLimits(tool_name=r"^[A-Za-z0-9_.-]{1,128}$"),
    DefinitionFormat.LANGCHAIN: ProviderLimits(tool_name=r"^[a-zA-Z0-9_-]{1,64}$"),
}
"""Formats that have no provider behind them (`native`) or no definition (`anthropic_reference`) have no limits."""


def plain_pattern(pattern: object) -> bool:
    """Tell whether a regular expression has no lookaround, backreference or word boundary, which providers refuse."""
    return isinstance(pattern, str) and _UNPLAIN_PATTERN.search(pattern) is None
