"""Rules on what providers take: names, lengths, and the subsets of JSON Schema that their strict modes compile."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from toolsearch.contracts.export.description import describe
from toolsearch.contracts.export.gemini import openapi_subset
from toolsearch.contracts.export.limits import ANTHROPIC_STRICT, LIMITS, OPENAI_STRICT, StrictSubset
from toolsearch.contracts.export.losses import LossKind, LossLog
from toolsearch.contracts.export.schemas import full_schema
from toolsearch.contracts.export.strict import strict_schema
from toolsearch.contracts.lint.finding import Flaw, Path, Severity, listed, shown
from toolsearch.contracts.lint.rule import LintLimits, LintRule
from toolsearch.contracts.lint.words import SCHEMA, Parameter, enum_of, parameters
from toolsearch.model.contract import ToolContract
from toolsearch.model.reasons import counted
from toolsearch.model.request import DefinitionFormat

NAME: Path = ("identity", "name")

_SHOWN = (DefinitionFormat.OPENAI, DefinitionFormat.ANTHROPIC, DefinitionFormat.GEMINI, DefinitionFormat.MCP)
_LOST = (LossKind.LEFT_OUT, LossKind.CHANGED)
_CHOICES = ("anyOf", "oneOf", "allOf")


def name_refused(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Names that a provider does not take."""
    name = tool.identity.name
    refusing: dict[str, list[str]] = defaultdict(list)
    for form in _SHOWN:
        pattern = LIMITS[form].tool_name
        if not re.fullmatch(pattern, name):
            refusing[pattern].append(form.value)
    if refusing:
        who = "; ".join(
            f"{' and '.join(forms)} take{'s' * (len(forms) == 1)} {pattern}" for pattern, forms in refusing.items()
        )
        safe = re.sub(r"[^a-zA-Z0-9_-]+", "_", name)[:64]
        yield Flaw(
            path=NAME,
            message=f"the name {shown(name)} has to be exported under another one: {who}",
            suggestion=f"name it {safe!r}, or let the export rename it, which it undoes in calls",
        )


def description_refused(tool: ToolContract, limits: LintLimits) -> Iterator[Flaw]:
    """Descriptions longer than what every provider takes."""
    length = len(describe(tool))
    if length > limits.description:
        yield Flaw(
            path=("capability", "does"),
            message=f"the description has {length} characters with its boundaries; OpenAI's Chat Completions "
            f"take {limits.description}",
            suggestion="cut what repeats the name or the parameters; what is still too long is more than one tool",
            measures={"characters": float(length)},
        )


