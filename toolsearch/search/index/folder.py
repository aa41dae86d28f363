"""Snapshot folders: written whole, swapped in one step, checked byte for byte when opened.

```
snapshots/
  CURRENT                      "<folder> <sha256 of its manifest>": the one that counts
  <generation>-<hash>/
    contracts.jsonl            stored contracts, one a line, in DocId order
    heads.json                 [server, name, version, fingerprint] of each
    lexical.*.npy              postings
    contract_vectors.*.npy     rows and owners; likewise example_vectors, negative_vectors
    tokens.*.npy               int8 vectors of the tokens of each tool, and where they start
    manifest.json              written last
```

A reader follows CURRENT and keeps what it opened: replaced folders are unlinked, but their mapped files stay readable.
There is no falling back to an older folder when the current one is damaged: tools withdrawn since would come back.
The registry is the truth, and building from it costs no embedding, as vectors are cached there.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from numpy.typing import NDArray

from toolsearch.model.contract import ToolRef
from toolsearch.model.errors import IndexCorrupt, IndexMissing, IndexStateError
from toolsearch.model.limits import FORMAT_VERSION
from toolsearch.search.index.atomic import Buffer, file_sha256, replace_durably, sync_files, sync_folder, write_file
from toolsearch.search.index.catalog import Catalog
from toolsearch.search.index.lexical import LexicalIndex
from toolsearch.search.index.manifest import (
    MANIFEST_NAME,
    Counts,
    EncoderIdentity,
    FileEntry,
    LexicalParameters,
    Manifest,
    seal,
    unseal,
)
from toolsearch.search.index.npy import map_npy, npy_chunks
from toolsearch.search.index.snapshot import Snapshot
from toolsearch.search.index.token_vectors import TokenIndex
from toolsearch.search.index.vectors import VectorIndex
from toolsearch.text.analysis.analyzer import ANALYZER_ID
from toolsearch.text.embed.protocol import EncoderInfo

_T = TypeVar("_T")

SNAPSHOTS = "snapshots"
CURRENT = "CURRENT"
CONTRACTS = "contracts.jsonl"
HEADS = "heads.json"
TOKENS = "tokens"
VECTOR_PARTS = ("contract_vectors", "example_vectors", "negative_vectors")


def write_snapshot(snapshot: Snapshot, root: Path) -> Manifest:
    """Write a snapshot below an index folder and make it the current one; keep the one before, drop older ones.

    One process writes at a time: the owner of the registry.

    Raises:
        IndexStateError: If the disk refuses; the current snapshot stays the current one.
    """
    folder = root / SNAPSHOTS
    try:
        folder.mkdir(parents=True, exist_ok=True)
        before = _current_name(folder)
        manifest, sealed = _write_folder(snapshot, folder)
        name = _folder_name(manifest, sealed)
        replace_durably(folder / CURRENT, f"{name} {hashlib.sha256(sealed).hexdigest()}\n".encode())
    except OSError as error:
        raise IndexStateError(
            f"the snapshot cannot be written below {folder}: {error}; free space or fix permissions, then try again",
            found=str(folder),
        ) from error
    _remove_all_but({name, before}, folder)
    return manifest


def read_snapshot(root: Path, *, encoder: EncoderInfo) -> Snapshot:
    """Open the current snapshot of an index folder. Vectors and postings are mapped, not copied.

    Args:
        root: The index folder.
        encoder: The encoder that requests will be embedded with.

    Raises:
        IndexMissing: If there is no snapshot.
        IndexCorrupt: If any file is missing or not byte for byte as it was written.
        IndexFormatMismatch: If another format version wrote it.
        AnalyzerMismatch: If it was tokenised otherwise.
        EncoderMismatch: If it was embedded by another encoder.
    """
    return _following_current(root, lambda folder, sealed: _load(folder, sealed, root=root, encoder=encoder))


def verify_snapshot(root: Path) -> Manifest:
    """Check every file of the current snapshot against its checksum, whatever encoder made it.

    Raises:
        IndexMissing: If there is no snapshot.
        IndexCorrupt: If any file is missing or not byte for byte as it was written.
        IndexFormatMismatch: If another format version wrote it.
    """

    def verify(folder: Path, sealed: bytes) -> Manifest:
        manifest = unseal(sealed, rebuild=rebuild_command(root))
        _check_files(folder, manifest, root=root)
        return manifest

    return _following_current(root, verify)


def rebuild_command(root: Path) -> str:
    """Return the command that mends an index folder."""
    return f"toolsearch index --rebuild {root}"


# Writing


def _write_folder(snapshot: Snapshot, folder: Path) -> tuple[Manifest, bytes]:
    """Write all files to a temporary folder and give it its name."""
    fresh = folder / f"{snapshot.generation}.tmp-{os.getpid()}"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    try:
        entries = {}
        for name, chunks in _contents(snapshot):
            size, sha256 = write_file(fresh / name, chunks)
            entries[name] = FileEntry(bytes=size, sha256=sha256)
        manifest = _manifest(snapshot, entries)
        sealed = seal(manifest)
        write_file(fresh / MANIFEST_NAME, [sealed])
        # The order in which files reach the disk is free: nothing points to this folder before all of them have.
        sync_files([fresh / name for name in (*entries, MANIFEST_NAME)])
        sync_folder(fresh)
        _settle(fresh, folder / _folder_name(manifest, sealed), sealed)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    return manifest, sealed


def _settle(fresh: Path, final: Path, sealed: bytes) -> None:
    """Rename a whole temporary folder to its final name."""
    if final.exists():
        # The same content was written before. If it is whole it may be the current one and must not vanish for a
        # moment; if not, nothing is lost.
        with suppress(IndexCorrupt, OSError):
            if (final / MANIFEST_NAME).read_bytes() == sealed:
                _check_files(final, unseal(sealed, rebuild=""), root=final)
                shutil.rmtree(fresh)
                return
        shutil.rmtree(final)
    fresh.rename(final)
    sync_folder(final.parent)


def _folder_name(manifest: Manifest, sealed: bytes) -> str:
    """Return a name that differs when the content does: one generation is written again once it has vectors."""
    return f"{manifest.generation}-{hashlib.sha256(sealed).hexdigest()[:12]}"


def _contents(snapshot: Snapshot) -> Iterator[tuple[str, Iterable[Buffer]]]:
    """Yield name and content of every file but the manifest."""
    catalog = snapshot.contracts
    yield CONTRACTS, [b"".join(line + b"\n" for line in catalog.lines)]
    heads = [
        [*ref, fingerprint, tokens]
        for ref, fingerprint, tokens in zip(catalog.refs, catalog.fingerprints, catalog.tokens, strict=True)
    ]
    yield HEADS, [json.dumps(heads, ensure_ascii=False, separators=(",", ":")).encode()]
    parts: dict[str, Mapping[str, NDArray[Any]]] = {"lexical": snapshot.lexical.arrays()}
    parts |= {part: getattr(snapshot, part).arrays() for part in (*VECTOR_PARTS, TOKENS)}
    for part, arrays in parts.items():
        for name, array in arrays.items():
            yield f"{part}.{name}.npy", npy_chunks(array)


def _manifest(snapshot: Snapshot, files: dict[str, FileEntry]) -> Manifest:
    return Manifest(
        format_version=FORMAT_VERSION,
        generation=snapshot.generation,
        analyzer=snapshot.analyzer,
        encoder=EncoderIdentity.of(snapshot.encoder),
        lexical=LexicalParameters.of(snapshot.lexical.parameters),
        counts=Counts(
            tools=snapshot.n_docs,
            contract_vectors=len(snapshot.contract_vectors.owners),
            example_vectors=len(snapshot.example_vectors.owners),
            negative_vectors=len(snapshot.negative_vectors.owners),
            tokens=len(snapshot.tokens.rows),
        ),
        files=files,
    )


def _remove_all_but(names: set[str | None], folder: Path) -> None:
    """Remove older snapshots and what a killed writer left behind."""
    for path in folder.iterdir():
        if path.is_dir() and path.name not in names:
            shutil.rmtree(path, ignore_errors=True)


# Reading


def _following_current(root: Path, read: Callable[[Path, bytes], _T]) -> _T:
    """Read the folder CURRENT names; once more if a writer replaced it meanwhile."""
    folder = root / SNAPSHOTS
    while True:
        pointer = _pointer(folder, root=root)
        try:
            return read(*_sealed_folder(folder, pointer, root=root))
        except IndexCorrupt:
            if _pointer(folder, root=root) == pointer:
                raise


def _pointer(folder: Path, *, root: Path) -> bytes:
    try:
        return (folder / CURRENT).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise IndexMissing(
            f"there is no snapshot below {root}; build one with `toolsearch index`", found=str(root)
        ) from None
    except OSError as error:
        raise _corrupt(f"{CURRENT} cannot be read: {error}", root=root) from None


def _sealed_folder(folder: Path, pointer: bytes, *, root: Path) -> tuple[Path, bytes]:
    """Return the folder that CURRENT names, and its manifest's bytes."""
    parts = pointer.decode("ascii", "replace").split()
    # A generation and a hash, nothing that could lead out of the folder.
    if len(parts) != 2 or not parts[0].replace("-", "").isalnum() or not parts[0].isascii():
        raise _corrupt(f"{CURRENT} does not name a snapshot", root=root)
    name, expected = parts
    try:
        sealed = (folder / name / MANIFEST_NAME).read_bytes()
    except OSError as error:
        raise _corrupt(f"{name}/{MANIFEST_NAME} cannot be read: {error}", root=root) from None
    if hashlib.sha256(sealed).hexdigest() != expected:
        raise _corrupt(f"{name}/{MANIFEST_NAME} is not the one that {CURRENT} names", root=root)
    return folder / name, sealed


