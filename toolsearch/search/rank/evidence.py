"""Gathers what the score of one document is computed from: signals, named tools, boundaries, cautions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolsearch.model.contract import Origin, SideEffect, ToolContract
from toolsearch.model.limits import SearchLimits
from toolsearch.model.reasons import ReasonCode, Tell, Why
from toolsearch.model.request import SignalName
from toolsearch.search.index.columns import Columns
from toolsearch.search.index.docset import DocSet
from toolsearch.search.index.snapshot import Snapshot
from toolsearch.search.inputs.extract import RequestFacts
from toolsearch.search.inputs.readiness import assess
from toolsearch.search.rank.boundary import Boundary, boundary
from toolsearch.search.rank.experience import tell
from toolsearch.search.rank.features import FeatureCache
from toolsearch.search.rank.helpers import Help
from toolsearch.search.rank.intent import Effect, Intent
from toolsearch.search.rank.recall import Probe, Recalled, Relevance
from toolsearch.search.rank.rerank import Evidence
from toolsearch.search.rank.signals import Signal, calibrate, cost, freshness, lexical, reliability, semantic
from toolsearch.text.embed.protocol import EncoderInfo

CLAUSE_SHARE = 0.9
"""A tool answers a clause when it reaches this share of the best tool's relevance for that clause."""

MAX_PRODUCERS = 3

Tallies = Callable[[int], tuple[float, float]]
"""DocId -> decayed (successes, failures) at the moment of the request."""


@dataclass(frozen=True, slots=True, eq=False)
class Situation:
    """One request against one visible view of a snapshot: the input of all evidence.

    Attributes:
        answers: bool[clauses, n], which recalled documents answer which clause.
        named: DocId -> (least relevance, reason) of tools the request names.
    """

    contracts: Sequence[ToolContract]
    columns: Columns
    features: FeatureCache
    docs: DocSet
    probes: tuple[Probe, ...]
    intent: Intent
    facts: RequestFacts
    given: Mapping[str, Any]
    recalled: Recalled
    relevance: Relevance
    answers: NDArray[np.bool_]
    encoder: EncoderInfo
    snapshot: Snapshot
    tallies: Tallies
    named: Mapping[int, tuple[float, Why]]
    limits: SearchLimits

    def column(self, doc_id: int) -> int:
        """Return the position of a document among the recalled ones."""
        return int(self.recalled.doc_ids.searchsorted(doc_id))

    def recalled_at(self, doc_id: int) -> bool:
        """Tell whether a document is among the recalled ones."""
        at = self.column(doc_id)
        return at < self.recalled.doc_ids.size and int(self.recalled.doc_ids[at]) == doc_id

    def producers(self, entity: str) -> tuple[str, ...]:
        """Return refs of visible read-only tools that produce an entity, in order of ref, at most MAX_PRODUCERS."""
        found = [doc for doc in self.columns.producers.get(entity, ()) if self.docs.mask[doc]]
        return tuple(self.columns.refs[doc] for doc in found[:MAX_PRODUCERS])


def nearest_example(snapshot: Snapshot, doc_id: int, vector: NDArray[np.float32]) -> str:
    """Return the example request of a document that is nearest to a vector; the document has at least one."""
    index = snapshot.example_vectors
    start, end = np.searchsorted(index.owners, [doc_id, doc_id + 1])
    return snapshot.example_text(int(start) + int(np.argmax(index.rows[start:end] @ vector)))


def effect_inferred(contract: ToolContract) -> bool:
    """Tell whether the side effect of a contract is not its author's word."""
    origin = contract.provenance.fields.get("execution.side_effect", Origin.DECLARED)
    return contract.execution.side_effect is None or origin is not Origin.DECLARED


def clause_answers(relevance: Relevance, *, clauses: int) -> NDArray[np.bool_]:
    """Return bool[clauses, n]: which documents answer which clause; the best one of a clause always does."""
    if clauses == 0:
        return np.zeros((0, relevance.total.size), dtype=np.bool_)
    own = relevance.by_probe[1:]
    best = own.max(axis=1, initial=0.0)[:, None]
    return np.asarray((own >= CLAUSE_SHARE * best) & (own > 0), dtype=np.bool_)


def gather(
    doc_id: int,
    *,
    situation: Situation,
    hits: Mapping[int, Boundary],
    pointed: Mapping[int, Why],
    helpers: Mapping[int, Help],
) -> Evidence:
    """Return the evidence about one recalled document.

    Args:
        doc_id: The document.
        situation: The request against the view.
        hits: DocId -> the negative boundary the request runs into.
        pointed: DocId -> reason, of neighbours that a boundary points at.
        helpers: DocId -> what it finds for a better tool.
    """
    at = situation.column(doc_id)
    probe_at = int(situation.relevance.probe[at])
    features = situation.features[doc_id]
    readiness = assess(features.inputs, facts=situation.facts, given=situation.given, producers=situation.producers)
    successes, failures = situation.tallies(doc_id)
    signals: dict[SignalName, Signal] = {
        **_relevance_signals(doc_id, at, probe_at, situation=situation),
        "input_readiness": Signal(readiness.value, readiness.why),
        "reliability": reliability(successes=successes, failures=failures),
        "freshness": freshness(situation.columns, doc_id, need=situation.intent.freshness),
        "cost": cost(situation.columns, doc_id),
    }
    clauses = tuple(int(clause) for clause in np.flatnonzero(situation.answers[:, at]))
    has_example = bool(situation.recalled.example_cosines[0, at] > -1.0)
    named = situation.named.get(doc_id)
    penalties = [] if named else _penalties(doc_id, hit=hits.get(doc_id), situation=situation)
    return Evidence(
        doc_id=doc_id,
        signals=signals,
        spoke=situation.relevance.spoke if has_example else situation.relevance.spoke - {"experience"},
        named=named,
        penalties=tuple(penalties),
        notes=tuple(_notes(clauses, pointed.get(doc_id), helpers.get(doc_id), situation=situation)),
        cautions=_cautions(doc_id, situation=situation),
        readiness=readiness,
        clauses=clauses,
        past=_past(at, probe_at, situation=situation),
        help=helpers.get(doc_id),
    )


