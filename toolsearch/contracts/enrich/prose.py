"""A tool description -> the fields of a contract. Every word of it ends up in some field."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from toolsearch.contracts.enrich.parameters import documented_parameter
from toolsearch.contracts.enrich.segments import Section, Unit, split_sentences, units
from toolsearch.contracts.enrich.sentences import Clause, Says, clauses
from toolsearch.contracts.enrich.verbs import VERB_FORMS

MAX_EXAMPLES = 12

_VERBS = frozenset(VERB_FORMS)

_QUOTED = re.compile(r"^[\s*\-]*(?:[\"“「']|\*\*[\"“])(?P<text>[^\"”」]{4,200}?)[\"”」'](?!\w)")
_CODE = re.compile(r"[{}=<>`\[\]]|\w\(|^\s*\w+\s*:\s|://")
_INSTEAD_NAME = re.compile(r"use [`'\"]?(?P<name>[\w.-]+\w)[`'\"]?(?:\(\))?(?: tool)? instead", re.IGNORECASE)
_ANSWER = re.compile(r"(?:returns?|sets?|use|see|note|this|the|it)\b", re.IGNORECASE)
_HAN = re.compile(r"[一-鿿]")


@dataclass(slots=True)
class Prose:
    """What a description says, by contract field."""

    does: str = ""
    does_not: list[str] = field(default_factory=list)
    use_when: list[str] = field(default_factory=list)
    do_not_use_when: list[str] = field(default_factory=list)
    adjacent_tools: dict[str, str] = field(default_factory=dict)
    semantic_rules: list[str] = field(default_factory=list)
    examples: list[str] = field(default_factory=list)
    parameters: dict[str, str] = field(default_factory=dict)
    positive: list[str] = field(default_factory=list)
    lines: list[tuple[int, str]] = field(default_factory=list)


def read_prose(description: str, *, name: str, parameters: Mapping[str, bool]) -> Prose:
    """Return the fields that a description fills.

    Args:
        description: Prose for a model, English or Chinese.
        name: Name of the tool it describes.
        parameters: Parameter -> whether the schema describes it. A docstring entry of one that the schema leaves
            undescribed moves into `parameters`.
    """
    prose = Prose()
    known = frozenset(parameters)
    undescribed = frozenset(parameter for parameter, described in parameters.items() if not described)
    for unit in units(description):
        if unit.kind == "heading":
            _take_heading(unit, prose)
        elif unit.kind == "code" or unit.section is Section.PARAMETERS:
            _take_parameters(unit, prose, undescribed)
        else:
            _take(unit, prose, name=name, known=known)
    prose.does = _joined(prose.lines)
    if not prose.does and prose.use_when:
        # A description that only says when to use the tool says by that what it does.
        prose.does = prose.use_when.pop(0)
        prose.positive.append(prose.does)
    return prose


def _take_heading(unit: Unit, prose: Prose) -> None:
    # A heading that classifies what follows has done its work; any other is text.
    if unit.section in (Section.NONE, Section.PARAMETERS, Section.EXAMPLES):
        prose.lines.append((unit.paragraph, unit.text))


def _take_parameters(unit: Unit, prose: Prose, undescribed: frozenset[str]) -> None:
    entry = None if unit.kind == "code" else documented_parameter(unit.text, known=undescribed)
    if entry and entry[0] not in prose.parameters:
        prose.parameters[entry[0]] = entry[1]
    else:
        prose.lines.append((unit.paragraph, unit.text))


def _take(unit: Unit, prose: Prose, *, name: str, known: frozenset[str]) -> None:
    if unit.section is Section.EXAMPLES and len(prose.examples) < MAX_EXAMPLES:
        _take_example(unit, prose)
        return
    whole = unit.section in (Section.NOT_USE, Section.DOES_NOT, Section.INSTEAD)
    lead = "- " if unit.kind == "item" else ""
    for sentence in [unit.text] if whole else split_sentences(unit.text):
        for clause in clauses(sentence, own_name=name, parameters=known, verbs=_VERBS):
            lead = _place(clause, unit, prose, lead=lead)
    if unit.section is Section.INSTEAD and (match := _INSTEAD_NAME.search(unit.heading)):
        _add_adjacent(prose, match["name"], unit.text)


def _take_example(unit: Unit, prose: Prose) -> None:
    quoted = _QUOTED.match(unit.text)
    if quoted and _is_request(quoted["text"]):
        prose.examples.append(quoted["text"].strip())
        if quoted.end() >= len(unit.text.rstrip(" .,。，")):
            return
    elif unit.kind == "item" and _is_request(unit.text) and len(unit.text) <= 160:
        prose.examples.append(unit.text)
        return
    prose.lines.append((unit.paragraph, unit.text))


def _is_request(text: str) -> bool:
    return (
        not _CODE.search(text) and not _ANSWER.match(text) and (len(text.split()) >= 2 or len(_HAN.findall(text)) >= 3)
    )


def _place(clause: Clause, unit: Unit, prose: Prose, *, lead: str) -> str:
    """Put a clause into its field; return the list mark that still waits for the first text of its item."""
    text = clause.text.strip().strip("—– ").rstrip(";；，,") if clause.says is not Says.DOES else clause.text
    if not text:
        return lead
    if clause.other:
        _add_adjacent(prose, clause.other, text)
    negative_section = unit.section in (Section.NOT_USE, Section.INSTEAD)
    if (negative_section and clause.says is not Says.RULE) or clause.says is Says.NOT_USE:
        prose.do_not_use_when.append(text)
    elif unit.section is Section.DOES_NOT or clause.says is Says.DOES_NOT:
        prose.does_not.append(text)
    elif clause.says is Says.RULE:
        prose.semantic_rules.append(text)
    elif clause.says is Says.USE or unit.section is Section.USE:
        prose.use_when.append(text)
        prose.positive.append(text)
    else:
        prose.lines.append((unit.paragraph, f"{lead}{text}"))
        prose.positive.append(text)
        return ""
    return lead


def _add_adjacent(prose: Prose, other: str, text: str) -> None:
    before = prose.adjacent_tools.get(other)
    prose.adjacent_tools[other] = text if before is None else f"{before} {text}"


def _joined(lines: list[tuple[int, str]]) -> str:
    result, last = "", -1
    for paragraph, text in lines:
        if not result:
            result = text
        elif paragraph != last or text.startswith(("- ", "```")) or "\n" in text:
            result += f"\n{text}"
        else:
            result += text if _HAN.search(result[-1]) or result[-1] in "。！？；，" else f" {text}"
        last = paragraph
    return result.strip()
