"""ToolDocument: the texts of one contract that search reads.

Positive text (what the tool is for) and negative text (what it is not for) never mix: `does_not`,
`do_not_use_when` and `adjacent_tools` name the business of *other* tools, so a word of theirs must not lift
this one. Examples are requests, not descriptions: they are embedded apart, as vectors of their own.
Only named fields of the contract are read, and characters that nobody sees are left out of all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from toolsearch.contracts.enrich.parameters import parameter_names
from toolsearch.model.contract import ToolContract
from toolsearch.text.analysis.characters import strip_invisible
from toolsearch.text.analysis.identifiers import identifier_words

FIELD_NAMES = ("name", "aliases", "title", "does", "use_when", "examples", "parameters", "returns", "tags", "domain")
"""The text fields in their fixed order; their weights stand in `toolsearch.model.limits.Bm25Parameters`."""

LOCAL_SERVER = "local"
"""The server of contracts that name none; it says nothing and is not indexed."""

MAX_SCHEMA_DEPTH = 6
MAX_PARAMETERS = 200
MAX_PARAMETER_TEXT = 300
"""Characters of one parameter's description that are indexed; what follows is syntax and examples."""
MAX_ENUM_VALUES = 24

_POSITIVE_BUDGET = {"head": 240, "does": 640, "use_when": 320, "parameters": 160}
"""Characters each part of `positive_text` may take: together about 256 tokens of English."""
MAX_RETURNS_TEXT = 300
"""Characters of what a tool returns that are embedded."""

VIEW_WEIGHTS = {"positive": 0.6, "returns": 0.2, "name": 0.2}
"""How much each view of a document counts in its vector: chosen on the dev sets."""


@dataclass(frozen=True, slots=True)
class ToolDocument:
    """What is indexed for one contract.

    Attributes:
        fields: Field name -> text, in the order of FIELD_NAMES; a line is a phrase, empty fields are absent.
        positive_text: The main text that is embedded: the best content first, about 256 tokens.
        views: The texts whose vectors make up the vector of the document, each with its weight; `positive_text` first.
        examples: Typical requests, each embedded as a vector of its own.
        negatives: Sentences that say what the tool is not for (`does_not`, then `do_not_use_when`).
    """

    fields: Mapping[str, str]
    positive_text: str
    views: tuple[tuple[str, float], ...]
    examples: tuple[str, ...]
    negatives: tuple[str, ...]


def tool_document(contract: ToolContract) -> ToolDocument:
    """Return the texts of a contract that search reads. Depends on the contract alone."""
    fields, positive = field_texts(contract), _positive_text(contract)
    return ToolDocument(
        fields=fields,
        positive_text=positive,
        views=_views(_spoken(contract.identity.name), positive=positive, returns=fields.get("returns", "")),
        examples=_distinct(contract.capability.examples),
        negatives=negative_sentences(contract),
    )


def field_texts(contract: ToolContract) -> Mapping[str, str]:
    """Return the text of each field that the lexical lane indexes; fields without text are left out."""
    identity, capability = contract.identity, contract.capability
    server = "" if identity.server == LOCAL_SERVER else identity.server
    texts: dict[str, Iterable[str]] = {
        "name": [identity.name],
        "aliases": identity.aliases,
        "title": [identity.title],
        "does": [capability.does],
        "use_when": contract.selection.use_when,
        "examples": capability.examples,
        "parameters": _parameter_texts(contract),
        "returns": [_returns_text(contract)],
        "tags": capability.tags,
        "domain": [identity.domain, server],
    }
    joined = {field: "\n".join(_distinct(texts[field])) for field in FIELD_NAMES}
    return MappingProxyType({field: text for field, text in joined.items() if text})


def negative_sentences(contract: ToolContract) -> tuple[str, ...]:
    """Return the sentences that say what a tool is not for: `does_not`, then `do_not_use_when`."""
    return _distinct((*contract.capability.does_not, *contract.selection.do_not_use_when))


