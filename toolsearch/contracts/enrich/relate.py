"""Second pass over a catalogue: what tools of one server say about each other, which no definition alone can tell.

A description that names a neighbour ("for Y use `other_tool`", "prefer X when ...", "不要……改用 X") is only believed
where that neighbour exists on the same server: field names, operations and file names look just like tool names.
Likewise a tool is only said to produce an `order_id` by its name where another tool of the server asks for one.
Declared fields are never touched, and no word of a description moves.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolsearch.contracts.enrich.segments import split_sentences
from toolsearch.model.contract import MAX_TEXT, Origin, ToolContract, ToolRef
from toolsearch.text.analysis.identifiers import identifier_words, singular

ADJACENT, PRODUCES = "selection.adjacent_tools", "output.produces"
CONFIDENCE = {ADJACENT: 0.9, PRODUCES: 0.5}

_MAX_ADJACENT = 24
_SHAPED = re.compile(r"[_.-]|[a-z0-9][A-Z]")
_MENTION = re.compile(
    r"(?P<tick>[`'\"“「]?)(?<![\w./-])(?P<name>[A-Za-z][\w.-]{0,126}\w)(?P<call>\(\))?(?P<noun>[`'\"”」]?\s+(?:tool|command|function)\b)?"
)
_ADVICE = re.compile(
    r"\b(?:use|using|call|calling|prefer|try|see|choose|run|invoke|switch|instead|rather|unlike|alternative|handled\s+by|covered\s+by)\b"
    r"|→|->|请用|改用|使用|调用|用|参见|参考|而不是|优先",
    re.IGNORECASE,
)
_FINDS = frozenset({"list", "search", "find", "query", "get", "lookup", "fetch", "retrieve", "browse"})
_MAKES = frozenset({"create", "add", "new", "open", "place", "book", "submit", "insert", "register"})
_IDENTIFIERS = frozenset({"id", "ids", "key", "uuid", "number", "slug", "handle"})
_VAGUE = frozenset({"", "item", "object", "resource", "record", "result", "user_defined", "data", "page", "request"})


def relate(contracts: Iterable[ToolContract]) -> tuple[ToolContract, ...]:
    """Return the contracts in the same order, their inferred adjacent tools and products checked against each other.

    Contracts without inferred fields (our own format) come back as they are. A server of which one tool is
    known tells nothing, so its tools come back as they are too.
    """
    given = tuple(contracts)
    servers: dict[str, list[ToolContract]] = defaultdict(list)
    for contract in given:
        servers[contract.identity.server].append(contract)
    changed: dict[ToolRef, ToolContract] = {}
    for tools in servers.values():
        names = _Names.of(tools)
        if len(names.by_name) > 1:
            wanted = _wanted_entities(tools)
            for tool in tools:
                if Origin.INFERRED in tool.provenance.fields.values():
                    changed[tool.ref] = _related(tool, names=names, wanted=wanted)
    return tuple(changed.get(contract.ref, contract) for contract in given)


@dataclass(frozen=True, slots=True)
class _Names:
    """The tool names of one server, and the ways in which prose shortens them."""

    by_name: Mapping[str, str] = field(default_factory=dict)
    by_words: Mapping[tuple[str, ...], frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, tools: Sequence[ToolContract]) -> _Names:
        exact: dict[str, str] = {}
        endings: dict[tuple[str, ...], set[str]] = defaultdict(set)
        for name in sorted({tool.identity.name for tool in tools}):
            exact[name] = name
            words = _words(name)
            endings[words].add(name)
            # From two words on an ending is telling: `manage_istio_config` for `kiali_manage_istio_config`.
            for start in range(1, len(words) - 1):
                endings[words[start:]].add(name)
        return cls(exact, {words: frozenset(names) for words, names in endings.items()})

    def resolve(self, text: str, *, own: str) -> str | None:
        """Return the tool that a text names, or None where it names none, or more than one."""
        if text in self.by_name:
            return text if text != own else None
        words = _words(text)
        meant = self.by_words.get(words, frozenset())
        found = {name for name in meant if _words(name) == words} or meant
        return next(iter(found)) if len(found) == 1 and own not in found else None


def _words(name: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in identifier_words(name))


def _related(contract: ToolContract, *, names: _Names, wanted: Mapping[str, str]) -> ToolContract:
    provenance = contract.provenance
    notes = list(provenance.notes)
    parts: dict[str, Any] = {}
    if provenance.fields.get(ADJACENT, Origin.INFERRED) is not Origin.DECLARED and not _declares(contract, ADJACENT):
        adjacent, unknown = _adjacent(contract, names)
        if unknown:
            notes.append(f"{ADJACENT}: no such tool on the server: {', '.join(sorted(unknown))}"[:MAX_TEXT])
        if adjacent != contract.selection.adjacent_tools:
            parts["selection"] = contract.selection.model_copy(update={"adjacent_tools": adjacent})
    if not _declares(contract, PRODUCES):
        produced = {**_named_products(contract, wanted), **contract.output.produces}
        if produced != contract.output.produces:
            parts["output"] = contract.output.model_copy(update={"produces": produced})
    if not parts and len(notes) == len(provenance.notes):
        return contract
    origins, confidence = dict(provenance.fields), dict(provenance.confidence)
    for path, section in ((ADJACENT, "selection"), (PRODUCES, "output")):
        if section in parts:
            origins[path], confidence[path] = Origin.INFERRED, CONFIDENCE[path]
            if not getattr(parts[section], path.rpartition(".")[2]):
                del origins[path], confidence[path]
    parts["provenance"] = provenance.model_copy(
        update={"fields": origins, "confidence": confidence, "notes": tuple(notes)}
    )
    return contract.model_copy(update=parts)


def _declares(contract: ToolContract, path: str) -> bool:
    section, _, name = path.partition(".")
    return bool(getattr(getattr(contract, section), name)) and path not in contract.provenance.fields


def _adjacent(contract: ToolContract, names: _Names) -> tuple[dict[str, str], set[str]]:
    """Return the neighbours that exist, and the names read before that turn out to be none."""
    own = contract.identity.name
    found: dict[str, str] = {}
    unknown = set()
    for name, when in contract.selection.adjacent_tools.items():
        meant = names.resolve(name, own=own)
        if meant is None:
            unknown.add(name)
        else:
            _append(found, meant, when)
    parameters = set(contract.required_inputs) | set(_properties(contract))
    for sentence in _sentences(contract):
        if _ADVICE.search(sentence):
            for name in _mentioned(sentence, names, own=own):
                if name not in parameters and name not in found and len(found) < _MAX_ADJACENT:
                    found[name] = sentence
    return found, unknown


def _append(found: dict[str, str], name: str, when: str) -> None:
    before = found.get(name)
    found[name] = when if before is None or when in before else f"{before} {when}"[:MAX_TEXT]


def _sentences(contract: ToolContract) -> Iterator[str]:
    selection = contract.selection
    yield from selection.do_not_use_when
    yield from contract.capability.does_not
    yield from contract.input.semantic_rules
    yield from selection.use_when
    for line in contract.capability.does.split("\n"):
        yield from split_sentences(line)


def _mentioned(sentence: str, names: _Names, *, own: str) -> Iterator[str]:
    for match in _MENTION.finditer(sentence):
        name = match["name"]
        # A plain word such as `search` is a name only where it is written as one.
        marked = match["tick"] == "`" or bool(match["call"]) or bool(match["noun"] and match["tick"])
        if (_SHAPED.search(name) or marked) and (meant := names.resolve(name, own=own)):
            yield meant


def _properties(contract: ToolContract) -> Mapping[str, Any]:
    properties = contract.input_schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _wanted_entities(tools: Sequence[ToolContract]) -> dict[str, str]:
    """Return noun -> name of the input in which tools of this server ask for its identifier: `order` -> `order_id`."""
    wanted: dict[str, set[str]] = defaultdict(set)
    for tool in tools:
        for name in tool.required_inputs:
            words = _words(name)
            if len(words) > 1 and words[-1] in _IDENTIFIERS and "_".join(words[:-1]) not in _VAGUE:
                wanted["_".join(words[:-1])].add(name)
    # Two spellings of one identifier would make a guess of a guess.
    return {noun: next(iter(found)) for noun, found in wanted.items() if len(found) == 1}


def _named_products(contract: ToolContract, wanted: Mapping[str, str]) -> dict[str, str]:
    """Return what a tool produces by its name: `search_orders` an `order_id`, unless it asks for one itself."""
    words = _words(contract.identity.name.rpartition(".")[2])
    if len(words) < 2 or words[0] not in _FINDS | _MAKES:
        return {}
    until = next((at for at, word in enumerate(words) if word in {"by", "for", "of", "in", "with", "from"}), len(words))
    noun = "_".join([*words[1 : until - 1], singular(words[until - 1])])
    entity = wanted.get(noun)
    return {entity: ""} if entity and entity not in _properties(contract) else {}
