"""The writing side of an index: one registry, one encoder, one current state that is swapped as a whole.

Order of a change: registry commit (durable), state with postings (searchable by words, and gone where removed, at
once), vectors (outside the lock: a revocation or a withdrawal never waits for an encoder), state with vectors,
snapshot folder. Whatever is lost by a crash after the commit is made again from the registry at the next open;
whatever is lost before it never happened.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toolsearch.contracts.change.rollout import Rollout
from toolsearch.engine.experience import Memory, experience_row
from toolsearch.engine.models import Models
from toolsearch.engine.sessions.store import SessionStore
from toolsearch.engine.state import IndexState, make_state, refs_of, with_experience, with_rules, with_tuned
from toolsearch.model.contract import ToolContract, ToolRef
from toolsearch.model.errors import EncoderMismatch, IndexMissing, IndexStateError, UnknownTool
from toolsearch.model.limits import Bm25Parameters
from toolsearch.model.request import Outcome, OutcomeStatus, PastRequest
from toolsearch.search.index.catalog import Catalog
from toolsearch.search.index.experience import Experience
from toolsearch.search.index.folder import read_snapshot, write_snapshot
from toolsearch.search.index.snapshot import Embed, Snapshot, build_snapshot
from toolsearch.search.rank.confidence import no_tool_requests
from toolsearch.search.rank.tuned import Tuned
from toolsearch.search.visibility.rules import RuleBook
from toolsearch.store.journal import Journal
from toolsearch.store.outcomes import OutcomeRow
from toolsearch.store.registry import Registry
from toolsearch.store.revisions import Step
from toolsearch.store.tally import Tally, verdict
from toolsearch.text.embed.cached import CachedQueries, TokenCache, cached_tokens, embed_documents_cached, text_key
from toolsearch.text.embed.catalog import load_encoder
from toolsearch.text.embed.protocol import Encoder, EncoderInfo, encode_tokens

REGISTRY_FILE = "registry.duckdb"

_LOG = logging.getLogger("toolsearch.index")

Progress = Callable[[int, int], None]
"""Called with (texts embedded, texts in all)."""

_NO_TALLY = Tally()


@dataclass(frozen=True, slots=True)
class ChangeReport:
    """What a change of the catalogue did, as sorted refs."""

    added: tuple[str, ...]
    replaced: tuple[str, ...]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]
    generation: int


@dataclass(frozen=True, slots=True)
class LearnReport:
    """What became of a log: requests taken, refused by the bounds, and of tools that are not in the index."""

    learnt: int
    refused: int
    unknown: int


class LiveIndex:
    """Owns what changes: the registry, the current state, tallies. Safe to share between threads."""

    def __init__(self, *, root: Path | None, registry: Registry, encoder: Encoder, state: IndexState) -> None:
        self.root, self.registry = root, registry
        self.encoder = CachedQueries(encoder)
        self.journal = Journal(registry)
        self.sessions = SessionStore(registry)
        self.state = state
        self._documents = encoder
        self._parameters = state.snapshot.lexical.parameters
        self._tallies = registry.tallies()
        self.rollouts = _rollouts(registry)
        self.memory = Memory(registry, dim=encoder.info.dim, embed=self._embed, publish=self._show_experience)
        self.models = Models(registry, encoder=encoder.info, publish=self._show_tuned)
        self._written = -1
        self._writing = threading.Lock()  # the catalogue; held while postings are built, never while texts are embedded
        self._ruling = threading.Lock()  # the swap of the state and of its rules
        self._counting = threading.Lock()  # tallies

    @classmethod
    def create(cls, root: Path | None, *, rules: RuleBook, encoder: str | Encoder, exist_ok: bool) -> LiveIndex:
        """Make an empty index, in a folder or (None) in memory.

        Raises:
            IndexStateError: If one is there already and `exist_ok` is false.
        """
        if root is not None and (root / REGISTRY_FILE).exists():
            if not exist_ok:
                raise IndexStateError(f"{root} already holds an index; open it, or choose another folder")
            return cls.open(root, encoder=encoder, read_only=False)
        # The encoder first: a name that is not known must leave no half-made index behind.
        model = load_encoder(encoder) if isinstance(encoder, str) else encoder
        if root is not None:
            root.mkdir(parents=True, exist_ok=True)
        registry = Registry.open(None if root is None else root / REGISTRY_FILE)
        _remember_encoder(registry, encoder=encoder, model=model)
        registry.set_rules(rules.model_dump_json(), at=_now())
        live = cls(root=root, registry=registry, encoder=model, state=_empty_state(model, rules=rules))
        live._complete(progress=None)
        return live

    @classmethod
    def open(cls, root: Path, *, encoder: str | Encoder | None, read_only: bool, rebuild: bool = False) -> LiveIndex:
        """Open the index in a folder; a snapshot that is missing, damaged or behind is made again from the registry.

        Args:
            root: The folder.
            encoder: Name or object; None = the one it was built with.
            read_only: Write nothing.
            rebuild: Make the snapshot again, also with another encoder.

        Raises:
            IndexMissing: If there is none.
            EncoderMismatch: If another encoder is given than the index was built with.
            IndexLocked: If another process owns it.
        """
        if not (root / REGISTRY_FILE).exists():
            raise IndexMissing(f"no index in {root}; make one with `toolsearch index {root} SOURCE...`")
        registry = Registry.open(root / REGISTRY_FILE, read_only=read_only)
        try:
            return cls._opened(
                root, registry=registry, encoder=encoder, read_only=read_only, rebuild=rebuild and not read_only
            )
        except BaseException:
            registry.close()
            raise

    @classmethod
    def _opened(
        cls, root: Path, *, registry: Registry, encoder: str | Encoder | None, read_only: bool, rebuild: bool
    ) -> LiveIndex:
        wanted = encoder if encoder is not None else registry.setting("encoder_name")
        if not wanted:
            built = registry.setting("encoder_id")
            raise EncoderMismatch(f"the index was built with the encoder object {built!r}; pass it to open()")
        model = load_encoder(wanted) if isinstance(wanted, str) else wanted
        built = registry.setting("encoder_id")
        if rebuild:
            _remember_encoder(registry, encoder=wanted, model=model)
        elif built != model.info.id:
            raise EncoderMismatch(
                f"the index was built with encoder {built!r}, not {model.info.id!r}; "
                f"rebuild it with `toolsearch index --rebuild {root}`",
                found=str(built),
                expected=model.info.id,
            )
        rules = RuleBook.model_validate_json(registry.rules() or "{}")
        snapshot = None if rebuild else _current_snapshot(root, registry=registry, model=model)
        live = cls(
            root=None if read_only else root,
            registry=registry,
            encoder=model,
            state=_empty_state(model, rules=rules)
            if snapshot is None
            else make_state(snapshot, encoder=model.info, rules=rules),
        )
        if snapshot is None:
            live.rebuild()
        else:
            live._written = snapshot.generation
        live.memory.load(catalogue=live.state.snapshot.contracts.refs, now=_now())
        live.models.load()
        return live

    @cached_property
    def needless(self) -> NDArray[np.float32] | None:
        """Return float32[n, dim], the vectors of requests that need no tool; kept in the registry as documents' are.

        None where the encoder reads by itself whether a request asks for a tool.
        """
        return None if self.encoder.info.need else self._embed(no_tool_requests())

    def apply(
        self,
        upserts: Sequence[ToolContract],
        removals: Sequence[ToolRef],
        *,
        author: str = "library",
        reason: str = "",
        progress: Progress | None = None,
    ) -> ChangeReport:
        """Change the catalogue; when this returns the change is durable, searchable by meaning and in a snapshot.

        Args:
            upserts: Contracts to add, or to replace those of the same ref.
            removals: Refs to remove.
            author: Who changes it; noted in the history of each tool.
            reason: Why.
            progress: Called while texts are embedded.

        Raises:
            ContractError: If one ref is given twice with different content; nothing is changed.
        """
        step = Step(upserts=upserts, removals=removals, author=author, reason=reason)
        return self.take(lambda: step, progress=progress)

    def take(self, plan: Callable[[], Step], *, progress: Progress | None = None) -> ChangeReport:
        """Take the step that `plan` makes; nobody else changes the catalogue between its look and the step."""
        with self._writing:
            step = plan()
            before = self.state.snapshot.generation
            changes = self.registry.take(step, at=_now())
            self.rollouts = _rollouts(self.registry)
            if changes.generation != before:
                # After a failure between commit and swap the state lags behind: the registry is the truth.
                in_step = changes.generation == before + 1
                catalog = (
                    self.state.snapshot.contracts.changed(step.upserts, changes.removed)
                    if in_step
                    else Catalog.of(self.registry.contracts())
                )
                self._swap(catalog, generation=changes.generation, embed=None)
                if changes.removed:
                    self.memory.follow(catalog.refs)
        self._complete(progress=progress)
        return ChangeReport(
            added=tuple(map(str, changes.added)),
            replaced=tuple(map(str, changes.replaced)),
            unchanged=tuple(map(str, changes.unchanged)),
            removed=tuple(map(str, changes.removed)),
            generation=changes.generation,
        )

    def rebuild(self, *, progress: Progress | None = None) -> None:
        """Make the snapshot again from the registry; cached vectors are used. The old state answers meanwhile."""
        with self._writing:
            catalog = Catalog.of(self.registry.contracts())
            self._swap(catalog, generation=self.registry.generation, embed=None, fresh=True)
        self._complete(progress=progress, must_write=True)

    def _complete(self, *, progress: Progress | None, must_write: bool = False) -> None:
        """Embed what has no vector yet, then swap in the whole state and write it down."""
        texts, main = self.state.snapshot.pending_texts()
        self._embed(texts, main=main, progress=progress)
        if self.root is not None:
            _ = self.needless  # with the first snapshot, so that no search has to wait for it
        with self._writing:
            snapshot = self.state.snapshot
            if not snapshot.vectors_ready:
                self._swap(snapshot.contracts, generation=snapshot.generation, embed=self._embed)
            if self.root is not None and self._written != self.state.snapshot.generation:
                try:
                    write_snapshot(self.state.snapshot, self.root)
                    self._written = self.state.snapshot.generation
                except IndexStateError as error:
                    if must_write:
                        raise
                    # The registry has committed the change: it took effect, and the next step or open writes it again.
                    _LOG.warning("the change is kept, its snapshot is not: %s", error)

    def _swap(self, catalog: Catalog, *, generation: int, embed: Embed | None, fresh: bool = False) -> None:
        """Make the state of a catalog current, under the rules in force at that moment."""
        before = self.state
        snapshot = build_snapshot(
            catalog,
            generation=generation,
            encoder=self._documents.info,
            embed=embed,
            tokens=self._tokens if self._documents.info.token_width else None,
            parameters=self._parameters,
            previous=None if fresh else before.snapshot,
        )
        with self._ruling:
            self.state = make_state(
                snapshot,
                encoder=self._documents.info,
                rules=self.state.rules,
                previous=None if fresh else before,
                experience=self.state.experience,
                tuned=self.state.tuned,
            )

    def _show_tuned(self, tuned: Tuned) -> None:
        with self._ruling:
            self.state = with_tuned(self.state, tuned)

    def _show_experience(self, experience: Experience) -> None:
        with self._ruling:
            self.state = with_experience(self.state, experience)

    def _embed(
        self, texts: Sequence[str], *, main: Collection[str] = (), progress: Progress | None = None
    ) -> NDArray[np.float32]:
        """Return the vectors of texts through the cache; those of `main` have their tokens cached too."""
        encoder_id = cache_id(self._documents.info)
        width = self._documents.info.token_width
        return embed_documents_cached(
            self._documents,
            texts,
            lookup=lambda keys: self.registry.embeddings(encoder_id, keys),
            store=lambda vectors: self._keep_vectors(encoder_id, vectors),
            tokens=TokenCache(main, self._lookup_tokens, self._keep_tokens) if width and main else None,
            progress=progress,
        )

    def _keep_vectors(self, encoder_id: str, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        with self._cache_only():
            self.registry.put_embeddings(encoder_id, vectors)

    @contextmanager
    def _cache_only(self) -> Iterator[None]:
        """Let a write to a cache fail: what cannot be kept is computed again."""
        try:
            yield
        except IndexStateError as error:
            if not self.registry.read_only:
                _LOG.warning("vectors are not cached: %s", error)

    def _tokens(self, texts: Sequence[str]) -> list[NDArray[np.int8]]:
        """Return the tokens of texts through the cache."""
        keys = [text_key(text) for text in texts]
        known = cached_tokens(self._lookup_tokens, keys, width=self._documents.info.token_width)
        lacking = [text for text, key in zip(texts, keys, strict=True) if key not in known]
        fresh = {text: one.tokens for text, one in zip(lacking, encode_tokens(self._documents, lacking), strict=True)}
        return [known[key] if key in known else fresh[text] for text, key in zip(texts, keys, strict=True)]

    def _lookup_tokens(self, keys: Sequence[str]) -> Mapping[str, NDArray[np.float32]]:
        return self.registry.embeddings(token_cache_id(self._documents.info), keys)

    def _keep_tokens(self, tokens: Mapping[str, NDArray[np.float32]]) -> None:
        with self._cache_only():
            self.registry.put_tokens(token_cache_id(self._documents.info), tokens)

    def set_rules(self, rules: RuleBook) -> None:
        """Replace the access rules; the next search obeys them."""
        with self._ruling:
            self.registry.set_rules(rules.model_dump_json(), at=_now())
            self.state = with_rules(self.state, rules)

    def observe(self, outcome: Outcome, *, ref: ToolRef, subject: str, tenant: str | None, at: datetime) -> None:
        """Record what became of a call; reliability follows at once."""
        row = OutcomeRow(
            server=ref.server,
            name=ref.name,
            version=ref.version,
            status=outcome.status,
            trace_id=outcome.trace_id,
            latency_ms=outcome.latency_ms,
            subject=subject,
            tenant=tenant,
            at=at,
        )
        with self._counting:
            self.registry.record_outcome(row)
            # A ToolRef is the tuple that tallies go by.
            self._tallies[ref] = self._tallies.get(ref, _NO_TALLY).observed(verdict(outcome.status), at)

    def remember(self, outcome: Outcome, *, ref: ToolRef, subject: str, tenant: str | None, at: datetime) -> None:
        """Learn from the outcome of a tool, if its trace_id is of a search of the same principal."""
        row = self.journal.find(outcome.trace_id or "")
        if row is None or not row.belongs_to(subject=subject, tenant=tenant):
            return
        text = str(json.loads(row.request)["text"])
        past = experience_row(ref=ref, text=text, subject=subject, tenant=tenant, at=at)
        if outcome.status is OutcomeStatus.SUCCESS:
            self.memory.learn([past], now=_now())
        elif outcome.status is not OutcomeStatus.UNKNOWN:
            self.memory.fail(past.key)

    def learn(self, requests: Iterable[PastRequest], *, progress: Progress | None = None) -> LearnReport:
        """Learn from a log, whoever asked; moments to come count as now, tools that are not there as unknown."""
        state, now = self.state, _now()
        rows, unknown = [], 0
        for request in requests:
            try:
                ref = max(refs_of(state, [request.ref]))
            except UnknownTool:
                unknown += 1
                continue
            at = now if request.at is None else min(request.at, now)
            rows.append(
                experience_row(ref=ref, text=request.text, subject=request.subject, tenant=request.tenant, at=at)
            )
        learnt = self.memory.learn(rows, now=now, progress=progress)
        return LearnReport(learnt=learnt, refused=len(rows) - learnt, unknown=unknown)

    def tally(self, ref: ToolRef, *, at: datetime) -> tuple[float, float]:
        """Return the decayed successes and failures of one version of a tool."""
        found = self._tallies.get(ref)
        if found is None:
            return 0.0, 0.0
        worth = found.decayed(at)
        return worth.successes, worth.failures

    def forget(self, *, subject: str, tenant: str | None) -> int:
        """Delete what a source asked and was answered; return how many requests, decision records and sessions."""
        self.journal.flush()
        ended = self.sessions.forget(subject=subject, tenant=tenant)
        return ended + self.memory.forget(subject=subject, tenant=tenant)

    def past_requests(self, tenant: str | None) -> dict[str, list[str]]:
        """Return ref -> the texts that it served, of one tenant, each once, in order."""
        found: dict[str, list[str]] = {}
        for row in self.registry.experience():
            if row.key.tenant == tenant and row.text not in found.setdefault(str(row.key.ref), []):
                found[str(row.key.ref)].append(row.text)
        return found

    def close(self) -> None:
        """Write down what is held back, unless the index is open for reading only, and give the registry free."""
        with self._writing:
            try:
                if not self.registry.read_only:
                    self.journal.close()
            except IndexStateError as error:
                # What was asked has been answered; only the record of it is lost.
                _LOG.warning("decision records are lost: %s", error)
            finally:
                self.registry.close()


def cache_id(info: EncoderInfo) -> str:
    """Return the name vectors are cached under: other weights under one id must not answer for each other."""
    return f"{info.id}:{info.sha256[:16]}"


def token_cache_id(info: EncoderInfo) -> str:
    """Return the name that tokens are cached under."""
    return f"{cache_id(info)}:tokens"


def _empty_state(model: Encoder, *, rules: RuleBook) -> IndexState:
    empty = build_snapshot((), generation=0, encoder=model.info, embed=None, parameters=Bm25Parameters())
    return make_state(empty, encoder=model.info, rules=rules)


def _rollouts(registry: Registry) -> Mapping[ToolRef, Rollout]:
    return {ref: Rollout(contract=row.contract, share=row.share) for ref, row in registry.rollouts().items()}


def _remember_encoder(registry: Registry, *, encoder: str | Encoder, model: Encoder) -> None:
    """Note the encoder in the registry; an encoder object cannot be found again by name."""
    registry.set_setting("encoder_name", encoder if isinstance(encoder, str) else "")
    registry.set_setting("encoder_id", model.info.id)


def _current_snapshot(root: Path, *, registry: Registry, model: Encoder) -> Snapshot | None:
    """Return the snapshot on disk if it is whole and says what the registry says, else None."""
    try:
        snapshot = read_snapshot(root, encoder=model.info)
    except EncoderMismatch:
        raise
    except IndexStateError:
        return None
    return snapshot if snapshot.generation == registry.generation else None


def _now() -> datetime:
    return datetime.now(UTC)
