"""Rules on pairs: tools that a model takes for one another.

Two tools can be confused when their positive texts are near in meaning (cosine of the index's own vectors) and share
most of their weighted words, their verbs are of one kind, and no name tells them apart. They are told apart when one of
them names the other as its neighbour, or has a negative sentence that speaks of what the other does.

Cosines are computed on whole numbers (see `index.vectors`), so that the last bit does not depend on what else is in
the catalogue.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toolsearch.contracts.enrich.effects import effect_of_name
from toolsearch.contracts.enrich.parameters import parameter_names
from toolsearch.contracts.lint.finding import Flaw, Misrouted, Path, Severity, listed, shown
from toolsearch.contracts.lint.rule import LintRule, Surroundings
from toolsearch.contracts.lint.words import in_language, is_verb, last_part, name_words, negative, positive
from toolsearch.model.contract import SideEffect, ToolContract
from toolsearch.text.analysis.analyzer import analyze
from toolsearch.text.analysis.identifiers import singular
from toolsearch.text.analysis.stopwords import ENGLISH

BOUNDARY: Path = ("selection", "do_not_use_when")

_FIXED_POINT = 2.0**26
_BLOCK = 1_024
_LEAD = 0.15
"""By how much of its weight a negative sentence must speak of the other tool rather than of its own."""

_LEAST_TOOLS = 100
"""A smaller catalogue tells nothing of how rare a word is; it is weighed as one of so many tools."""

_ALIKE = tuple(
    frozenset(group.split())
    for group in (
        "get fetch read retrieve show view describe lookup query find",
        "find search query lookup",
        "list find search",
        "create add insert make new",
        "update edit modify set change patch",
        "delete remove drop destroy purge",
        "run execute exec call invoke start trigger",
        "send post publish",
    )
)
"""Verbs that name one kind of action; `get` (one, by its id) and `list` (all) are told apart by custom."""


@dataclass(frozen=True, slots=True, eq=False)
class ToolProfile:
    """What a tool is compared by.

    Attributes:
        words: Tokens of its name and positive text.
        verb: First verb of its name, or "".
        things: Words of its name that are neither verbs nor namespaces.
        parameters: Names of its parameters.
    """

    words: frozenset[str]
    verb: str
    things: frozenset[str]
    parameters: frozenset[str]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two tools that can be confused, by position; `near` and `overlap` in [0, 1]."""

    first: int
    second: int
    near: float
    overlap: float


def confusable(around: Surroundings) -> Iterator[tuple[ToolContract, Flaw]]:
    """Pairs of tools that nothing tells apart."""
    if around.vectors is None or len(around.contracts) < 2:
        return
    profiles = profiles_of(around.contracts)
    weights = idf(profiles)
    firsts = _firsts(around)
    for pair in pairs(around, profiles=profiles, weights=weights):
        left, right = around.contracts[pair.first], around.contracts[pair.second]
        if _same_tool(left, right) or told_apart(
            left, right, profiles[pair.first], profiles[pair.second], weights=weights
        ):
            continue
        yield left, _flaw(pair, left, right, profiles=profiles, firsts=firsts)


def _flaw(
    pair: Pair,
    left: ToolContract,
    right: ToolContract,
    *,
    profiles: Sequence[ToolProfile],
    firsts: Mapping[str, Sequence[Misrouted]],
) -> Flaw:
    mine, other = profiles[pair.first], profiles[pair.second]
    both = mine.parameters & other.parameters
    union = mine.parameters | other.parameters
    share = len(both) / len(union) if union else 1.0
    wrong = tuple(
        one
        for tool, rival in ((left, right), (right, left))
        for one in firsts.get(str(tool.ref), ())
        if one.first == str(rival.ref)
    )
    if not union:
        arguments = "neither takes a parameter"
    elif share == 1.0:
        arguments = f"their parameters are the same ({listed(sorted(both))})"
    elif both:
        arguments = f"they share {len(both)} of {len(union)} parameters ({listed(sorted(both))})"
    else:
        arguments = "they share no parameter"
    misrouted = (
        f"; {len(wrong)} requests go to the wrong one, e.g. {shown(wrong[0].request)} to {wrong[0].first}"
        if wrong
        else ""
    )
    where = "" if left.identity.server == right.identity.server else f" of {right.identity.server}"
    return Flaw(
        path=BOUNDARY,
        message=f"{left.identity.name!r} and {right.identity.name!r}{where} are alike (similarity "
        f"{pair.near:.2f}, {pair.overlap:.0%} of their words), "
        f"and neither says when the other one is right; {arguments}{misrouted}",
        suggestion=_boundary_text(left, right, mine, other, share),
        related=(str(right.ref),),
        misrouted=wrong,
        measures={
            "similarity": round(pair.near, 4),
            "overlap": round(pair.overlap, 4),
            "parameter_overlap": round(share, 4),
        },
    )