def _past(at: int, probe_at: int, *, situation: Situation) -> tuple[float, Tell] | None:
    """Return what past requests say about a document and the reason, or None where they say nothing."""
    value = float(situation.relevance.past[at])
    sources = situation.recalled.past_sources
    return (value, tell(value, int(max(sources[0, at], sources[probe_at, at])))) if value > 0 else None


def _notes(clauses: tuple[int, ...], pointed: Why | None, help: Help | None, *, situation: Situation) -> list[Why]:
    notes = []
    if clauses:
        texts = "; ".join(repr(situation.probes[clause + 1].text[:60]) for clause in clauses)
        notes.append(Why(ReasonCode.COVERS_CLAUSE, f"answers {texts}"))
    if pointed is not None:
        notes.append(pointed)
    if help is not None:
        notes.append(help.why)
    return notes


def _relevance_signals(doc_id: int, at: int, probe_at: int, *, situation: Situation) -> dict[SignalName, Signal]:
    relevance, recalled, probe = situation.relevance, situation.recalled, situation.probes[probe_at]
    by_contract = float(recalled.contract_cosines[probe_at, at])
    by_example = float(recalled.example_cosines[probe_at, at])
    example: Callable[[], str] | None = None
    if probe.vector is not None and by_example > by_contract:
        example = partial(nearest_example, situation.snapshot, doc_id, probe.vector)
    return {
        "semantic": semantic(
            float(relevance.semantic[at]),
            cosine=max(by_contract, by_example),
            tokens=float(recalled.token_scores[probe_at, at]),
            example=example,
        ),
        "lexical": lexical(
            float(relevance.lexical[at]),
            matches=lambda: probe.words.matched(doc_id) if probe.words is not None else ((), ()),
        ),
        "experience": semantic(float(relevance.experience[at]), cosine=by_example, example=example),
    }


def boundaries(doc_ids: Sequence[int], *, situation: Situation) -> dict[int, Boundary]:
    """Return DocId -> the negative boundary that the request runs into, for the recalled documents that have one."""
    found: dict[int, Boundary] = {}
    for doc_id in doc_ids:
        features = situation.features[doc_id]
        at = situation.column(doc_id)
        number = int(situation.relevance.probe[at])
        probe = situation.probes[number]
        if probe.words is None or not features.negatives:
            continue
        positive, negatives = _similarities(doc_id, at=at, number=number, situation=situation)
        hit = boundary(
            terms=frozenset(probe.words.idf),
            idf=probe.words.idf,
            positive_terms=features.positive,
            negatives=features.negatives,
            positive_similarity=positive,
            negative_similarities=negatives,
            strength=situation.limits.boundary_strength,
        )
        if hit is not None:
            found[doc_id] = hit
    return found


def _similarities(doc_id: int, *, at: int, number: int, situation: Situation) -> tuple[float, list[float]]:
    """Return how close one probe is to a document, and to each of its negative sentences; () where vectors abstain."""
    probe, recalled = situation.probes[number], situation.recalled
    if probe.vector is None or not recalled.vectors_spoke[number]:
        return 0.0, []
    own = max(float(recalled.contract_cosines[number, at]), float(recalled.example_cosines[number, at]))
    cosines = situation.snapshot.negative_vectors.cosines_of(probe.vector, doc_id=doc_id)
    positive, *negatives = calibrate(np.array([own, *cosines.tolist()]), encoder=situation.encoder).tolist()
    return positive, negatives


def _penalties(doc_id: int, *, hit: Boundary | None, situation: Situation) -> list[tuple[str, float, Tell]]:
    penalties: list[tuple[str, float, Tell]] = []
    if hit is not None:
        penalties.append(("negative_boundary", hit.share, hit.why))
    effect = int(situation.columns.side_effect[doc_id])
    writes = effect >= SideEffect.REVERSIBLE and bool(situation.columns.effect_known[doc_id])
    share = situation.limits.effect_penalty
    if writes and situation.intent.effect is Effect.READ and share > 0:
        penalties.append(("effect_exceeds_intent", share, lambda: _exceeds(SideEffect(effect))))
    return penalties


def _exceeds(effect: SideEffect) -> Why:
    text = f"the request asks to look; this tool writes ({effect.label})"
    return Why(ReasonCode.EFFECT_EXCEEDS_INTENT, text)


def _cautions(doc_id: int, *, situation: Situation) -> tuple[Why, ...]:
    contract = situation.contracts[doc_id]
    cautions: list[Why] = []
    if "semantic" not in situation.relevance.spoke:
        text = "compared by words only: the encoder does not read this script, or vectors are not ready"
        cautions.append(Why(ReasonCode.VECTOR_ABSTAINED, text))
    if contract.execution.side_effect is None:
        text = "no side effect is known; treated as irreversible"
        cautions.append(Why(ReasonCode.EFFECT_INFERRED, text))
    elif effect_inferred(contract):
        text = f"the side effect {contract.execution.side_effect.label} is inferred, not declared"
        cautions.append(Why(ReasonCode.EFFECT_INFERRED, text))
    if contract.execution.approval is not None:
        text = f"needs a person's approval when {contract.execution.approval.required_when}"
        cautions.append(Why(ReasonCode.APPROVAL_REQUIRED, text))
    return tuple(cautions)
