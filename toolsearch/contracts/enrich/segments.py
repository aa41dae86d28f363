"""A tool description -> its units: headings, list items, sentences and code, each under the section it stands in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum


class Section(Enum):
    """What the heading above a unit says about it."""

    NONE = "none"
    USE = "use"
    NOT_USE = "not_use"
    DOES_NOT = "does_not"
    INSTEAD = "instead"
    EXAMPLES = "examples"
    PARAMETERS = "parameters"


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of a description.

    Attributes:
        text: One sentence, one list item, or lines of code.
        section: What its heading says.
        heading: Text of that heading, "" where there is none.
        kind: `heading`, `item`, `sentence` or `code`.
        paragraph: Number of the paragraph it stands in.
    """

    text: str
    section: Section
    heading: str
    kind: str
    paragraph: int


_BULLET = re.compile(r"\A\s*+(?:[-*•·–]|\d{1,2}[.)、])\s++")
_DOCSTRING_ENTRY = re.compile(r"\s{2,}[A-Za-z_]\w{0,63}(?:\s\([^()]{1,80}\))?:\s\S")
_HAN_LABEL = re.compile(r"[一-鿿]{2,8}[:：]\s*\S")
_MARKDOWN_HEADING = re.compile(r"\s*#{1,6}\s+(?P<text>\S.*)")
_TAG = re.compile(r"\s*</?[a-zA-Z_]+>\s*")
_DECORATION = "*_#`:： \t"

_HEADINGS: tuple[tuple[Section, re.Pattern[str]], ...] = tuple(
    (section, re.compile(pattern, re.IGNORECASE))
    for section, pattern in (
        (Section.INSTEAD, r"use [`'\"]?[\w.-]+[`'\"]?(?: tool)? instead\b"),
        (
            Section.NOT_USE,
            r"when (?:not|you should not|should you not)\b|(?:please )?(?:do not|don['’]t|never) (?:use|call)\b"
            r"|not (?:for|suitable|intended|recommended)\b|avoid (?:using|when)|(?:anti-?patterns|not to be used)"
            r"|何时不|不适用|(?:请)?(?:不要|勿|不应|不可)(?:使?用|调用)|什么时候不",
        ),
        (
            Section.DOES_NOT,
            r"(?:this tool |it )?(?:does not|doesn['’]t|cannot|will not)\b|not (?:supported|included|returned)"
            r"|out of scope|(?:本工具|该工具)?(?:不(?:做|支持|包括|包含|返回|提供|能)|无法)",
        ),
        (
            Section.USE,
            r"(?:you should )?use (?:this|it|when|cases?|for|to)\b|when to (?:use|call)|useful (?:for|when)|call this"
            r"|(?:ideal|best|intended) (?:for|used)|this is the primary\b.*\bwhen\b"
            r"|何时(?:使?用|调用)|(?:使用|适用)场景"
            r"|适用于|什么时候用|用途",
        ),
        (
            Section.EXAMPLES,
            r"(?:example|sample)s?(?: user)?(?: queries| requests| prompts| questions| usage)?$|trigger patterns?"
            r"|triggers?$|usage examples?$|示例|例如|典型请求|举例",
        ),
        (
            Section.PARAMETERS,
            r"(?:required |optional |input )?(?:args|arguments|parameters|params|options|inputs?)$"
            r"|(?:输入)?参数(?:说明)?$|入参",
        ),
    )
)
_LABELLED = re.compile(
    r"(?P<label>when (?:not )?to use|when not use|use when|do not use when|not for|examples?"
    r"|example (?:queries|requests)"
    r"|何时不?使?用|何时调用|何时不调用|适用场景|不适用场景|使用场景|示例|例如)\s*[:：]\s*(?P<rest>\S.*)",
    re.IGNORECASE,
)
# The look-behind keeps "e.g. X", "i.e. X" and single initials in one sentence.
_SENTENCE_END = re.compile(
    r"(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\betc)(?<!\bNo)[.!?][)\"'`*]*\s+(?=[A-Z0-9`*\"'(\[<一-鿿-])|(?<=[。！？])[”」）)]*\s*"
)
_STOP = re.compile(r"[.!?;](?:\s|:|$)|[。！？；]")
_HAN = re.compile(r"[一-鿿]")


