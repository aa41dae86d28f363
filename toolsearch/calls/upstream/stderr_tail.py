"""What a child process wrote to standard error at last: the reason, often the only one, why it ended."""

from __future__ import annotations

import os
import threading
from collections import deque
from types import TracebackType
from typing import TextIO

_KEPT_BYTES = 4_096
_SHOWN_LINES, _SHOWN_CHARACTERS = 3, 300


class StderrTail:
    """A pipe to give a child as its standard error; a thread empties it and keeps the end."""

    def __init__(self) -> None:
        source, sink = os.pipe()
        self.errlog: TextIO = os.fdopen(sink, "w", encoding="utf-8")
        self._chunks: deque[bytes] = deque()
        self._thread = threading.Thread(target=self._drain, args=(source,), name="toolsearch-stderr", daemon=True)
        self._thread.start()

    def _drain(self, source: int) -> None:
        with os.fdopen(source, "rb", buffering=0) as pipe:
            kept = 0
            while chunk := pipe.read(_KEPT_BYTES):
                self._chunks.append(chunk)
                kept += len(chunk)
                while kept - len(self._chunks[0]) >= _KEPT_BYTES:
                    kept -= len(self._chunks.popleft())

    def text(self) -> str:
        """Return the last lines on one line, without control characters; "" where nothing was written."""
        written = b"".join(tuple(self._chunks))[-_KEPT_BYTES:].decode("utf-8", "replace")
        lines = [line.strip() for line in written.splitlines() if line.strip()][-_SHOWN_LINES:]
        shown = " | ".join(lines)[-_SHOWN_CHARACTERS:]
        return "".join(character if character.isprintable() else " " for character in shown)

    def close(self) -> None:
        """Give the pipe free. A grandchild that holds it open keeps its thread until it ends."""
        self.errlog.close()
        self._thread.join(timeout=0.2)

    def __enter__(self) -> StderrTail:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
