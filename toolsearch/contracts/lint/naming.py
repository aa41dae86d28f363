"""Rules on names: a verb first, snake_case, a domain, no word that says nothing, no two tools of one name."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from toolsearch.contracts.enrich.effects import effect_of_name
from toolsearch.contracts.enrich.verbs import READ_NOUNS, VERBS
from toolsearch.contracts.lint.finding import Flaw, Path, Severity, listed
from toolsearch.contracts.lint.rule import LintLimits, LintRule, Surroundings
from toolsearch.contracts.lint.words import (
    NOTHING_WORDS,
    VAGUE_VERBS,
    is_verb,
    last_part,
    name_words,
    says_nothing,
    vocabulary,
)
from toolsearch.model.contract import SideEffect, ToolContract
from toolsearch.text.analysis.identifiers import singular

NAME: Path = ("identity", "name")

_ALONE = vocabulary(
    "search query lookup find get list fetch read run execute call create update delete add remove set",
)
_WRITES = vocabulary("create add update set edit modify delete remove drop send write upload rename purge")
_READS = vocabulary(
    "get list search find read query fetch describe show view count lookup verify inspect preview",
)
_HUMPS = re.compile(r"[a-z0-9][A-Z]|^[A-Z][a-z]")
_SEPARATORS = {
    "snake_case": re.compile(r"[a-z0-9]_[a-z0-9]"),
    "kebab-case": re.compile(r"[a-z0-9]-[a-z0-9]"),
    "camelCase": _HUMPS,
}


def without_prefix(name: str, *, prefixes: frozenset[str]) -> list[str]:
    """Return the words of a tool name behind its namespace and the words that its server's tools begin with."""
    words = name_words(last_part(name))
    while (
        len(words) > 1
        and words[0] in prefixes
        and not (len(words) == 2 and is_verb(words[0]) and not is_verb(words[1]))
    ):
        words = words[1:]
    return words


def prefixes_of(tools: Sequence[ToolContract]) -> frozenset[str]:
    """Return the words that names of a server begin with: those of its name and domains, and first words many share."""
    server = tools[0].identity.server
    known = {word for tool in tools for word in name_words(f"{server} {tool.identity.domain}")}
    firsts = Counter(words[0] for tool in tools if (words := name_words(last_part(tool.identity.name))))
    shared = {word for word, count in firsts.items() if count >= max(3, len(tools) / 3) and not is_verb(word)}
    return frozenset({word for word in known if not is_verb(word)} | {singular(word) for word in known} | shared)


def no_verb(around: Surroundings) -> Iterator[tuple[ToolContract, Flaw]]:
    """Names in which no word is a verb."""
    for tools in around.servers().values():
        prefixes = prefixes_of(tools)
        for tool in tools:
            words = without_prefix(tool.identity.name, prefixes=prefixes)
            if not words or any(map(is_verb, name_words(tool.identity.name))) or not all(map(str.isascii, words)):
                continue
            verb = _guess_verb(tool)
            yield (
                tool,
                Flaw(
                    path=NAME,
                    message=f"the name {tool.identity.name!r} says no action: a model reads the name first, and "
                    "cannot tell what a call does",
                    suggestion=f"begin with a verb, e.g. {'_'.join((verb, *words))!r}",
                ),
            )


def verb_not_first(around: Surroundings) -> Iterator[tuple[ToolContract, Flaw]]:
    """Names whose verb stands behind their object, in a server whose other names begin with it."""
    for tools in around.servers().values():
        prefixes = prefixes_of(tools)
        split = {tool.ref: without_prefix(tool.identity.name, prefixes=prefixes) for tool in tools}
        first = sum(bool(words) and is_verb(words[0]) for words in split.values())
        for tool in tools:
            words = split[tool.ref]
            verb = words[-1] if words else ""
            behind = len(words) > 1 and verb in VERBS and not any(map(is_verb, words[:-1]))
            # A server that names all its tools alike is read alike; the odd one out is the fault.
            if behind and 2 * first >= len(tools):
                yield (
                    tool,
                    Flaw(
                        path=NAME,
                        message=f"in {tool.identity.name!r} the verb {verb!r} stands last, while {first} of "
                        f"{len(tools)} tools of this server begin with theirs",
                        suggestion=f"name it {'_'.join((verb, *words[:-1]))!r}",
                    ),
                )