def _boundary_text(left: ToolContract, right: ToolContract, mine: ToolProfile, other: ToolProfile, share: float) -> str:
    """Return the boundaries that the words of each tool suggest."""
    lines = []
    for tool, rival, known in ((left, right, mine), (right, left, other)):
        words = _distinct_words(rival, known)
        if words:
            about = listed(words, most=4)
            english = (
                f"in {tool.identity.name!r}: do_not_use_when: 'The request is about {about}; use {rival.identity.name}'"
            )
            han = f"在 {tool.identity.name!r} 中写 do_not_use_when：“涉及 {about} 时请使用 {rival.identity.name}”"
            lines.append(in_language(left, english, han))
    if lines:
        return "; ".join(lines)
    return "merge the two" if share == 1.0 else "say in each what the other one is for, and name it"


def _distinct_words(tool: ToolContract, other: ToolProfile) -> list[str]:
    """Return up to four words of a tool that the other one does not have, those of its name first."""
    names = name_words(last_part(tool.identity.name))
    texts = [*_profile_things(tool), *(tool.capability.does.split()[:40])]
    found: dict[str, None] = {}
    for raw in texts:
        word = raw.strip(".,:;()[]`'\"“”").lower()
        plain = len(word) > 2 and word.isalpha() and word not in ENGLISH and not is_verb(word) and word not in names[:1]
        if plain and other.words.isdisjoint(analyze(word)):
            found.setdefault(word)
    return list(found)[:4]


def _profile_things(tool: ToolContract) -> list[str]:
    return [word for word in name_words(last_part(tool.identity.name))[1:] if not is_verb(word)]


def duplicate(around: Surroundings) -> Iterator[tuple[ToolContract, Flaw]]:
    """The same tool more than once."""
    groups: dict[tuple[str, tuple[str, ...]], list[ToolContract]] = defaultdict(list)
    for tool in around.contracts:
        does = " ".join(tool.capability.does.split())
        if does:
            groups[does, parameter_names(tool)].append(tool)
    for (does, _), tools in groups.items():
        names = sorted({str(tool.ref) for tool in tools})
        if len({(tool.identity.server, tool.identity.name) for tool in tools}) < 2:
            continue  # versions of one tool
        yield (
            tools[0],
            Flaw(
                path=("capability", "does"),
                message=f"{len(tools)} tools have the same description and the same parameters "
                f"({shown(does, limit=60)}): a model can only choose by chance",
                suggestion="keep one, or say in each what sets it apart (which system, which data)",
                related=tuple(name for name in names if name != str(tools[0].ref)),
            ),
        )


def misrouted_example(around: Surroundings) -> Iterator[tuple[ToolContract, Flaw]]:
    """Requests of a tool that rank another one first."""
    by_ref = {str(tool.ref): tool for tool in around.contracts}
    for ref, wrong in _firsts(around).items():
        tool = by_ref[ref]
        for one in wrong:
            examples = tool.capability.examples
            path: Path = (
                ("capability", "examples", examples.index(one.request))
                if one.request in examples
                else ("capability", "examples")
            )
            yield (
                tool,
                Flaw(
                    path=path,
                    message=f"the request {shown(one.request)} is for {tool.identity.name!r}, and {one.first} "
                    "ranks first",
                    suggestion=f"give {tool.identity.name!r} the words of the request (use_when, aliases), or "
                    f"{one.first} a 'do_not_use_when'",
                    related=(one.first,),
                    misrouted=(one,),
                ),
            )


