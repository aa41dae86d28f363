"""What a call produces, read from the schema of its result: entity -> path where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from toolsearch.text.analysis.identifiers import identifier_words

MAX_DEPTH = 5
MAX_PRODUCTS = 24

_IDENTIFIER = re.compile(r"(?:^|_)(?:id|ids|uuid|guid|key|number|no|code|sku|slug|token|arn|symbol|email)$")
_PLURAL = re.compile(r"ies$|(?<![su])s$")
_PLUMBING = re.compile(r"^(?:trace|request|session|correlation|status|error|next|page|cursor|idempotency)_")
_VERBS = frozenset(
    [
        "get",
        "list",
        "search",
        "find",
        "query",
        "fetch",
        "lookup",
        "create",
        "add",
        "read",
        "retrieve",
        "show",
        "describe",
    ]
)
_WRAPPERS = frozenset(
    ["items", "item", "data", "results", "result", "records", "rows", "content", "value", "values", "list", "response"]
)


def products_of(schema: Mapping[str, Any], *, tool: str, asked: Iterable[str]) -> dict[str, str]:
    """Return entity -> path, for the identifiers in a result.

    A bare `id` is named after what holds it (`orders[].id` -> `order_id`), at the top after the noun of the tool's
    name; where neither has a noun it is left out. Identifiers of the transport (`request_id`, `next_page_token`) are no
    products, nor is what the call itself asks for.

    Args:
        schema: JSON Schema of the result, references resolved.
        tool: Name of the tool.
        asked: Names of the inputs it requires.
    """
    found: dict[str, str] = {}
    known = frozenset(asked)
    for name, path, holder in _fields(schema, path="", holder="", depth=0):
        spoken = "_".join(word.lower() for word in identifier_words(name))
        if not _IDENTIFIER.search(spoken) or _PLUMBING.search(spoken):
            continue
        entity = name
        if spoken in ("id", "uuid", "key", "number"):
            noun = _noun(holder) or _noun_of_tool(tool)
            if not noun:
                continue
            entity = f"{noun}_{spoken}"
        if entity not in known:
            found.setdefault(entity, path)
        if len(found) == MAX_PRODUCTS:
            break
    return found


def _fields(schema: Any, *, path: str, holder: str, depth: int) -> Iterator[tuple[str, str, str]]:
    """Yield (name, path, name of what holds it) of the scalar fields, parents before their children."""
    if depth > MAX_DEPTH or not isinstance(schema, Mapping):
        return
    if isinstance(schema.get("items"), Mapping):
        yield from _fields(schema["items"], path=f"{path}[]", holder=holder, depth=depth + 1)
    properties = schema.get("properties")
    deeper = []
    for name, node in properties.items() if isinstance(properties, Mapping) else ():
        inner = f"{path}.{name}" if path else str(name)
        if isinstance(node, Mapping) and ("properties" in node or isinstance(node.get("items"), Mapping)):
            deeper.append((node, inner, str(name)))
        else:
            yield str(name), inner, holder
    for node, inner, name in deeper:
        yield from _fields(node, path=inner, holder=name, depth=depth + 1)


def _noun(holder: str) -> str:
    words = [word.lower() for word in identifier_words(holder)]
    if not words or "_".join(words) in _WRAPPERS:
        return ""
    return "_".join([*words[:-1], _PLURAL.sub(lambda match: "y" if match[0] == "ies" else "", words[-1])])


def _noun_of_tool(tool: str) -> str:
    words = [word.lower() for word in identifier_words(tool.rpartition(".")[2])]
    return _noun("_".join(words[1:])) if len(words) == 2 and words[0] in _VERBS else ""
