"""Poisoned definitions: what in a contract speaks to the model instead of describing a tool.

Tool descriptions are untrusted text that a model reads as if its maker had written it. `findings` looks at every text
of one contract, schemas included; `flagged` also compares the names of a catalogue. Both are pure and know nothing of
who is trusted: whoever takes a definition in decides what a finding means, by `blocks`.

This is a filter for known shapes, not a proof of innocence: what it passes is still untrusted.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from toolsearch.contracts.poison.blobs import blobs, hidden_markup
from toolsearch.contracts.poison.rules import (
    GREEDY_NAMES,
    PARAMETER_RULES,
    RULES,
    TAMPERING,
    PoisonKind,
    Rule,
    Severity,
)
from toolsearch.model.contract import ToolContract, ToolRef
from toolsearch.text.analysis.characters import (
    control_characters,
    escaped,
    hidden_runs,
    mixes_scripts,
    skeleton,
    unmasked,
)

__all__ = ["PoisonFinding", "PoisonKind", "Severity", "blocks", "findings", "flagged", "text_findings"]

MAX_TEXTS = 4_000
"""Texts of one contract that are looked at; a definition with more is noted as too large to check."""

_EXCERPT = 160
_SENTENCES = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])")
_LONGEST_SENTENCE = 400
_LONG_RUN = 8
"""From so many invisible characters in a row on, they carry a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoisonFinding:
    """One suspicious place in a contract.

    Attributes:
        kind: What is wrong.
        path: Dotted field path, inside schemas with the names of properties: `input.schema.properties.q.description`.
        excerpt: The words, at most 160 characters, invisible ones as escapes.
        severity: `block` or `note`.
        why: One sentence for a reviewer, beginning with a verb.
    """

    kind: PoisonKind
    path: str
    excerpt: str
    severity: Severity
    why: str

    def __str__(self) -> str:
        return f"{self.path}: {self.why} ({self.kind}, {self.severity}): {self.excerpt!r}"


def blocks(found: Iterable[PoisonFinding]) -> bool:
    """Tell whether a definition from an untrusted source must wait for approval."""
    return any(finding.severity is Severity.BLOCK for finding in found)


def findings(contract: ToolContract) -> tuple[PoisonFinding, ...]:
    """Return what is suspicious in a contract, in the order of its fields; the same words count once."""
    found: dict[tuple[PoisonKind, str], PoisonFinding] = {}
    seen: set[str] = set()
    for number, (path, text, is_parameter) in enumerate(_texts(contract)):
        if number == MAX_TEXTS:
            note = _finding(PoisonKind.HIDDEN_MARKUP, path, "", Severity.NOTE, "has more texts than are checked")
            found[note.kind, note.path] = note
            break
        if text in seen:
            continue
        seen.add(text)
        for finding in _in_text(path, text, is_parameter=is_parameter):
            found.setdefault((finding.kind, finding.excerpt), finding)
    for finding in _in_names(contract):
        found.setdefault((finding.kind, finding.excerpt), finding)
    return tuple(found.values())


def text_findings(path: str, text: str) -> tuple[PoisonFinding, ...]:
    """Return what is suspicious in one text that is no definition, such as the result of a call."""
    return tuple(_in_text(path, text, is_parameter=False))


def flagged(
    contracts: Iterable[ToolContract], *, beside: Iterable[ToolContract] = ()
) -> dict[ToolRef, tuple[PoisonFinding, ...]]:
    """Return the findings of each contract that has any, names that imitate another tool's included.

    Args:
        contracts: The definitions to look at.
        beside: Contracts they will stand beside; these are only compared with.
    """
    looked_at = tuple(contracts)
    imitations = _imitations((*looked_at, *beside))
    result = {}
    for contract in looked_at:
        found = (*findings(contract), *imitations.get(contract.ref, ()))
        if found:
            result[contract.ref] = found
    return result


def _finding(kind: PoisonKind, path: str, text: str, severity: Severity, why: str) -> PoisonFinding:
    shown = escaped(" ".join(text.split()))
    return PoisonFinding(kind=kind, path=escaped(path), excerpt=shown[:_EXCERPT], severity=severity, why=why)


def _in_text(path: str, text: str, *, is_parameter: bool) -> Iterator[PoisonFinding]:
    yield from _invisible(path, text)
    for blob in blobs(text):
        inner = next(_matches(path, blob.decoded, RULES), None)
        severity = Severity.BLOCK if blob.is_prose or inner else Severity.NOTE
        yield _finding(PoisonKind.ENCODED, path, blob.text, severity, f"has {blob.what}")
    for markup, hides in hidden_markup(text):
        severity = Severity.BLOCK if hides else Severity.NOTE
        yield _finding(PoisonKind.HIDDEN_MARKUP, path, markup, severity, "has text that a rendered page does not show")
    yield from _matches(path, text, RULES)
    if is_parameter:
        yield from _matches(path, text, PARAMETER_RULES)


