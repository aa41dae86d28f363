"""The job: readings -> the index. Each server is replaced as a whole; one that is down keeps its last contracts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from toolsearch import ToolIndex
from toolsearch.calls.importing.reading import Progress, Reading, read_sources
from toolsearch.calls.importing.report import ImportReport, ServerReport
from toolsearch.calls.importing.sources import Source
from toolsearch.contracts.change.policy import QuarantinePolicy
from toolsearch.contracts.change.records import ProposalReport
from toolsearch.engine.writer import Progress as EmbeddingProgress
from toolsearch.store.sources import SourceRow

if TYPE_CHECKING:
    from toolsearch.calls.upstream.connect import Connector

AUTHOR = "import"
POLICY = QuarantinePolicy(spare_trusted=True)
"""What of unreviewed definitions is taken at once; see docs/versions.md."""


Take = Callable[[Sequence[Reading]], ImportReport]
"""Brings an index to what was read: `import_readings` with an index bound, or a client of the server that owns one."""


def import_sources(
    index: ToolIndex,
    sources: Sequence[Source],
    *,
    trusted: bool = False,
    author: str = AUTHOR,
    connector: Connector | None = None,
    timeout_s: float | None = None,
    progress: Progress | None = None,
) -> ImportReport:
    """Import sources; what was read is searchable when this returns.

    Servers that the sources speak of get exactly the tools that were read: others of theirs are removed, other servers
    are untouched. A refused definition keeps the tool it would replace, a server that is down all of its tools, marked
    stale. The same sources again change nothing.

    Args:
        index: The index.
        sources: What to import; see `sources_from`.
        trusted: Whether hints of foreign definitions may lower an assumed risk.
        author: Who imports, for the history of each tool.
        connector: How to connect to servers; None = `toolsearch.calls.upstream.connect.connect`.
        timeout_s: Seconds to start or reach a server, and for its list; None = 30.
        progress: Called while sources are read and texts embedded.

    Raises:
        MissingExtraError: If a live server is among the sources and the package mcp is not installed.
    """
    take = partial(import_readings, index, author=author, progress=progress)
    return run_import(take, sources, trusted=trusted, connector=connector, timeout_s=timeout_s, progress=progress)


def run_import(
    take: Take,
    sources: Sequence[Source],
    *,
    trusted: bool = False,
    connector: Connector | None = None,
    timeout_s: float | None = None,
    progress: Progress | None = None,
) -> ImportReport:
    """Read sources and hand what was read to `take`; see `import_sources`."""
    started = time.perf_counter()
    reading = partial(
        read_sources, sources, trusted=trusted, connector=connector, timeout_s=timeout_s, progress=progress
    )
    # A thread of its own, as the caller may have a running loop.
    with ThreadPoolExecutor(max_workers=1) as thread:
        readings = thread.submit(lambda: asyncio.run(reading())).result()
    read_s = time.perf_counter() - started
    return take(readings).model_copy(update={"reading_s": read_s})


def import_readings(
    index: ToolIndex,
    readings: Sequence[Reading],
    *,
    author: str = AUTHOR,
    progress: Progress | None = None,
) -> ImportReport:
    """Bring the index to what was read, in one step, and note for each server whether that worked."""
    started = time.perf_counter()
    taken = [reading for reading in readings if reading.server and not reading.error]
    changes = apply_import(
        index,
        taken,
        author=author,
        progress=None if progress is None else partial(progress, "embedding"),
    )
    at = datetime.now(UTC)
    index.note_sources(_source_row(reading, at=at) for reading in readings if reading.server)
    return ImportReport(
        servers=tuple(_server_report(reading, changes) for reading in readings if reading.server),
        refused=tuple(refusal for reading in readings if not reading.server for refusal in reading.refused),
        generation=changes.generation,
        contracts=sum(len(reading.contracts) for reading in readings),
        indexing_s=time.perf_counter() - started,
    )


def apply_import(
    index: ToolIndex,
    readings: Sequence[Reading],
    *,
    author: str = AUTHOR,
    progress: EmbeddingProgress | None = None,
) -> ProposalReport:
    """Replace the tools of the servers that were read, but for what the policy holds back.

    The one place where an import changes the catalogue.
    """
    return index.versions.propose(
        [contract for reading in readings for contract in reading.contracts],
        servers=[reading.server for reading in readings if reading.complete],
        policy=POLICY,
        keep=[f"{reading.server}/{name}" for reading in readings for name in sorted(reading.keep)],
        author=author,
        progress=progress,
    )


def _server_report(reading: Reading, changes: ProposalReport) -> ServerReport:
    def own(refs: Sequence[str]) -> tuple[str, ...]:
        return tuple(ref for ref in refs if ref.startswith(f"{reading.server}/"))

    return ServerReport(
        server=reading.server,
        origin=reading.origin,
        title=reading.title,
        added=own(changes.added),
        replaced=own(changes.replaced),
        unchanged=own(changes.unchanged),
        removed=own(changes.removed),
        marked=own(changes.marked),
        held=own(changes.held),
        turned_down=own(changes.refused),
        refused=reading.refused,
        error=reading.error,
    )


def _source_row(reading: Reading, *, at: datetime) -> SourceRow:
    if reading.error:
        return SourceRow(server=reading.server, origin=reading.origin, failed_at=at, error=reading.error, stale=True)
    return SourceRow(
        server=reading.server,
        origin=reading.origin,
        title=reading.title,
        tools=len(reading.contracts),
        read_at=at,
    )
