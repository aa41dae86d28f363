"""Tool names that every provider takes: `^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`, one for each reference, no two alike."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256

from toolsearch.model.contract import ToolRef

MAX_API_NAME = 64

_UNSAFE = re.compile(r"[^a-zA-Z0-9_-]+")


def api_names(refs: Sequence[ToolRef]) -> dict[ToolRef, str]:
    """Return a provider-safe name for each reference; distinct references get distinct names.

    A name that only one of them has is kept, unsafe characters as `_`. References that share one are told apart by
    their server, and what is then still shared, cut or empty by a hash of the reference. The result depends on the set
    of references, not on their order, so pass only what the principal may see.

    Args:
        refs: References to be named together; repetitions are named once.
    """
    distinct = sorted(set(refs))
    names = {ref: _safe(ref.name) for ref in distinct}
    for shared in (_with_server, _with_hash):
        counts = Counter(names.values())
        names = {ref: name if counts[name] == 1 and name else shared(ref) for ref, name in names.items()}
    digits = 8
    while len(set(names.values())) < len(names):
        # A name may look like the hashed name of another tool; a longer hash tells them apart.
        digits += 4
        counts = Counter(names.values())
        names = {ref: name if counts[name] == 1 else _with_hash(ref, digits=digits) for ref, name in names.items()}
    return names


def safe_names(names: Sequence[str]) -> dict[str, str]:
    """Return a provider-safe form for each of some other names, such as servers; distinct names stay distinct."""
    refs = {name: ToolRef("", name, 1) for name in names}
    safe = api_names(list(refs.values()))
    return {name: safe[ref] for name, ref in refs.items()}


def refs_by_api_name(names: Mapping[ToolRef, str]) -> dict[str, ToolRef]:
    """Return the way back from the names that a model calls to the references."""
    return {name: ref for ref, name in names.items()}


def _safe(text: str) -> str:
    """Return a safe form of the text, or "" where nothing readable or too much is left."""
    name = _led(_UNSAFE.sub("_", text))
    return name if len(name) <= MAX_API_NAME and name.strip("_-") else ""


def _led(name: str) -> str:
    # Gemini takes no name that begins with a digit or a dash.
    return name if name[:1].isalpha() or name.startswith("_") else f"_{name}"


def _with_server(ref: ToolRef) -> str:
    return _safe(f"{_safe(ref.server)}__{_safe(ref.name)}") if _safe(ref.server) and _safe(ref.name) else ""


def _with_hash(ref: ToolRef, *, digits: int = 8) -> str:
    digest = sha256(str(ref).encode("utf-8", "surrogatepass")).hexdigest()[:digits]
    stem = _led(_UNSAFE.sub("_", ref.name).strip("_-") or "tool")[: MAX_API_NAME - digits - 1]
    return f"{stem}_{digest}"
