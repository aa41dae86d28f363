"""A provider's API for the examples: it answers from a script, and refuses what the real one refuses.

The SDK's own client talks to it: what it gets are the bytes that would go over the network.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import httpx2

Body = dict[str, Any]


class StubApi:
    """Answers each request with the next reply. `requests` holds the bodies as they came."""

    def __init__(self, replies: Iterable[Body], *, refuses: Callable[[Body], str | None]) -> None:
        """Take a script.

        Args:
            replies: Bodies of answers.
            refuses: Says what is wrong with a request, if anything is.
        """
        self.requests: list[bytes] = []
        self._replies, self._refuses = iter(replies), refuses

    @property
    def transport(self) -> httpx2.MockTransport:
        """Return what an SDK's HTTP client sends through."""
        return httpx2.MockTransport(self._answer)

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request.content)
        wrong = self._refuses(json.loads(request.content))
        if wrong is not None:
            return httpx2.Response(400, json={"error": {"type": "invalid_request_error", "message": wrong}})
        return httpx2.Response(200, json=next(self._replies))


def twice(names: Iterable[str]) -> str | None:
    """Refuse names that stand twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return f"tools: tool names must be unique, {name!r} is not"
        seen.add(name)
    return None