def mixed_case(around: Surroundings) -> Iterator[tuple[ToolContract, Flaw]]:
    """Names written otherwise than most names of their server."""
    for tools in around.servers().values():
        styles = {tool.ref: _style(tool.identity.name) for tool in tools}
        counts = Counter(style for style in styles.values() if style)
        if len(counts) < 2:
            continue
        usual = max(sorted(counts), key=lambda style: (counts[style], style == "snake_case"))
        for tool in tools:
            style = styles[tool.ref]
            if style and style != usual:
                yield (
                    tool,
                    Flaw(
                        path=NAME,
                        message=f"{tool.identity.name!r} is {style}, while {counts[usual]} tools of this server "
                        f"are {usual}: a model takes them for two sets",
                        suggestion=f"name it {_rewritten(tool.identity.name, usual)!r}",
                    ),
                )


def not_snake_case(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Names that are not snake_case; dots of a namespace are fine."""
    style = _style(tool.identity.name)
    if style and style != "snake_case":
        yield Flaw(
            path=NAME,
            message=f"{tool.identity.name!r} is {style}: snake_case is what models have seen most, and what "
            "every SDK takes",
            suggestion=f"name it {_rewritten(tool.identity.name, 'snake_case')!r}; a name is an API: rename with "
            "a new version, and keep the old one as alias",
        )


def zero_information(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Names made of words that say nothing."""
    if says_nothing(last_part(tool.identity.name)) and "." not in tool.identity.name:
        words = name_words(tool.identity.name)
        empty = [word for word in words if word in NOTHING_WORDS or word in VAGUE_VERBS] or words
        yield Flaw(
            path=NAME,
            message=f"the name {tool.identity.name!r} says nothing: {listed(map(repr, empty))} fit any tool",
            suggestion="name the action and what it acts on, as in 'extract_invoice_fields'",
        )


def bare_verb(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Names that are a verb without an object or a domain."""
    name = tool.identity.name
    words = name_words(name)
    if len(words) != 1 or words[0] not in _ALONE:
        return
    # A server may be named after a thing, and be the only one; beside others its tools lose the name.
    thing = (
        "_".join(word for word in name_words(tool.identity.domain) if word not in ("local", "mcp", "server")) or "THING"
    )
    yield Flaw(
        path=NAME,
        message=f"the name {name!r} does not say what it acts on: any server has such a tool",
        suggestion=f"add the domain, e.g. '{words[0]}_{thing}'",
    )


def vague_verb(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Names whose verb could mean creating, changing or deleting."""
    words = name_words(last_part(tool.identity.name))
    verb = next((word for word in words if is_verb(word)), "")
    clear = words[-1:] and words[-1] in _READS
    if verb in VAGUE_VERBS and not clear and len(words) > 1 and not says_nothing(tool.identity.name):
        rest = "_".join(words[words.index(verb) + 1 :]) or "_".join(words[: words.index(verb)])
        yield Flaw(
            path=NAME,
            message=f"{verb!r} in {tool.identity.name!r} may mean creating, changing, deleting or all of them",
            suggestion=f"one tool an action: 'create_{rest}', 'update_{rest}', 'delete_{rest}'",
        )


def verb_against_effect(tool: ToolContract, _: LintLimits) -> Iterator[Flaw]:
    """Names that promise another side effect than the contract states."""
    effect, named = tool.execution.side_effect, effect_of_name(tool.identity.name)
    overruled = next(
        (
            note
            for note in tool.provenance.notes
            if note.startswith("execution.side_effect") and "the higher is kept" in note
        ),
        "",
    )
    if overruled and named is not None and named >= SideEffect.REVERSIBLE:
        yield Flaw(
            path=("execution", "side_effect"),
            message=f"the hint of the source and the name or text disagree ({overruled.partition(': ')[2]})",
            suggestion="correct the annotation, or name the tool by what it does",
        )
    elif effect is SideEffect.IRREVERSIBLE and _only_reads(tool.identity.name):
        yield Flaw(
            path=NAME,
            message=f"{tool.identity.name!r} sounds as if it only read, but its side effect is {effect.label}: "
            "models call such names freely",
            suggestion="name it by what it changes, or correct the side effect",
        )
    elif effect is not None and effect <= SideEffect.READ_ONLY and _plainly_writes(tool.identity.name):
        yield Flaw(
            path=NAME,
            message=f"{tool.identity.name!r} sounds as if it wrote, but its side effect is {effect.label}",
            suggestion="name it by what it reads, or correct the side effect",
        )


def _only_reads(name: str) -> bool:
    words = name_words(last_part(name))
    verbs = [word for word in words if word in VERBS]
    return any(word in _READS for word in verbs) and all(VERBS[word] is SideEffect.READ_ONLY for word in verbs)


def _plainly_writes(name: str) -> bool:
    words = name_words(last_part(name))
    return len(words) > 1 and words[0] in _WRITES and words[-1] not in READ_NOUNS


def shared_name(around: Surroundings) -> Iterator[tuple[ToolContract, Flaw]]:
    """One name on several servers."""
    by_name: dict[str, list[ToolContract]] = defaultdict(list)
    for tool in around.contracts:
        by_name[tool.identity.name].append(tool)
    for name, tools in by_name.items():
        servers = sorted({tool.identity.server for tool in tools})
        if len(servers) < 2:
            continue
        for tool in tools:
            others = [server for server in servers if server != tool.identity.server]
            yield (
                tool,
                Flaw(
                    path=NAME,
                    message=f"{name!r} is also a tool of {listed(others)}: a model that sees both cannot tell "
                    "them apart by name",
                    suggestion=f"put the domain in front, e.g. {_prefixed(name, tool)!r}",
                    related=tuple(str(other.ref) for other in tools if other is not tool),
                ),
            )


def _prefixed(name: str, tool: ToolContract) -> str:
    return f"{'_'.join(name_words(tool.identity.server)) or 'domain'}_{name}"


def _guess_verb(tool: ToolContract) -> str:
    words = tool.capability.does.lower().split()
    first = words[0].strip(",.:;") if words else ""
    for form in (first, singular(first), first.removesuffix("es"), first.removesuffix("ing")):
        if is_verb(form) and form not in VAGUE_VERBS:
            return form
    return "get" if tool.assumed_side_effect <= SideEffect.READ_ONLY else "run"


def _style(name: str) -> str:
    found = [style for style, pattern in _SEPARATORS.items() if pattern.search(last_part(name))]
    return found[0] if len(found) == 1 else " and ".join(found)


def _rewritten(name: str, style: str) -> str:
    head, last = name[: len(name) - len(last_part(name))], last_part(name)
    words = name_words(last)
    if style == "camelCase":
        return head + words[0] + "".join(map(str.capitalize, words[1:])) if words else name
    return head + ("-" if style == "kebab-case" else "_").join(words)


RULES = (
    LintRule(
        id="TS101",
        name="name-without-verb",
        severity=Severity.NOTE,
        catalogue=no_verb,
        summary="A name says the action: verb and object.",
    ),
    LintRule(
        id="TS102",
        name="name-verb-not-first",
        severity=Severity.NOTE,
        catalogue=verb_not_first,
        summary="The verb stands first, behind the domain, as in the other names of the server.",
    ),
    LintRule(
        id="TS103",
        name="name-not-snake-case",
        severity=Severity.NOTE,
        contract=not_snake_case,
        summary="A name is snake_case; dots part its namespace.",
    ),
    LintRule(
        id="TS104",
        name="name-style-mixed",
        severity=Severity.WARNING,
        catalogue=mixed_case,
        summary="The names of one server are written alike.",
    ),
    LintRule(
        id="TS105",
        name="name-says-nothing",
        severity=Severity.WARNING,
        contract=zero_information,
        summary="A name has a word that only this tool's task explains.",
    ),
    LintRule(
        id="TS106",
        name="name-without-domain",
        severity=Severity.WARNING,
        contract=bare_verb,
        summary="A name says what it acts on: never `search`, `query` or `get` alone.",
    ),
    LintRule(
        id="TS107",
        name="name-verb-vague",
        severity=Severity.WARNING,
        contract=vague_verb,
        summary="The verb says one action: never `process`, `handle` or `manage`.",
    ),
    LintRule(
        id="TS108",
        name="name-against-effect",
        severity=Severity.WARNING,
        contract=verb_against_effect,
        summary="The verb promises the side effect that the contract states.",
    ),
    LintRule(
        id="TS109",
        name="name-shared",
        severity=Severity.NOTE,
        catalogue=shared_name,
        summary="A name is used by one server only.",
    ),
)
"""The rules on names."""
