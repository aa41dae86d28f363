"""First stage: every lane looks at the permitted documents, each for the request and for its clauses.

A lane that has nothing to say abstains instead of voting: the vector lane for scripts its encoder does not read, or
while vectors are still being built; the lexical lane where no word of a text stands in any visible contract. All
numbers are absolute (no ranks, no normalisation by the best hit), so one more tool in the catalogue changes another
tool's number only through lexical statistics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from toolsearch.model.limits import past_gain
from toolsearch.model.request import SignalName
from toolsearch.search.index.docset import DocSet
from toolsearch.search.index.lexical import BoundTerms, top
from toolsearch.search.index.token_vectors import TokenIndex
from toolsearch.search.index.vectors import VectorHits, VectorIndex
from toolsearch.search.rank.experience import PastRequests, Votes, lifted
from toolsearch.search.rank.signals import calibrate, calibrate_tokens
from toolsearch.search.rank.tuned import QueryMap
from toolsearch.text.embed.protocol import EncoderInfo, TokenQuery

TOKEN_SHARE = 0.2
"""Part of the meaning that is compared token by token."""

TOKENS_FROM = 0.1
"""How close to the request or to a clause, as a whole, a document is at least to be compared with it token by token.

Much of what the lanes bring is farther away, and comparing all of it took longer than the encoder. The bound is
absolute, so whether a tool is compared does not depend on the others.
"""

NAME_SHARE = 0.1
"""Part of the lexical signal that says how much of the tool's name stands in the request."""


