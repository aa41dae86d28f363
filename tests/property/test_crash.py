"""A writer killed at any moment leaves the last whole state, and readers never notice."""

import multiprocessing
import os
import random
import signal
import sys
import time

import crash_writer
import pytest
from crash_writer import INFO, NAMES, state, write_forever

from toolsearch.model.errors import IndexMissing
from toolsearch.search.index.folder import read_snapshot, verify_snapshot
from toolsearch.store.registry import Registry


def read_while_written(root, *, seconds):
    """Open the snapshot again and again, as another process would; return the generations seen."""
    seen, deadline = [0], time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            snapshot = read_snapshot(root, encoder=INFO)
        except IndexMissing:
            assert seen == [0], "a snapshot was there and is gone"
            time.sleep(0.005)
            continue
        assert tuple(snapshot.contracts) == state(snapshot.generation)
        seen.append(snapshot.generation)
    assert seen == sorted(seen)
    return seen


def kill_and_check(root, *, rounds, seed, longest):
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([crash_writer.__name__, "duckdb"])
    chance = random.Random(seed)
    committed = published = 0
    for number in range(rounds):
        opened, child_end = context.Pipe(duplex=False)
        process = context.Process(target=write_forever, args=(str(root), child_end, bool(number % 2)))
        process.start()
        # Every fourth is killed while it opens, the others while they commit.
        if number % 4:
            assert opened.poll(30), "the writer did not open the registry"
        seen = read_while_written(root, seconds=chance.uniform(0.0, longest))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL, "the writer died of something else"
        with Registry.open(root / "registry.duckdb") as registry:
            assert registry.generation >= committed, "a committed generation was lost"
            committed = registry.generation
            assert registry.contracts() == state(committed)
            assert len(registry.history(server="s", name=NAMES[0])) == sum(
                bool(state(generation)) for generation in range(1, committed + 1)
            )
        try:
            snapshot = read_snapshot(root, encoder=INFO)
        except IndexMissing:
            assert published == 0
            continue
        assert published <= max(seen) <= snapshot.generation <= committed or max(seen) == 0
        assert snapshot.generation >= published
        published = verify_snapshot(root).generation
        assert tuple(snapshot.contracts) == state(published)
        assert snapshot.vectors_ready
    return committed, published


@pytest.fixture
def root(tmp_path, monkeypatch):
    # The fork server imports what it preloads by PYTHONPATH alone: each writer then starts in milliseconds.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    return tmp_path


def test_twenty_kills(root):
    committed, published = kill_and_check(root, rounds=20, seed=1, longest=0.15)
    assert committed >= published > 0


@pytest.mark.slow
def test_a_hundred_kills(root):
    committed, published = kill_and_check(root, rounds=100, seed=2, longest=0.6)
    assert committed >= published > 100