def _matches(path: str, text: str, rules: tuple[Rule, ...]) -> Iterator[PoisonFinding]:
    plain = _joined_letters(unmasked(text))
    lowered = plain.lower()
    for rule in rules:
        if match := rule.search(plain, lowered=lowered):
            start, end = max(0, match.start() - 20), match.end() + 20
            yield _finding(rule.kind, path, plain[start:end], rule.severity, rule.why)
    if rules is RULES:
        for sentence in _SENTENCES.split(plain):
            if all(pattern.search(sentence[:_LONGEST_SENTENCE]) for pattern in TAMPERING):
                yield _finding(
                    PoisonKind.CROSS_TOOL, path, sentence, Severity.BLOCK, "changes how other tools are called"
                )


def _invisible(path: str, text: str) -> Iterator[PoisonFinding]:
    runs = hidden_runs(text)
    if runs:
        severe = any(len(run) >= _LONG_RUN or any(map(_never_honest, run)) for run in runs)
        longest = max(runs, key=len)
        at = text.find(longest)
        place = text[max(0, at - 30) : at + len(longest) + 30] if at >= 0 else longest
        severity = Severity.BLOCK if severe else Severity.NOTE
        yield _finding(PoisonKind.INVISIBLE, path, place, severity, "has characters that nobody sees")
    if controls := control_characters(text):
        severity = Severity.BLOCK if "\x1b" in controls or "\x9b" in controls else Severity.NOTE
        at = text.find(controls[0])
        place = text[max(0, at - 30) : at + 30]
        yield _finding(PoisonKind.INVISIBLE, path, place, severity, "has control characters, which steer a terminal")


def _never_honest(character: str) -> bool:
    return character in "\u202d\u202e" or 0xE0000 <= ord(character) <= 0xE0FFF


def _joined_letters(text: str) -> str:
    """Return the text with single spaces, and words spelled with spaces between the letters put together."""
    words = text.split()
    result: list[str] = []
    letters: list[str] = []
    for word in [*words, "  "]:
        if len(word) == 1 and word.isascii() and word.isalpha():
            letters.append(word)
            continue
        result.extend(["".join(letters)] if len(letters) > 3 else letters)
        letters.clear()
        result.append(word)
    return " ".join(result[:-1])


def _in_names(contract: ToolContract) -> Iterator[PoisonFinding]:
    names = {"identity.name": contract.identity.name, "identity.server": contract.identity.server}
    for path, name in names.items():
        if mixes_scripts(name) and skeleton(name).isascii():
            yield _finding(
                PoisonKind.LOOKALIKE,
                path,
                name,
                Severity.BLOCK,
                "puts letters of another script among Latin ones",
            )
    properties = contract.input_schema.get("properties")
    for name in properties if isinstance(properties, Mapping) else ():
        if GREEDY_NAMES.search(str(name)):
            yield _finding(
                PoisonKind.GREEDY_PARAMETER,
                f"input.schema.properties.{name}",
                str(name),
                Severity.NOTE,
                "is a parameter for more of a conversation than a call needs",
            )


def _imitations(contracts: Iterable[ToolContract]) -> dict[ToolRef, tuple[PoisonFinding, ...]]:
    """Return the tools whose names look like another tool's without being spelled like it, both of each pair."""
    alike: dict[str, list[ToolContract]] = defaultdict(list)
    for contract in contracts:
        alike[skeleton(contract.identity.name)].append(contract)
    result: dict[ToolRef, tuple[PoisonFinding, ...]] = {}
    for group in alike.values():
        spellings = {contract.identity.name.lower() for contract in group}
        if len(spellings) == 1:
            continue
        for contract in group:
            name = contract.identity.name
            other = next(one for one in group if one.identity.name.lower() != name.lower())
            # A plain spelling is the likely original; digits in place of letters and foreign letters imitate.
            severity = Severity.NOTE if name.isascii() and name.lower() == skeleton(name) else Severity.BLOCK
            why = (
                f"has a name that looks like {escaped(other.identity.name)} of server {escaped(other.identity.server)}"
            )
            finding = _finding(PoisonKind.LOOKALIKE, "identity.name", name, severity, why)
            result[contract.ref] = (finding,)
    return result


def _texts(contract: ToolContract) -> Iterator[tuple[str, str, bool]]:
    """Yield (path, text, whether it describes a parameter) of everything a model or a person may be shown."""
    for section in ("identity", "capability", "selection"):
        yield from _strings(section, getattr(contract, section).model_dump(), parameter=False)
    for name, text in contract.input.semantics.items():
        yield f"input.semantics.{name}", text, True
    for at, text in enumerate(contract.input.semantic_rules):
        yield f"input.semantic_rules.{at}", text, False
    yield from _strings("input.schema", contract.input.schema_, parameter=True)
    yield from _strings("output", contract.output.model_dump(by_alias=True), parameter=False)
    yield from _strings("execution", contract.execution.model_dump(), parameter=False)
    yield from _strings("operational", contract.operational.model_dump(), parameter=False)


def _strings(path: str, value: Any, *, parameter: bool) -> Iterator[tuple[str, str, bool]]:
    if isinstance(value, str):
        if value:
            yield path, value, parameter
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if len(str(key)) > 20 or not str(key).isascii():
                yield f"{path}.{str(key)[:64]}", str(key), False
            yield from _strings(f"{path}.{str(key)[:64]}", inner, parameter=parameter)
    elif isinstance(value, list | tuple):
        for at, inner in enumerate(value):
            yield from _strings(f"{path}.{at}", inner, parameter=parameter)