def _load(folder: Path, sealed: bytes, *, root: Path, encoder: EncoderInfo) -> Snapshot:
    manifest = unseal(sealed, rebuild=rebuild_command(root))
    manifest.check_analyzer(ANALYZER_ID, rebuild=rebuild_command(root))
    manifest.check_encoder(encoder, rebuild=rebuild_command(root))
    _check_files(folder, manifest, root=root)
    try:
        contract, example, negative = (
            VectorIndex.from_arrays(_arrays(folder, manifest, part=part)) for part in VECTOR_PARTS
        )
        snapshot = Snapshot(
            generation=manifest.generation,
            analyzer=manifest.analyzer,
            encoder=encoder,
            contracts=_catalog(folder),
            lexical=LexicalIndex.from_arrays(
                _arrays(folder, manifest, part="lexical"),
                parameters=manifest.lexical.parameters(),
                n_docs=manifest.counts.tools,
            ),
            contract_vectors=contract,
            example_vectors=example,
            negative_vectors=negative,
            tokens=TokenIndex.from_arrays(_arrays(folder, manifest, part=TOKENS)),
        )
    except (OSError, ValueError, TypeError, LookupError, OverflowError, RecursionError) as error:
        raise _corrupt(f"{folder.name} cannot be read: {error}", root=root) from error
    if (
        _manifest(snapshot, manifest.files) != manifest
        or (len(snapshot.tokens.starts), snapshot.tokens.width) != (snapshot.n_docs + 1, encoder.token_width)
        or any(
            len(index.owners) and (index.owners[-1] >= snapshot.n_docs or index.dim != encoder.dim)
            for index in (getattr(snapshot, part) for part in VECTOR_PARTS)
        )
    ):
        raise _corrupt(f"{folder.name} does not hold what its manifest says", root=root)
    return snapshot


