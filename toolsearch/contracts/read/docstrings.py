"""Python docstrings in the Google, NumPy and Sphinx styles -> description, texts of parameters, result and errors."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

MAX_DOCSTRING = 50_000
"""Characters of a docstring that are read."""

_PARAMETERS = frozenset({"args", "arguments", "parameters", "params", "other parameters", "keyword args", "attributes"})
_RESULTS = frozenset({"returns", "return", "yields", "yield"})
_ERRORS = frozenset({"raises", "exceptions", "except"})
_LEFT_OUT = frozenset({"examples", "example", "see also", "references", "todo", "warns", "methods"})
_GOOGLE = re.compile(r"(?P<title>[A-Z][A-Za-z]*(?: [A-Za-z]+)?):\s*")
_UNDERLINE = re.compile(r"-{3,}\s*")
_GOOGLE_ENTRY = re.compile(
    r"\*{0,2}(?<!\w)(?P<names>\w++)\s*+(?:\((?P<type>[^()]*(?:\([^()]*\)[^()]*)*)\))?\s*+:\s*+(?P<text>.*)"
)
_NUMPY_ENTRY = re.compile(r"\*{0,2}(?P<names>\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::\s*(?P<type>.*))?")
_SPHINX = re.compile(r":(?P<role>[a-z]+)(?:\s+(?P<about>[^:]{1,200}))?:\s*(?P<text>.*)")
_SPHINX_PARAMETERS = frozenset({"param", "parameter", "arg", "argument", "key", "keyword", "var"})
_SPHINX_RESULTS = frozenset({"return", "returns"})
_SPHINX_ERRORS = frozenset({"raise", "raises", "except", "exception"})
_SPHINX_TYPES = frozenset({"type", "rtype", "vartype"})
_TYPED_RESULT = re.compile(
    r"(?<![\w.])[A-Za-z_][\w.]*+(?:\[[^\]]{0,200}\])?(?:\s{0,4}\|\s{0,4}[A-Za-z_][\w.]{0,80}){0,20}\s{0,4}:\s{1,4}(?=\S)"
)


@dataclass(slots=True)
class Docstring:
    """What a docstring says.

    Attributes:
        description: All prose that stands in no section of its own.
        parameters: Parameter -> text.
        returns: What the result is.
        errors: `Name: when` of each error.
    """

    description: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    returns: str = ""
    errors: list[str] = field(default_factory=list)


def read_docstring(text: str) -> Docstring:
    """Return what a docstring says; sections of code examples and cross references are left out."""
    lines = inspect.cleandoc(text[:MAX_DOCSTRING]).split("\n")
    found, prose = Docstring(), []
    for title, style, body in _sections(lines):
        if title == "":
            prose += _sphinx(body, found)
        elif title in _PARAMETERS:
            found.parameters.update(_entries(body, style))
        elif title in _RESULTS:
            found.returns = found.returns or _result(body, style)
        elif title in _ERRORS:
            found.errors += [f"{name}: {said}" if said else name for name, said in _entries(body, style)]
    found.description = "\n".join(prose).strip()
    return found


def _sections(lines: list[str]) -> Iterator[tuple[str, str, list[str]]]:
    """Yield (title in lower case, style, lines) of each section; the title of prose is ""."""
    title, style, body = "", "", list[str]()
    at = 0
    known = _PARAMETERS | _RESULTS | _ERRORS | _LEFT_OUT
    while at < len(lines):
        line = lines[at]
        google = _GOOGLE.fullmatch(line)
        under = at + 1 < len(lines) and bool(_UNDERLINE.fullmatch(lines[at + 1]))
        name = line.strip().lower() if under else google["title"].lower() if google else ""
        if name in known:
            yield title, style, body
            title, style, body = name, "numpy" if under else "google", []
            at += 1 + under
            continue
        if title and (under or (style == "google" and line and not line[0].isspace())):
            # A section that is none of ours ends the one before it, and is prose.
            yield title, style, body
            title, style, body = "", "", []
        body.append(line)
        at += 1
    yield title, style, body


def _entries(body: list[str], style: str) -> list[tuple[str, str]]:
    pattern = _NUMPY_ENTRY if style == "numpy" else _GOOGLE_ENTRY
    filled = [line for line in body if line.strip()]
    if not filled:
        return []
    base = len(filled[0]) - len(filled[0].lstrip())
    found: list[tuple[list[str], list[str]]] = []
    for line in filled:
        indent = len(line) - len(line.lstrip())
        match = pattern.fullmatch(line.strip()) if indent <= base else None
        if match:
            names = [name.strip().lstrip("*") for name in match["names"].split(",")]
            text = match.groupdict().get("text") or ""
            found.append((names, [text] if text else []))
        elif found:
            found[-1][1].append(line.strip())
    return [(name, " ".join(said)) for names, said in found for name in names]


def _result(body: list[str], style: str) -> str:
    lines = [line for line in body if line.strip()]
    if style == "numpy" and len(lines) > 1 and lines[1][:1].isspace():
        # The first line is the type, or `name : type`.
        lines = lines[1:]
    text = " ".join(line.strip() for line in lines)
    return text if style == "numpy" else _TYPED_RESULT.sub("", text, count=1)


def _sphinx(body: list[str], found: Docstring) -> list[str]:
    """Take the fields of the Sphinx style out of prose; return the rest of it."""
    rest: list[str] = []
    taking: list[str] | None = None
    for line in body:
        match = _SPHINX.fullmatch(line.strip()) if line.lstrip()[:1] == ":" else None
        known = match and match["role"] in (_SPHINX_PARAMETERS | _SPHINX_RESULTS | _SPHINX_ERRORS | _SPHINX_TYPES)
        if match and known:
            taking = [match["role"], (match["about"] or "").strip(), match["text"]]
            _keep(taking, found)
        elif taking is not None and line[:1].isspace() and line.strip():
            taking[2] = f"{taking[2]} {line.strip()}".strip()
            _keep(taking, found)
        else:
            taking = None
            rest.append(line)
    return rest


def _keep(taken: list[str], found: Docstring) -> None:
    role, about, text = taken
    name = about.rpartition(" ")[2].lstrip("*")
    if role in _SPHINX_PARAMETERS and name:
        found.parameters[name] = text
    elif role in _SPHINX_RESULTS:
        found.returns = text
    elif role in _SPHINX_ERRORS and about:
        found.errors = [said for said in found.errors if said.partition(":")[0] != about]
        found.errors.append(f"{about}: {text}" if text else about)
