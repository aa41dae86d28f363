"""One description string for the model: what it does, when (not) to use it, what else there is, what it changes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from toolsearch.contract import SideEffect, ToolContract

_SENTENCE = re.compile(r".*?(?:[.!?](?=\s|$)|[。！？]|\n|$)", re.DOTALL)
_END = re.compile(r"[.!?;。！？；，,\s]+$")

_EFFECTS = {
    SideEffect.NONE: "Side effect: none.",
    SideEffect.READ_ONLY: "Side effect: read only.",
    SideEffect.REVERSIBLE: "Side effect: changes data; can be reverted.",
    SideEffect.IRREVERSIBLE: "Side effect: changes data; cannot be undone.",
}


def describe(contract: ToolContract) -> str:
    """Return the description that a model reads, one line a statement."""
    selection, capability = contract.selection, contract.capability
    parts = [
        capability.does.strip() or contract.identity.title,
        _listed("Use when", selection.use_when),
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
    text = _EFFECTS[effect] if effect is not None else "Side effect: unknown; treat as irreversible."
    approval = contract.execution.approval
    return f"{text} Needs approval when: {_bare(approval.required_when)}." if approval else text


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
    return _END.sub("", " ".join(text.split()))