def neighbour_missing(around: Surroundings) -> Iterator[tuple[ToolContract, Flaw]]:
    """Adjacent tools that do not exist."""
    if not around.whole:
        return
    known = {
        name
        for tool in around.contracts
        for name in (tool.identity.name, f"{tool.identity.server}/{tool.identity.name}", *tool.identity.aliases)
    }
    folded = {name.casefold().replace("-", "_") for name in known}
    for tool in around.contracts:
        for name in tool.selection.adjacent_tools:
            if name.casefold().replace("-", "_") not in folded and not any(
                other.endswith(f"_{name}") for other in known
            ):
                yield (
                    tool,
                    Flaw(
                        path=("selection", "adjacent_tools", name),
                        message=f"it sends the model to {name!r}, which is no tool of this catalogue",
                        suggestion="name a tool that is there, or drop the sentence",
                    ),
                )


def profiles_of(contracts: Sequence[ToolContract]) -> list[ToolProfile]:
    """Return what each contract is compared by."""
    firsts = Counter(words[0] for tool in contracts if (words := name_words(last_part(tool.identity.name))))
    spaces = {word for word, count in firsts.items() if count >= 3 and not is_verb(word)}
    return [_profile(tool, spaces=spaces) for tool in contracts]


def _profile(tool: ToolContract, *, spaces: set[str]) -> ToolProfile:
    words = name_words(last_part(tool.identity.name))
    verb = next((word for word in words if is_verb(word)), "")
    things = frozenset(singular(word) for word in words[1:] if word != verb)
    if words and words[0] != verb and words[0] not in spaces and words[0] not in name_words(tool.identity.server):
        things |= {singular(words[0])}
    text = f"{' '.join(word for word in words if word not in spaces)} {positive(tool)}"
    return ToolProfile(frozenset(analyze(text)), verb, things, frozenset(parameter_names(tool)))


def idf(profiles: Sequence[ToolProfile]) -> Mapping[str, float]:
    """Return token -> weight: the rarer among the tools, the heavier (Lucene's form of idf)."""
    counts = Counter(token for profile in profiles for token in profile.words)
    total = max(len(profiles), _LEAST_TOOLS)
    return {token: math.log(1.0 + (total - count + 0.5) / (count + 0.5)) for token, count in counts.items()}


def pairs(around: Surroundings, *, profiles: Sequence[ToolProfile], weights: Mapping[str, float]) -> list[Pair]:
    """Return the pairs that can be confused, boundaries aside, in order of position."""
    assert around.vectors is not None
    encoder, limits = around.vectors.encoder, around.limits
    span = encoder.cosine_ceiling - encoder.cosine_floor
    least = encoder.cosine_floor + limits.near * span
    found = []
    for first, second, cosine in _near(around.vectors.rows, least=least):
        left, right = profiles[first], profiles[second]
        if not _verbs_alike(around.contracts[first], around.contracts[second], left, right) or _names_differ(
            left, right
        ):
            continue
        overlap = _overlap(left.words, right.words, weights=weights)
        if overlap >= limits.overlap:
            found.append(Pair(first, second, min(1.0, (cosine - encoder.cosine_floor) / span), overlap))
    return found


def _near(rows: NDArray[np.float32], *, least: float) -> Iterator[tuple[int, int, float]]:
    """Yield (first, second, cosine) of the rows that near, in order of position."""
    whole = np.rint(rows.astype(np.float64) * _FIXED_POINT)
    for start in range(0, len(whole), _BLOCK):
        cosines = whole[start : start + _BLOCK] @ whole.T / _FIXED_POINT**2
        for at, second in zip(*np.nonzero(cosines >= least), strict=True):
            first = start + int(at)
            if first < int(second):
                yield first, int(second), float(cosines[at, second])


def _verbs_alike(left: ToolContract, right: ToolContract, mine: ToolProfile, other: ToolProfile) -> bool:
    """Tell whether two tools do the same kind of thing: other verbs that change something tell tools apart."""
    if mine.verb == other.verb:
        return True
    if any(mine.verb in group and other.verb in group for group in _ALIKE):
        return True
    effects = (effect_of_name(left.identity.name), effect_of_name(right.identity.name))
    return not (mine.verb and other.verb) and effects[0] == effects[1] and effects[0] in (None, SideEffect.READ_ONLY)


