"""Rules on single parameters: described, named by what they hold, required where they are needed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolsearch.contracts.lint.finding import Flaw, Severity, shown
from toolsearch.contracts.lint.rule import LintLimits, LintRule
from toolsearch.contracts.lint.words import (
    constrained,
    enum_of,
    has_key,
    in_language,
    name_words,
    parameters,
    vocabulary,
)
from toolsearch.model.contract import ToolContract
from toolsearch.text.analysis.identifiers import singular

_PATH_NAME = re.compile(
    r"^(?:file_?path|dir_?path|directory|folder_?path|local_?path|output_?path|output_?dir|working_?dir\w*|cwd)$",
    re.IGNORECASE,
)


_PATH_TOLD = re.compile(
    r"absolute|relative|full path|/\w|\\\\|~|e\.g\.|example|workspace|绝对|相对|例如", re.IGNORECASE
)


_FILLER = vocabulary(
    "a an the this that of to for in on with which be is are value string number integer boolean list array",
    "object parameter field argument param id identifier name",
)


_SAYS_OPTIONAL = re.compile(
    r"^\(?optional\b(?! parameter)(?!ly)|\(optional[,)]|^(?:可选|选填|非必填)|[(（](?:可选|选填)[)）]", re.IGNORECASE
)


_SAYS_REQUIRED = re.compile(
    r"^\(?required\b(?!\s+(?:if|when|for|unless|only|with|by|to|in|on|fields?|permissions?|scopes?))"
    r"|\(required\)|^(?:必填|必选)(?!.{0,4}(?:若|如果|当))|[(（]必填[)）]",
    re.IGNORECASE,
)


_EXCLUSIVE = re.compile(
    r"\bmutually exclusive\b|\bcannot be (?:used|combined|specified|provided) (?:together )?with\b"
    r"|\beither this or\b|\b(?:exactly|only) one of\b|互斥|二选一|不能同时",
    re.IGNORECASE,
)


_VAGUE_NAMES = vocabulary(
    "data value val input param params arg args obj object item payload body stuff thing info x1 tmp foo bar",
)


_COORDINATES = vocabulary(
    "x y z k i j w h",
)


def undescribed(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Parameters without a description."""
    for parameter in parameters(tool):
        if not parameter.text.strip():
            kind = "/".join(sorted(parameter.types)) or "value"
            yield Flaw(
                path=parameter.path,
                message=f"{parameter.name!r} ({kind}) has no description: the model has to guess its meaning and form",
                suggestion=in_language(
                    tool,
                    "say what it means, its form and its source, and give an example at the end",
                    "写明含义、格式、来源，末尾给一个例子",
                ),
            )


