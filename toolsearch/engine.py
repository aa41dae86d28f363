"""ToolIndex: the way of a request, from principal to candidate set.

`ToolIndex._search` is the pipeline; everything else here opens, changes or asks about an index.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from toolsearch.answer import Catalogue, compose, title_of, told
from toolsearch.config import DEFAULT_ENCODER, PROFILES, SearchLimits
from toolsearch.contract import ToolContract
from toolsearch.decision import readable
from toolsearch.embed.protocol import Encoder
from toolsearch.errors import RequestError
from toolsearch.index.docset import DocSet
from toolsearch.index.lexical import LexicalBackend
from toolsearch.index.view import View
from toolsearch.live import ChangeReport, LearnReport, LiveIndex, Progress
from toolsearch.query import Outcome, PastRequest, Principal, SearchRequest
from toolsearch.rank.diversify import diversify
from toolsearch.rank.evidence import Situation, clause_answers
from toolsearch.rank.expose import expose, situation_size
from toolsearch.rank.extract import RequestFacts
from toolsearch.rank.intent import Intent, read_intent
from toolsearch.rank.pool import make_probes, named_tools, retrieve, score_pool
from toolsearch.rank.rerank import Scored
from toolsearch.result import CandidateSet, ScoreExplanation, ToolSummary, VisibilityReport
from toolsearch.state import IndexState, reference_backend, refs_of
from toolsearch.stopwatch import Stopwatch
from toolsearch.store.decisions import DecisionRow
from toolsearch.visibility.decide import decide
from toolsearch.visibility.rules import ADMIN_ROLE, RuleBook

POOL_LEAST, POOL_FACTOR = 24, 3
"""Documents scored in full: at least so many, and so many times the wanted candidates."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """The state of an index, as shown by `status` and `/healthz`."""

    tools: int
    generation: int
    encoder: str
    analyzer: str
    vectors_ready: bool


@dataclass(frozen=True, slots=True)
class Ranked:
    """What the stages up to rerank found.

    Attributes:
        intent: The reading of the request.
        scored: Documents, best first.
        by_meaning: Whether the vector lane took part.
    """

    intent: Intent
    scored: list[Scored]
    by_meaning: bool


class ToolIndex:
    """A catalogue of tool contracts that can be searched on behalf of a principal. Safe to share between threads."""

    def __init__(self, live: LiveIndex, *, limits: SearchLimits | None = None, remember_requests: bool = True) -> None:
        self._live = live
        self._limits = limits or SearchLimits()
        self._remembers = remember_requests

    @classmethod
    def create(
        cls,
        path: Path | str | None,
        *,
        rules: RuleBook | None = None,
        encoder: str | Encoder = DEFAULT_ENCODER,
        exist_ok: bool = False,
        limits: SearchLimits | None = None,
        remember_requests: bool = True,
    ) -> ToolIndex:
        """Make an empty index.

        Args:
            path: Its folder; None = in memory.
            rules: Access rules; without any, only tools whose contract declares `access` can be visible.
            encoder: A name for `load_encoder`, or an encoder.
            exist_ok: Open the index that is there instead of failing.
            limits: Sizes and floors.
            remember_requests: Learn from requests whose tools succeeded, which keeps their text; see `forget`.

        Raises:
            IndexStateError: If an index is there and `exist_ok` is false.
        """
        root = None if path is None else Path(path)
        live = LiveIndex.create(root, rules=rules or RuleBook(), encoder=encoder, exist_ok=exist_ok)
        return cls(live, limits=limits, remember_requests=remember_requests)

    @classmethod
    def open(
        cls,
        path: Path | str,
        *,
        encoder: str | Encoder | None = None,
        read_only: bool = False,
        rebuild: bool = False,
        limits: SearchLimits | None = None,
        remember_requests: bool = True,
    ) -> ToolIndex:
        """Open the index in a folder.

        Args:
            path: The folder.
            encoder: Only to pass an encoder object, or another encoder together with `rebuild`.
            read_only: Change nothing on disk.
            rebuild: Make the snapshot again from the registry.
            limits: Sizes and floors.
            remember_requests: Learn from requests whose tools succeeded, which keeps their text; see `forget`.

        Raises:
            IndexMissing: If there is none.
            IndexLocked: If another process owns it.
            EncoderMismatch: If it was built with another encoder.
        """
        live = LiveIndex.open(Path(path), encoder=encoder, read_only=read_only, rebuild=rebuild)
        return cls(live, limits=limits, remember_requests=remember_requests)

    def with_limits(self, limits: SearchLimits) -> ToolIndex:
        """Return this index under other sizes and floors; the two share everything else, `close` included."""
        return ToolIndex(self._live, limits=limits, remember_requests=self._remembers)

    @property
    def limits(self) -> SearchLimits:
        """Return the sizes and floors in force."""
        return self._limits

    def search(self, request: SearchRequest | str, *, principal: Principal) -> CandidateSet:
        """Return the few permitted tools that fit a request, with reasons.

        Args:
            request: What the user wants, as text or as a whole SearchRequest.
            principal: On whose behalf; nothing it may not see shapes the answer.

        Raises:
            RequestError: If the trace_id belongs to another principal.
        """
        asked = _request(request)
        trace_id = self._trace_id(asked, principal=principal)
        answer = self._search(asked, principal=_narrowed(asked, principal), trace_id=trace_id)
        self._journal(asked, answer, principal=principal)
        return answer

    def _search(self, request: SearchRequest, *, principal: Principal, trace_id: str) -> CandidateSet:
        """Run the pipeline over the current state."""
        watch, state = Stopwatch(), self._live.state
        with watch.time("visibility"):
            view = state.views.of(principal)
            always_on = _always_on(request, state=state, docs=view.docs)
        ranked = self._rank(request, state=state, view=view.without(always_on), principal=principal, watch=watch)
        clauses = len(ranked.intent.clauses)
        with watch.time("diversify"):
            chosen = diversify(
                ranked.scored,
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
                always_on=always_on,
                catalogue=Catalogue(state, view),
            )
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
        weights = profile.with_overrides(request.weights)
        now = request.now or datetime.now(UTC)
        with watch.time("intent"):
            intent = read_intent(request.text)
            if intent.freshness is None:
                weights["freshness"] = 0.0  # nothing to compare: no tool gains or loses
            if not self._limits.clauses:
                intent = replace(intent, clauses=())
            named = named_tools(request.text, names=state.names, docs=docs) if self._limits.names else {}
            lanes = state.lanes if self._limits.examples else state.lanes.without_examples()
            lanes = lanes.with_past(state.past(principal, at=now) if self._limits.past else None)
        with watch.time("encode"):
            probes = make_probes(
                request.text,
                intent=intent,
                mode=request.mode,
                lexical=self._lexical(state),
                docs=docs,
                encoder=state.encoder,
                encode=self._live.encoder.encode_queries if view.vectors_ready else None,
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
                adjacent=state.adjacent,
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
        return Ranked(intent, scored, by_meaning="semantic" in relevance.spoke)

    def rank(self, request: SearchRequest | str, *, principal: Principal, depth: int = 100) -> list[tuple[str, float]]:
        """Return refs and scores, best first, before diversity, floors and sizes: for evaluation.

        Args:
            request: What the user wants.
            principal: On whose behalf.
            depth: Most tools wanted.
        """
        asked, state = _request(request), self._live.state
        view = state.views.of(_narrowed(asked, principal))
        ranked = self._rank(asked, state=state, view=view, principal=principal, watch=Stopwatch(), pool=depth)
        return [(state.columns.refs[item.doc_id], item.score) for item in ranked.scored[:depth]]

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
        place = next(at for at, item in enumerate(ranked.scored) if item.doc_id == doc_id)
        item, name = ranked.scored[place], state.columns.refs[doc_id]
        return ScoreExplanation(
            trace_id=answer.trace_id,
            ref=name,
            rank=place + 1,
            returned=any(candidate.ref == name for candidate in answer.candidates),
            score=item.explanation(title=title_of(state.contracts[doc_id])),
            reasons=tuple(map(told, item.reasons())),
            cautions=tuple(map(told, item.cautions())),
        )

    def why_not(self, ref: str, *, principal: Principal, asked_by: Principal) -> VisibilityReport:
        """Return which rule shows or hides a tool for a principal. For administrators.

        Args:
            ref: The tool.
            principal: Whose view is asked about.
            asked_by: Who asks; without the role `toolsearch-admin` it gets the answer of an unknown tool.

        Raises:
            UnknownTool: If there is no such tool, or the asking principal is no administrator and cannot see it.
        """
        state = self._live.state
        if ADMIN_ROLE not in asked_by.roles:
            doc_id = state.resolve(ref, docs=state.views.of(asked_by).docs)
            return VisibilityReport(ref=state.columns.refs[doc_id], allowed=True, rule="", reason="visible to you")
        found = refs_of(state, [ref])[0]
        doc_id = state.columns.refs.index(str(found))
        decision = decide(state.columns.policies[doc_id], principal=principal, rules=state.rules)
        return VisibilityReport(ref=str(found), allowed=decision.allowed, rule=decision.rule, reason=decision.reason)

    def tools(self, *, principal: Principal) -> tuple[ToolSummary, ...]:
        """Return the visible tools in order of ref."""
        state = self._live.state
        return tuple(_summary(state.contracts[doc_id]) for doc_id in state.views.of(principal).docs.ids.tolist())

    def tool(self, ref: str, *, principal: Principal) -> ToolContract:
        """Return one visible contract; adjacent tools that the principal may not see are left out of it.

        Raises:
            UnknownTool: If the principal sees no such tool.
        """
        state = self._live.state
        view = state.views.of(principal)
        contract = state.contracts[state.resolve(ref, docs=view.docs)]
        return contract.naming_only(Catalogue(state, view).visible_adjacent(contract))

    def add(self, contracts: Iterable[ToolContract], *, progress: Progress | None = None) -> ChangeReport:
        """Add contracts, or replace those of the same ref. Searchable when this returns."""
        return self._live.apply(tuple(contracts), (), progress=progress)

    def replace_all(self, contracts: Iterable[ToolContract], *, progress: Progress | None = None) -> ChangeReport:
        """Make these contracts the whole catalogue: tools that are not among them are removed."""
        wanted = tuple(contracts)
        kept = {contract.ref for contract in wanted}
        gone = [contract.ref for contract in self._live.state.contracts if contract.ref not in kept]
        return self._live.apply(wanted, gone, progress=progress)

    def remove(self, refs: Iterable[str]) -> ChangeReport:
        """Remove tools by `server/name@version`, `server/name` or name.

        Raises:
            UnknownTool: If one of them is not in the index; nothing is removed then.
        """
        return self._live.apply((), refs_of(self._live.state, tuple(refs)))

    def set_rules(self, rules: RuleBook) -> None:
        """Replace the access rules; the next search obeys them."""
        self._live.set_rules(rules)

    @property
    def rules(self) -> RuleBook:
        """Return the access rules in force."""
        return self._live.state.rules

    def record_outcome(self, outcome: Outcome, *, principal: Principal) -> None:
        """Record what became of a call of a visible tool; reliability follows at once.

        With the trace_id of a search of the same principal, a success also teaches that the tool serves such requests
        (several tools may succeed for one request), and a failure takes part of that back.

        Raises:
            UnknownTool: If the principal sees no such tool.
        """
        state = self._live.state
        doc_id = state.resolve(outcome.ref, docs=state.views.of(principal).docs)
        now = datetime.now(UTC)
        # An outcome from the future would make every earlier one look old; one from before the epoch weighs nothing.
        at = now if outcome.at is None else max(EPOCH, min(outcome.at, now))
        ref = state.contracts[doc_id].ref
        self._live.observe(outcome, ref=ref, subject=principal.subject, tenant=principal.tenant, at=at)
        if outcome.trace_id is not None and self._remembers:
            self._live.remember(outcome, ref=ref, subject=principal.subject, tenant=principal.tenant, at=at)

    def learn(self, requests: Iterable[PastRequest], *, progress: Progress | None = None) -> LearnReport:
        """Learn from a log of requests and the tools that served them. Searchable and durable when this returns.

        Bounds hold as for outcomes: what one source may add to one tool in a day, and in all.
        """
        return self._live.learn(requests, progress=progress)

    def forget(self, subject: str, *, tenant: str | None = None) -> int:
        """Delete what a subject asked and was answered: past requests and decision records; return how many.

        Outcomes stay, as reliability is made of them; they hold no text, and no longer say whose they are.

        Args:
            subject: Of the principal.
            tenant: Of the principal; None = the subject that has no tenant.
        """
        return self._live.forget(subject=subject, tenant=tenant)

    def decision(self, trace_id: str, *, principal: Principal) -> dict[str, Any]:
        """Return the record of an earlier search of the same principal; administrators may read all.

        Raises:
            UnknownTrace: If there is none, it is somebody else's, or names a tool the principal no longer sees.
        """
        return readable(
            self._live.journal.find(trace_id), trace_id=trace_id, principal=principal, state=self._live.state
        )

    def status(self) -> IndexStatus:
        """Return size, generation and readiness."""
        state = self._live.state
        return IndexStatus(
            tools=len(state.contracts),
            generation=state.snapshot.generation,
            encoder=state.encoder.id,
            analyzer=state.snapshot.analyzer,
            vectors_ready=state.snapshot.vectors_ready,
        )

    def warm(self) -> None:
        """Load the encoder and touch the vectors, so that the first request is not the slow one."""
        self._live.encoder.encode_queries(["warm up"])

    def flush(self) -> None:
        """Write down the decision records that are held back; a process that is killed loses them otherwise."""
        self._live.journal.flush()

    def close(self) -> None:
        """Write down what is held back and give the index free."""
        self._live.close()

    def __enter__(self) -> ToolIndex:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

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


def _summary(contract: ToolContract) -> ToolSummary:
    return ToolSummary(
        ref=str(contract.ref),
        title=title_of(contract),
        does=contract.capability.does,
        side_effect=contract.assumed_side_effect,
        fingerprint=contract.fingerprint,
    )
