"""The tables of the registry, as numbered steps applied at open.

A step, once released, never changes; a new need is a new step at the end. There are no primary keys: the one
writer keeps rows unique, and DuckDB's key indexes would cost memory and forbid replacing a row in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable

from toolsearch.model.errors import IndexFormatMismatch
from toolsearch.store.database import Connection, Database, scalar


def _first_tables(connection: Connection) -> None:
    connection.execute(
        """
        CREATE TABLE counters (name VARCHAR NOT NULL, value BIGINT NOT NULL);
        INSERT INTO counters VALUES ('generation', 0), ('rules_generation', 0);

        CREATE TABLE settings (name VARCHAR NOT NULL, value VARCHAR NOT NULL);

        CREATE TABLE rules (
            generation BIGINT NOT NULL, document VARCHAR NOT NULL, valid_from TIMESTAMP NOT NULL
        );

        -- One row a fingerprint a ref ever had; the current one has no end.
        CREATE TABLE contract_versions (
            server VARCHAR NOT NULL, name VARCHAR NOT NULL, version INTEGER NOT NULL,
            fingerprint VARCHAR NOT NULL, document VARCHAR NOT NULL,
            valid_from TIMESTAMP NOT NULL, valid_to TIMESTAMP,
            generation_from BIGINT NOT NULL, generation_to BIGINT
        );

        CREATE TABLE outcomes (
            seq BIGINT NOT NULL, server VARCHAR NOT NULL, name VARCHAR NOT NULL, version INTEGER,
            status VARCHAR NOT NULL, trace_id VARCHAR, latency_ms DOUBLE,
            subject VARCHAR NOT NULL, tenant VARCHAR, observed_at TIMESTAMP NOT NULL
        );

        -- Rows are only appended; of several with one trace_id the newest counts.
        CREATE TABLE decisions (
            seq BIGINT NOT NULL, trace_id VARCHAR NOT NULL, decided_at TIMESTAMP NOT NULL,
            subject VARCHAR NOT NULL, tenant VARCHAR, request VARCHAR NOT NULL, answer VARCHAR NOT NULL
        );

        CREATE TABLE sessions (
            session_id VARCHAR NOT NULL, subject VARCHAR NOT NULL, tenant VARCHAR,
            state VARCHAR NOT NULL, created_at TIMESTAMP NOT NULL, updated_at TIMESTAMP NOT NULL
        );

        CREATE TABLE embeddings (encoder_id VARCHAR NOT NULL, hash VARCHAR NOT NULL, vector BLOB NOT NULL);
        """
    )


def _experience(connection: Connection) -> None:
    connection.execute(
        """
        -- Past requests that a tool served; the newest success counts.
        CREATE TABLE experience (
            tenant VARCHAR, server VARCHAR NOT NULL, name VARCHAR NOT NULL, version INTEGER NOT NULL,
            subject VARCHAR NOT NULL, text_hash VARCHAR NOT NULL, text VARCHAR NOT NULL,
            learned_at TIMESTAMP NOT NULL, failures INTEGER NOT NULL
        );
        """
    )


def _session_tools(connection: Connection) -> None:
    connection.execute(
        """
        -- What a session was handed, in order; see store/sessions.py.
        CREATE TABLE session_tools (
            session_id VARCHAR NOT NULL, subject VARCHAR NOT NULL, tenant VARCHAR, position INTEGER NOT NULL,
            server VARCHAR NOT NULL, name VARCHAR NOT NULL, version INTEGER NOT NULL, fingerprint VARCHAR NOT NULL,
            api_name VARCHAR NOT NULL, format VARCHAR NOT NULL, detail VARCHAR NOT NULL,
            definition VARCHAR NOT NULL, listed BOOLEAN NOT NULL
        );
        """
    )


def _revisions(connection: Connection) -> None:
    connection.execute(
        """
        -- What happened to each tool, who did it and why; rows are only appended. share is 0 but for roll-outs.
        CREATE TABLE revisions (
            seq BIGINT NOT NULL, happened_at TIMESTAMP NOT NULL,
            server VARCHAR NOT NULL, name VARCHAR NOT NULL, version INTEGER NOT NULL,
            action VARCHAR NOT NULL, fingerprint VARCHAR NOT NULL, author VARCHAR NOT NULL, reason VARCHAR NOT NULL,
            share DOUBLE NOT NULL, marked BOOLEAN NOT NULL
        );
        -- Contents from before there were revisions: nobody knows who added them.
        INSERT INTO revisions
        SELECT row_number() OVER (ORDER BY generation_from, server, name, version), valid_from, server, name, version,
               CASE WHEN EXISTS (
                   FROM contract_versions AS old WHERE old.server = new.server AND old.name = new.name
                     AND old.version = new.version AND old.generation_to = new.generation_from
               ) THEN 'replace' ELSE 'add' END,
               fingerprint, 'unknown', '', 0, false
        FROM contract_versions AS new;

        -- Definitions that wait for approval, one at most for each ref; causes are lines.
        CREATE TABLE waiting (
            server VARCHAR NOT NULL, name VARCHAR NOT NULL, version INTEGER NOT NULL,
            fingerprint VARCHAR NOT NULL, document VARCHAR NOT NULL,
            author VARCHAR NOT NULL, reason VARCHAR NOT NULL, held_at TIMESTAMP NOT NULL, causes VARCHAR NOT NULL
        );

        -- Contents that a share of new sessions gets, one at most for each ref.
        CREATE TABLE rollouts (
            server VARCHAR NOT NULL, name VARCHAR NOT NULL, version INTEGER NOT NULL,
            fingerprint VARCHAR NOT NULL, document VARCHAR NOT NULL, share DOUBLE NOT NULL
        );

        -- Contents that were turned down or taken back.
        CREATE TABLE refusals (
            server VARCHAR NOT NULL, name VARCHAR NOT NULL, version INTEGER NOT NULL, fingerprint VARCHAR NOT NULL
        );
        """
    )


def _sources(connection: Connection) -> None:
    connection.execute(
        """
        -- Where the tools of each server were last read; see store/sources.py. One row a server.
        CREATE TABLE sources (
            server VARCHAR NOT NULL, origin VARCHAR NOT NULL, title VARCHAR NOT NULL, tools INTEGER NOT NULL,
            read_at TIMESTAMP, failed_at TIMESTAMP, error VARCHAR NOT NULL, stale BOOLEAN NOT NULL
        );
        """
    )


def _models(connection: Connection) -> None:
    connection.execute(
        """
        -- Learnt models; a document never changes. Which serves: the newest activation that was not undone.
        CREATE TABLE models (number INTEGER NOT NULL, document VARCHAR NOT NULL, installed_at TIMESTAMP NOT NULL);
        CREATE TABLE model_activations (
            seq BIGINT NOT NULL, number INTEGER NOT NULL, activated_at TIMESTAMP NOT NULL, undone_at TIMESTAMP
        );
        """
    )


def _writes(connection: Connection) -> None:
    connection.execute(
        """
        -- Writes that the gateway forwarded, under their idempotency keys; forgotten after a while.
        CREATE TABLE writes (
            subject VARCHAR NOT NULL, tenant VARCHAR, key VARCHAR NOT NULL, ref VARCHAR NOT NULL,
            evidence VARCHAR NOT NULL, state VARCHAR NOT NULL, noted_at TIMESTAMP NOT NULL, answer VARCHAR NOT NULL
        );
        """
    )


def _spent_confirmations(connection: Connection) -> None:
    connection.execute(
        """
        -- A confirmation of a write is good once, whatever else the call says.
        CREATE TABLE spent_confirmations (evidence VARCHAR NOT NULL, expires_at TIMESTAMP NOT NULL);
        ALTER TABLE writes ADD COLUMN call VARCHAR DEFAULT '';
        """
    )


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (
    _first_tables,
    _experience,
    _revisions,
    _session_tools,
    _sources,
    _models,
    _writes,
    _spent_confirmations,
)
SCHEMA_VERSION = len(MIGRATIONS)
"""Schema this program writes."""


def migrate(database: Database) -> None:
    """Bring the tables to SCHEMA_VERSION, each step in a transaction of its own.

    Raises:
        IndexFormatMismatch: If the registry is newer than this program, or is older and open for reading only.
    """
    found = schema_version(database)
    if found > SCHEMA_VERSION:
        raise IndexFormatMismatch(
            f"registry {database.path} has schema {found}, this program knows up to {SCHEMA_VERSION}; "
            "install the toolsearch version that wrote it, or a newer one",
            found=str(found),
            expected=str(SCHEMA_VERSION),
        )
    if found < SCHEMA_VERSION and database.read_only:
        raise IndexFormatMismatch(
            f"registry {database.path} has schema {found}, this program needs {SCHEMA_VERSION}; open it once for "
            "writing to bring it up to date",
            found=str(found),
            expected=str(SCHEMA_VERSION),
        )
    for number in range(found, SCHEMA_VERSION):
        with database.transaction() as connection:
            MIGRATIONS[number](connection)
            connection.execute("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)")
            connection.execute("DELETE FROM schema_version")
            connection.execute("INSERT INTO schema_version VALUES (?)", [number + 1])


def schema_version(database: Database) -> int:
    """Return the schema a registry has; 0 for an empty file."""
    with database.reading() as connection:
        known = scalar(connection, "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'schema_version'")
        return int(scalar(connection, "SELECT max(version) FROM schema_version") or 0) if known else 0
