"""Upkeep: what opens and changes an index, and what it says about itself. `ToolIndex` adds the search."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from toolsearch.contracts.export import ExportedTools
from toolsearch.engine.decisions import readable
from toolsearch.engine.export import export_visible
from toolsearch.engine.models import Models
from toolsearch.engine.prepare import prepared
from toolsearch.engine.resolve import find_tool
from toolsearch.engine.sessions.verbs import Sessions
from toolsearch.engine.state import Catalogue, refs_of
from toolsearch.engine.versions import Versions
from toolsearch.engine.writer import ChangeReport, LearnReport, LiveIndex, Progress
from toolsearch.model.answer import ToolSummary, VisibilityReport
from toolsearch.model.contract import ToolContract
from toolsearch.model.limits import DEFAULT_ENCODER, SearchLimits, SessionLimits
from toolsearch.model.prepared import Prepared, PrepareRequest
from toolsearch.model.request import DefinitionFormat, Detail, Outcome, PastRequest, Principal
from toolsearch.search.answer import title_of
from toolsearch.search.visibility.decide import decide
from toolsearch.search.visibility.rules import ADMIN_ROLE, RuleBook
from toolsearch.store.sources import SourceRow
from toolsearch.store.writes import WriteRow
from toolsearch.text.embed.protocol import Encoder
from toolsearch.text.embed.reranking import Reranker, load_reranker

AUTHOR = "library"
"""Who changes the catalogue where nobody is named."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """The state of an index, as shown by `status` and `/healthz`."""

    tools: int
    generation: int
    encoder: str
    analyzer: str
    vectors_ready: bool
    models: tuple[str, ...] = ()


class Upkeep:
    """An open index, without its search."""

    def __init__(
        self,
        live: LiveIndex,
        *,
        limits: SearchLimits | None = None,
        remember_requests: bool = True,
        reranker: Reranker | None = None,
    ) -> None:
        self._live = live
        self._limits = limits or SearchLimits()
        self._remembers = remember_requests
        self._reranker = reranker

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
        session_limits: SessionLimits | None = None,
        reranker: str | Reranker | None = None,
    ) -> Self:
        """Make an empty index.

        Args:
            path: Its folder; None = in memory.
            rules: Access rules; without any, only tools whose contract declares `access` can be visible.
            encoder: A name for `load_encoder`, or an encoder.
            exist_ok: Open the index that is there instead of failing.
            limits: Sizes and floors.
            remember_requests: Learn from requests whose tools succeeded, which keeps their text; see `forget`.
            session_limits: How long sessions live and how large they grow.
            reranker: Reads the best tools together with the request; a name for `load_reranker`, or a reranker.

        Raises:
            IndexStateError: If an index is there and `exist_ok` is false.
        """
        loaded = _loaded(reranker)  # first: a wrong name must leave nothing behind
        root = None if path is None else Path(path)
        live = LiveIndex.create(root, rules=rules or RuleBook(), encoder=encoder, exist_ok=exist_ok)
        live.sessions.limits = session_limits or SessionLimits()
        return cls(live, limits=limits, remember_requests=remember_requests, reranker=loaded)

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
        session_limits: SessionLimits | None = None,
        reranker: str | Reranker | None = None,
    ) -> Self:
        """Open the index in a folder.

        Args:
            path: The folder.
            encoder: Only to pass an encoder object, or another encoder together with `rebuild`.
            read_only: Change nothing on disk.
            rebuild: Make the snapshot again from the registry.
            limits: Sizes and floors.
            remember_requests: Learn from requests whose tools succeeded, which keeps their text; see `forget`.
            session_limits: How long sessions live and how large they grow.
            reranker: Reads the best tools together with the request; a name for `load_reranker`, or a reranker.

        Raises:
            IndexMissing: If there is none.
            IndexLocked: If another process owns it.
            EncoderMismatch: If it was built with another encoder.
        """
        loaded = _loaded(reranker)  # first: a wrong name must leave nothing behind
        live = LiveIndex.open(Path(path), encoder=encoder, read_only=read_only, rebuild=rebuild)
        live.sessions.limits = session_limits or SessionLimits()
        return cls(live, limits=limits, remember_requests=remember_requests, reranker=loaded)

    def with_limits(self, limits: SearchLimits) -> Self:
        """Return this index under other sizes and floors; the two share everything else, `close` included."""
        return type(self)(self._live, limits=limits, remember_requests=self._remembers, reranker=self._reranker)

    @property
    def limits(self) -> SearchLimits:
        """Return the sizes and floors in force."""
        return self._limits

    @property
    def models(self) -> Models:
        """Return the learnt models: which are installed, which serves whom. For administrators."""
        return self._live.models

    @property
    def sessions(self) -> Sessions:
        """Return the sessions: what each conversation was handed, pinned."""
        return Sessions(self._live)

    @property
    def versions(self) -> Versions:
        """Return the versions: differences, history, what waits for approval, the way back."""
        return Versions(self._live)

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

    def export(
        self,
        *,
        principal: Principal,
        format: DefinitionFormat,
        tools: Sequence[str] = (),
        detail: Detail = Detail.FULL,
        strict: bool = False,
        defer_loading: bool = False,
        namespaces: bool = False,
    ) -> ExportedTools:
        """Return definitions of visible tools in a provider's shape, and what the shape does not say.

        Args:
            principal: On whose behalf; other tools are neither exported nor named.
            format: Shape of the definitions.
            tools: Refs or names; empty = all visible ones.
            detail: How much of each tool.
            strict: Strict schemas where the provider and the schema allow it; the others are listed.
            defer_loading: Say that the definitions are loaded by a tool search only.
            namespaces: One namespace for each server (`openai_responses`).

        Raises:
            UnknownTool: If one of the tools is not visible.
            RequestError: If the format cannot do what is asked.
        """
        state = self._live.state
        return export_visible(
            Catalogue(state, state.views.of(principal)),
            format=format,
            detail=detail,
            tools=tools,
            strict=strict,
            defer_loading=defer_loading,
            namespaces=namespaces,
        )

    def prepare(self, request: PrepareRequest, *, principal: Principal) -> Prepared:
        """Return the whole definition of one chosen tool, and which of its inputs the conversation states.

        The second turn, after a search has shown small cards. Nothing is called; what `prepare` finds wrong is what
        the gateway would refuse.

        Args:
            request: Which tool, and what is known.
            principal: On whose behalf; other tools are not named.

        Raises:
            UnknownTool: If the principal sees no such tool.
            RequestError: If several visible tools have that name.
        """
        state = self._live.state
        whom = principal if request.restrict is None else principal.narrowed(request.restrict)
        catalogue = Catalogue(state, state.views.of(whom))
        pin = request.session and self.sessions.pinned(request.session, request.ref, principal=principal)
        doc_id = find_tool(str(pin.contract.ref) if pin else request.ref, catalogue=catalogue)
        contract = pin.contract if pin else state.contracts[doc_id]
        return prepared(
            request,
            contract=contract,
            name=pin.api_name if pin else state.names_of(catalogue.view)[contract.ref],
            catalogue=catalogue,
            today=(request.now or datetime.now(UTC)).date(),
            changed=bool(pin and pin.fingerprint != pin.current),
        )

    def ref_of(self, name: str, *, principal: Principal) -> str:
        """Return the ref of the visible tool that a name speaks of: a ref, `server/name`, or what a model calls it.

        Raises:
            UnknownTool: If the principal sees no such tool.
            RequestError: If several visible tools have that name.
        """
        state = self._live.state
        return state.columns.refs[find_tool(name, catalogue=Catalogue(state, state.views.of(principal)))]

    def add(
        self,
        contracts: Iterable[ToolContract],
        *,
        author: str = AUTHOR,
        reason: str = "",
        progress: Progress | None = None,
    ) -> ChangeReport:
        """Add contracts, or replace those of the same ref. Searchable when this returns.

        Args:
            contracts: What to add.
            author: Who adds them, for the history of each tool.
            reason: Why.
            progress: Called while texts are embedded.
        """
        return self._live.apply(tuple(contracts), (), author=author, reason=reason, progress=progress)

    def replace_all(
        self,
        contracts: Iterable[ToolContract],
        *,
        author: str = AUTHOR,
        reason: str = "",
        progress: Progress | None = None,
    ) -> ChangeReport:
        """Make these contracts the whole catalogue: tools that are not among them are removed."""
        wanted = tuple(contracts)
        kept = {contract.ref for contract in wanted}
        gone = [contract.ref for contract in self._live.state.contracts if contract.ref not in kept]
        return self._live.apply(wanted, gone, author=author, reason=reason, progress=progress)

    def sources(self) -> tuple[SourceRow, ...]:
        """Return where the tools of each imported server were last read, and whether that still works."""
        return self._live.registry.sources()

    def note_sources(self, rows: Iterable[SourceRow]) -> None:
        """Note how the sources of servers were found. An `origin` is shown to people: it must hold no secret."""
        self._live.registry.note_sources(rows)

    def write(self, key: str, *, principal: Principal) -> WriteRow | None:
        """Return what became of a write that the gateway forwarded for a principal; None where nothing is known."""
        return self._live.registry.write(key, subject=principal.subject, tenant=principal.tenant)

    def note_write(self, row: WriteRow, *, principal: Principal, remembered: timedelta) -> None:
        """Note what became of a forwarded write, durably; `forget` deletes it, and so does the end of `remembered`."""
        self._live.registry.note_write(row, subject=principal.subject, tenant=principal.tenant, remembered=remembered)

    def spend(self, evidence: str, *, expires: datetime, now: datetime) -> bool:
        """Note durably that a confirmation is used, and return whether it was not used before."""
        return self._live.registry.spend(evidence, expires=expires, now=now)

    def restore(self, evidence: str) -> None:
        """Take back that a confirmation is used: its write was provably never sent."""
        self._live.registry.restore(evidence)

    def remove(self, refs: Iterable[str], *, author: str = AUTHOR, reason: str = "") -> ChangeReport:
        """Remove tools by `server/name@version`, `server/name` or name.

        Raises:
            UnknownTool: If one of them is not in the index; nothing is removed then.
        """
        return self._live.apply((), refs_of(self._live.state, tuple(refs)), author=author, reason=reason)

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
        """Delete what a subject asked and was answered: past requests, decision records, sessions; return how many.

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
        row = self._live.journal.find(trace_id)
        record = readable(row, trace_id=trace_id, principal=principal, state=self._live.state)
        tuned = record["request"].get("profile", "default") == "default" and row is not None
        model = self._live.models.served(tenant=row.tenant, at=row.at) if row is not None and tuned else None
        return record if model is None else record | {"model": {"number": model.number, "sha256": model.fingerprint}}

    def status(self) -> IndexStatus:
        """Return size, generation and readiness."""
        state = self._live.state
        return IndexStatus(
            tools=len(state.contracts),
            generation=state.snapshot.generation,
            encoder=state.encoder.id,
            analyzer=state.snapshot.analyzer,
            vectors_ready=state.snapshot.vectors_ready,
            models=self._live.models.notes(),
        )

    def warm(self) -> None:
        """Load the encoder and the reranker and touch the vectors, so that the first request is not the slow one."""
        self._live.encoder.encode_queries(["warm up"])
        self._live.state.lanes.touch()
        if self._reranker is not None:
            self._reranker.score("warm up", ["warm up"])

    def flush(self) -> None:
        """Write down the decision records that are held back; a process that is killed loses them otherwise."""
        self._live.journal.flush()

    def close(self) -> None:
        """Write down what is held back and give the index free."""
        self._live.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _loaded(reranker: str | Reranker | None) -> Reranker | None:
    return load_reranker(reranker) if isinstance(reranker, str) else reranker


def _summary(contract: ToolContract) -> ToolSummary:
    return ToolSummary(
        ref=str(contract.ref),
        title=title_of(contract),
        does=contract.capability.does,
        side_effect=contract.assumed_side_effect,
        fingerprint=contract.fingerprint,
    )