def repeats_name(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Parameters whose description says what the name says."""
    for parameter in parameters(tool):
        text = parameter.text.strip()
        if (
            not text
            or len(text) > 40
            or not text.isascii()
            or constrained(parameter.node)
            or parameter.types == {"boolean"}
        ):
            continue
        known = {*name_words(parameter.name), *map(singular, name_words(parameter.name))}
        words = [word for word in re.findall(r"[a-z]+", text.lower()) if word not in _FILLER]
        if all(word in known or singular(word) in known for word in words):
            yield Flaw(
                path=parameter.path,
                message=f"the description {shown(text)} of {parameter.name!r} says no more than the name",
                suggestion=f"say which one, in what form and from where, e.g. '{text.rstrip('.')} as returned by "
                "TOOL, e.g. EXAMPLE'",
            )


def required_inverted(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Parameters that the description and the schema disagree on."""
    for parameter in parameters(tool):
        if (
            parameter.required
            and (_SAYS_OPTIONAL.search(parameter.text[:60]))
            and "null" not in str(parameter.node.get("type"))
        ):
            yield Flaw(
                path=parameter.path,
                message=f"{parameter.name!r} is required, but its description begins as if it were optional "
                f"({shown(parameter.text)})",
                suggestion="take it out of 'required', or out of the description",
            )
        elif (
            parameter.required
            and has_key(parameter.node, "default")
            and parameter.node.get("default") is not None
            and parameter.level == 1
            and "const" not in parameter.node
        ):
            yield Flaw(
                path=parameter.path,
                message=f"{parameter.name!r} is required and has the default "
                f"{shown(parameter.node.get('default'), limit=40)}: a model can never leave it out",
                suggestion="take it out of 'required', or drop the default",
            )
        elif (
            not parameter.required
            and _SAYS_REQUIRED.search(parameter.text[:60])
            and not has_key(parameter.node, "default")
        ):
            yield Flaw(
                path=parameter.path,
                message=f"{parameter.name!r} is optional, but its description says it is required "
                f"({shown(parameter.text)}): models leave it out",
                suggestion="add it to 'required'",
            )


def exclusive(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Parameters that exclude each other."""
    for parameter in parameters(tool):
        match = _EXCLUSIVE.search(parameter.text)
        if match and parameter.level == 1:
            yield Flaw(
                path=parameter.path,
                message=f"{parameter.name!r} excludes another parameter ({shown(parameter.text)}), which the "
                "schema does not say and models miss",
                suggestion="make two tools of it, each with one of them required",
            )


def vague_name(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Parameters whose name says nothing, and whose description does not help."""
    for parameter in parameters(tool):
        name, letters = parameter.name.lower(), len(parameter.text)
        short = len(name) == 1 and name not in _COORDINATES and letters < 20
        numbered = re.fullmatch(r"(?:arg|param|p|value|input)_?\d+", name) is not None and letters < 20
        vague = name in _VAGUE_NAMES and not letters
        if parameter.level == 1 and (short or numbered or vague):
            yield Flaw(
                path=parameter.path,
                message=f"the parameter name {parameter.name!r} says nothing "
                f"({shown(parameter.text or 'no description')})",
                suggestion="name it by what it holds, e.g. 'invoice_text'",
            )


def path_kind(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """File paths that may be absolute or relative."""
    for parameter in parameters(tool):
        if (
            _PATH_NAME.match(parameter.name)
            and parameter.types == {"string"}
            and not constrained(parameter.node)
            and not _PATH_TOLD.search(parameter.text)
        ):
            yield Flaw(
                path=parameter.path,
                message=f"{parameter.name!r} ({shown(parameter.text or 'no description')}) may be absolute or "
                "relative, and to what: agents change their folder",
                suggestion="require an absolute path, and give one as example",
            )


def enum_case(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Enum values that differ in case only, or twice the same."""
    for parameter in parameters(tool):
        values = [value for value in enum_of({"enum": parameter.node.get("enum")}) if isinstance(value, str)]
        folded: dict[str, str] = {}
        for value in values:
            other = folded.setdefault(value.casefold(), value)
            if other != value:
                yield Flaw(
                    path=(*parameter.path, "enum"),
                    message=f"the values {other!r} and {value!r} of {parameter.name!r} differ in case only, "
                    "which constrained decoding does not keep apart",
                    suggestion="keep one of them",
                )
                break


def type_missing(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Parameters of any type."""
    for parameter in parameters(tool):
        keys = set(parameter.node)
        if not keys & {
            "type",
            "enum",
            "const",
            "anyOf",
            "oneOf",
            "allOf",
            "$ref",
            "not",
            "properties",
            "items",
            "$comment",
        }:
            yield Flaw(
                path=parameter.path,
                message=f"{parameter.name!r} has no type: providers refuse it in strict mode, and models send a "
                "string for a number",
                suggestion="declare the type",
            )


RULES = (
    LintRule(
        id="TS301",
        name="parameter-undescribed",
        severity=Severity.WARNING,
        contract=undescribed,
        summary="Every parameter has a description.",
    ),
    LintRule(
        id="TS302",
        name="parameter-repeats-name",
        severity=Severity.WARNING,
        contract=repeats_name,
        summary="The description of a parameter says more than its name.",
    ),
    LintRule(
        id="TS313",
        name="parameter-required-inverted",
        severity=Severity.WARNING,
        contract=required_inverted,
        summary="`required` and the description say the same.",
    ),
    LintRule(
        id="TS314",
        name="parameter-exclusive",
        severity=Severity.NOTE,
        contract=exclusive,
        summary="No two parameters of a tool exclude each other.",
    ),
    LintRule(
        id="TS315",
        name="parameter-name-vague",
        severity=Severity.NOTE,
        contract=vague_name,
        summary="The name of a parameter says what it holds.",
    ),
    LintRule(
        id="TS316",
        name="parameter-path-kind",
        severity=Severity.NOTE,
        contract=path_kind,
        summary="A file path is said to be absolute or relative.",
    ),
    LintRule(
        id="TS317",
        name="parameter-enum-case",
        severity=Severity.WARNING,
        contract=enum_case,
        summary="No two values of an enum differ in case only.",
    ),
    LintRule(
        id="TS318",
        name="parameter-type-missing",
        severity=Severity.WARNING,
        contract=type_missing,
        summary="Every parameter has a type.",
    ),
)
"""The rules on parameters."""
