"""Measurements inside one process: building, searching, adding, and what is physically possible."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.latency.catalogue import PooledCatalogue, servers_of_share
from benchmarks.latency.vectors import RememberingEncoder
from toolsearch import Principal, Rule, RuleBook, ToolIndex
from toolsearch.model.contract import ToolContract
from toolsearch.model.limits import Bm25Parameters
from toolsearch.search.index.document import tool_document
from toolsearch.search.index.folder import read_snapshot
from toolsearch.search.index.lexical import build_lexical
from toolsearch.text.analysis.analyzer import analyze
from toolsearch.text.embed.catalog import load_encoder

SHARES: Mapping[str, float] = {"one-percent": 0.01, "ten-percent": 0.1, "everything": 1.0}
"""Role -> share of the catalogue it sees."""

EVERYTHING = Principal(subject="benchmark", roles=("everything",))


@dataclass(frozen=True, slots=True)
class Built:
    """Seconds of building an index.

    Attributes:
        lexical: Analysing and indexing the words alone.
        encoding: The share of the encoder in `whole`, measured when each text was encoded.
        whole: Contracts to an index on disk with vectors.
    """

    lexical: float
    encoding: float
    whole: float


def build_index(path: Path, catalogue: PooledCatalogue, *, encoder: str) -> Built:
    """Build an index in a folder that opens with the named encoder."""
    documents = [tool_document(contract).fields for contract in catalogue.contracts]
    started = time.perf_counter()
    build_lexical(documents, parameters=Bm25Parameters())
    lexical = time.perf_counter() - started
    remembering = RememberingEncoder(load_encoder(encoder))
    with ToolIndex.create(path, rules=rules_by_share(catalogue.contracts), encoder=remembering) as index:
        started = time.perf_counter()
        index.add(catalogue.contracts)
        took = time.perf_counter() - started
    # The index knows only that an encoder object made it; now it learns the name.
    ToolIndex.open(path, encoder=encoder, rebuild=True).close()
    return Built(lexical, remembering.cost_s, took - remembering.spent_s + remembering.cost_s)


def rules_by_share(contracts: Sequence[ToolContract]) -> RuleBook:
    """Return rules under which each role of SHARES sees its share, by whole servers."""
    rules = []
    for role, share in SHARES.items():
        servers = servers_of_share(contracts, share=share) if share < 1 else ()
        rules.append(
            Rule.model_validate(
                {
                    "id": f"see-{role}",
                    "effect": "allow",
                    "reason": "for measuring",
                    "tools": {"servers": servers},
                    "principals": {"roles_any": [role]},
                }
            )
        )
    return RuleBook(rules=tuple(rules))


def search_times(index: ToolIndex, requests: Sequence[str], *, principal: Principal) -> list[dict[str, float]]:
    """Return milliseconds by stage of each request, each asked once.

    Beside the stages of the engine there are `search`, the whole call with its decision record, and `cpu`, the
    processor time of the calling thread in it: on a busy machine the better guess at what a quiet one would take.
    """
    rows = []
    for request in requests:
        cpu, started = time.thread_time(), time.perf_counter()
        answer = index.search(request, principal=principal)
        whole, busy = time.perf_counter() - started, time.thread_time() - cpu
        rows.append({**answer.timings_ms, "search": whole * 1e3, "cpu": busy * 1e3})
    return rows


def adding_times(index: ToolIndex, contracts: Sequence[ToolContract]) -> list[dict[str, float]]:
    """Return for each contract, added alone, the milliseconds until a search finds it and until it is on disk."""
    rows = []
    for contract in contracts:
        generation, seen = index.status().generation, threading.Event()
        found_at: list[float] = []

        def watch(before: int = generation, seen: threading.Event = seen, found_at: list[float] = found_at) -> None:
            while not seen.is_set():
                if index.status().generation != before:
                    found_at.append(time.perf_counter())
                    return
                time.sleep(0.0005)

        watcher = threading.Thread(target=watch)
        watcher.start()
        started = time.perf_counter()
        index.add([contract])
        written = time.perf_counter() - started
        seen.set()
        watcher.join()
        searchable = found_at[0] - started if found_at else written
        rows.append({"searchable": searchable * 1e3, "written": written * 1e3})
    return rows


@dataclass(frozen=True, slots=True)
class Limit:
    """The least a search of the whole catalogue could take: one pass over what it must read.

    Attributes:
        megabytes: Of vectors, and of the postings of a request's words (mean).
        bandwidth: Gigabytes a second of a large copy, counted once read and once written.
        milliseconds: The quotient.
    """

    megabytes: float
    bandwidth: float
    milliseconds: float


def physical_limit(path: Path, requests: Sequence[str], *, encoder: str) -> Limit:
    """Return the limit for the index in a folder."""
    snapshot = read_snapshot(path, encoder=load_encoder(encoder).info)
    postings = snapshot.lexical.postings
    a_posting = sum(array.itemsize for array in (postings.docs, postings.counts, postings.fields, postings.lengths))
    spans = [postings.span(term) for request in requests for term in set(analyze(request))]
    words = a_posting * sum(span.stop - span.start for span in spans) / max(1, len(requests))
    total = snapshot.contract_vectors.rows.nbytes + snapshot.example_vectors.rows.nbytes + words
    bandwidth = copy_bandwidth()
    return Limit(total / 1e6, bandwidth / 1e9, total / bandwidth * 1e3)


def copy_bandwidth(*, megabytes: int = 256, repeats: int = 5) -> float:
    """Return bytes a second, read and written, of the best of some large copies."""
    source = np.ones(megabytes * 2**20, dtype=np.uint8)
    target = np.empty_like(source)
    best = float("inf")
    for _ in range(repeats):
        started = time.perf_counter()
        np.copyto(target, source)
        best = min(best, time.perf_counter() - started)
    return 2 * source.nbytes / best
