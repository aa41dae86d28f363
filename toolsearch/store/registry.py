"""Registry: the durable truth of one index, in one DuckDB file.

Snapshots, tallies and caches in memory can all be made again from it. This module only opens, locks and delegates;
each concern has a module of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from toolsearch.model.contract import ToolContract, ToolRef
from toolsearch.store import (
    contracts,
    decisions,
    embeddings,
    experience,
    models,
    outcomes,
    revisions,
    sessions,
    settings,
    sources,
    writes,
)
from toolsearch.store.contracts import Changes, ContractVersion
from toolsearch.store.database import Database
from toolsearch.store.decisions import MAX_DECISIONS, DecisionRow
from toolsearch.store.experience import ExperienceKey, ExperienceRow
from toolsearch.store.migrations import migrate
from toolsearch.store.models import Activation, ModelRow
from toolsearch.store.outcomes import OutcomeRow
from toolsearch.store.revisions import Content, Event, RolloutRow, Step, Waiting
from toolsearch.store.sessions import SessionKey, SessionToolRow
from toolsearch.store.sources import SourceRow
from toolsearch.store.tally import HALF_LIFE_DAYS, Tally
from toolsearch.store.writes import WriteRow


class Registry:
    """Contracts and their history, rules, outcomes, decisions and cached vectors. Safe to share between threads.

    Every method is one transaction: it happened whole, or not at all, also after a crash.

    Raises (every method):
        IndexStateError: After `close`, or on a write while open for reading only.
        IndexCorrupt: If the file is damaged or cannot be written.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(cls, path: Path | None, *, read_only: bool = False) -> Registry:
        """Open a registry, making it where there is none; None = in memory.

        Raises:
            IndexLocked: If another process, or another Registry of this one, has it open; also when only reading.
            IndexMissing: If it is to be read only and is not there, or its folder is not there.
            IndexFormatMismatch: If its tables are newer than this program, or older and it is to be read only.
            IndexCorrupt: If the file is damaged.
        """
        database = Database.open(path, read_only=read_only)
        try:
            migrate(database)
        except BaseException:
            database.close()
            raise
        return cls(database)

    def close(self) -> None:
        """Write everything down and give the file free. Closing twice is fine."""
        self._database.close()

    def __enter__(self) -> Registry:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def path(self) -> Path | None:
        """Return the file, or None when in memory."""
        return self._database.path

    @property
    def read_only(self) -> bool:
        """Tell whether it was opened for reading only."""
        return self._database.read_only

    # Contracts

    @property
    def generation(self) -> int:
        """Return the counter that rises with every change of contracts; 0 = nothing was ever added."""
        with self._database.reading() as connection:
            return settings.counter(connection, "generation")

    def apply(self, upserts: Iterable[ToolContract] = (), removals: Iterable[ToolRef] = (), *, at: datetime) -> Changes:
        """Add, replace and remove contracts in one transaction, as `take` does.

        Args:
            upserts: Contracts to add, or to replace those of the same ref; the same fingerprint changes nothing.
            removals: Refs to remove; those not there, or also upserted, are passed over.
            at: Aware moment of the change.

        Raises:
            ContractError: If one ref is given twice with different content; nothing is changed.
        """
        return self.take(Step(upserts=tuple(upserts), removals=tuple(removals)), at=at)

    def take(self, step: Step, *, at: datetime) -> Changes:
        """Change the catalogue and what waits for approval in one transaction, and note who did it.

        Raises:
            ContractError: If one ref is given twice with different content; nothing is changed.
        """
        with self._database.transaction() as connection:
            return revisions.take_step(connection, step, at=at)

    def contracts(self) -> tuple[ToolContract, ...]:
        """Return the current contracts, sorted by ref."""
        with self._database.reading() as connection:
            return contracts.current_contracts(connection)

    def fingerprints(self) -> dict[ToolRef, str]:
        """Return ref -> fingerprint of the current contracts, sorted by ref; much faster than `contracts`."""
        with self._database.reading() as connection:
            return contracts.current_fingerprints(connection)

    def history(self, *, server: str, name: str) -> tuple[ContractVersion, ...]:
        """Return every contract a tool ever had, over all its versions, oldest first."""
        with self._database.reading() as connection:
            return contracts.history(connection, server=server, name=name)

    def events(self, *, server: str, name: str) -> tuple[Event, ...]:
        """Return what happened to a tool and who did it, over all its versions, oldest first."""
        with self._database.reading() as connection:
            return revisions.events(connection, server=server, name=name)

    def marked(self) -> tuple[Event, ...]:
        """Return the events that made a current content so which has to be evaluated again, sorted by ref."""
        with self._database.reading() as connection:
            return revisions.marked(connection)

    def waiting(self) -> dict[ToolRef, Waiting]:
        """Return the definitions that wait for approval, sorted by ref."""
        with self._database.reading() as connection:
            return revisions.waiting(connection)

    def rollouts(self) -> dict[ToolRef, RolloutRow]:
        """Return the contents that a share of new sessions gets, sorted by ref."""
        with self._database.reading() as connection:
            return revisions.rollouts(connection)

    def refusals(self) -> frozenset[Content]:
        """Return the contents that were turned down or taken back."""
        with self._database.reading() as connection:
            return revisions.refusals(connection)

    # Rules and settings

    @property
    def rules_generation(self) -> int:
        """Return the counter that rises with every change of rules; 0 = none were ever set."""
        with self._database.reading() as connection:
            return settings.counter(connection, "rules_generation")

    def rules(self) -> str | None:
        """Return the rules document as it was set, or None."""
        with self._database.reading() as connection:
            return settings.current_rules(connection)

    def set_rules(self, document: str, *, at: datetime) -> int:
        """Store a rules document (earlier ones are kept) and return the rules generation."""
        with self._database.transaction() as connection:
            return settings.put_rules(connection, document, at=at)

    def setting(self, name: str) -> str | None:
        """Return the value of a setting, or None."""
        with self._database.reading() as connection:
            return settings.setting(connection, name)

    def set_setting(self, name: str, value: str) -> None:
        """Set a setting."""
        with self._database.transaction() as connection:
            settings.put_setting(connection, name, value)

    # Sources

    def sources(self) -> tuple[SourceRow, ...]:
        """Return where the tools of each server were last read, sorted by server."""
        with self._database.reading() as connection:
            return sources.sources(connection)

    def note_sources(self, rows: Iterable[SourceRow]) -> None:
        """Note how the sources of servers were found; of one that failed, what was known before stays."""
        with self._database.transaction() as connection:
            sources.note_sources(connection, rows)

    # Embedding cache

    def embeddings(self, encoder_id: str, hashes: Iterable[str]) -> dict[str, NDArray[np.float32]]:
        """Return hash -> float32[dim] (read-only) of those given that are cached; see `embed.cached.text_key`."""
        with self._database.reading() as connection:
            return embeddings.cached_vectors(connection, encoder_id=encoder_id, hashes=hashes)

    def put_embeddings(self, encoder_id: str, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Cache hash -> float32[dim]; what is cached already stays.

        Raises:
            EncoderMismatch: If the vectors differ in length.
        """
        with self._database.transaction() as connection:
            embeddings.cache_vectors(connection, encoder_id=encoder_id, vectors=vectors)

    def put_tokens(self, encoder_id: str, tokens: Mapping[str, NDArray[np.float32]]) -> None:
        """Cache hash -> float32[n], packed tokens of any number; `embeddings` finds them under that encoder_id."""
        with self._database.transaction() as connection:
            embeddings.cache_vectors(connection, encoder_id=encoder_id, vectors=tokens, one_length=False)

    def drop_embeddings(self, *, except_encoder_id: str) -> int:
        """Delete the cached vectors of all other encoders and return how many."""
        with self._database.transaction() as connection:
            return embeddings.drop_vectors(connection, except_encoder_id=except_encoder_id)

    # Outcomes

    def record_outcome(self, row: OutcomeRow) -> None:
        """Append one outcome; it is durable when this returns."""
        with self._database.transaction() as connection:
            outcomes.add_outcome(connection, row)

    def tallies(self, *, half_life_days: float = HALF_LIFE_DAYS) -> dict[outcomes.ToolVersion, Tally]:
        """Return (server, name, version) -> Tally over all outcomes; without a success or failure none is kept."""
        with self._database.reading() as connection:
            return outcomes.tallies(connection, half_life_days=half_life_days)

    def prune_outcomes(self, *, before: datetime) -> int:
        """Delete outcomes observed before a moment and return how many."""
        with self._database.transaction() as connection:
            return outcomes.prune_outcomes(connection, before=before)

    # Experience

    def experience(self) -> list[ExperienceRow]:
        """Return the past requests that tools served, sorted by key."""
        with self._database.reading() as connection:
            return experience.experience(connection)

    def change_experience(self, *, put: Sequence[ExperienceRow], drop: Iterable[ExperienceKey] = ()) -> None:
        """Add past requests, or replace those of the same key, and delete others."""
        with self._database.transaction() as connection:
            experience.change_experience(connection, put=put, drop=drop)

    def forget(self, *, subject: str, tenant: str | None) -> int:
        """Delete requests, decision records and writes of a source; its outcomes lose its name. Return how many."""
        with self._database.transaction() as connection:
            forgotten = writes.forget_writes(connection, subject=subject, tenant=tenant)
            return forgotten + experience.forget_source(connection, subject=subject, tenant=tenant)

    # Forwarded writes

    def write(self, key: str, *, subject: str, tenant: str | None) -> WriteRow | None:
        """Return the last write under a key of a principal, or None."""
        with self._database.reading() as connection:
            return writes.write(connection, key, subject=subject, tenant=tenant)

    def note_write(self, row: WriteRow, *, subject: str, tenant: str | None, remembered: timedelta) -> None:
        """Note a write in place of an earlier one of its key, and forget those older than is remembered."""
        with self._database.transaction() as connection:
            writes.note_write(connection, row, subject=subject, tenant=tenant, remembered=remembered)

    def spend(self, evidence: str, *, expires: datetime, now: datetime) -> bool:
        """Note that a confirmation is used, and return whether it was not used before."""
        with self._database.transaction() as connection:
            return writes.spend(connection, evidence, expires=expires, now=now)

    def restore(self, evidence: str) -> None:
        """Take back that a confirmation is used."""
        with self._database.transaction() as connection:
            writes.restore(connection, evidence)

    # Sessions

    def sessions(self) -> list[tuple[SessionKey, datetime]]:
        """Return all sessions with the moment of their last noted use, longest idle first."""
        with self._database.reading() as connection:
            return sessions.sessions(connection)

    def session_tools(self, key: SessionKey) -> list[SessionToolRow]:
        """Return the rows of one session in order of position; none where there is no such session."""
        with self._database.reading() as connection:
            return sessions.session_tools(connection, key)

    def put_session(
        self, key: SessionKey, *, tools: Sequence[SessionToolRow], known: int, begin: bool, used_at: datetime | None
    ) -> None:
        """Begin a session, or change its rows and note its use; see `sessions.put_session`."""
        with self._database.transaction() as connection:
            sessions.put_session(connection, key, tools=tools, known=known, begin=begin, used_at=used_at)

    def delete_sessions(self, keys: Iterable[SessionKey]) -> None:
        """Delete sessions; those that are not there are passed over."""
        with self._database.transaction() as connection:
            sessions.delete_sessions(connection, keys)

    # Learnt models

    def models(self) -> list[ModelRow]:
        """Return the learnt models in order of number."""
        with self._database.reading() as connection:
            return models.models(connection)

    def add_model(self, document: str, *, at: datetime) -> int:
        """Store a learnt model and return its number."""
        with self._database.transaction() as connection:
            return models.add_model(connection, document, at=at)

    def activations(self) -> list[Activation]:
        """Return all changes of which model serves, oldest first."""
        with self._database.reading() as connection:
            return models.activations(connection)

    def activate_model(self, number: int, *, at: datetime) -> None:
        """Note that a model serves from a moment on."""
        with self._database.transaction() as connection:
            models.activate_model(connection, number, at=at)

    def undo_activation(self, seq: int, *, at: datetime) -> None:
        """Note that a change of which model serves was taken back."""
        with self._database.transaction() as connection:
            models.undo_activation(connection, seq, at=at)

    # Decisions

    def record_decisions(self, rows: Sequence[DecisionRow]) -> None:
        """Append decision records in one batch; the newest of a trace_id counts. See `Journal`."""
        if rows:
            with self._database.transaction() as connection:
                decisions.add_decisions(connection, rows)

    def decision(self, trace_id: str) -> DecisionRow | None:
        """Return the newest record of a trace_id, or None. Whose it is, is for the caller to check."""
        with self._database.reading() as connection:
            return decisions.find_decision(connection, trace_id)

    def prune_decisions(self, *, max_rows: int = MAX_DECISIONS, before: datetime | None = None) -> int:
        """Delete records beyond the newest `max_rows` and those made before a moment; return how many."""
        with self._database.transaction() as connection:
            return decisions.prune_decisions(connection, max_rows=max_rows, before=before)

    def counts(self) -> dict[str, int]:
        """Return how many `outcomes` and `decisions` are kept."""
        with self._database.reading() as connection:
            return {
                "outcomes": outcomes.count_outcomes(connection),
                "decisions": decisions.count_decisions(connection),
            }
