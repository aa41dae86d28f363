"""Names for the tools of a session: what a model once called a tool by stays that tool's name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from hashlib import sha256

from toolsearch.contracts.export.names import MAX_API_NAME, api_names
from toolsearch.model.contract import ToolRef

_UNSAFE = re.compile(r"[^a-zA-Z0-9_-]+")


def session_names(refs: Iterable[ToolRef], *, known: Mapping[ToolRef, str]) -> dict[ToolRef, str]:
    """Return a provider-safe name for each reference; no two references of the session, past ones included, share one.

    Args:
        refs: References to be handed out together.
        known: The names that the session gave before. They stay, also those of tools that have left: the conversation
            holds calls of them.
    """
    wanted = sorted(set(refs))
    if all(ref in known for ref in wanted):
        return {ref: known[ref] for ref in wanted}
    together = api_names([*known, *wanted])
    taken = set(known.values())
    names = {}
    for ref in wanted:
        names[ref] = known[ref] if ref in known else _free(together[ref], ref=ref, taken=taken)
        taken.add(names[ref])
    return names


def _free(name: str, *, ref: ToolRef, taken: Set[str]) -> str:
    """Return the name, or one with a hash of the reference where an earlier tool has it."""
    digits = 8
    while name in taken:
        digest = sha256(str(ref).encode("utf-8", "surrogatepass")).hexdigest()[:digits]
        stem = _UNSAFE.sub("_", ref.name).strip("_-")[: MAX_API_NAME - digits - 1] or "tool"
        name, digits = f"{stem}_{digest}", digits + 4
    return name
