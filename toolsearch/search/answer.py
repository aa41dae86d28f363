"""Exposed candidates -> the CandidateSet that is sent: definitions, tokens, hashes, the question to ask, the words."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from toolsearch.model.answer import (
    Alternative,
    AlwaysOn,
    Candidate,
    CandidateSet,
    Clarify,
    InputState,
    MissingInput,
    NearMiss,
    OutcomeKind,
    TokenMetrics,
    Withheld,
)
from toolsearch.model.contract import ToolContract
from toolsearch.model.reasons import Reason, ReasonCode, SignalValue, Why, counted
from toolsearch.model.request import SearchRequest
from toolsearch.search.handout import Handout
from toolsearch.search.index.view import View
from toolsearch.search.inputs.readiness import Readiness
from toolsearch.search.rank.diversify import Folded
from toolsearch.search.rank.evidence import effect_inferred
from toolsearch.search.rank.expose import NEAR_SHARE, Exposed, Held
from toolsearch.search.rank.rerank import Scored
from toolsearch.search.rank.ties import tied_domains, which_domain

NO_TOOL = (
    "No visible tool fits this request. Do not search again with the same words: answer without a tool, or ask the "
    "user what is needed."
)
FOUND = "{fit} this request, best first."
ASK = "{fit}; before {ref} can be called, ask the user for: {fields}."
TIED = "{fit}; before one is called, ask the user whether {domains} is meant."
HELD = "No tool is offered yet: {unlock}."
NEAR_MISSES = 3


class VisibleTools(Protocol):
    """What an answer reads: the tools that one principal sees."""

    @property
    def view(self) -> View:
        """Return the view."""

    @property
    def contracts(self) -> Sequence[ToolContract]:
        """Return the contracts by DocId."""

    @property
    def refs(self) -> Sequence[str]:
        """Return the refs by DocId."""

    def visible_adjacent(self, contract: ToolContract) -> dict[str, str]:
        """Return the adjacent tools that may be named to this principal, under their own names."""


@dataclass(slots=True)
class _Offer:
    """One tool with the definition it is handed out with."""

    contract: ToolContract
    definition: dict[str, Any]
    tokens: int


def compose(
    request: SearchRequest,
    *,
    trace_id: str,
    exposed: Exposed,
    missed: Sequence[Scored],
    confidence: float,
    always_on: Sequence[int],
    catalogue: VisibleTools,
    handout: Handout,
    domain_tie: float = 0.0,
) -> CandidateSet:
    """Return the answer, without timings.

    Args:
        request: What was asked.
        trace_id: Of this search.
        exposed: What is offered and what is held back.
        missed: Documents below the floor, best first; told only when nothing is offered.
        confidence: How likely the best tool fits.
        always_on: DocIds listed apart.
        catalogue: The visible view.
        handout: How tools are handed out: anew, or as the session of the request holds them.
        domain_tie: See `SearchLimits`.
    """
    handed = [*always_on, *(item.best.doc_id for item in exposed.offered)]
    make = _definitions(handed, request=request, catalogue=catalogue, handout=handout)
    fixed = [make(doc_id) for doc_id in always_on]
    offered, over = _within_budget(exposed.offered, make=make, spent=sum(o.tokens for o in fixed), request=request)
    loaded = handout.loaded(request.loaded)
    candidates = tuple(
        _candidate(rank, item, offer, catalogue=catalogue, loaded=loaded)
        for rank, (item, offer) in enumerate(offered, start=1)
    )
    domains = tied_domains(
        [(offer.contract, item.best.relevance) for item, offer in offered], text=request.text, margin=domain_tie
    )
    fields = _to_ask(candidates, contract=offered[0][1].contract) if offered else ()
    outcome, clarify, message = _outcome(
        candidates, held=exposed.held, fields=fields, domains=domains, text=request.text
    )
    returned = sum(offer.tokens for offer in (*fixed, *(offer for _, offer in offered)))
    return CandidateSet(
        trace_id=trace_id,
        catalog_version=catalogue.view.catalog_version,
        tools_hash=_tools_hash([*fixed, *(offer for _, offer in offered)]),
        outcome=outcome,
        confidence=round(confidence, 6),
        visible_tools=catalogue.view.docs.count,
        candidates=candidates,
        always_on=tuple(
            AlwaysOn(
                ref=str(offer.contract.ref),
                title=title_of(offer.contract),
                already_loaded=str(offer.contract.ref) in loaded,
                definition=offer.definition,
            )
            for offer in fixed
        ),
        withheld=tuple(
            Withheld(ref=catalogue.refs[held.item.best.doc_id], reason=told(held.reason), unlock=held.unlock)
            for held in (*exposed.held, *over)
        ),
        clarify=clarify,
        message=message,
        near_misses=tuple(NearMiss(ref=catalogue.refs[item.doc_id], score=item.score) for item in missed[:NEAR_MISSES])
        if outcome is OutcomeKind.NO_TOOL
        else (),
        token_metrics=_token_metrics(baseline=catalogue.view.baseline_tokens, returned=returned),
    )


def told(why: Why) -> Reason:
    """Return a reason as it is sent."""
    return Reason(code=why.code, text=why.text)


def _inputs(readiness: Readiness) -> InputState:
    missing = tuple(
        MissingInput(field=item.field, ask=item.ask, obtain_from=item.obtain_from, forbidden_to_infer=item.forbidden)
        for item in readiness.missing
    )
    return InputState(ready=dict(readiness.ready), missing=missing)


def title_of(contract: ToolContract) -> str:
    """Return the title of a contract, or its name."""
    return contract.identity.title or contract.identity.name


def _definitions(
    doc_ids: Sequence[int], *, request: SearchRequest, catalogue: VisibleTools, handout: Handout
) -> Callable[[int], _Offer]:
    names = handout.names([catalogue.contracts[doc_id].ref for doc_id in doc_ids])

    def make(doc_id: int) -> _Offer:
        contract = catalogue.contracts[doc_id]
        shown = handout.definition(
            contract,
            request=request,
            api_name=names[contract.ref],
            adjacent=catalogue.visible_adjacent(contract),
        )
        return _Offer(contract, shown.definition, shown.tokens)

    return make


def _within_budget(
    items: Sequence[Folded], *, make: Callable[[int], _Offer], spent: int, request: SearchRequest
) -> tuple[list[tuple[Folded, _Offer]], list[Held]]:
    """Take candidates, best first, while their definitions fit into the token budget; hold the others."""
    taken: list[tuple[Folded, _Offer]] = []
    over: list[Held] = []
    for item in items:
        offer = make(item.best.doc_id)
        if request.token_budget is not None and spent + offer.tokens > request.token_budget:
            left = max(0, request.token_budget - spent)
            text = f"its definition takes about {offer.tokens} tokens; {left} of {request.token_budget} are left"
            over.append(Held(item, Why(ReasonCode.OVER_BUDGET, text), "raise token_budget or lower detail"))
        else:
            spent += offer.tokens
            taken.append((item, offer))
    return taken, over


def _candidate(rank: int, item: Folded, offer: _Offer, *, catalogue: VisibleTools, loaded: frozenset[str]) -> Candidate:
    best, contract = item.best, offer.contract
    approval = contract.execution.approval
    ref = catalogue.refs[best.doc_id]
    return Candidate(
        rank=rank,
        ref=ref,
        title=title_of(contract),
        score=best.score,
        signals={
            name: SignalValue(value=part.value, weight=part.weight, contribution=part.contribution)
            for name, part in best.signals.items()
        },
        reasons=tuple(map(told, best.reasons())),
        cautions=tuple(map(told, best.cautions())),
        inputs=_inputs(best.readiness),
        side_effect=contract.assumed_side_effect,
        side_effect_inferred=effect_inferred(contract),
        approval=approval.required_when if approval else None,
        clauses=best.clauses,
        alternatives=tuple(
            Alternative(ref=catalogue.refs[other.doc_id], score=other.score, similarity=similarity)
            for other, similarity in item.alternatives
        ),
        already_loaded=ref in loaded,
        definition=offer.definition,
    )


def _to_ask(candidates: Sequence[Candidate], *, contract: ToolContract) -> tuple[str, ...]:
    """Return the inputs of the first candidate that the user is to be asked for.

    A contract that says what to ask for is taken at its word. Of another one, missing inputs are worth a question only
    where no tool that fits about as well can be called at once.
    """
    first = candidates[0]
    missing = tuple(item.field for item in first.inputs.missing if item.ask)
    stated = {*contract.input.clarification_fields, *contract.input.forbidden_inference_fields}
    if stated:
        return tuple(field for field in missing if field in stated)
    near = (other for other in candidates[1:] if other.score >= NEAR_SHARE * first.score)
    return () if any(not other.inputs.missing for other in near) else missing


def _outcome(
    candidates: Sequence[Candidate],
    *,
    held: Sequence[Held],
    fields: Sequence[str],
    domains: tuple[str, ...],
    text: str,
) -> tuple[OutcomeKind, Clarify | None, str]:
    if not candidates:
        if held:
            return OutcomeKind.CLARIFY, None, HELD.format(unlock=held[0].unlock)
        return OutcomeKind.NO_TOOL, None, NO_TOOL
    first = candidates[0]
    fit = f"{counted(len(candidates), 'tool')} {'fits' if len(candidates) == 1 else 'fit'}"
    if domains:
        question = which_domain(domains, text=text)
        message = TIED.format(fit=fit, domains=" or ".join(domains))
        return OutcomeKind.CLARIFY, Clarify(ref=first.ref, domains=domains, question=question), message
    if not fields:
        return OutcomeKind.CANDIDATES, None, FOUND.format(fit=fit)
    named = ", ".join(fields)
    question = f"{first.title} needs {named}, which the request does not say."
    message = ASK.format(fit=fit, ref=first.ref, fields=named)
    return OutcomeKind.CLARIFY, Clarify(ref=first.ref, fields=tuple(fields), question=question), message


def _tools_hash(offers: Sequence[_Offer]) -> str:
    """Hash what the model is shown, in order: a change of a byte of a definition changes it."""
    shown = [[str(offer.contract.ref), offer.definition] for offer in offers]
    return hashlib.sha256(json.dumps(shown, ensure_ascii=False, sort_keys=True).encode("utf-8")).hexdigest()[:32]


def _token_metrics(*, baseline: int, returned: int) -> TokenMetrics:
    saved = 100.0 * (1 - returned / baseline) if baseline > 0 else 0.0
    return TokenMetrics(baseline=baseline, returned=returned, savings_percent=round(saved, 1))
