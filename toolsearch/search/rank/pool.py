"""Around recall: what is searched for, and which recalled documents are worth scoring in full."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from toolsearch.model.limits import Profile
from toolsearch.model.reasons import ReasonCode, Why
from toolsearch.model.request import Mode, SignalName
from toolsearch.search.index.docset import DocSet
from toolsearch.search.index.lexical import LexicalBackend
from toolsearch.search.index.names import NameIndex
from toolsearch.search.inputs.readiness import assess
from toolsearch.search.rank.boundary import Boundary
from toolsearch.search.rank.evidence import Situation, boundaries, gather
from toolsearch.search.rank.helpers import Help, find_helpers
from toolsearch.search.rank.intent import Intent
from toolsearch.search.rank.recall import Lanes, Probe, Recalled, Relevance, measure, measure_more, recall, relevance
from toolsearch.search.rank.rerank import Scored, rerank
from toolsearch.text.analysis.analyzer import analyze, han_share
from toolsearch.text.embed.protocol import EncoderInfo, RequestVectors, TokenQuery

HAN_LIMIT = 0.3
"""Share of Han, Kana and Hangul letters from which on a text is not `latin` any more."""

NAMED_RELEVANCE = {"exact": 0.95, "alias": 0.85, "prefix": 0.75}
"""Least relevance of a tool that the request names."""

NEEDERS = 3
"""Only the best tools may ask for helpers."""

NEIGHBOUR_SOURCES = 5
"""Only the best documents may point at their neighbours."""

Encode = Callable[[str, Sequence[str]], RequestVectors]


def reads(text: str, *, encoder: EncoderInfo) -> bool:
    """Tell whether the encoder reads the script of a text."""
    if "any" in encoder.scripts:
        return True
    return ("han" if han_share(text) >= HAN_LIMIT else "latin") in encoder.scripts


def make_probes(
    text: str,
    *,
    intent: Intent,
    mode: Mode,
    lexical: LexicalBackend,
    docs: DocSet,
    encoder: EncoderInfo,
    encode: Encode | None,
) -> tuple[Probe, ...]:
    """Return the request and its clauses, tokenised and encoded, in one call of the encoder.

    Args:
        text: The request.
        intent: Its reading.
        mode: Which lanes take part.
        lexical: Binds words to `docs` and scores them.
        docs: The visible documents.
        encoder: Decides which texts the vector lane abstains from.
        encode: A text and its parts -> the vectors of all; not called when the lane abstains from all of them.
            None = no vectors yet.
    """
    texts = (text, *intent.clauses)
    vectors: dict[int, tuple[NDArray[np.float32], TokenQuery | None]] = {}
    if encode is not None and mode is not Mode.LEXICAL:
        wanted = [at for at, part in enumerate(texts) if mode is Mode.VECTOR or reads(part, encoder=encoder)]
        if wanted:
            first, *others = (texts[at] for at in wanted)
            read = encode(first, others)
            vectors = dict(zip(wanted, zip(read.rows, read.tokens, strict=True), strict=True))
    probes = []
    for at, part in enumerate(texts):
        words = None if mode is Mode.VECTOR else lexical.bind(analyze(part), docs=docs)
        vector, tokens = vectors.get(at, (None, None))
        probes.append(Probe(text=part, words=words, vector=vector, tokens=tokens))
    return tuple(probes)


def named_tools(text: str, *, names: NameIndex, docs: DocSet) -> dict[int, tuple[float, Why]]:
    """Return DocId -> (least relevance, reason) of the visible tools that a request names."""
    found: dict[int, tuple[float, Why]] = {}
    for doc_id, kind in names.match(text, docs=docs):
        code = ReasonCode.NAME_PREFIX if kind == "prefix" else ReasonCode.EXACT_NAME
        words = {"exact": "its name", "alias": "an alias of it", "prefix": "the start of its name and of no other"}
        found[doc_id] = (NAMED_RELEVANCE[kind], Why(code, f"the request says {words[kind]}"))
    return found


def retrieve(
    probes: Sequence[Probe],
    *,
    lanes: Lanes,
    docs: DocSet,
    depth: int,
    weights: Mapping[SignalName, float],
    also: Sequence[int],
    adjacent: Callable[[int], Sequence[int]],
) -> tuple[Recalled, Relevance]:
    """Recall, and measure the neighbours of the best documents too if the lanes missed any.

    Args:
        probes: The request, then its clauses.
        lanes: The vector lanes.
        docs: The visible documents.
        depth: Documents each lane may bring.
        weights: Of all signals.
        also: DocIds to score in any case.
        adjacent: DocId -> DocIds its contract names as adjacent, of any visibility.
    """
    lists = recall(probes, lanes=lanes, docs=docs, depth=depth)
    recalled = measure(lists, lanes=lanes, docs=docs, also=also)
    found = relevance(recalled, encoder=lanes.encoder, weights=weights)
    order = np.lexsort((recalled.doc_ids, -found.total))[:NEIGHBOUR_SOURCES]
    near = {other for doc_id in recalled.doc_ids[order].tolist() for other in adjacent(doc_id)}
    more = measure_more(recalled, lists, lanes=lanes, docs=docs, also=sorted(near))
    return more, found if more is recalled else relevance(more, encoder=lanes.encoder, weights=weights)


def choose_pool(
    recalled: Recalled, relevance: Relevance, *, size: int, named: Iterable[int], clauses: int
) -> list[int]:
    """Return the documents to score: the most relevant, those named, and the best of each clause; ascending."""
    order = np.lexsort((recalled.doc_ids, -relevance.total))
    chosen = {*recalled.doc_ids[order[:size]].tolist(), *named}
    for clause in range(clauses):
        best = np.lexsort((recalled.doc_ids, -relevance.by_probe[clause + 1]))[:NEIGHBOUR_SOURCES]
        chosen.update(recalled.doc_ids[best].tolist())
    return sorted(chosen)


def neighbours(best: Sequence[int], *, hits: Mapping[int, Boundary], situation: Situation) -> dict[int, Why]:
    """Return DocId -> reason of recalled neighbours that the best documents point at.

    A document points at its adjacent tools when the request runs into one of its negative boundaries.

    Args:
        best: Documents that will be scored, the most relevant first.
        hits: DocId -> the boundary the request runs into.
        situation: The request against the view.
    """
    found: dict[int, Why] = {}
    for doc_id in best[:NEIGHBOUR_SOURCES]:
        if doc_id not in hits:
            continue
        for name, when in situation.contracts[doc_id].selection.adjacent_tools.items():
            for neighbour in situation.columns.by_name.get(name, ()):
                if situation.docs.mask[neighbour] and situation.recalled_at(neighbour):
                    text = f"{situation.columns.refs[doc_id]} points here: {when[:160]}"
                    found.setdefault(neighbour, Why(ReasonCode.ADJACENT_TOOL, text))
    return found


def helpers(best: Sequence[int], *, situation: Situation) -> dict[int, Help]:
    """Return DocId -> what it finds for one of the best documents, of the recalled documents that help one.

    Args:
        best: Documents that will be scored, the most relevant first.
        situation: The request against the view.
    """
    if not situation.limits.helpers:
        return {}
    needers = best[:NEEDERS]
    missing = {}
    for doc_id in needers:
        fields = situation.features[doc_id].inputs
        state = assess(fields, facts=situation.facts, given=situation.given, producers=situation.producers)
        missing[doc_id] = [item.field for item in state.missing if not item.forbidden]
    found = find_helpers(needers, missing=missing, columns=situation.columns, docs=situation.docs)
    return {doc_id: help for doc_id, help in found.items() if situation.recalled_at(doc_id)}


def score_pool(
    situation: Situation, *, size: int, also: Sequence[int], profile: Profile, weights: Mapping[SignalName, float]
) -> list[Scored]:
    """Choose the documents worth scoring in full, find their boundaries and neighbours, and score them, best first.

    Args:
        situation: The request against the view.
        size: Documents to score at least, if so many were recalled.
        also: DocIds to score in any case.
        profile: How signals combine.
        weights: Weight of each signal.
    """
    clauses = len(situation.intent.clauses)
    named = (*situation.named, *also)
    chosen = choose_pool(situation.recalled, situation.relevance, size=size, named=named, clauses=clauses)
    hits = boundaries(chosen, situation=situation)
    total = situation.relevance.total
    best = sorted(chosen, key=lambda doc_id: (-total[situation.column(doc_id)], doc_id))
    pointed = neighbours(best, hits=hits, situation=situation)
    helping = helpers(best, situation=situation)
    late = sorted({*pointed, *helping} - set(chosen))
    hits |= boundaries(late, situation=situation)
    return rerank(
        sorted([*chosen, *late]),
        evidence=lambda doc_id: gather(doc_id, situation=situation, hits=hits, pointed=pointed, helpers=helping),
        profile=profile,
        weights=weights,
    )