def _positive_text(contract: ToolContract) -> str:
    identity = contract.identity
    names = [_spoken(identity.name), identity.title, *identity.aliases]
    parameters = [" ".join(identifier_words(part)) for part in parameter_names(contract)]
    parts = {
        "head": "; ".join(_distinct(names)),
        "does": " ".join(strip_invisible(contract.capability.does).split()),
        "use_when": " ".join(_distinct(contract.selection.use_when)),
        "parameters": ", ".join(_distinct(parameters)),
    }
    text = ". ".join(
        cut.rstrip(" .") for part, text in parts.items() if (cut := _cut(text, limit=_POSITIVE_BUDGET[part]))
    )
    return text if identity.server == LOCAL_SERVER else f"{_spoken(identity.server)}: {text}"


def _views(name: str, *, positive: str, returns: str) -> tuple[tuple[str, float], ...]:
    """Return the views of a document that it has, with their weights."""
    texts = {"positive": positive, "returns": f"{name}: {returns}" if returns else "", "name": name}
    return tuple((text, VIEW_WEIGHTS[view]) for view, text in texts.items() if text)


def _returns_text(contract: ToolContract) -> str:
    """Return what the result holds: the description of its schema, its fields, the entities in it."""
    schema = contract.output.schema_ if isinstance(contract.output.schema_, Mapping) else {}
    told = schema.get("description")
    parts = [told] if isinstance(told, str) else []
    properties = schema.get("properties")
    for name, node in (properties if isinstance(properties, Mapping) else {}).items():
        meaning = node.get("description") if isinstance(node, Mapping) else None
        parts.append(f"{_spoken(str(name))}: {meaning}" if isinstance(meaning, str) else _spoken(str(name)))
    parts += [_spoken(entity) for entity in contract.output.produces]
    return _cut(" ".join("; ".join(_distinct(parts)).split()), limit=MAX_RETURNS_TEXT)


def _spoken(identifier: str) -> str:
    """Return an identifier as lower-case words."""
    plain = strip_invisible(identifier)
    return (" ".join(identifier_words(plain)) or plain).lower()


def _cut(text: str, *, limit: int) -> str:
    """Return at most `limit` characters, cut behind a sentence or else a space in the second half."""
    if len(text) <= limit:
        return text
    head = text[:limit]
    for mark in (". ", "。", "; ", "；", " "):
        end = head.rfind(mark)
        if end >= limit // 2:
            return head[: end + 1].rstrip()
    return head


def _parameter_texts(contract: ToolContract) -> Iterator[str]:
    yield from parameter_names(contract)
    for text in contract.input.semantics.values():
        yield text[:MAX_PARAMETER_TEXT]
    yield from _schema_texts(contract.input_schema)


def _schema_texts(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield names, titles, descriptions and enum values of a JSON Schema, parents before their children."""
    level: list[tuple[str, Mapping[str, Any]]] = [("", schema)]
    seen = 0
    for _ in range(MAX_SCHEMA_DEPTH):
        deeper: list[tuple[str, Mapping[str, Any]]] = []
        for name, node in level:
            seen += 1
            if seen > MAX_PARAMETERS:
                return
            yield from _node_texts(name, node)
            deeper.extend(_children(node))
        level = deeper


def _node_texts(name: str, node: Mapping[str, Any]) -> Iterator[str]:
    yield name
    for key in ("title", "description"):
        # The root's own title and description repeat the tool's.
        if name and isinstance(text := node.get(key), str):
            yield text[:MAX_PARAMETER_TEXT]
    values = node.get("enum")
    if isinstance(values, list | tuple):
        yield from (value[:MAX_PARAMETER_TEXT] for value in values[:MAX_ENUM_VALUES] if isinstance(value, str))
    if isinstance(const := node.get("const"), str):
        yield const[:MAX_PARAMETER_TEXT]


def _children(node: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for key in ("properties", "patternProperties"):
        named = node.get(key)
        if isinstance(named, Mapping):
            yield from (
                (str(name) if key == "properties" else "", child)
                for name, child in named.items()
                if isinstance(child, Mapping)
            )
    for key in ("items", "additionalProperties"):
        child = node.get(key)
        if isinstance(child, Mapping):
            yield "", child
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        branches = node.get(key)
        if isinstance(branches, list | tuple):
            yield from (("", branch) for branch in branches if isinstance(branch, Mapping))


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the texts without invisible characters and surrounding space; empty and repeated ones are dropped."""
    return tuple(dict.fromkeys(text for raw in texts if (text := strip_invisible(raw).strip())))
