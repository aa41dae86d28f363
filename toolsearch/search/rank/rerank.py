"""Second stage: recalled documents -> scored candidates, every contribution with its reason.

Score of the gated (default) profile, with r the relevance, c_i the context signals and w their weights:

    r = (sum over speaking relevance signals of w v) / (sum of their w)
    r = r + gain * p * (1 - r)              where past requests vote for the tool, p in [0, 1]
    r = r + gain * p * (1 - r)              where a reranker read the tool (`reread`), likewise
    score = (1 - penalty) * r * (1 + sum w_i c_i) / (1 + sum w_i)

so context reorders relevant tools and cannot lift an irrelevant one. The `seed` profile is the plain weighted mean of
all signals. Both lie in [0, 1], rise with every signal, and are the sum of their contributions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from toolsearch.model.limits import Profile, past_gain, rerank_gain
from toolsearch.model.reasons import Explanation, Part, Tell, Why
from toolsearch.model.request import SIGNAL_NAMES, SignalName
from toolsearch.search.inputs.readiness import Readiness
from toolsearch.search.rank.helpers import Help
from toolsearch.search.rank.signals import Signal

RELEVANCE_SIGNALS: tuple[SignalName, ...] = ("semantic", "lexical", "experience")
CONTEXT_SIGNALS: tuple[SignalName, ...] = ("input_readiness", "reliability", "freshness", "cost")


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything the score of one document is computed from.

    Attributes:
        signals: Value and reason by signal name.
        spoke: Relevance signals that took part.
        past: What past requests say, in [0, 1], with the reason; None = nothing.
        read: What a reranker says, in [0, 1], with the reason; None = it did not read the tool.
        help: What the tool finds for a better one; None = nothing.
        named: The request names the tool: relevance is at least this, with the reason.
        penalties: Shares of the score taken away, each in [0, 1], with their cautions.
        notes: Further reasons.
        cautions: Further cautions.
    """

    doc_id: int
    signals: Mapping[SignalName, Signal]
    spoke: frozenset[SignalName]
    named: tuple[float, Why] | None
    penalties: tuple[tuple[str, float, Tell], ...]
    notes: tuple[Why, ...]
    cautions: tuple[Why, ...]
    readiness: Readiness
    clauses: tuple[int, ...]
    past: tuple[float, Tell] | None = None
    read: tuple[float, Tell] | None = None
    help: Help | None = None


@dataclass(frozen=True, slots=True)
class Scored:
    """One scored document.

    Attributes:
        relevance: In [0, 1], after penalties, before context: what the floor is compared with.
        evidence: What it was computed from.
        clauses: Clauses of the request it answers, from 0.
    """

    doc_id: int
    score: float
    relevance: float
    signals: Mapping[str, Part]
    evidence: Evidence
    clauses: tuple[int, ...]

    @property
    def readiness(self) -> Readiness:
        """Return which inputs are at hand."""
        return self.evidence.readiness

    def reasons(self) -> tuple[Why, ...]:
        """Return the reasons, largest contribution first; signals that took no part say nothing."""
        evidence, parts = self.evidence, self.signals
        told = sorted(
            (name for name in SIGNAL_NAMES if parts[name].weight > 0),
            key=lambda name: (-parts[name].contribution, SIGNAL_NAMES.index(name)),
        )
        named = (evidence.named[1],) if evidence.named else ()
        past = (evidence.past[1](),) if evidence.past else ()
        read = (evidence.read[1](),) if evidence.read and parts["rerank"].weight > 0 else ()
        seen: dict[str, Why] = {}
        for reason in (*named, *past, *read, *evidence.notes, *(evidence.signals[name].why() for name in told)):
            seen.setdefault(reason.code, reason)
        return tuple(seen.values())

    def cautions(self) -> tuple[Why, ...]:
        """Return what speaks against the tool or must be known before calling it."""
        return (*(why() for _, _, why in self.evidence.penalties), *self.evidence.cautions)

    def explanation(self, *, title: str) -> Explanation:
        """Return the score as a tree: the contributions sum up to it."""
        parts = tuple(
            Explanation(
                value=part.contribution,
                description=f"{name}: value {part.value:.4f}, weight {part.weight:.4f}",
            )
            for name, part in self.signals.items()
        )
        return Explanation(value=self.score, description=title, details=parts)


def score(evidence: Evidence, *, profile: Profile, weights: Mapping[SignalName, float]) -> Scored:
    """Return the score of one document with all contributions; they sum up to the score."""
    context_total = sum(weights[name] for name in CONTEXT_SIGNALS)
    spoke = [name for name in RELEVANCE_SIGNALS if name in evidence.spoke]
    norm = sum(weights[name] for name in spoke)
    plain = sum(weights[name] * evidence.signals[name].value for name in spoke)
    relevance = plain / norm if norm > 0 else 0.0
    gain = past_gain(weights) if evidence.past else 0.0
    past_lift = gain * evidence.past[0] * (1.0 - relevance) if evidence.past else 0.0
    relevance += past_lift
    read_gain = rerank_gain(weights) if evidence.read else 0.0
    read_lift = read_gain * evidence.read[0] * (1.0 - relevance) if evidence.read else 0.0
    relevance += read_lift
    lift = max(0.0, evidence.named[0] - relevance) if evidence.named else 0.0
    if profile.gated:
        unit, gate = 1.0 / (1.0 + context_total), relevance + lift
        per_relevance = unit / norm if norm > 0 else 0.0
    else:
        total = norm + context_total
        unit, gate = (1.0 / total, 1.0) if total > 0 else (0.0, 1.0)
        per_relevance = unit
    parts: dict[str, Part] = {}
    for name in SIGNAL_NAMES:
        factor = (per_relevance if name in evidence.spoke else 0.0) if name in RELEVANCE_SIGNALS else unit * gate
        value = evidence.signals[name].value
        weight = weights[name] if name in evidence.spoke or name in CONTEXT_SIGNALS else 0.0
        parts[name] = Part(value, weight, factor * weight * value)
    # What a lift makes up for counts as much as relevance does: else a better match could lower the score.
    if profile.gated:
        room = unit
    elif norm > 0:
        room = unit * norm
    else:
        room = 1.0 - sum(part.contribution for part in parts.values())
    if evidence.past:
        parts["past_requests"] = Part(evidence.past[0], gain, past_lift * room)
    if evidence.read:
        parts["rerank"] = Part(evidence.read[0], read_gain, read_lift * room)
    if evidence.named:
        parts["named"] = Part(evidence.named[0], 1.0, lift * room)
    raw = min(1.0, sum(part.contribution for part in parts.values()))
    keep = 1.0
    for penalty, share, _ in evidence.penalties:
        parts[penalty] = Part(share, 1.0, -raw * keep * share)
        keep *= 1.0 - share
    return Scored(
        doc_id=evidence.doc_id,
        score=max(0.0, raw * keep),
        relevance=(relevance + lift) * keep,
        signals=parts,
        evidence=evidence,
        clauses=evidence.clauses,
    )


def rerank(
    doc_ids: Sequence[int],
    *,
    evidence: Callable[[int], Evidence],
    profile: Profile,
    weights: Mapping[SignalName, float],
) -> list[Scored]:
    """Score documents and sort them: best first, ties by DocId, which is the order of ToolRef.

    Args:
        doc_ids: Documents to score.
        evidence: Gathers what a document's score is computed from.
        profile: How signals combine.
        weights: Weight of each signal, overrides applied.
    """
    scored = [score(evidence(doc_id), profile=profile, weights=weights) for doc_id in doc_ids]
    return sorted(scored, key=lambda item: (-item.score, item.doc_id))
