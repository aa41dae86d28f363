"""ToolIndex: the way of a request, from principal to candidate set.

`ToolIndex._search` is the pipeline. What opens and changes an index stands in `upkeep`.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from toolsearch.engine.index import Upkeep
from toolsearch.engine.sessions.handout import SessionHandout
from toolsearch.engine.state import Catalogue, IndexState, reference_backend
from toolsearch.engine.stopwatch import Stopwatch
from toolsearch.model.answer import CandidateSet, ScoreExplanation
from toolsearch.model.errors import RequestError
from toolsearch.model.limits import PROFILES, rerank_gain
from toolsearch.model.request import MAX_QUERY_CHARS, Principal, SearchRequest
from toolsearch.search.answer import compose, title_of, told
from toolsearch.search.handout import FreshHandout
from toolsearch.search.index.docset import DocSet
from toolsearch.search.index.lexical import LexicalBackend
from toolsearch.search.index.view import View
from toolsearch.search.inputs.extract import RequestFacts
from toolsearch.search.rank.confidence import Signs, signs
from toolsearch.search.rank.diversify import diversify, in_covering_order
from toolsearch.search.rank.evidence import Situation, clause_answers
from toolsearch.search.rank.expose import expose, situation_size
from toolsearch.search.rank.intent import Intent, read_intent
from toolsearch.search.rank.pool import make_probes, named_tools, retrieve, score_pool
from toolsearch.search.rank.rerank import Scored
from toolsearch.search.rank.reread import reread
from toolsearch.search.rank.tuned import UNTUNED
from toolsearch.search.visibility.rules import ADMIN_ROLE
from toolsearch.store.decisions import DecisionRow

if TYPE_CHECKING:
    from toolsearch.contracts.lint.check import LintOptions
    from toolsearch.contracts.lint.finding import LintReport

POOL_LEAST, POOL_FACTOR = 24, 3
"""Documents scored in full: at least so many, and so many times the wanted candidates."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """What the stages up to rerank found.

    Attributes:
        intent: The reading of the request.
        scored: Documents, best first.
        by_meaning: Whether the vector lane took part.
        signs: What speaks for it that the best of them fits; None where there is none.
    """

    intent: Intent
    scored: list[Scored]
    by_meaning: bool
    signs: Signs | None

    @property
    def confidence(self) -> float:
        """Return how likely the best document fits, in [0, 1]."""
        return 0.0 if self.signs is None else self.signs.confidence


class ToolIndex(Upkeep):
    """A catalogue of tool contracts that can be searched on behalf of a principal. Safe to share between threads."""

    def search(self, request: SearchRequest | str, *, principal: Principal) -> CandidateSet:
        """Return the few permitted tools that fit a request, with reasons.

        Args:
            request: What the user wants, as text or as a whole SearchRequest.
            principal: On whose behalf; nothing it may not see shapes the answer.

        Raises:
            RequestError: If the trace_id belongs to another principal, or the session is full.
        """
        asked = _request(request)
        trace_id = self._trace_id(asked, principal=principal)
        whom = _narrowed(asked, principal)
        if asked.session is None:
            answer = self._search(asked, principal=whom, trace_id=trace_id)
        else:
            with self.sessions.turn(asked.session, principal=principal, narrowed=whom) as session:
                answer = self._search(asked, principal=whom, trace_id=trace_id, session=session)
        self._journal(asked, answer, principal=principal)
        return answer

    def _search(
        self, request: SearchRequest, *, principal: Principal, trace_id: str, session: SessionHandout | None = None
    ) -> CandidateSet:
        """Run the pipeline over the current state, or that of a session."""
        watch, state = Stopwatch(), self._live.state if session is None else session.moment.state
        with watch.time("visibility"):
            view = state.views.of(principal)
            always_on = _always_on(request, state=state, docs=view.docs)
        ranked = self._rank(request, state=state, view=view.without(always_on), principal=principal, watch=watch)
        clauses = len(ranked.intent.clauses)
        with watch.time("diversify"):
            fits = ranked.confidence >= self._limits.min_confidence
            chosen = diversify(
                ranked.scored if fits else (),
                likeness=lambda doc_id: state.features[doc_id].likeness,
                size=situation_size(k=request.k, clauses=clauses, limits=self._limits),
                clauses=clauses,
                floor=self._limits.floor(by_meaning=ranked.by_meaning),
            )
        with watch.time("expose"):
            exposed = expose(chosen, k=request.k, clauses=clauses, columns=state.columns, limits=self._limits)
        with watch.time("answer"):
            answer = compose(
                request,
                trace_id=trace_id,
                exposed=exposed,
                missed=ranked.scored,
                confidence=ranked.confidence,
                always_on=always_on,
                catalogue=Catalogue(state, view),
                handout=session or FreshHandout(),
                domain_tie=self._limits.domain_tie if clauses < 2 else 0.0,
            )
        if session is not None:
            with watch.time("session"):
                answer = session.close(answer)
        return answer.model_copy(update={"timings_ms": watch.stop()})

    def _rank(
        self,
        request: SearchRequest,
        *,
        state: IndexState,
        view: View,
        principal: Principal,
        watch: Stopwatch,
        also: tuple[int, ...] = (),
        pool: int = 0,
    ) -> Ranked:
        """Run the stages from intent to rerank over the documents of a view."""
        docs = view.docs
        profile = PROFILES[request.profile]
        tuned = state.tuned.of(principal.tenant) if request.profile == "default" else UNTUNED
        weights = profile.with_overrides({**tuned.weights, **request.weights})
        now = request.now or datetime.now(UTC)
        with watch.time("intent"):
            intent = read_intent(request.text)
            if intent.freshness is None:
                weights["freshness"] = 0.0  # nothing to compare: no tool gains or loses
            if not self._limits.clauses:
                intent = replace(intent, clauses=())
            named = named_tools(request.text, names=state.names, docs=docs) if self._limits.names else {}
            lanes = state.lanes if self._limits.examples else state.lanes.without_examples()
            lanes = lanes if self._limits.tokens else lanes.without_tokens()
            lanes = lanes.with_past(state.past(principal, at=now) if self._limits.past else None)
            lanes = lanes.with_map(tuned.query_map)
        with watch.time("encode"):
            probes = make_probes(
                request.text,
                intent=intent,
                mode=request.mode,
                lexical=self._lexical(state),
                docs=docs,
                encoder=state.encoder,
                encode=self._live.encoder.encode_request if view.vectors_ready else None,
            )
            if probes[0].words is not None and probes[0].vector is not None:
                weights["lexical"] *= probes[0].words.known  # the lane counts for what it can know of the request
        with watch.time("recall"):
            recalled, relevance = retrieve(
                probes,
                lanes=lanes,
                docs=docs,
                depth=max(self._limits.depth, pool),
                weights=weights,
                also=(*named, *also),
                adjacent=lambda doc_id: (*state.adjacent(doc_id), *state.helpers(doc_id, docs=docs)),
            )
        with watch.time("rerank"):
            situation = Situation(
                contracts=state.contracts,
                columns=state.columns,
                features=state.features,
                docs=docs,
                probes=probes,
                intent=intent,
                facts=RequestFacts.of(request.text),
                given=request.inputs,
                recalled=recalled,
                relevance=relevance,
                answers=clause_answers(relevance, clauses=len(intent.clauses)),
                encoder=state.encoder,
                snapshot=state.snapshot,
                tallies=lambda doc_id: self._live.tally(state.contracts[doc_id].ref, at=now),
                named=named,
                limits=self._limits,
            )
            size = max(pool, POOL_LEAST, POOL_FACTOR * (request.k or self._limits.many))
            scored = score_pool(situation, size=size, also=also, profile=profile, weights=weights)
        if self._reranker is not None and self._limits.rerank_top > 0 and rerank_gain(weights) > 0:
            with watch.time("reread"):
                scored = reread(
                    scored,
                    request=request.text,
                    text=lambda doc_id: state.features[doc_id].text,
                    reranker=self._reranker,
                    top=self._limits.rerank_top,
                    profile=profile,
                    weights=weights,
                )
        with watch.time("rerank"):
            bank = self._live.needless if probes[0].vector is not None else None
            found = signs(
                scored, probes=probes, recalled=recalled, encoder=state.encoder, bank=bank, tools=docs.ids.size
            )
        return Ranked(intent, scored, by_meaning="semantic" in relevance.spoke, signs=found)

    def rank(self, request: SearchRequest | str, *, principal: Principal, depth: int = 100) -> list[tuple[str, float]]:
        """Return refs and scores in covering order, before folding, floors and sizes: for evaluation.

        Args:
            request: What the user wants.
            principal: On whose behalf.
            depth: Most tools wanted.
        """
        asked, state = _request(request), self._live.state
        view = state.views.of(_narrowed(asked, principal))
        ranked = self._rank(asked, state=state, view=view, principal=principal, watch=Stopwatch(), pool=depth)
        ordered = in_covering_order(ranked.scored, scored=lambda item: item, clauses=len(ranked.intent.clauses))
        return [(state.columns.refs[item.doc_id], item.score) for item in ordered[:depth]]

    def signs(self, request: SearchRequest | str, *, principal: Principal) -> Signs | None:
        """Return what the confidence of an answer is computed from, None where nothing is recalled: for evaluation.

        Args:
            request: What the user wants.
            principal: On whose behalf.
        """
        asked, state = _request(request), self._live.state
        whom = _narrowed(asked, principal)
        view = state.views.of(whom)
        view = view.without(_always_on(asked, state=state, docs=view.docs))
        return self._rank(asked, state=state, view=view, principal=whom, watch=Stopwatch()).signs

    def lint(self, *, principal: Principal, options: LintOptions | None = None) -> LintReport:
        """Return what is to be mended in the visible contracts.

        Their examples are ranked to see whether they find their own tool; for administrators, past requests of their
        tenant too.

        Args:
            principal: On whose behalf.
            options: Which rules speak; None = all.

        Raises:
            RequestError: If an option names no rule.
        """
        from toolsearch.engine.lint import lint_visible  # here: its rules are many, and no search needs them

        state = self._live.state
        # A past request would vote for itself; and it is the contracts that are asked about, not a reranker.
        plain = self.with_limits(replace(self._limits, past=False, rerank_top=0))

        def rank(text: str) -> list[str]:
            if not text.strip() or len(text) > MAX_QUERY_CHARS:
                return []
            asked = SearchRequest(text=text, weights={"reliability": 0.0})
            return [ref for ref, _ in plain.rank(asked, principal=principal, depth=1)]

        return lint_visible(
            Catalogue(state, state.views.of(principal)),
            options=options,
            rank=rank,
            requests=self._live.past_requests(principal.tenant) if ADMIN_ROLE in principal.roles else {},
        )

    def explain(self, request: SearchRequest | str, *, ref: str, principal: Principal) -> ScoreExplanation:
        """Return how one visible tool scores for a request, whether or not it would be returned.

        Raises:
            UnknownTool: If the principal sees no such tool.
        """
        asked, state = _request(request), self._live.state
        whom = _narrowed(asked, principal)
        view = state.views.of(whom)
        doc_id = state.resolve(ref, docs=view.docs)
        ranked = self._rank(asked, state=state, view=view, principal=whom, watch=Stopwatch(), also=(doc_id,))
        answer = self._search(asked, principal=whom, trace_id=asked.trace_id or uuid.uuid4().hex)
        sure = self.signs(asked, principal=principal)
        place = next(at for at, item in enumerate(ranked.scored) if item.doc_id == doc_id)
        item, name = ranked.scored[place], state.columns.refs[doc_id]
        return ScoreExplanation(
            trace_id=answer.trace_id,
            ref=name,
            rank=place + 1,
            returned=any(candidate.ref == name for candidate in answer.candidates),
            score=item.explanation(title=title_of(state.contracts[doc_id])),
            confidence=None
            if sure is None
            else sure.explanation(best=state.columns.refs[sure.doc_id], least=self._limits.min_confidence),
            reasons=tuple(map(told, item.reasons())),
            cautions=tuple(map(told, item.cautions())),
        )

    def _lexical(self, state: IndexState) -> LexicalBackend:
        own = self._limits.lexical_backend == "postings"
        return state.snapshot.lexical if own else reference_backend(state.snapshot)

    def _trace_id(self, request: SearchRequest, *, principal: Principal) -> str:
        if request.trace_id is None:
            return uuid.uuid4().hex
        row = self._live.journal.find(request.trace_id)
        if row is not None and not row.belongs_to(subject=principal.subject, tenant=principal.tenant):
            raise RequestError(f"trace_id {request.trace_id!r} is in use; choose another", field="trace_id")
        return request.trace_id

    def _journal(self, request: SearchRequest, answer: CandidateSet, *, principal: Principal) -> None:
        self._live.journal.append(
            DecisionRow(
                trace_id=answer.trace_id,
                at=datetime.now(UTC),
                subject=principal.subject,
                tenant=principal.tenant,
                request=request.model_dump_json(exclude_defaults=True),
                answer=answer.model_dump_json(),
            )
        )


def _request(request: SearchRequest | str) -> SearchRequest:
    return SearchRequest(text=request) if isinstance(request, str) else request


def _narrowed(request: SearchRequest, principal: Principal) -> Principal:
    return principal if request.restrict is None else principal.narrowed(request.restrict)


def _always_on(request: SearchRequest, *, state: IndexState, docs: DocSet) -> list[int]:
    """Return the visible tools that are listed apart: by tag first, then by request."""
    tagged = [doc_id for doc_id in state.columns.always_on if docs.mask[doc_id]]
    return list(dict.fromkeys([*tagged, *state.find(request.always_on, docs=docs)]))