def _names_differ(left: ToolProfile, right: ToolProfile) -> bool:
    """Tell whether each name has a thing of its own that the other one lacks."""
    return bool(left.things - right.things) and bool(right.things - left.things)


def _overlap(left: frozenset[str], right: frozenset[str], *, weights: Mapping[str, float]) -> float:
    """Return the weighted Jaccard overlap of two sets of tokens, in [0, 1]."""
    common, union = left & right, left | right
    total = sum(weights[token] for token in sorted(union))
    return sum(weights[token] for token in sorted(common)) / total if total > 0 else 0.0


def told_apart(
    left: ToolContract, right: ToolContract, mine: ToolProfile, other: ToolProfile, *, weights: Mapping[str, float]
) -> bool:
    """Tell whether one of two tools says when the other one is right."""
    return (
        _points(left, right)
        or _points(right, left)
        or _excludes(left, mine, other, weights)
        or _excludes(right, other, mine, weights)
    )


def _points(tool: ToolContract, other: ToolContract) -> bool:
    names = {
        other.identity.name,
        f"{other.identity.server}/{other.identity.name}",
        last_part(other.identity.name),
        *other.identity.aliases,
    }
    if not names.isdisjoint(tool.selection.adjacent_tools):
        return True
    long = [name for name in names if len(name) > 5]
    return any(
        name in sentence
        for sentence in (*negative(tool), *tool.selection.use_when, tool.capability.does)
        for name in long
    )


def _excludes(tool: ToolContract, mine: ToolProfile, other: ToolProfile, weights: Mapping[str, float]) -> bool:
    """Tell whether a negative sentence of a tool speaks of what the other one does, and not of what itself does."""
    for sentence in (*tool.capability.does_not, *tool.selection.do_not_use_when):
        tokens = frozenset(analyze(sentence))
        total = sum(weights.get(token, 1.0) for token in sorted(tokens))
        theirs = sum(weights.get(token, 1.0) for token in sorted(tokens & other.words))
        own = sum(weights.get(token, 1.0) for token in sorted(tokens & mine.words))
        if total > 0 and theirs - own >= _LEAD * total:
            return True
    return False


def _same_tool(left: ToolContract, right: ToolContract) -> bool:
    """Tell whether two contracts are versions of one tool, or copies that the rule on duplicates reports."""
    if left.ref[:2] == right.ref[:2]:
        return True
    same_text = " ".join(left.capability.does.split()) == " ".join(right.capability.does.split())
    return same_text and parameter_names(left) == parameter_names(right)


def _firsts(around: Surroundings) -> Mapping[str, list[Misrouted]]:
    """Return ref -> its requests that another tool wins, at most `limits.requests` of them tried."""
    found: dict[str, list[Misrouted]] = {}
    if around.rank is None:
        return found
    left = around.limits.requests
    for tool in around.contracts:
        ref = str(tool.ref)
        asked = [
            *((text, "example") for text in tool.capability.examples),
            *((text, "log") for text in around.requests.get(ref, ())),
        ]
        for text, origin in asked[:left]:
            left -= 1
            ranked = around.rank(text)
            if ranked and ranked[0] != ref and not _versions(ranked[0], ref):
                found.setdefault(ref, []).append(Misrouted(request=text, expected=ref, first=ranked[0], origin=origin))
    return found


def _versions(left: str, right: str) -> bool:
    return left.rpartition("@")[0] == right.rpartition("@")[0]


RULES = (
    LintRule(
        id="TS801",
        name="confusable-pair",
        severity=Severity.WARNING,
        catalogue=confusable,
        needs_vectors=True,
        summary="Of two tools that are alike, one says when the other one is right.",
    ),
    LintRule(
        id="TS802",
        name="duplicate-tool",
        severity=Severity.WARNING,
        catalogue=duplicate,
        summary="No two tools have the same description and parameters.",
    ),
    LintRule(
        id="TS803",
        name="request-misrouted",
        severity=Severity.WARNING,
        catalogue=misrouted_example,
        needs_vectors=True,
        summary="A declared example ranks its own tool first.",
    ),
    LintRule(
        id="TS804",
        name="neighbour-missing",
        severity=Severity.WARNING,
        catalogue=neighbour_missing,
        summary="An adjacent tool is a tool of the catalogue (files only).",
    ),
)
"""The rules on pairs of tools."""
