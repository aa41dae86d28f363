"""Bounds on what one request may cost: its bytes, its time, its nesting, and how many run at once."""

from __future__ import annotations

import asyncio
import json
import math
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NoReturn, TypeVar

from starlette.types import Message, Receive

from toolsearch.serve.http.problems import HttpProblem

MAX_DEPTH = 64
"""Deepest nesting of a JSON body; the deepest input schema of real tools nests below 30."""

MAX_INTEGER = 2**64
"""Integers beyond 64 bits are refused: no store or client keeps them exact."""

T = TypeVar("T")


async def read_body(receive: Receive, *, limit: int, declared: str | None, timeout_s: float) -> bytes:
    """Read the whole body of a request.

    Args:
        receive: ASGI receive.
        limit: Most bytes accepted.
        declared: The Content-Length header, if there is one.
        timeout_s: Seconds until a sender that stalls is given up.

    Raises:
        HttpProblem: 413 if the body is larger than the limit, 408 if it does not arrive in time, 400 if the sender
            left in the middle of it.
    """
    if declared is not None and declared.isdigit() and int(declared[:20]) > limit:
        raise _too_large(limit)
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(timeout_s):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise HttpProblem("the body ended early", status=400, code="body_incomplete")
                size += len(message.get("body", b""))
                if size > limit:
                    raise _too_large(limit)
                parts.append(message.get("body", b""))
                if not message.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError:
        detail = f"the body did not arrive within {timeout_s:g} s"
        raise HttpProblem(detail, status=408, code="body_timeout", headers={"Connection": "close"}) from None


def replay(body: bytes, receive: Receive) -> Receive:
    """Return an ASGI receive that hands out a body already read, then what follows on the connection."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return pending.pop() if pending else await receive()

    return receive_again


def _too_large(limit: int) -> HttpProblem:
    return HttpProblem(
        f"the body is larger than {limit} bytes; send less, or raise body_limit_bytes",
        status=413,
        code="body_too_large",
        headers={"Connection": "close"},
    )


def strict_json(body: bytes) -> Any:
    """Parse JSON that means one thing only: UTF-8, no duplicate keys, no NaN, no number that a reader would round.

    Lone surrogates, which a client makes by cutting a text in the middle of a character, become U+FFFD.

    Raises:
        HttpProblem: 400, naming what is wrong and where.
    """
    if not body.strip():
        raise _not_json("it is empty")
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _not_json(f"not UTF-8 at byte {error.start}") from None
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_constant,
            parse_float=_float,
            parse_int=_integer,
        )
    except json.JSONDecodeError as error:
        raise _not_json(f"{error.msg} at line {error.lineno} column {error.colno}") from None
    except RecursionError:
        raise _too_deep() from None
    return _checked(value, mend="\\ud" in text.lower())


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for index, key in enumerate(keys) if key in keys[:index])
        raise _not_json(f"the key {_printable(twice)!r} stands twice in one object")
    return value


def _constant(name: str) -> NoReturn:
    raise _not_json(f"{name} is not JSON")


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise _not_json(f"the number {digits[:40]} is out of range")
    return value


def _integer(digits: str) -> int:
    if len(digits) > len(str(MAX_INTEGER)) + 1 or abs(int(digits)) >= MAX_INTEGER:
        raise _not_json(f"the integer {digits[:40]} does not fit 64 bits; send it as text")
    return int(digits)


def _checked(value: Any, *, mend: bool, depth: int = 1) -> Any:
    """Refuse what is nested too deep; replace lone surrogates where there may be any."""
    if isinstance(value, str):
        return _printable(value) if mend else value
    if not isinstance(value, dict | list):
        return value
    if depth > MAX_DEPTH:
        raise _too_deep()
    if isinstance(value, list):
        return [_checked(item, mend=mend, depth=depth + 1) for item in value]
    return {_printable(key) if mend else key: _checked(item, mend=mend, depth=depth + 1) for key, item in value.items()}


def _printable(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _too_deep() -> HttpProblem:
    return _not_json(f"nested deeper than {MAX_DEPTH} levels")


def _not_json(what: str) -> HttpProblem:
    return HttpProblem(f"the body is not acceptable JSON: {what}", status=400, code="json_invalid")


class EngineThreads:
    """The threads that compute answers: a fixed number, with a bounded queue before them.

    The engine is synchronous and a computation cannot be interrupted; one that overruns its time keeps its thread until
    it ends, so overload shows as refusals and never as an unbounded pile of threads.
    """

    def __init__(self, *, workers: int, queue: int) -> None:
        """Start with `workers` threads at most and `queue` places to wait."""
        self._pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="toolsearch")
        self._places = threading.BoundedSemaphore(workers + queue)

    async def run(self, call: Callable[[], T], *, timeout_s: float) -> T:
        """Return what the call returns.

        Raises:
            HttpProblem: 503 if every place is taken, or the time is up.
        """
        if not self._places.acquire(blocking=False):
            raise _busy("the server is at its limit of concurrent requests; try again shortly", code="overloaded")
        try:
            future = self._pool.submit(call)
        except RuntimeError:
            self._places.release()
            raise _busy("the server is stopping", code="stopping") from None
        future.add_done_callback(self._release)
        try:
            async with asyncio.timeout(timeout_s):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            raise _busy(f"no answer within {timeout_s:g} s; ask for less, or try again", code="timeout") from None

    def _release(self, _: Future[Any]) -> None:
        self._places.release()

    def close(self) -> None:
        """Refuse new work, drop what waits and wait for what runs."""
        self._pool.shutdown(wait=True, cancel_futures=True)


def _busy(detail: str, *, code: str) -> HttpProblem:
    return HttpProblem(detail, status=503, code=code, headers={"Retry-After": "1"})
