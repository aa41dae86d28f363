"""Rules on the size of tools: one that does several things, several that do one."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from toolsearch.contracts.lint.finding import Flaw, Severity, listed
from toolsearch.contracts.lint.rule import LintLimits, LintRule, Surroundings
from toolsearch.contracts.lint.stated import stated_actions
from toolsearch.contracts.lint.words import (
    Parameter,
    enum_of,
    is_verb,
    last_part,
    name_words,
    parameters,
    reads,
    vocabulary,
    writes,
)
from toolsearch.model.contract import ToolContract
from toolsearch.text.analysis.identifiers import singular

_DISPATCH = re.compile(
    r"^(?:action|operation|op|method|command|cmd|sub_?command|mode|function|task|verb|action_?type"
    r"|operation_?type|request_?type)$",
    re.IGNORECASE,
)
_HTTP = vocabulary(
    "get post put patch delete head options any connect trace",
)
_CONDITIONAL = re.compile(
    r"\b(?:(?:only|required|used|applicable|valid|needed|relevant)\b[^.;]{0,40}\b(?:if|when|for|with"
    r"|by)\b[^.;]{0,30}\b(?P<name>action|operation|method|command|mode|op)\b)|仅当.{0,20}(?:时|为)",
    re.IGNORECASE,
)
# Values of these are ways of doing one thing.
_WAYS = vocabulary(
    "accept dismiss allow deny approve reject set append overwrite replace merge prepend count sum average avg",
    "min max filter group sort match",
)


def dispatch(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Tools that a parameter tells which of several actions to do."""
    found = parameters(tool)
    for parameter in found:
        values = _actions(parameter)
        if (
            parameter.level > 1
            or not _DISPATCH.match(parameter.name)
            or len(values) < 2
            or {value.lower() for value in values} <= _HTTP
        ):
            continue
        verbs = {words[0] for value in values if (words := name_words(value)) and is_verb(words[0])}
        if len(verbs) < 2 and not (
            verbs and all(name_words(value) and is_verb(name_words(value)[0]) for value in values)
        ):
            continue
        if verbs <= _WAYS:
            continue
        depends = [
            other.name
            for other in found
            if other is not parameter and (_mentions(other, values) or _CONDITIONAL.search(other.text))
        ]
        what = f"; {listed(depends)} only count{'s' * (len(depends) == 1)} for some of them" if depends else ""
        yield Flaw(
            path=parameter.path,
            message=f"{parameter.name!r} chooses between {len(values)} actions ({listed(values)}): the model "
            f"decides twice, and schema and side effect fit none of them{what}",
            suggestion=f"make a tool of each: {listed(_split_names(tool, values), most=4)}",
            measures={"actions": float(len(values))},
        )


def _actions(parameter: Parameter) -> list[str]:
    """Return what a parameter chooses between, as the schema or else the description lists it."""
    values = [value for value in enum_of(parameter.node) if isinstance(value, str)]
    if values or parameter.types != {"string"}:
        return values
    stated = stated_actions(parameter.text)
    return list(stated) if all((words := name_words(value)) and is_verb(words[0]) for value in stated) else []


def _mentions(parameter: Parameter, values: list[str]) -> bool:
    text = parameter.text
    return bool(re.search(r"\b(?:only|when|for|required|if|used)\b|仅|当|用于", text, re.IGNORECASE)) and any(
        re.search(rf"['\"`]{re.escape(value)}['\"`]", text) for value in values
    )


def _split_names(tool: ToolContract, values: list[str]) -> list[str]:
    words = name_words(last_part(tool.identity.name))
    rest = [
        word
        for word in words
        if not is_verb(word)
        or word
        in (
            "order",
            "message",
            "issue",
            "project",
            "review",
            "pull",
            "request",
            "schedule",
            "record",
            "label",
            "comment",
        )
    ]
    names = []
    for value in values:
        parts = name_words(value)
        names.append("_".join(parts if len(parts) > 1 else (*parts, *(map(singular, rest) if rest else ("THING",)))))
    return names


