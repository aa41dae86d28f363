"""Words and texts of contracts that several rules read, in English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from toolsearch.contracts.enrich.segments import split_sentences
from toolsearch.contracts.enrich.verbs import OPAQUE, VERBS
from toolsearch.contracts.lint.finding import Path
from toolsearch.model.contract import SideEffect, ToolContract
from toolsearch.text.analysis.analyzer import han_share
from toolsearch.text.analysis.identifiers import identifier_words


def vocabulary(*lines: str) -> frozenset[str]:
    """Return the words of lines."""
    return frozenset(word for line in lines for word in line.split())


MORE_VERBS = vocabulary(
    "abort accept acknowledge activate aggregate align allocate allow ask attach authenticate authorize await",
    "backup benchmark block cast change chat choose cleanup collect combine commit compact compose compress",
    "configure consume continue control convert count crawl create crop cut debug decode decrypt define delegate",
    "derive design destroy develop dismiss download drag duplicate edit embed emit encode encrypt enforce enqueue",
    "ensure enumerate evaluate examine exchange exit expand explore export extend finalize finish fix focus force",
    "format forward geocode give go grant group guide handle help hide highlight hover ignore index infer ingest",
    "inject install integrate interact introspect investigate iterate kick launch learn let lint log login",
    "logout match map maximize migrate minimize mock modify navigate normalize notify offer onboard open",
    "override pack parse patch perform persist pick pin plan play poll prepare print probe prompt",
    "propose prune pull query queue quit quote rank rate reason rebuild recall receive reconcile refactor refresh",
    "refine regenerate reload remember remind render reorder repair replay report request require rescan resize",
    "retry reverse revert review rewrite rollback rotate route sample scale score screenshot scroll seek send",
    "serve setup sign simulate skip sleep slice snapshot solve sort split stage stream stringify style submit",
    "swap swipe switch tap teach tell test think trace track train transcribe transform traverse troubleshoot try",
    "undo unfollow unpin unsnooze upscale use verify visualize vote wait wake walk warm watch weigh wrap zip zoom",
    "alter batch call compile cache curl touch unset union buffer simplify convert hash discard refactor paste",
    "enrich extract invalidate mount unmount nudge quarantine rerun spawn steer suppress synthesize tabulate",
    "tally terminate trim unblock unarchive unassign undeploy uncordon cordon drain taint exec expose void ls secure",
    "access",
)
"""Verbs that names begin with and that say nothing about side effects, beside those of `ingest.verbs`."""

KNOWN_VERBS = frozenset(VERBS) | OPAQUE | MORE_VERBS

VAGUE_VERBS = vocabulary(
    "process handle manage do perform deal operate work",
)
NOTHING_WORDS = vocabulary(
    "data thing things stuff object objects item items info information value values helper helpers util utils",
    "utility tool tools func function functions method api common misc general generic main test demo foo bar op",
    "ops operation operations task action actions request input output result a b c x y z temp tmp sample example",
    "new",
)
"""Words of names that say nothing."""

_NUMBERED = re.compile(r"(?:tool|func|function|method|test|action|step|task)_?\d+", re.IGNORECASE)
_HAN = re.compile(r"[一-鿿]")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One property of the input, at any depth.

    Attributes:
        name: Its name.
        path: Where its schema stands in the contract.
        node: Its schema.
        text: Its description, or the contract's own words on it.
        level: 1 for the parameters of the call.
        required: Whether its object requires it.
    """

    name: str
    path: Path
    node: Mapping[str, Any]
    text: str
    level: int
    required: bool

    @property
    def types(self) -> frozenset[str]:
        """Return its JSON types, those of its branches included, `null` left out."""
        return types_of(self.node) - {"null"}


SCHEMA: Path = ("input", "schema")
_MOST_PARAMETERS = 500
_MOST_DEPTH = 12


def parameters(contract: ToolContract) -> tuple[Parameter, ...]:
    """Return the properties of the input at every depth, parents before children; at most 500."""
    found: list[Parameter] = []
    level: list[tuple[Path, Mapping[str, Any], int]] = [(SCHEMA, contract.input_schema, 1)]
    semantics = contract.input.semantics
    while level and len(found) < _MOST_PARAMETERS:
        deeper: list[tuple[Path, Mapping[str, Any], int]] = []
        for path, node, depth in level:
            required = contract.required_inputs if depth == 1 else _texts(node.get("required"))
            for name, child in _properties(node):
                at = (*path, "properties", name)
                text = child.get("description")
                text = text if isinstance(text, str) and text.strip() else ""
                if depth == 1 and not text:
                    text = semantics.get(name, "")
                found.append(Parameter(name, at, child, text, depth, name in required))
                if depth < _MOST_DEPTH:
                    deeper.append((at, child, depth + 1))
            deeper.extend((at, child, depth) for at, child in _inside(path, node) if len(at) < 4 * _MOST_DEPTH)
        level = deeper
    return tuple(found[:_MOST_PARAMETERS])