def parameter_refused(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Parameter names that a provider does not take."""
    refused: list[Parameter] = []
    who: dict[str, None] = {}
    for parameter in parameters(tool):
        refusing = [form.value for form in _SHOWN if not _takes(LIMITS[form].parameter_name, parameter.name)]
        if parameter.level == 1 and refusing:
            refused.append(parameter)
            who.update(dict.fromkeys(refusing))
    if refused:
        safe = [re.sub(r"[^a-zA-Z0-9_]+", "_", parameter.name).strip("_")[:64] or "value" for parameter in refused]
        yield Flaw(
            path=refused[0].path,
            message=f"{listed(who)} take no parameter named {listed((shown(one.name) for one in refused), most=4)}",
            suggestion=f"name them {listed(map(repr, safe), most=4)}; no export can rename a parameter without a "
            "wrapper around the tool",
            measures={"parameters": float(len(refused))},
        )


def _takes(pattern: str | None, name: str) -> bool:
    return pattern is None or re.fullmatch(pattern, name) is not None


def choice_at_root(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Inputs that are a choice between objects."""
    used = [key for key in _CHOICES if tool.input_schema.get(key)]
    if used:
        who = [form.value for form in _SHOWN if not LIMITS[form].root_choice]
        yield Flaw(
            path=(*SCHEMA, used[0]),
            message=f"the input has {used[0]!r} on its top level, which {listed(who)} refuse",
            suggestion="make a tool of each alternative, or state the condition in the description",
        )


def long_enum(tool: ToolContract, limits: LintLimits) -> Iterator[Flaw]:
    """Enums with hundreds of values."""
    for parameter in parameters(tool):
        values = enum_of({"enum": parameter.node.get("enum")})
        if len(values) > limits.enum_values:
            yield Flaw(
                path=(*parameter.path, "enum"),
                message=f"the enum of {parameter.name!r} has {len(values)} values, more than {limits.enum_values}",
                suggestion="take a string, and offer a tool that searches the values",
            )


def not_strict_for_openai(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Inputs that have no form in OpenAI's strict subset."""
    yield from _not_strict(tool, subset=OPENAI_STRICT, provider="OpenAI")


def not_strict_for_anthropic(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Inputs that have no form in Anthropic's strict subset."""
    yield from _not_strict(tool, subset=ANTHROPIC_STRICT, provider="Anthropic")


def _not_strict(tool: ToolContract, *, subset: StrictSubset, provider: str) -> Iterator[Flaw]:
    strict = strict_schema(full_schema(tool), subset=subset)
    if strict.schema is not None:
        return
    loss = strict.lost[-1]
    path = _path_of(loss.path, tool.input_schema)
    what = f"the input ({'.'.join(str(part) for part in path[2:] if part != 'properties') or 'as a whole'})"
    yield Flaw(
        path=path,
        message=f"{provider} cannot compile it in strict mode: {what} {loss.text}",
        suggestion="state a type for every value and the properties of every object; or export it without "
        "strict, and check arguments before the call",
    )


def not_whole_for_gemini(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Inputs that Gemini's OpenAPI subset cannot say."""
    log = LossLog()
    openapi_subset(full_schema(tool), log=log)
    # What these become means the same.
    lost = [one for one in log.entries if one.kind in _LOST and not one.path.endswith(("/const", "/oneOf", "/allOf"))]
    if lost:
        path = _path_of(lost[0].path, tool.input_schema)
        yield Flaw(
            path=path,
            message=f"Gemini's `parameters` cannot say {counted(len(lost), 'part')} of the input: "
            f"{'.'.join(str(part) for part in path[2:] if part != 'properties') or 'the input'} {lost[0].text}",
            suggestion="state every type and the properties of every object, or export as gemini_json_schema",
            measures={"parts": float(len(lost))},
        )


def _path_of(text: str, schema: Mapping[str, Any]) -> Path:
    """Return the place of a JSON pointer into the input schema, as far as it is there."""
    path: list[str | int] = []
    node: Any = schema
    for part in text.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping) and key in node:
            node = node[key]
            path.append(key)
        elif isinstance(node, list | tuple) and key.isdigit() and int(key) < len(node):
            node = node[int(key)]
            path.append(int(key))
        else:
            break
    return (*SCHEMA, *path)


RULES = (
    LintRule(
        id="TS701",
        name="provider-name",
        severity=Severity.NOTE,
        contract=name_refused,
        summary="A name is one that every provider takes.",
    ),
    LintRule(
        id="TS702",
        name="provider-description-length",
        severity=Severity.WARNING,
        contract=description_refused,
        summary="A description has at most 1024 characters.",
    ),
    LintRule(
        id="TS703",
        name="provider-parameter-name",
        severity=Severity.WARNING,
        contract=parameter_refused,
        summary="A parameter has a name that every provider takes.",
    ),
    LintRule(
        id="TS704",
        name="provider-root-choice",
        severity=Severity.WARNING,
        contract=choice_at_root,
        summary="The input is one object, not a choice between several.",
    ),
    LintRule(
        id="TS705",
        name="provider-enum-length",
        severity=Severity.WARNING,
        contract=long_enum,
        summary="An enum has at most 500 values.",
    ),
    LintRule(
        id="TS706",
        name="provider-openai-strict",
        severity=Severity.NOTE,
        contract=not_strict_for_openai,
        summary="The input has a form in OpenAI's strict subset.",
    ),
    LintRule(
        id="TS707",
        name="provider-anthropic-strict",
        severity=Severity.NOTE,
        contract=not_strict_for_anthropic,
        summary="The input has a form in Anthropic's strict subset.",
    ),
    LintRule(
        id="TS708",
        name="provider-gemini-subset",
        severity=Severity.NOTE,
        contract=not_whole_for_gemini,
        summary="The input has a form in Gemini's subset of OpenAPI.",
    ),
)
"""The rules on providers."""
