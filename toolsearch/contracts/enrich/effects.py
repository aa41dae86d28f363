"""How much a call changes the world, judged from hints, the name and the prose.

Evidence from the name and the prose is combined to the higher risk. A trusted source's hint decides alone. An untrusted
source's hint can raise the risk that name and prose show, never lower it; where name and prose show nothing, its hint
is taken, and the decision is noted. Nothing known gives None, which exposure treats as irreversible.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from toolsearch.contracts.enrich.foreign import Hints
from toolsearch.contracts.enrich.verbs import HAN_VERBS, OPAQUE, READ_NOUNS, STRONG, VERB_FORMS, VERBS
from toolsearch.model.contract import SideEffect
from toolsearch.text.analysis.identifiers import identifier_words

_HAN = re.compile(r"[一-鿿]")
_SAYS_READ = re.compile(
    r"\bread[- ]only\b(?!\s+(?:mode|user|replica|file|propert|attribut|field))|只读(?:操作|工具|接口|查询)",
    re.IGNORECASE,
)
_SAYS_WRITE = re.compile(r"\bwrite operation\b|写操作", re.IGNORECASE)
_SAYS_FINAL = re.compile(
    r"\b(?:cannot|can['’]t|can not) be (?:undone|reversed|recovered)\b|\birreversibl[ey]\b"
    r"|\bpermanently (?:delet|remov|destroy|eras)\w+"
    r"|不可(?:撤销|恢复|逆)|无法(?:撤销|恢复)|永久删除",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class EffectJudgement:
    """A side effect, or None where nothing is known, and what had to be decided to get there.

    Attributes:
        effect: The side effect.
        confidence: In [0, 1]: 0.9 where hint and words agree or a trusted source says so, 0.7 for words alone, 0.5 for
            an untrusted hint alone or against the words.
        note: What was decided.
    """

    effect: SideEffect | None
    confidence: float = 0.7
    note: str = ""


def judge_effect(*, name: str, first_sentence: str, description: str, hints: Hints, trusted: bool) -> EffectJudgement:
    """Return the side effect that the evidence supports.

    Args:
        name: Tool name.
        first_sentence: What the tool does, in one sentence.
        description: Whole prose, searched for plain statements such as "read-only" and "cannot be undone".
        hints: Hints of the source.
        trusted: Whether a hint may go below what name and prose show.
    """
    shown = _shown(name=name, first_sentence=first_sentence, description=description)
    hinted = _hinted(hints, shown=shown)
    if hinted is None or trusted:
        return EffectJudgement(shown) if hinted is None else EffectJudgement(hinted, 0.9)
    if shown is None:
        note = f"execution.side_effect: {hinted.label} by a hint of an untrusted source alone"
        return EffectJudgement(hinted, 0.5, note)
    if hinted < shown:
        return EffectJudgement(
            shown,
            0.5,
            f"execution.side_effect: an untrusted hint says {hinted.label}, name or text show {shown.label}; "
            "the higher is kept",
        )
    return EffectJudgement(hinted, 0.9 if hinted is shown else 0.7)


def _hinted(hints: Hints, *, shown: SideEffect | None) -> SideEffect | None:
    if hints.destructive:
        return SideEffect.IRREVERSIBLE
    if hints.read_only:
        return SideEffect.READ_ONLY
    if hints.destructive is False:
        return SideEffect.REVERSIBLE
    if hints.read_only is False:
        # MCP: a tool that writes is destructive unless it says otherwise; a name such as `create_issue` says otherwise.
        return SideEffect.REVERSIBLE if shown is SideEffect.REVERSIBLE else SideEffect.IRREVERSIBLE
    return None


def _shown(*, name: str, first_sentence: str, description: str) -> SideEffect | None:
    named, says_read = effect_of_name(name), bool(_SAYS_READ.search(description))
    found = [named]
    if not (named is SideEffect.READ_ONLY and says_read):
        found.append(_effect_of_sentence(first_sentence))
    if _SAYS_FINAL.search(description):
        found.append(SideEffect.IRREVERSIBLE if named is not SideEffect.READ_ONLY else None)
    if _SAYS_WRITE.search(description):
        found.append(SideEffect.REVERSIBLE)
    if not any(found) and says_read:
        found.append(SideEffect.READ_ONLY)
    known = [effect for effect in found if effect is not None]
    return max(known) if known else None


def effect_of_name(name: str) -> SideEffect | None:
    """Return what the words of a tool name show: the verb at its start, else at its end, else one that destroys."""
    parts = [part for part in re.split(r"[./:]", name) if part]
    words = [word.lower() for word in identifier_words(parts[-1] if parts else name)]
    if not words:
        return None
    first, last = words[0], words[-1]
    joined = {"and", "or"}.intersection(words)
    if joined:
        return max((VERBS[word] for word in words if word in VERBS), default=None)
    if last in ("get", "show", "describe") and first not in STRONG:
        # Never nouns: `deploy_pipeline_guidance_get` begins with the name of a domain.
        return SideEffect.READ_ONLY
    if first in VERBS:
        return VERBS[first]
    strong = [word for word in words if word in STRONG]
    if strong:
        return SideEffect.IRREVERSIBLE
    if first in OPAQUE:
        return None
    writes = [VERBS[word] for word in words[1:] if VERBS.get(word, SideEffect.NONE) >= SideEffect.REVERSIBLE]
    if last in VERBS and VERBS[last] >= SideEffect.REVERSIBLE:
        return VERBS[last]
    if last in READ_NOUNS or last in VERBS:
        return None if writes else SideEffect.READ_ONLY
    return VERBS[words[1]] if len(words) > 2 and words[1] in VERBS else None


def _effect_of_sentence(sentence: str) -> SideEffect | None:
    if _HAN.search(sentence[:40]):
        return _effect_of_han(sentence[:60])
    words = re.findall(r"[A-Za-z]+", sentence[:200].lower())
    if not words:
        return None
    effects = [VERB_FORMS[words[0]]] if words[0] in VERB_FORMS else []
    # "Create or update", "Get and delete": the second verb counts too.
    if effects and len(words) > 2 and words[1] in {"and", "or", "then"} and words[2] in VERB_FORMS:
        effects.append(VERB_FORMS[words[2]])
    return max(effects) if effects else None


def _effect_of_han(sentence: str) -> SideEffect | None:
    """Return the effect of the verb that stands first; a later one that destroys outweighs a first that only writes."""
    found = [(match.start(), effect) for pattern, effect in HAN_VERBS if (match := pattern.search(sentence))]
    if not found:
        return None
    first = min(found)[1]
    if first is SideEffect.READ_ONLY:
        return first
    return max(effect for _, effect in found)