def _properties(node: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    properties = node.get("properties")
    if isinstance(properties, Mapping):
        yield from ((str(name), child) for name, child in properties.items() if isinstance(child, Mapping))


def _inside(path: Path, node: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Yield the schemas that stand in for a node: items and branches."""
    items = node.get("items")
    if isinstance(items, Mapping):
        yield (*path, "items"), items
    for key in ("anyOf", "oneOf", "allOf"):
        branches = node.get(key)
        if isinstance(branches, list | tuple):
            yield from (((*path, key, at), branch) for at, branch in enumerate(branches) if isinstance(branch, Mapping))


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list | tuple) else ()


def types_of(node: Mapping[str, Any]) -> frozenset[str]:
    """Return the JSON types that a schema names, branches included."""
    declared = node.get("type")
    found = {declared} if isinstance(declared, str) else set(_texts(declared))
    for key in ("anyOf", "oneOf"):
        branches = node.get(key)
        if isinstance(branches, list | tuple):
            found |= {kind for branch in branches if isinstance(branch, Mapping) for kind in types_of(branch)}
    return frozenset(found)


def enum_of(node: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the values of a schema's enum, branches and items included; () where there is none."""
    found: list[Any] = []
    for one in (node, *(child for _, child in _inside((), node))):
        values = one.get("enum")
        if isinstance(values, list | tuple):
            found.extend(values)
        elif "const" in one:
            found.append(one["const"])
    return tuple(found)


def constrained(node: Mapping[str, Any]) -> bool:
    """Tell whether a schema says more than a type about its strings: an enum, a pattern, a format, examples."""
    keys = ("enum", "const", "pattern", "format", "examples", "example", "$ref", "default")
    return any(key in one for one in (node, *(child for _, child in _inside((), node))) for key in keys)


def has_key(node: Mapping[str, Any], key: str) -> bool:
    """Tell whether a schema or one of its branches has a keyword."""
    found = [node]
    for name in ("anyOf", "oneOf", "allOf"):
        branches = node.get(name)
        if isinstance(branches, list | tuple):
            found += [branch for branch in branches if isinstance(branch, Mapping)]
    return any(key in one for one in found)


def name_words(name: str) -> list[str]:
    """Return the words of a tool or parameter name in lower case."""
    return [word.lower() for word in identifier_words(name)]


def last_part(name: str) -> str:
    """Return a tool name without its dotted or slashed namespace: `orders.get` -> `get`."""
    return re.split(r"[./:]", name)[-1] or name


def is_verb(word: str) -> bool:
    """Tell whether a word of a name is a verb."""
    return word in KNOWN_VERBS


def says_nothing(name: str) -> bool:
    """Tell whether no word of a name says what it is about."""
    words = [word for word in name_words(name) if not word.isdigit()]
    return bool(_NUMBERED.fullmatch(name)) or (
        bool(words) and all(word in NOTHING_WORDS or word in VAGUE_VERBS for word in words)
    )


def positive(contract: ToolContract) -> str:
    """Return what a contract says it is for."""
    return "\n".join((contract.capability.does, *contract.selection.use_when))


def negative(contract: ToolContract) -> tuple[str, ...]:
    """Return what a contract says it is not for, neighbours included."""
    return (
        *contract.capability.does_not,
        *contract.selection.do_not_use_when,
        *(f"{name}: {when}" for name, when in contract.selection.adjacent_tools.items()),
    )


def prose(contract: ToolContract) -> str:
    """Return every sentence that a contract has on choosing and calling the tool."""
    return "\n".join((positive(contract), *negative(contract), *contract.input.semantic_rules))


def sentences(contract: ToolContract) -> int:
    """Return how many sentences a contract has."""
    return sum(len(split_sentences(part)) for part in prose(contract).split("\n") if part.strip())


def chinese(contract: ToolContract) -> bool:
    """Tell whether a contract is written in Chinese."""
    return han_share(positive(contract)) > 0.3


def in_language(contract: ToolContract, english: str, han: str) -> str:
    """Return the wording in the language that the contract is written in."""
    return han if chinese(contract) else english


def length_in_words(text: str) -> int:
    """Return the words of a text; two Han characters count as one word."""
    return len(_HAN.sub(" ", text).split()) + len(_HAN.findall(text)) // 2


def own(contract: ToolContract) -> bool:
    """Tell whether a contract was written as one, so that it could say what foreign formats have no field for."""
    return not contract.provenance.fields


def writes(contract: ToolContract) -> bool:
    """Tell whether a tool is known to change something."""
    effect = contract.execution.side_effect
    return effect is not None and effect >= SideEffect.REVERSIBLE


def reads(contract: ToolContract) -> bool:
    """Tell whether a tool is known to change nothing."""
    effect = contract.execution.side_effect
    return effect is not None and effect <= SideEffect.READ_ONLY