def units(description: str) -> Iterator[Unit]:
    """Yield the units of a description in order; together they hold all of its text."""
    section, heading, paragraph = Section.NONE, "", 0
    lasting = had_items = False
    for kind, text in _blocks(description):
        if kind == "blank":
            paragraph += 1
            continue
        if kind == "heading":
            bare = text.strip(_DECORATION)
            section, heading = _section_of(bare), bare
            lasting, had_items = text.lstrip().startswith(("#", "<")), False
            paragraph += 1
            yield Unit(text.strip(), section, heading, "heading", paragraph)
            continue
        if kind == "code":
            yield Unit(text, section if section is Section.EXAMPLES else Section.NONE, heading, kind, paragraph)
            continue
        if kind == "item":
            had_items = True
            yield Unit(text, section, heading, kind, paragraph)
            continue
        if not lasting and had_items:
            section, heading = Section.NONE, ""
        yield from _sentences(text, section=section, heading=heading, paragraph=paragraph)
        if not lasting and section is not Section.PARAMETERS:
            section, heading = Section.NONE, ""


def _sentences(text: str, *, section: Section, heading: str, paragraph: int) -> Iterator[Unit]:
    labelled = _LABELLED.match(text)
    if labelled:
        heading = labelled["label"]
        section, text = _section_of(heading), labelled["rest"]
    for sentence in split_sentences(text):
        yield Unit(sentence, section, heading, "sentence", paragraph)


def split_sentences(text: str) -> list[str]:
    """Return the sentences of one paragraph, end marks kept."""
    result, start = [], 0
    for end in _SENTENCE_END.finditer(text):
        if sentence := text[start : end.end()].strip():
            result.append(sentence)
        start = end.end()
    if rest := text[start:].strip():
        result.append(rest)
    return result


def _section_of(heading: str) -> Section:
    bare = heading.strip(_DECORATION).lower()
    return next((section for section, pattern in _HEADINGS if pattern.match(bare)), Section.NONE)


def _blocks(description: str) -> Iterator[tuple[str, str]]:
    """Yield (`heading` | `item` | `text` | `code` | `blank`, text); wrapped lines are joined."""
    pending: list[str] = []
    kind, fence = "text", False
    for line in description.replace("\r\n", "\n").split("\n"):
        bare = " ".join(line.split())
        if bare.startswith("```") or fence:
            if not fence:
                yield from _flush(pending, kind)
                kind = "code"
            pending.append(line)
            opened = bare.startswith("```") and not (not fence and bare.count("```") > 1)
            fence = fence != opened
            if not fence:
                yield from _flush(pending, "code")
                kind = "text"
            continue
        if not bare:
            yield from _flush(pending, kind)
            yield "blank", ""
            kind = "text"
        elif _is_heading(line):
            yield from _flush(pending, kind)
            yield "heading", bare
            kind = "text"
        elif _BULLET.match(line):
            yield from _flush(pending, kind)
            pending, kind = [_BULLET.sub("", f"{bare} ", count=1).strip()], "item"
        elif (kind == "item" and not line[:1].isspace()) or (
            _LABELLED.match(bare)
            or _HAN_LABEL.match(bare)
            or _DOCSTRING_ENTRY.match(line)
            or (pending and _ends(pending[-1]))
        ):
            yield from _flush(pending, kind)
            pending, kind = [bare], "text"
        else:
            pending.append(bare)
    yield from _flush(pending, kind)


def _ends(line: str) -> bool:
    return line.endswith(("。", "！", "？", "；"))


def _flush(pending: list[str], kind: str) -> Iterator[tuple[str, str]]:
    if pending:
        if kind == "code":
            yield kind, "\n".join(pending)
        else:
            glue = "" if _HAN.search(pending[0][-1:]) and _HAN.search(pending[-1][:1]) else " "
            yield kind, glue.join(pending)
        pending.clear()


def _is_heading(line: str) -> bool:
    bare = line.strip()
    if _BULLET.match(line):
        return False
    if _TAG.fullmatch(line):
        return True
    if len(bare) > 100 or _STOP.search(bare.lstrip("# 0123456789.")):
        return False
    return bool(_MARKDOWN_HEADING.match(line)) or bare.rstrip("* ").endswith((":", "："))
