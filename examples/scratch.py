"""What the recorded sessions share: a folder where the servers of `make servers` are commands, and steady output."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

HERE = Path(__file__).resolve().parent
SERVERS = HERE.parent / ".venv-servers"
WIDTH = 100
"""Cells of a line of output."""

_CHANGING = (
    (re.compile(r"\d+\.\d (ms|s)\b"), r"… \1"),
    (re.compile(r"\d+ a second"), "… a second"),
    (re.compile(r"trace [0-9a-f]{32}"), "trace …"),
    (re.compile(r"20\d\d-\d\d-\d\d \d\d:\d\d"), "yyyy-mm-dd hh:mm"),
)


@contextmanager
def scratch_folder() -> Iterator[tuple[Path, dict[str, str]]]:
    """Give an empty folder, and the environment that programs run in there."""
    if not (SERVERS / ".ready").exists():
        sys.exit("the real MCP servers are not installed; run `make servers`")
    places = (Path(sys.executable).parent, SERVERS / "bin", SERVERS / "node_modules" / ".bin")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TOOLSEARCH_")}
    environment = kept | {
        "PATH": os.pathsep.join((*map(str, places), os.environ["PATH"])),
        "COLUMNS": str(WIDTH),
        "NO_COLOR": "1",
        "PYTHONIOENCODING": "utf-8",
    }
    with tempfile.TemporaryDirectory(prefix="toolsearch-") as folder:
        yield Path(folder), environment


@contextmanager
def block(prose: str, *, kind: str = "console") -> Iterator[None]:
    """Print some prose, and what is printed in here as a code block."""
    print(f"{prose}\n\n```{kind}")
    printed = io.StringIO()
    with redirect_stdout(printed):
        yield
    print(f"{printed.getvalue().rstrip()}\n```\n")


def shell(command: str, folder: Path, environment: dict[str, str]) -> None:
    """Run a command and print it with its output."""
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False
    )
    print(f"$ {command}\n{steady(done.stdout + done.stderr)}", end="")


def steady(text: str) -> str:
    """Return output without what differs each time: times, dates, trace ids, blanks at ends of lines."""
    for pattern, instead in _CHANGING:
        text = pattern.sub(instead, text)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())
