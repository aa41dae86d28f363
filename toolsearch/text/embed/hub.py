"""Model folders: where the files of a local or hub model are, and what their weights are.

The network is used only for a hub name that is not in the local cache. `HF_HUB_OFFLINE=1` forbids that too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from toolsearch.model.errors import IndexStateError, MissingExtraError

_NOT_FOR_TORCH = ("onnx/*", "openvino/*", "*.onnx", "*.h5", "*.ot", "*.msgpack")
"""Files of a hub model that are neither downloaded nor part of its identity."""


def model_folder(name: str) -> Path:
    """Return the folder of a model's files: a local one, or that of the cache, downloaded if need be.

    Raises:
        MissingExtraError: If huggingface_hub is not installed.
        OSError: If there is no such model, or it is not in the cache and the hub is out of reach.
    """
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise MissingExtraError(package="sentence-transformers", extra="st") from error
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    if folder.is_absolute() or name.startswith((".", "~")):
        raise FileNotFoundError(f"there is no folder {name}")
    return _hub_folder(name, snapshot_download)


@contextmanager
def loading(name: str, *, kind: str) -> Iterator[None]:
    """Turn what goes wrong while a model is loaded into an IndexStateError that says what to name instead.

    Args:
        name: The model.
        kind: What sort of model it must be.
    """
    try:
        yield
    except (OSError, ValueError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise IndexStateError(
            f"model {name!r} cannot be loaded ({reason}): name a folder that holds a {kind} model, "
            "or a hub name that is in the local cache or can be downloaded",
            found=name,
        ) from error


def model_id(name: str, *, folder: Path, digest: str) -> str:
    """Return the stable name of a model. Where the folder lies is not part of it, so an index can move."""
    return f"st:{folder.name if Path(name).expanduser().is_dir() else name}@{digest[:12]}"


def weights_digest(folder: Path) -> str:
    """Return the sha256 over the weight files that torch loads and the prompts, in order of name."""
    files = sorted(folder.rglob("*.safetensors")) or sorted([*folder.rglob("*.bin"), *folder.rglob("*.pt")])
    prompts = folder / "config_sentence_transformers.json"  # other prompts give other vectors
    digest = hashlib.sha256()
    for path in [*files, *([prompts] if prompts.is_file() else [])]:
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _hub_folder(name: str, snapshot_download: Any) -> Path:
    """Return the cached files of a hub model, downloading them if there are none."""
    try:
        return Path(snapshot_download(name, local_files_only=True))
    except (OSError, ValueError):
        return Path(snapshot_download(name, ignore_patterns=list(_NOT_FOR_TORCH)))