def _check_files(folder: Path, manifest: Manifest, *, root: Path) -> None:
    """Compare sizes and checksums; 50 MB take about 30 ms."""
    for name, entry in manifest.files.items():
        if Path(name).name != name:
            raise _corrupt(f"{MANIFEST_NAME} names the file {name[:80]!r}", root=root)
        try:
            size = (folder / name).stat().st_size
            found = file_sha256(folder / name) if size == entry.bytes else ""
        except OSError as error:
            raise _corrupt(f"{folder.name}/{name} cannot be read: {error}", root=root) from None
        if size != entry.bytes:
            raise _corrupt(f"{folder.name}/{name} has {size} bytes, expected {entry.bytes}", root=root)
        if found != entry.sha256:
            raise _corrupt(f"{folder.name}/{name} does not match its checksum", root=root)


def _catalog(folder: Path) -> Catalog:
    heads = json.loads((folder / HEADS).read_bytes())
    lines = (folder / CONTRACTS).read_bytes().split(b"\n")[:-1]
    if len(lines) != len(heads):
        raise ValueError(f"{len(lines)} contracts, {len(heads)} heads")
    return Catalog(
        refs=[ToolRef(server, name, version) for server, name, version, _, _ in heads],
        fingerprints=[head[3] for head in heads],
        tokens=[int(head[4]) for head in heads],
        lines=lines,
    )


def _arrays(folder: Path, manifest: Manifest, *, part: str) -> dict[str, NDArray[Any]]:
    """Map the arrays of a part."""
    prefix, suffix = f"{part}.", ".npy"
    names = [name for name in manifest.files if name.startswith(prefix) and name.endswith(suffix)]
    return {name.removeprefix(prefix).removesuffix(suffix): map_npy(folder / name) for name in names}


def _current_name(folder: Path) -> str | None:
    """Return the folder that is current now, as far as can be told."""
    with suppress(OSError, UnicodeDecodeError, IndexError):
        return (folder / CURRENT).read_text("ascii").split()[0]
    return None


def _corrupt(problem: str, *, root: Path) -> IndexCorrupt:
    return IndexCorrupt(f"{problem}; run `{rebuild_command(root)}`", found=str(root))
