"""Large results, part by part: cut by a budget of tokens, the rest kept for a while for the same principal."""

from __future__ import annotations

import json
import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, TypeAlias

from toolsearch.calls.gateway.limits import GatewayLimits
from toolsearch.contracts.export.token_count import estimate_tokens, json_tokens
from toolsearch.model.request import Principal

SCHEME = "toolsearch://results/"

_Owner: TypeAlias = tuple[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A part of a result.

    Attributes:
        data: The part, of the shape of the whole.
        start: Items or characters before it.
        stop: Items or characters up to its end.
        total: Items or characters in all.
    """

    data: Any
    start: int
    stop: int
    total: int

    @property
    def last(self) -> bool:
        """Tell whether nothing follows."""
        return self.stop >= self.total


def page(whole: Any, *, start: int, tokens: int) -> Page:
    """Return the part of a result that begins at an item or character and fits a budget; at least one of them.

    A list is cut between items, a text between characters, an object within its longest list or text. What is still too
    large is cut as the text of its JSON.
    """
    if isinstance(whole, str):
        return _of_text(whole, start=start, tokens=tokens)
    if start == 0 and json_tokens(whole) <= tokens:
        size = len(whole) if isinstance(whole, list) else 1
        return Page(data=whole, start=0, stop=size, total=size)
    if isinstance(whole, list) and all(json_tokens(item) <= tokens for item in whole):
        return _of_items(whole, start=start, tokens=tokens)
    if isinstance(whole, dict) and (key := _longest(whole, tokens=tokens)) is not None:
        rest = {name: value for name, value in whole.items() if name != key} if start == 0 else {}
        inner = page(whole[key], start=start, tokens=max(tokens - json_tokens(rest), tokens // 2))
        shown = {
            name: inner.data if name == key else value for name, value in whole.items() if name == key or not start
        }
        return Page(data=shown, start=inner.start, stop=inner.stop, total=inner.total)
    return _of_text(json.dumps(whole, ensure_ascii=False), start=start, tokens=tokens)


def _longest(whole: dict[str, Any], *, tokens: int) -> str | None:
    """Return the member to cut: the largest list or text, if all else takes less than half of the budget."""
    sizes = {name: json_tokens(value) for name, value in whole.items() if isinstance(value, list | str)}
    if not sizes:
        return None
    key = max(sizes, key=lambda name: (sizes[name], name))
    rest = json_tokens({name: value for name, value in whole.items() if name != key})
    value = whole[key]
    fit = isinstance(value, str) or all(json_tokens(item) <= tokens // 2 for item in value)
    return key if fit and 2 * rest <= tokens else None


def _of_items(items: Sequence[Any], *, start: int, tokens: int) -> Page:
    stop, spent = start, 0
    while stop < len(items):
        spent += json_tokens(items[stop]) + 1
        if spent > tokens and stop > start:
            break
        stop += 1
    return Page(data=list(items[start:stop]), start=start, stop=stop, total=len(items))


def _of_text(text: str, *, start: int, tokens: int) -> Page:
    low, high = 1, max(1, min(len(text) - start, 4 * tokens))
    while low < high:
        middle = (low + high + 1) // 2
        if estimate_tokens(text[start : start + middle]) <= tokens:
            low = middle
        else:
            high = middle - 1
    stop = min(len(text), start + low)
    return Page(data=text[start:stop], start=start, stop=stop, total=len(text))


@dataclass(frozen=True, slots=True)
class _Kept:
    whole: Any
    size: int
    until: float
    ref: str
    tokens: int


class Results:
    """Keeps truncated results for the principals that got them; in memory, bounded, for a while."""

    def __init__(self, *, limits: GatewayLimits, clock: Callable[[], float] = monotonic) -> None:
        self._limits, self._clock = limits, clock
        self._kept: OrderedDict[_Owner, OrderedDict[str, _Kept]] = OrderedDict()

    def keep(self, whole: Any, *, size: int, ref: str, tokens: int, principal: Principal) -> str | None:
        """Keep a result and return its number; None where it is too large to be kept."""
        if size > self._limits.kept_bytes:
            return None
        owner = principal.subject, principal.tenant
        own = self._kept.setdefault(owner, OrderedDict())
        self._kept.move_to_end(owner)
        number = secrets.token_urlsafe(12)
        own[number] = _Kept(whole, size, self._clock() + self._limits.kept_s, ref, tokens)
        while sum(kept.size for kept in own.values()) > self._limits.kept_bytes:
            own.popitem(last=False)
        while len(self._kept) > self._limits.kept_principals:
            self._kept.popitem(last=False)
        return number

    def find(self, number: str, *, principal: Principal) -> tuple[Any, str, int] | None:
        """Return a kept result, the tool it is of and the budget it is cut by; None if it is not kept any more."""
        own = self._kept.get((principal.subject, principal.tenant), OrderedDict())
        kept = own.get(number)
        if kept is None or kept.until < self._clock():
            own.pop(number, None)
            return None
        return kept.whole, kept.ref, kept.tokens

    def sweep(self) -> None:
        """Forget what expired."""
        now = self._clock()
        for owner, own in list(self._kept.items()):
            for number in [number for number, kept in own.items() if kept.until < now]:
                del own[number]
            if not own:
                del self._kept[owner]