def many_parameters(tool: ToolContract, limits: LintLimits) -> Iterator[Flaw]:
    """Tools with more parameters than a model fills in."""
    top = [parameter for parameter in parameters(tool) if parameter.level == 1]
    if len(top) > limits.parameters:
        optional = sum(not parameter.required for parameter in top)
        yield Flaw(
            path=("input", "schema", "properties"),
            message=f"{len(top)} parameters, {optional} of them optional, more than {limits.parameters}: the "
            "tool serves several tasks",
            suggestion="make a tool for each task, with the few parameters that it needs",
            measures={"parameters": float(len(top))},
        )


def all_optional(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Writing tools that can be called with nothing."""
    top = [parameter for parameter in parameters(tool) if parameter.level == 1]
    branches = any(
        key in tool.input_schema for key in ("anyOf", "oneOf", "allOf", "minProperties", "dependentRequired")
    )
    # Its name is what is created; a tool that acts on something must be told on what.
    if (
        writes(tool)
        and len(top) >= 2
        and not tool.required_inputs
        and not branches
        and any("default" not in parameter.node for parameter in top)
    ):
        yield Flaw(
            path=("input", "required"),
            message=f"it writes, and none of its {len(top)} parameters is required: a model may call it with nothing",
            suggestion="require what the task cannot do without, e.g. "
            f"{listed((repr(parameter.name) for parameter in top if 'default' not in parameter.node), most=2)}",
        )


def too_fine(around: Surroundings) -> Iterator[tuple[ToolContract, Flaw]]:
    """Reading tools of one server that differ in the field they return."""
    for tools in around.servers().values():
        groups: dict[tuple[str, str, frozenset[str]], list[ToolContract]] = defaultdict(list)
        for tool in tools:
            words = name_words(last_part(tool.identity.name))
            names = frozenset(parameter.name for parameter in parameters(tool) if parameter.level == 1)
            # The last word is the field; what stands before it, with the parameters, is the thing read.
            if (
                len(words) >= 3
                and words[0] in ("get", "fetch", "read", "query", "lookup")
                and reads(tool)
                and tool.required_inputs
                and not words[-1].isdigit()
                and words[-2] not in ("by", "for", "of", "from", "with", "and")
            ):
                groups[words[0], "_".join(words[1:-1]), names].append(tool)
        for (verb, thing, names), members in groups.items():
            if len(members) >= around.limits.fine_tools:
                fields = [name_words(last_part(tool.identity.name))[-1] for tool in members]
                yield (
                    members[0],
                    Flaw(
                        path=("identity", "name"),
                        message=f"{len(members)} tools take the same parameters ({listed(sorted(names))}) and "
                        f"differ in what they read of one {thing!r}: {listed(fields)}",
                        suggestion=f"one tool '{verb}_{thing}' with a parameter 'fields' (enum: "
                        f"{', '.join(fields[:6])})",
                        related=tuple(str(tool.ref) for tool in members[1:]),
                    ),
                )


RULES = (
    LintRule(
        id="TS501",
        name="action-dispatch",
        severity=Severity.WARNING,
        contract=dispatch,
        summary="A tool does one action; no parameter chooses among several.",
    ),
    LintRule(
        id="TS502",
        name="parameters-too-many",
        severity=Severity.NOTE,
        contract=many_parameters,
        summary="A tool has at most 20 parameters.",
    ),
    LintRule(
        id="TS503",
        name="write-without-required",
        severity=Severity.NOTE,
        contract=all_optional,
        summary="A tool that writes requires what it acts on.",
    ),
    LintRule(
        id="TS504",
        name="tools-too-fine",
        severity=Severity.WARNING,
        catalogue=too_fine,
        summary="Tools that read one thing by the same key are one tool with a parameter for the fields.",
    ),
)
"""The rules on the size of tools."""
