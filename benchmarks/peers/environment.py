"""The peers' own virtual environment: made when it is missing or the pinned versions changed."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

REQUIREMENTS = Path(__file__).parent / "requirements.txt"
PYTHON_VARIABLE = "TOOLSEARCH_PEERS_PYTHON"
WANTED = ("python3.12", "python3.13", "python3.14")
"""Interpreters that every peer runs on, best first; toolhunch needs 3.12."""

_STAMP = "requirements.sha256"

Say = Callable[[str], None]


def ready_environment(folder: Path, *, say: Say) -> Path:
    """Return the interpreter of the environment, after making or bringing it up to date if need be.

    A package that cannot be installed is told and left out; its peer then fails with that reason and stands in the
    results as failed.

    Args:
        folder: Where the environment is.
        say: Called with one line for each step.
    """
    python = folder / "bin" / "python"
    digest = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    stamp = folder / _STAMP
    if python.exists() and stamp.exists() and stamp.read_text(encoding="ascii") == digest:
        return python
    folder.mkdir(exist_ok=True)
    if not python.exists():
        base = base_python()
        say(f"making {folder.name} with {Path(base).name}")
        subprocess.run([base, "-m", "venv", str(folder)], check=True)
    say(f"installing {REQUIREMENTS.name} into {folder.name}")
    if not _pip(python, "-r", str(REQUIREMENTS)):
        for requirement in requirements():
            if not _pip(python, requirement):
                say(f"{requirement} cannot be installed here; its peer is reported as failed")
    stamp.write_text(digest, encoding="ascii")
    return python


def base_python() -> str:
    """Return the interpreter to make the environment with.

    The one that TOOLSEARCH_PEERS_PYTHON names, else the first of `WANTED` that starts, on the path or in a folder
    beside this interpreter's as version managers lay them, else this one.
    """
    named = os.environ.get(PYTHON_VARIABLE)
    if named:
        return named
    on_path = [found for name in WANTED if (found := shutil.which(name))]
    beside = [str(found) for name in WANTED for found in sorted(Path(sys.base_prefix).parent.glob(f"*/bin/{name}"))]
    return next((found for found in on_path + beside if _starts(found)), sys.executable)


def requirements() -> Iterator[str]:
    """Yield the pinned packages."""
    for line in REQUIREMENTS.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            yield line.strip()


def _starts(python: str) -> bool:
    """Tell a real interpreter from a version manager's stub of one that is not switched on."""
    return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0


def _pip(python: Path, *arguments: str) -> bool:
    command = [str(python), "-m", "pip", "--disable-pip-version-check", "-q", "install", *arguments]
    return subprocess.run(command, check=False).returncode == 0
