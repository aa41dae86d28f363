"""Notice that a conversation turns in circles: the same call, answered the same, again and again."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import TypeAlias

from toolsearch.model.request import Principal

LOOKED_BACK, CONVERSATIONS = 24, 2_000
"""Calls of one conversation that are compared, and conversations that are followed."""

_Conversation: TypeAlias = tuple[str, str | None, str]


class Repeats:
    """Counts equal calls with equal results. Holds hashes only."""

    def __init__(self) -> None:
        self._past: OrderedDict[_Conversation, deque[tuple[str, str]]] = OrderedDict()

    def note(self, call: str, result: str, *, principal: Principal, conversation: str | None) -> int:
        """Note a call and return how often it was answered so, since it was last answered otherwise.

        Args:
            call: Hash of tool and arguments.
            result: Hash of the result.
            principal: Who called.
            conversation: Session or trace; None = nothing is compared.
        """
        if conversation is None:
            return 1
        key = principal.subject, principal.tenant, conversation
        past = self._past.setdefault(key, deque(maxlen=LOOKED_BACK))
        self._past.move_to_end(key)
        while len(self._past) > CONVERSATIONS:
            self._past.popitem(last=False)
        past.append((call, result))
        times = 0
        for earlier_call, earlier_result in reversed(past):
            if earlier_call == call:
                if earlier_result != result:
                    break
                times += 1
        return times
