"""One description string for the model: what it does, when (not) to use it, what else there is, what it changes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from toolsearch.model.contract import SideEffect, ToolContract

_SENTENCE = re.compile(r".*?(?:[.!?](?=\s|$)|[。！？]|\n|$)", re.DOTALL)
_END = ".!?;。！？；，, "

_EFFECTS = {
    SideEffect.NONE: "Side effect: none.",
    SideEffect.READ_ONLY: "Side effect: read only.",
    SideEffect.REVERSIBLE: "Side effect: changes data; can be reverted.",
    SideEffect.IRREVERSIBLE: "Side effect: changes data; cannot be undone.",
}

_USE_WHEN = re.compile(r"^use when[:\s]+", re.IGNORECASE)
_UNKNOWN_EFFECT = "Side effect: unknown; treat as irreversible."
_APPROVAL = " Needs approval when: "
_HEADINGS = ("Use when", "Do not use when", "Does not", "Rules", "Other tools", "Data", "Parameters")
_LINE = re.compile(rf"({'|'.join(_HEADINGS)}): (.+)")
_TOOL = re.compile(r"([^\s:]+)(?::(?: (.*))?)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statements:
    """What a description that `describe` wrote says. `side_effect` None = unknown; `required_when` "" = no approval."""

    does: str
    use_when: tuple[str, ...]
    do_not_use_when: tuple[str, ...]
    does_not: tuple[str, ...]
    rules: tuple[str, ...]
    adjacent: dict[str, str]
    fresh: str
    side_effect: SideEffect | None
    required_when: str


def describe(contract: ToolContract) -> str:
    """Return the description that a model reads, one line a statement."""
    selection, capability = contract.selection, contract.capability
    parts = [
        capability.does.strip() or contract.identity.title,
        # A sentence of another source may begin with the words of the heading.
        _listed("Use when", (_USE_WHEN.sub("", text) for text in selection.use_when)),
        _listed("Do not use when", selection.do_not_use_when),
        _listed("Does not", capability.does_not),
        _listed("Rules", contract.input.semantic_rules),
        _listed("Other tools", _others(selection.adjacent_tools, said=selection.do_not_use_when)),
        _fresh(contract),
        side_effect_sentence(contract),
    ]
    return "\n".join(part for part in parts if part)


def side_effect_sentence(contract: ToolContract) -> str:
    """Return what a call changes and when it needs approval; a tool nobody described counts as irreversible."""
    effect = contract.execution.side_effect
    text = _EFFECTS[effect] if effect is not None else _UNKNOWN_EFFECT
    approval = contract.execution.approval
    return f"{text}{_APPROVAL}{_bare(approval.required_when)}." if approval else text


def statements(text: str) -> Statements | None:
    """Return what a description says if `describe` wrote it, which its last line tells; None for any other text.

    `describe` gives the same text for these statements. A statement with "; " inside comes back as two.
    """
    lines = text.split("\n")
    tail = [lines.pop()] if lines[-1].startswith("Parameters: ") else []
    sentence, _, required_when = lines.pop().partition(_APPROVAL) if lines else ("", "", "")
    effects = {said: effect for effect, said in _EFFECTS.items()}
    if sentence != _UNKNOWN_EFFECT and sentence not in effects:
        return None
    found: dict[str, tuple[str, ...]] = {}
    while lines and (line := _LINE.fullmatch(lines[-1])) and line[1] not in found:
        items = (line[2],) if line[1] == "Data" else line[2].split("; ")
        found[line[1]] = tuple(_bare(item) for item in items)
        lines.pop()
    negative = found.get("Do not use when", ())
    return Statements(
        does="\n".join(lines),
        use_when=found.get("Use when", ()),
        do_not_use_when=negative,
        does_not=found.get("Does not", ()),
        rules=(*found.get("Rules", ()), *(_bare(line) for line in tail)),
        adjacent=_adjacent(found.get("Other tools", ()), said=negative),
        fresh="".join(found.get("Data", ())),
        side_effect=effects.get(sentence),
        required_when=_bare(required_when),
    )


def _adjacent(items: Iterable[str], *, said: tuple[str, ...]) -> dict[str, str]:
    """Return the way back from `_others`."""
    result: dict[str, str] = {}
    for item in items:
        match = _TOOL.fullmatch(item)
        if match is None and result:
            last = next(reversed(result))
            result[last] = f"{result[last]}; {item}"
        elif match is not None:
            alone = next((text for text in said if match[1] in text), "")
            result[match[1]] = alone if ":" not in item else match[2] or ""
    return result


def first_sentence(text: str, *, limit: int = 200) -> str:
    """Return the first sentence of a text on one line, cut to `limit` characters."""
    match = _SENTENCE.match(text.strip())
    line = " ".join((match[0] if match else "").split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def _others(declared: Mapping[str, str], *, said: tuple[str, ...]) -> list[str]:
    # The redirection already stands under "do not use when" where it was taken from there.
    return [name if when in said else f"{name}: {_bare(when)}" for name, when in declared.items()]


def _fresh(contract: ToolContract) -> str:
    text = contract.operational.freshness.text
    return f"Data: {_bare(text)}." if text and text not in contract.capability.does else ""


def _listed(heading: str, texts: Iterable[str]) -> str:
    bare = [_bare(text) for text in texts]
    return f"{heading}: {'; '.join(text for text in bare if text)}." if any(bare) else ""


def _bare(text: str) -> str:
    return " ".join(text.split()).rstrip(_END)