@dataclass(frozen=True, slots=True, eq=False)
class Probe:
    """One text that is searched for: the request (the first probe) or one of its clauses.

    Attributes:
        words: The request's words bound to the visible documents; None = the lexical lane is off.
        vector: float32[dim] for the vector lane; None = the lane abstains.
        tokens: The same, token by token; None where the encoder has no tokens.
    """

    text: str
    words: BoundTerms | None
    vector: NDArray[np.float32] | None
    tokens: TokenQuery | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Lanes:
    """The vector lanes of a snapshot, and for one principal its past requests and learnt map (None = there is none)."""

    contracts: VectorIndex
    examples: VectorIndex
    tokens: TokenIndex
    encoder: EncoderInfo
    past: PastRequests | None = None
    query_map: QueryMap | None = None

    def without_examples(self) -> Lanes:
        """Return the lanes without example requests."""
        return replace(self, examples=VectorIndex.build((), (), dim=self.contracts.dim))

    def without_tokens(self) -> Lanes:
        """Return the lanes without the tokens of contracts."""
        return replace(self, tokens=TokenIndex.empty(len(self.tokens.starts) - 1, width=self.tokens.width))

    def with_past(self, past: PastRequests | None) -> Lanes:
        """Return the lanes with the past requests of a principal."""
        return self if past is None else replace(self, past=past)

    def with_map(self, query_map: QueryMap | None) -> Lanes:
        """Return the lanes with a learnt map of the vectors that are compared with the contracts."""
        return self if query_map is None else replace(self, query_map=query_map)

    def touch(self) -> None:
        """Read every page of the rows: those of an index on disk are mapped, and read when first looked at."""
        for rows in (self.contracts.rows, self.examples.rows, self.tokens.rows):
            rows.max(initial=0)

    def turned(self, probe: Probe) -> Probe:
        """Return a probe as it is compared with the contracts."""
        if self.query_map is None or probe.vector is None:
            return probe
        return replace(probe, vector=self.query_map(probe.vector))

    def levelled(self, cosines: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the cosines of a turned probe as the encoder's calibration takes them."""
        return cosines if self.query_map is None else self.query_map.level(cosines)


@dataclass(frozen=True, slots=True, eq=False)
class Recalled:
    """The union of what the lanes brought, with the numbers of every lane for every document.

    Attributes:
        doc_ids: int64[n], ascending.
        lexical: float64[p, n] in [0, 1], share of what each probe could score; `-1` rows where the lane abstains.
        names: float64[p, n] in [0, 1], share of a tool's name tokens that stand in each probe; 0 where lexical is off.
        contract_cosines: float64[p, n]; NaN rows where the lane abstains.
        token_scores: float64[p, n], token by token; NaN where a document or a probe has no tokens, or the document is
            too far from every probe (TOKENS_FROM).
        example_cosines: float64[p, n], best example; -1 where a document has none, NaN rows where the lane abstains.
        past: float64[p, n] in [0, 1], what past requests say; 0 where there are none.
        past_sources: int64[p, n], how many sources of past requests say so.
    """

    doc_ids: NDArray[np.int64]
    lexical: NDArray[np.float64]
    names: NDArray[np.float64]
    contract_cosines: NDArray[np.float64]
    token_scores: NDArray[np.float64]
    example_cosines: NDArray[np.float64]
    past: NDArray[np.float64]
    past_sources: NDArray[np.int64]

    @property
    def lexical_spoke(self) -> NDArray[np.bool_]:
        """Return bool[p]: did the lexical lane know any word of the probe?"""
        return np.asarray(np.all(self.lexical >= 0, axis=1), dtype=np.bool_)

    @property
    def vectors_spoke(self) -> NDArray[np.bool_]:
        """Return bool[p]: did the vector lane take part?"""
        return np.asarray(~np.isnan(self.contract_cosines).any(axis=1), dtype=np.bool_)

    def merged(self, other: Recalled) -> Recalled:
        """Return the numbers of the documents of both, which share none and have the same probes."""
        doc_ids = np.concatenate([self.doc_ids, other.doc_ids])
        order = np.argsort(doc_ids)

        def beside(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.concatenate([ours, theirs], axis=1)[:, order]

        return Recalled(
            doc_ids[order],
            beside(self.lexical, other.lexical),
            beside(self.names, other.names),
            beside(self.contract_cosines, other.contract_cosines),
            beside(self.token_scores, other.token_scores),
            beside(self.example_cosines, other.example_cosines),
            beside(self.past, other.past),
            np.concatenate([self.past_sources, other.past_sources], axis=1)[:, order],
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lists:
    """What each lane brought for each probe, from `recall`.

    Attributes:
        turned: The probes as they are compared with contracts, under a learnt map.
        words: float64[n_docs] shares a probe; None where the lexical lane abstains.
        contracts: Nearest contracts a probe, None where the lane abstains; `examples` likewise.
        votes: Of past requests a probe.
        doc_ids: int64[n], all that was brought, ascending.
    """

    probes: Sequence[Probe]
    turned: Sequence[Probe]
    words: Sequence[NDArray[np.float64] | None]
    contracts: Sequence[VectorHits | None]
    examples: Sequence[VectorHits | None]
    votes: Sequence[Votes | None]
    doc_ids: NDArray[np.int64]


def recall(probes: Sequence[Probe], *, lanes: Lanes, docs: DocSet, depth: int) -> Lists:
    """Search every lane for every probe.

    Args:
        probes: The request, then its clauses; their words are bound to the same `docs`.
        lanes: The vector lanes of one snapshot.
        docs: The documents that may be touched; nothing outside is scored.
        depth: Documents each lane may bring for each probe.
    """
    words = [_lexical(probe) for probe in probes]
    turned = [lanes.turned(probe) for probe in probes]
    contracts = _nearest(lanes.contracts, turned, docs=docs, depth=depth)
    examples = _nearest(lanes.examples, probes, docs=docs, depth=depth)
    votes = [_votes(lanes.past, probe, docs=docs) for probe in probes]
    found = [np.zeros(0, dtype=np.int64)]
    found += [_best(shares, docs=docs, depth=depth) for shares in words if shares is not None]
    found += [hits.doc_ids.astype(np.int64) for hits in (*contracts, *examples) if hits is not None]
    found += [_most_voted(vote, depth=depth) for vote in votes if vote is not None]
    return Lists(
        probes=probes,
        turned=turned,
        words=words,
        contracts=contracts,
        examples=examples,
        votes=votes,
        doc_ids=np.unique(np.concatenate(found)),
    )


def measure(lists: Lists, *, lanes: Lanes, docs: DocSet, also: Sequence[int] = ()) -> Recalled:
    """Return the numbers of every lane for every document that any lane brought.

    Args:
        lists: What the lanes brought.
        lanes: The same as for `recall`, and so are the documents.
        docs: The documents that may be touched.
        also: DocIds to score whatever the lanes say (named tools, neighbours); those outside `docs` are dropped.
    """
    return _measured(lists, lanes=lanes, doc_ids=np.union1d(lists.doc_ids, _permitted(also, docs=docs)))


def measure_more(recalled: Recalled, lists: Lists, *, lanes: Lanes, docs: DocSet, also: Sequence[int]) -> Recalled:
    """Return what `measure` gives with further documents, measuring only those.

    Args:
        recalled: From `measure`, of the same lists, lanes and documents.
        lists: What the lanes brought.
        lanes: The same as for `recall`, and so are the documents.
        docs: The documents that may be touched.
        also: DocIds to score too; those outside `docs` are dropped.
    """
    further = np.setdiff1d(_permitted(also, docs=docs), recalled.doc_ids)
    return recalled.merged(_measured(lists, lanes=lanes, doc_ids=further)) if further.size else recalled


def _permitted(doc_ids: Sequence[int], *, docs: DocSet) -> NDArray[np.int64]:
    return np.asarray([doc for doc in doc_ids if docs.mask[doc]], dtype=np.int64)


def _measured(lists: Lists, *, lanes: Lanes, doc_ids: NDArray[np.int64]) -> Recalled:
    """Return the numbers of every lane for int64[n] documents, ascending."""
    shape = (len(lists.probes), doc_ids.size)
    lexical, contracts, examples = np.full(shape, -1.0), np.full(shape, np.nan), np.full(shape, np.nan)
    past, sources = np.zeros(shape), np.zeros(shape, dtype=np.int64)
    named = np.zeros(shape)
    for row, (probe, shares) in enumerate(zip(lists.probes, lists.words, strict=True)):
        if shares is not None:
            lexical[row] = shares[doc_ids]
        if probe.words is not None:
            named[row] = probe.words.named[doc_ids]
        if probe.vector is not None and (aimed := lists.turned[row].vector) is not None:
            measured = _cosines(lanes.contracts, aimed, doc_ids=doc_ids, known=lists.contracts[row])
            contracts[row] = lanes.levelled(measured)
            examples[row] = _cosines(lanes.examples, probe.vector, doc_ids=doc_ids, known=lists.examples[row])
        if (vote := lists.votes[row]) is not None:
            _, at, given = np.intersect1d(doc_ids, vote.doc_ids, assume_unique=True, return_indices=True)
            past[row, at], sources[row, at] = vote.values[given], vote.sources[given]
    near = np.any(whole_meaning(contracts, encoder=lanes.encoder) >= TOKENS_FROM, axis=0)
    tokens = _token_scores(lists.probes, lanes.tokens, doc_ids=doc_ids, near=near)
    return Recalled(doc_ids, lexical, named, contracts, tokens, examples, past, sources)


def _nearest(index: VectorIndex, probes: Sequence[Probe], *, docs: DocSet, depth: int) -> list[VectorHits | None]:
    """Return the nearest documents of a vector lane for each probe, None where it abstains or has no row."""
    aimed = [at for at, probe in enumerate(probes) if probe.vector is not None and index.owners.size]
    found: list[VectorHits | None] = [None] * len(probes)
    if aimed:
        queries = np.stack([vector for at in aimed if (vector := probes[at].vector) is not None])
        for at, hits in zip(aimed, index.search_all(queries, docs=docs, depth=depth), strict=True):
            found[at] = hits
    return found


def _cosines(
    index: VectorIndex, vector: NDArray[np.float32], *, doc_ids: NDArray[np.int64], known: VectorHits | None
) -> NDArray[np.float64]:
    """Return float64[n], the best cosine of each document; those of the hits are at hand, bit for bit the same."""
    values = np.full(doc_ids.size, -1.0)
    if known is None:
        return values
    _, places, given = np.intersect1d(doc_ids, known.doc_ids, assume_unique=True, return_indices=True)
    at_hand = np.zeros(doc_ids.size, dtype=np.bool_)
    values[places], at_hand[places] = known.cosines[given], True
    values[~at_hand] = index.cosines(vector, doc_ids=doc_ids[~at_hand])
    return values


def _token_scores(
    probes: Sequence[Probe], index: TokenIndex, *, doc_ids: NDArray[np.int64], near: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return float64[p, n], how well the tokens of each probe find their like in each document; NaN = not compared.

    Args:
        probes: The request and its clauses.
        index: The tokens of documents.
        doc_ids: int64[n].
        near: bool[n], which of them are compared.
    """
    scores = np.full((len(probes), doc_ids.size), np.nan)
    aimed = np.array([at for at, probe in enumerate(probes) if probe.tokens is not None], dtype=np.int64)
    queries = [query for probe in probes if (query := probe.tokens) is not None]
    scores[np.ix_(aimed, near)] = index.scores(queries, doc_ids=doc_ids[near])
    return scores


def _votes(past: PastRequests | None, probe: Probe, *, docs: DocSet) -> Votes | None:
    """Return what past requests say, or None where there are none or the vector lane abstains."""
    return None if past is None or probe.vector is None else past.votes(probe.vector, docs=docs)


def _most_voted(votes: Votes, *, depth: int) -> NDArray[np.int64]:
    """Return the `depth` documents with most experience; ties by DocId."""
    return votes.doc_ids[np.lexsort((votes.doc_ids, -votes.values))[:depth]]


def _lexical(probe: Probe) -> NDArray[np.float64] | None:
    """Return float64[n_docs] shares, or None where the lane abstains."""
    if probe.words is None:
        return None
    shares = probe.words.shares
    return shares if shares.any() else None


def _best(shares: NDArray[np.float64], *, docs: DocSet, depth: int) -> NDArray[np.int64]:
    """Return the `depth` documents of the set with the highest share above 0; ties by DocId."""
    return top(shares, ids=docs.ids[shares[docs.ids] > 0].astype(np.int64), depth=depth)


@dataclass(frozen=True, slots=True, eq=False)
class Relevance:
    """Calibrated relevance numbers of the recalled documents.

    A request of several clauses counts half as a whole and half by the clause that speaks best for the document: the
    whole keeps context sentences from taking over, the clause keeps a tool for one step from drowning in the others.

    Attributes:
        probe: int64[n], index of the probe that speaks best.
        semantic: float64[n] in [0, 1]; 0 where the lane abstains.
        lexical: float64[n] in [0, 1], likewise.
        experience: float64[n] in [0, 1], likewise: declared example requests.
        past: float64[n] in [0, 1], past requests; 0 where there are none.
        total: float64[n] in [0, 1], the weighted mean of semantic, lexical and experience, lifted by `past`.
        by_probe: float64[p, n] in [0, 1], the same for each probe on its own.
        spoke: Relevance signals that took part for this request.
    """

    probe: NDArray[np.int64]
    semantic: NDArray[np.float64]
    lexical: NDArray[np.float64]
    experience: NDArray[np.float64]
    past: NDArray[np.float64]
    total: NDArray[np.float64]
    by_probe: NDArray[np.float64]
    spoke: frozenset[SignalName]


def whole_meaning(cosines: NDArray[np.float64], *, encoder: EncoderInfo) -> NDArray[np.float64]:
    """Return float64[p, n] in [0, 1], how close each document is to each probe as a whole; 0 where vectors abstain."""
    return calibrate(np.nan_to_num(cosines, nan=-1.0), encoder=encoder)


def by_meaning(recalled: Recalled, *, encoder: EncoderInfo) -> NDArray[np.float64]:
    """Return float64[p, n] in [0, 1], how close each document is to each probe: as a whole, and token by token."""
    whole = whole_meaning(recalled.contract_cosines, encoder=encoder)
    tokens = calibrate_tokens(recalled.token_scores, encoder=encoder)
    return np.asarray(
        np.where(np.isnan(tokens), whole, (1.0 - TOKEN_SHARE) * whole + TOKEN_SHARE * tokens), dtype=np.float64
    )


def relevance(recalled: Recalled, *, encoder: EncoderInfo, weights: Mapping[SignalName, float]) -> Relevance:
    """Combine the lanes: a weighted mean over those that spoke for the request (the weights of others fall away).

    For a tool that declares no example request, the weight of experience falls away too.

    The lexical signal is the square root of the share of what the request could score: shares crowd near 0, where
    most of the differences between tools lie (chosen on the dev sets). A tenth of it is how much of the tool's name the
    request says: what is left unmentioned (`pod_logs` for "pods") counts against the tool.

    Args:
        recalled: From `recall`.
        encoder: Whose calibration maps cosines to [0, 1].
        weights: Of all signals; those of relevance are used.
    """
    by_contract = by_meaning(recalled, encoder=encoder)
    by_example = calibrate(np.nan_to_num(recalled.example_cosines, nan=-1.0), encoder=encoder)
    lanes: dict[SignalName, NDArray[np.float64]] = {
        "semantic": np.maximum(by_contract, by_example),
        "lexical": (1.0 - NAME_SHARE) * np.sqrt(np.maximum(recalled.lexical, 0.0)) + NAME_SHARE * recalled.names,
        "experience": by_example,
    }
    vectors, words = bool(recalled.vectors_spoke[0]), bool(recalled.lexical_spoke[0])
    spoke: frozenset[SignalName] = frozenset(
        name for name in lanes if (words if name == "lexical" else vectors) and weights[name] > 0
    )
    # A tool without examples has no experience to be weighed: a zero would count as a request unlike its examples.
    known = (recalled.example_cosines[0] > -1.0).astype(np.float64)
    parts = {name: weights[name] * (known if name == "experience" else np.ones(known.size)) for name in sorted(spoke)}
    norm = sum(parts.values(), np.zeros(known.size))
    by_probe = np.zeros_like(recalled.lexical)
    for name, part in parts.items():
        by_probe += np.divide(part, norm, out=np.zeros(known.size), where=norm > 0) * lanes[name]
    gain = past_gain(weights)
    lifted_by_probe = lifted(by_probe, recalled.past, gain=gain)
    best = np.argmax(lifted_by_probe, axis=0)
    columns = np.arange(recalled.doc_ids.size)

    def blended(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((values[0] + values[best, columns]) / 2, dtype=np.float64)

    return Relevance(
        probe=best,
        semantic=blended(lanes["semantic"]) if vectors else np.zeros(best.size),
        lexical=blended(lanes["lexical"]),
        experience=blended(by_example) if vectors else np.zeros(best.size),
        past=blended(recalled.past),
        total=lifted(blended(by_probe), blended(recalled.past), gain=gain),
        by_probe=lifted_by_probe,
        spoke=spoke,
    )
